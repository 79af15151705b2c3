package deadletter

import (
	"fmt"
	"io"

	"forager/cmd/internal/cli"
	"forager/internal/operate"
)

type deadDrop struct {
	operate.LetterChoice `embed:""`
}

func (c *deadDrop) Help() string {
	return `Letters that need nothing more: they are not listed, counted or replayed any longer. Their records stay in the
topic dead.letter until its retention ends.

  forager dead drop 17 18
  forager dead drop --crawl chemistry --stage parse-dom`
}

func (c *deadDrop) Run(s *cli.Session) error {
	return with(s, &c.LetterChoice, func(b *cli.Topics) error {
		dropped, err := operate.Drop(s, b, &c.LetterChoice)
		if err != nil {
			return err
		}
		return s.Print(dropped, func(w io.Writer) { fmt.Fprintf(w, "%d letters are dropped\n", dropped.Letters) })
	})
}
