package crawls

import (
	"context"
	"fmt"
	"io"
	"time"

	"forager/cmd/internal/cli"
	"forager/internal/operate"
	"forager/internal/platform/pipeline"
	"forager/schemas"
)

// Summary is the state of a crawl, for display.
type Summary struct {
	operate.Summary
	// JudgedBy describes the critic that harvest and loss come from; empty of a crawl that only fetches.
	JudgedBy string `json:"judged_by,omitempty"`
	// OnTopic is the estimate of pages on topic, independent of the critic, for a report or the end of a crawl.
	OnTopic *OnTopic `json:"on_topic,omitempty"`
}

// Summarize returns the state of a crawl as commands print it; st is nil before prioritize has written a status, and p if the state of
// the stages is not known.
func Summarize(b *cli.Topics, crawl string, st *schemas.CrawlStatus, p *operate.Pipeline) Summary {
	return Summary{Summary: b.Summarize(crawl, st, p)}
}

// LookAt returns the state of the stages; nil if it is not known within a second.
func LookAt(ctx context.Context, b *cli.Topics) *operate.Pipeline {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	p, err := operate.LookAt(ctx, b.Client)
	if err != nil {
		return nil
	}
	return p
}

// Watch follows a crawl and prints its end.
func Watch(s *cli.Session, cfg *pipeline.Config, b *cli.Topics, crawl string) error {
	x, err := follow(s, b, crawl)
	if err != nil {
		return err
	}
	x.Judge(s, cfg, b)
	return s.Print(x, func(w io.Writer) {
		fmt.Fprintf(w, "%s has finished: %s; %d pages\n", crawl, x.Why(), x.Pages)
		x.PrintHarvest(w)
		fmt.Fprintf(w, "see it:  forager report %s\n", crawl)
	})
}

// lookEvery is the time between two looks at the stages.
const lookEvery = 2 * time.Second

// follow prints a line of progress every second, in place on a terminal, until the crawl has finished.
func follow(s *cli.Session, b *cli.Topics, crawl string) (Summary, error) {
	return FollowWith(s, b, crawl, func(Summary) error { return nil })
}

// FollowWith is follow, and calls show with the crawl's state every second until it has finished; show may take longer than that.
func FollowWith(s *cli.Session, b *cli.Topics, crawl string, show func(Summary) error) (Summary, error) {
	terminal := cli.Interactive(s.Stderr)
	var last Summary
	var lastAt time.Time
	begun := time.Now()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var p *operate.Pipeline
	var looked time.Time
	for {
		st := b.Status(crawl)
		now := time.Now()
		if now.Sub(looked) >= lookEvery {
			p, looked = LookAt(s, b), now
		}
		x := Summarize(b, crawl, st, p)
		rate := 0.0
		if !lastAt.IsZero() && now.After(lastAt) {
			rate = float64(x.Pages-last.Pages) / now.Sub(lastAt).Seconds()
		}
		finished := operate.Ended(st)
		if !s.JSON && (terminal || x.Pages != last.Pages || (x.Main == nil) != (last.Main == nil) || x.Waiting != last.Waiting || finished || lastAt.IsZero()) {
			harvest := "" // a crawl that only fetches has none
			if ctl, err := b.Control(crawl); err == nil && ctl.GetCritic() != "" {
				harvest = fmt.Sprintf("harvest %.3f  loss %.3f  ", x.Harvest, x.Loss)
				if x.HarvestFrom != "" {
					harvest += "(" + x.HarvestFrom + ")  "
				}
			}
			line := fmt.Sprintf("%s  %6.0fs  %s  pages %d  %.0f/s  %squeued %d  in flight %d  loop %d ms %s",
				crawl, now.Sub(begun).Seconds(), x.State, x.Pages, rate, harvest, x.Queued, x.InFlight, x.Latency, x.Why())
			if st == nil {
				line = fmt.Sprintf("%s  %6.0fs  %s: %s", crawl, now.Sub(begun).Seconds(), x.State, x.Reason)
			}
			s.Status("%s", line)
		}
		if finished {
			if terminal && !s.JSON {
				fmt.Fprintln(s.Stderr)
			}
			return x, nil
		}
		if err := show(x); err != nil {
			return x, err
		}
		last, lastAt = x, now
		select {
		case <-s.Done():
			return x, cli.Leaving(s.Err(), "crawl %q goes on (forager crawl watch %s follows it, forager crawl pause %s lets it rest)", crawl, crawl, crawl)
		case <-tick.C:
		}
	}
}
