package deadletter

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"forager/cmd/internal/cli"
	"forager/internal/operate"
)

type deadList struct {
	operate.LetterFilter `embed:""`

	Limit int `help:"The newest so many; 0 = all." default:"100"`
}

func (c *deadList) Help() string {
	return `A record that a stage could not handle is kept in the topic dead.letter, and its request was answered as
failed:STAGE, so that the crawl went on without it.

  forager dead list --crawl chemistry
  forager dead show 17
  forager dead replay 17`
}

func (c *deadList) Run(s *cli.Session) error {
	_, b, err := s.OpenTopics()
	if err != nil {
		return err
	}
	list, all := []operate.Letter{}, 0
	err = operate.Letters(s, b, func(l operate.Letter) error {
		if !c.Takes(l) {
			return nil
		}
		all++
		l.Dead = nil
		if list = append(list, l); c.Limit > 0 && len(list) > 2*c.Limit {
			list = slices.Delete(list, 0, len(list)-c.Limit)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if all == 0 && c.Crawl != "" { // those of a deleted crawl may be retained
		if _, err := b.Control(c.Crawl); err != nil {
			return err
		}
	}
	if c.Limit > 0 && len(list) > c.Limit {
		list = list[len(list)-c.Limit:]
	}
	return s.Print(list, func(w io.Writer) {
		if all == 0 {
			fmt.Fprintln(w, "no dead letters")
			return
		}
		fmt.Fprintf(w, "%7s %-19s %-16s %-16s %-16s %s\n", "NUMBER", "AT", "STAGE", "TOPIC", "CRAWL", "ERROR AND URL")
		for _, l := range list {
			fmt.Fprintf(w, "%7d %-19s %-16s %-16s %-16s %s  %s\n", l.Number, l.At.Format("2006-01-02 15:04:05"), l.Stage, l.Topic, cmp.Or(l.Crawl, "-"), cli.OneLine(l.Error, 120), l.URL)
		}
		if all > len(list) {
			fmt.Fprintf(w, "and %d older ones (--limit 0 shows all)\n", all-len(list))
		}
	})
}
