package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"forager/internal/classify/pagerules"
	"forager/internal/classify/predicate"
	"forager/internal/platform/registry"
	"forager/schemas"
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

func (c *criticRules) Run(s *session) error {
	rules, err := sourceOf(c.Name, c.File, pagerules.Parse)
	if err != nil {
		return err
	}
	version := ""
	if !c.DryRun {
		file := rules.Marshal()
		if version, err = s.publish(registry.Critic(c.Name, file, nil, time.Now()), file); err != nil {
			return err
		}
	}
	return s.print(map[string]any{"version": version, "rules": rules.Len(), "classes": rules.Classes(), "reads_urls": rules.ReadsURLs()}, func(w io.Writer) {
		fmt.Fprintf(w, "%d rules; classes %s\n", rules.Len(), strings.Join(rules.Classes(), ", "))
		printPublished(w, version)
	})
}

type criticPredicate struct {
	File   string `arg:"" help:"Settings: where the service is, and how it is asked." type:"existingfile"`
	Name   string `required:"" help:"Name of the critic."`
	DryRun bool   `help:"Check the settings and ask the service about a page, publish nothing."`
}

func (c *criticPredicate) Help() string {
	return `The service is sent pages by POST and answers with probabilities (internal/classify/predicate/doc.go has the protocol):

  # llm.yaml
  url: http://127.0.0.1:8089/judge
  topics: [Science/Chemistry]     # what it has probabilities of; the rest is Other
  send: [title, text]             # of url, title, description, language, text
  timeout: 10s
  fallback: schools               # judges what the service does not; without one pages wait, for
  patience: 1m                    # so long, and then fail
  batch: 16
  concurrent: 2
  breaker: {failures: 5, pause: 10s}
  token_env: LLM_TOKEN            # bearer token, from critic-score's environment

  forager critic predicate llm.yaml --name llm`
}

func (c *criticPredicate) Run(s *session) error {
	p, err := sourceOf(c.Name, c.File, func(file, source string) (*predicate.Predicate, error) { return predicate.Parse(file, source, "") })
	if err != nil {
		return err
	}
	version := ""
	if !c.DryRun {
		if p, version, err = s.publishPredicate(c.Name, p); err != nil {
			return err
		}
	}
	answer := askAbout(s, p)
	return s.print(map[string]any{"version": version, "classes": p.Classes(), "fallback": p.Fallback(), "reads_urls": p.ReadsURLs(), "answer": answer}, func(w io.Writer) {
		fmt.Fprintf(w, "classes %s\n", strings.Join(p.Classes(), ", "))
		printFallback(w, p)
		fmt.Fprintf(w, "asked about a page: %s\n", answer)
		printPublished(w, version)
	})
}

// publishPredicate publishes a predicate with the version of its fallback.
func (s *session) publishPredicate(name string, p *predicate.Predicate) (*predicate.Predicate, string, error) {
	if p.Settings().Fallback != "" {
		b, store, err := s.openStore()
		if err != nil {
			return nil, "", err
		}
		defer b.close()
		fallback, err := b.settleJudge(s, store, &schemas.CrawlControl{Focus: p.Settings().Topics}, p.Settings().Fallback)
		if err != nil {
			return nil, "", fmt.Errorf("fallback: %w", err)
		}
		if p, err = predicate.Parse(p.Name(), p.Source(), fallback); err != nil {
			return nil, "", err
		}
	}
	file := p.Marshal()
	version, err := s.publish(registry.Critic(name, file, nil, time.Now()), file)
	return p, version, err
}

// askAbout sends a page to a service and describes the response.
func askAbout(ctx context.Context, p *predicate.Predicate) string {
	page := &schemas.Page{
		Url: "https://example.org/", Title: "Example", Language: "en", Terms: []string{"an", "example", "page"}, Tokens: []uint32{0, 1, 2}, LeafLengths: []uint32{3},
	}
	begun := time.Now()
	if err := p.Client(predicate.Options{Getenv: os.Getenv}).Ask(ctx, make([]float64, len(p.Classes())), page); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("it answered in %s", time.Since(begun).Round(time.Millisecond))
}

func printFallback(w io.Writer, p *predicate.Predicate) {
	switch {
	case p.Fallback() != "":
		fmt.Fprintf(w, "fallback %s\n", p.Fallback())
	case p.Settings().Fallback == "":
		fmt.Fprintf(w, "no fallback: when it fails pages wait for %s, then fail too\n", p.Settings().Patience)
	}
}

func printPublished(w io.Writer, version string) {
	if version != "" {
		fmt.Fprintf(w, "published %s\n", version)
	}
}
