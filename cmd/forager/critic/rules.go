package critic

import (
	"fmt"
	"io"
	"strings"
	"time"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/models"
	"forager/internal/classify/pagerules"
	"forager/internal/platform/registry"
)

type criticRules struct {
	File   string `arg:"" help:"The rules." type:"existingfile"`
	Name   string `required:"" help:"Name of the critic."`
	DryRun bool   `help:"Check the rules, publish nothing."`
}

func (c *criticRules) Help() string {
	return `A rule is a topic, a colon and a condition; lines that begin with white space go on with the rule above:

  # chemistry.rules
  Other:             url matches "/(login|cart)" or not language has "en"
  Science/Chemistry: title has "chemistry", "chemical"
      or (text has "molecule" and text has "covalent bond", "ionic bond")

The first rule that holds decides: its topic has the probability 1, all others 0. Fields are title, description, url,
text and language. "has" looks for words, or several in a row; "matches" for a regular expression (RE2); several strings
mean any of them. Of the text there are the words, in lower case, with one space between two.

  forager critic rules chemistry.rules --name chemistry-rules`
}

func (c *criticRules) Run(s *cli.Session) error {
	rules, err := models.SourceOf(c.Name, c.File, pagerules.Parse)
	if err != nil {
		return err
	}
	version := ""
	if !c.DryRun {
		file := rules.Marshal()
		if version, err = models.PublishNew(s, registry.Critic(c.Name, file, nil, time.Now()), file); err != nil {
			return err
		}
	}
	return s.Print(map[string]any{"version": version, "rules": rules.Len(), "classes": rules.Classes(), "reads_urls": rules.ReadsURLs()}, func(w io.Writer) {
		fmt.Fprintf(w, "%d rules; classes %s\n", rules.Len(), strings.Join(rules.Classes(), ", "))
		models.PrintPublished(w, version)
	})
}
