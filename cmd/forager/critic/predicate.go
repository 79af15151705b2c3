package critic

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/models"
	"forager/internal/classify/httpmodel"
	"forager/internal/operate"
	"forager/internal/platform/registry"
	"forager/schemas"
)

type criticPredicate struct {
	File   string `arg:"" help:"Settings: where the service is, and how it is asked." type:"existingfile"`
	Name   string `required:"" help:"Name of the critic."`
	DryRun bool   `help:"Check the settings and ask the service about a page, publish nothing."`
}

func (c *criticPredicate) Help() string {
	return `The service is sent pages by POST and answers with probabilities (internal/classify/httpmodel/doc.go has the protocol):

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

func (c *criticPredicate) Run(s *cli.Session) error {
	p, err := models.SourceOf(c.Name, c.File, func(file, source string) (*httpmodel.Predicate, error) { return httpmodel.Parse(file, source, "") })
	if err != nil {
		return err
	}
	version := ""
	if !c.DryRun {
		if p, version, err = publishPredicate(s, c.Name, p); err != nil {
			return err
		}
	}
	answer := askAbout(s, p)
	return s.Print(map[string]any{"version": version, "classes": p.Classes(), "fallback": p.Fallback(), "reads_urls": p.ReadsURLs(), "answer": answer}, func(w io.Writer) {
		fmt.Fprintf(w, "classes %s\n", strings.Join(p.Classes(), ", "))
		printFallback(w, p)
		fmt.Fprintf(w, "asked about a page: %s\n", answer)
		models.PrintPublished(w, version)
	})
}

// publishPredicate publishes a predicate with the version of its fallback.
func publishPredicate(s *cli.Session, name string, p *httpmodel.Predicate) (*httpmodel.Predicate, string, error) {
	if p.Settings().Fallback != "" {
		b, store, err := s.OpenStore()
		if err != nil {
			return nil, "", err
		}
		fallback, err := operate.SettleJudge(s, b, store, &schemas.CrawlControl{Focus: p.Settings().Topics}, p.Settings().Fallback)
		if err != nil {
			return nil, "", fmt.Errorf("fallback: %w", err)
		}
		if p, err = httpmodel.Parse(p.Name(), p.Source(), fallback); err != nil {
			return nil, "", err
		}
	}
	file := p.Marshal()
	version, err := models.PublishNew(s, registry.Critic(name, file, nil, time.Now()), file)
	return p, version, err
}

// askAbout sends a page to a service and describes the response.
func askAbout(ctx context.Context, p *httpmodel.Predicate) string {
	page := &schemas.Page{
		Url: "https://example.org/", Title: "Example", Language: "en", Terms: []string{"an", "example", "page"}, Tokens: []uint32{0, 1, 2}, LeafLengths: []uint32{3},
	}
	begun := time.Now()
	if err := p.Client(httpmodel.Options{Getenv: os.Getenv}).Ask(ctx, make([]float64, len(p.Classes())), page); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("it answered in %s", time.Since(begun).Round(time.Millisecond))
}

func printFallback(w io.Writer, p *httpmodel.Predicate) {
	switch {
	case p.Fallback() != "":
		fmt.Fprintf(w, "fallback %s\n", p.Fallback())
	case p.Settings().Fallback == "":
		fmt.Fprintf(w, "no fallback: when it fails pages wait for %s, then fail too\n", p.Settings().Patience)
	}
}
