package deadletter

import (
	"fmt"
	"io"
	"time"

	"forager/cmd/internal/cli"
	"forager/internal/operate"
	"forager/schemas"
)

type deadReplay struct {
	operate.LetterChoice `embed:""`
	Wait                 time.Duration `help:"How long to wait until the crawls have taken it; 0 = do not wait." default:"60s"`
}

func (c *deadReplay) Help() string {
	return `The URL of each letter's request is queued again, as its next attempt, with the score of the last. It is
charged to the budget again; links to it that were settled without a relevance stay so. A request is
replayed once; if it fails again, its new letter can be replayed.

  forager dead replay 17 18
  forager dead replay --crawl chemistry --stage parse-dom`
}

func (c *deadReplay) Run(s *cli.Session) error {
	return with(s, &c.LetterChoice, func(b *cli.Topics) error {
		result, err := operate.Replay(s, b, &c.LetterChoice)
		if err == nil && c.Wait > 0 {
			err = result.Await(s, b, c.Wait)
		}
		if err != nil {
			return cli.Leaving(err, "crawls will read what they were sent, which is in %s", schemas.TopicLinkFound)
		}
		return s.Print(result, func(w io.Writer) {
			fmt.Fprintf(w, "%d requests are to be tried again\n", uint64(result.Asked)-min(uint64(result.Asked), result.Refused))
			if result.Refused > 0 {
				fmt.Fprintf(w, "%d have been tried again since, or have not failed\n", result.Refused)
			}
			if result.Skipped > 0 {
				fmt.Fprintf(w, "%d letters are about no request that can be tried again (forager dead show has the reason)\n", result.Skipped)
			}
		})
	})
}

// with opens the topics for what is done with letters.
func with(s *cli.Session, choice *operate.LetterChoice, do func(*cli.Topics) error) error {
	if err := choice.Check(); err != nil {
		return cli.AsUsage(err)
	}
	_, b, err := s.OpenTopics()
	if err != nil {
		return err
	}
	return do(b)
}
