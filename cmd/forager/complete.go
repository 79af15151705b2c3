package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"forager/cmd/forager/completion"
	"forager/internal/crawl/crawlfile"
)

type completionCommand struct {
	Shell string `arg:"" help:"bash, zsh or fish." enum:"bash,zsh,fish"`
}

func (c *completionCommand) Help() string {
	return `Prints what the shell has to read once to complete commands, flags and the names of crawls and models:

  source <(forager completion bash)
  source <(forager completion zsh)
  forager completion fish | source`
}

func (c *completionCommand) Run(s *session) error {
	script, err := completion.Script(c.Shell)
	if err != nil {
		return err
	}
	fmt.Fprint(s.out, script)
	return nil
}

// completeCommand is called by the shells.
type completeCommand struct {
	Words []string `arg:"" optional:"" passthrough:""`
}

func (c *completeCommand) Run(s *session, k *kong.Context) error {
	if len(c.Words) > 0 && c.Words[0] == "--" {
		c.Words = c.Words[1:]
	}
	fmt.Fprint(s.out, completion.Print(completion.Candidates(k.Model, c.Words, func(name string) []string {
		return s.values(c.Words, name)
	})))
	return nil
}

// values returns the possible values of the argument or flag of that name. What is not available within a
// second is omitted without an error, as the user is typing.
func (s *session) values(words []string, name string) []string {
	if name == "shadow" && slices.Contains(words, "ranker") {
		name = "ranker"
	}
	switch name {
	case "stage":
		return stageNames
	case "ranker":
		return slices.Concat(crawlfile.Rankers, crawlfile.Guides)
	case "outcome":
		return outcomeNames()
	case "crawl", "model", "critic", "shadow", "guide":
	default:
		return nil
	}
	quick := *s
	quick.within, quick.config = time.Second, configOf(words, s.config)
	_, b, err := quick.openBooks()
	if err != nil {
		return nil
	}
	defer b.close()
	switch name {
	case "crawl":
		return b.known()
	case "critic", "shadow":
		return b.criticNames()
	case "guide":
		return b.guideNames()
	}
	return b.versions()
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
