package guide

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/models"
	"forager/internal/classify/httpmodel"
	"forager/internal/rank/guide"
	"forager/schemas"
)

type guidePredicate struct {
	File   string `arg:"" help:"Settings: where the service is, and how it is asked." type:"existingfile"`
	Name   string `required:"" help:"Name of the guide."`
	DryRun bool   `help:"Check the settings and ask the service about a page, publish nothing."`
}

func (c *guidePredicate) Help() string {
	return `The service is sent pages with their links by POST and answers with scores (internal/classify/httpmodel/doc.go has the
protocol); links without a score are fetched last, by the relevance of their pages:

  # links.yaml
  url: http://127.0.0.1:8089/rank
  send: [title, anchor, judgement]     # of url, title, description, language, text, anchor, judgement
  timeout: 10s
  batch: 16
  concurrent: 2
  breaker: {failures: 5, pause: 10s}
  token_env: LINKS_TOKEN               # bearer token, from critic-score's environment

  forager guide predicate links.yaml --name links

The crawl file then has "ranker: link-predicate" and "guides: {link-predicate: links}".`
}

func (c *guidePredicate) Run(s *cli.Session) error {
	p, err := models.SourceOf(c.Name, c.File, httpmodel.ParseLinks)
	if err != nil {
		return err
	}
	version := ""
	if !c.DryRun {
		if version, err = models.PublishGuide(s, c.Name, "", p.Marshal()); err != nil {
			return err
		}
	}
	answer := askAboutLinks(s, p)
	return s.Print(map[string]any{"version": version, "reads_urls": p.ReadsURLs(), "answer": answer}, func(w io.Writer) {
		fmt.Fprintf(w, "asked about the links of a page: %s\n", answer)
		models.PrintPublished(w, version)
	})
}

// askAboutLinks sends the links of a page to a service and describes the response.
func askAboutLinks(ctx context.Context, p *httpmodel.LinkPredicate) string {
	page := &schemas.Page{
		Url: "https://example.org/", Title: "Example", Language: "en",
		Terms: []string{"an", "example", "page"}, Tokens: []uint32{0, 1, 2}, LeafLengths: []uint32{1, 2},
		Links: []*schemas.Link{{Url: "https://example.org/a"}, {Url: "https://example.org/b", FirstLeaf: 1, LastLeaf: 1}},
	}
	begun := time.Now()
	g, err := p.Client(httpmodel.Options{Getenv: os.Getenv}).Guide(ctx, &guide.View{Page: page, Judgement: &schemas.Judgement{Raw: .5, Tempered: .5, Calibrated: .5}})
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("it answered %v in %s", g.GetScores(), time.Since(begun).Round(time.Millisecond))
}
