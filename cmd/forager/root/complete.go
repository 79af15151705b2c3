package root

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"forager/cmd/forager/completion"
	"forager/cmd/forager/data"
	"forager/cmd/internal/cli"
	"forager/internal/crawl/crawlfile"
)

// completeCommand is called by the shells.
type completeCommand struct {
	Words []string `arg:"" optional:"" passthrough:""`
}

func (c *completeCommand) Run(s *cli.Session, k *kong.Context) error {
	if len(c.Words) > 0 && c.Words[0] == "--" {
		c.Words = c.Words[1:]
	}
	fmt.Fprint(s.Stdout, completion.Print(completion.Candidates(k.Model, c.Words, func(name string) []string {
		return values(s, c.Words, name)
	})))
	return nil
}

// values returns the possible values of the argument or flag of that name. What is not available within a
// second is omitted without an error, as the user is typing.
func values(s *cli.Session, words []string, name string) []string {
	if name == "shadow" && slices.Contains(words, "ranker") {
		name = "ranker"
	}
	switch name {
	case "stage":
		return cli.StageNames
	case "ranker":
		return slices.Concat(crawlfile.Rankers, crawlfile.Guides)
	case "outcome":
		return data.OutcomeNames()
	case "crawl", "model", "critic", "shadow", "guide":
	default:
		return nil
	}
	quick := *s
	quick.Within, quick.Config = time.Second, configOf(words, s.Config)
	_, b, err := quick.OpenTopics()
	if err != nil {
		return nil
	}
	defer b.Close()
	switch name {
	case "crawl":
		return b.Known()
	case "critic", "shadow":
		return b.CriticNames()
	case "guide":
		return b.GuideNames()
	}
	return b.Versions()
}

// configOf returns the pipeline file that a command line names, or otherwise.
func configOf(words []string, otherwise string) string {
	for i, w := range words {
		if value, ok := strings.CutPrefix(w, "--config="); ok {
			return value
		}
		if (w == "--config" || w == "-c") && i+1 < len(words)-1 {
			return words[i+1]
		}
	}
	if env := os.Getenv("FORAGER_CONFIG"); env != "" {
		return env
	}
	return otherwise
}
