package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"forager/internal/classify/judges"
	"forager/internal/classify/predicate"
	"forager/internal/crawl/crawlfile"
	"forager/internal/platform/modelfile"
	"forager/internal/platform/objects"
	"forager/internal/platform/registry"
	"forager/internal/rank/guide"
	"forager/internal/rank/guides"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

type guidePublish struct {
	File   string `arg:"" help:"The guide's file." type:"existingfile"`
	Name   string `required:"" help:"Name of the guide."`
	Critic string `help:"The critic, a name or a version, that it was made for: crawls by others refuse it."`
}

func (c *guidePublish) Help() string {
	return `A crawl file names the guide for its ranker (guides: {context-graph: layers}); a running crawl takes it by

  forager crawl ranker chemistry context-graph --guide context-graph=layers`
}

func (c *guidePublish) Run(s *session) error {
	if err := checkModelName("--name", c.Name); err != nil {
		return err
	}
	data, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	by, err := guides.Open(data, predicate.Options{})
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	version, err := s.publishGuide(c.Name, c.Critic, data)
	if err != nil {
		return err
	}
	return s.print(map[string]any{"version": version, "ranker": guides.Ranker(by), "reads_urls": by.ReadsURLs()}, func(w io.Writer) {
		fmt.Fprintf(w, "a guide of the ranker %s\n", guides.Ranker(by))
		printPublished(w, version)
	})
}

type guidePredicate struct {
	File   string `arg:"" help:"Settings: where the service is, and how it is asked." type:"existingfile"`
	Name   string `required:"" help:"Name of the guide."`
	DryRun bool   `help:"Check the settings and ask the service about a page, publish nothing."`
}

func (c *guidePredicate) Help() string {
	return `The service is sent pages with their links by POST and answers with scores (internal/classify/predicate/doc.go has the
protocol); links that it says nothing of are fetched last, by the relevance of their pages:

  # links.yaml
  url: http://127.0.0.1:8089/rank
  send: [title, anchor, judgement]     # of url, title, description, language, text, anchor, judgement
  timeout: 10s
  batch: 16
  concurrent: 2
  breaker: {failures: 5, pause: 10s}
  token_env: LINKS_TOKEN               # bearer token, from critic-score's environment

  forager guide predicate links.yaml --name links

A crawl file then says "ranker: link-predicate" and "guides: {link-predicate: links}".`
}

func (c *guidePredicate) Run(s *session) error {
	p, err := sourceOf(c.Name, c.File, predicate.ParseLinks)
	if err != nil {
		return err
	}
	version := ""
	if !c.DryRun {
		if version, err = s.publishGuide(c.Name, "", p.Marshal()); err != nil {
			return err
		}
	}
	answer := askAboutLinks(s, p)
	return s.print(map[string]any{"version": version, "reads_urls": p.ReadsURLs(), "answer": answer}, func(w io.Writer) {
		fmt.Fprintf(w, "asked about the links of a page: %s\n", answer)
		printPublished(w, version)
	})
}

// askAboutLinks sends the links of a page to a service and describes the response.
func askAboutLinks(ctx context.Context, p *predicate.LinkPredicate) string {
	page := &schemas.Page{
		Url: "https://example.org/", Title: "Example", Language: "en",
		Terms: []string{"an", "example", "page"}, Tokens: []uint32{0, 1, 2}, LeafLengths: []uint32{1, 2},
		Links: []*schemas.Link{{Url: "https://example.org/a"}, {Url: "https://example.org/b", FirstLeaf: 1, LastLeaf: 1}},
	}
	begun := time.Now()
	g, err := p.Client(predicate.Options{Getenv: os.Getenv}).Guide(ctx, &guide.View{Page: page, Judgement: &schemas.Judgement{Raw: .5, Tempered: .5, Calibrated: .5}})
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("it answered %v in %s", g.GetScores(), time.Since(begun).Round(time.Millisecond))
}

// publishGuide publishes a guide's file, made for one critic or for any, and returns its version.
func (s *session) publishGuide(name, critic string, data []byte) (version string, err error) {
	b, store, err := s.openStore()
	if err != nil {
		return "", err
	}
	defer b.close()
	if critic != "" {
		if _, critic, err = b.openCritic(s, store, critic); err != nil {
			return "", err
		}
	}
	m := registry.Guide(name, critic, data, time.Now())
	return m.GetVersion(), b.publish(s, store, m, data)
}

// settleGuides puts the versions of named guides into the policies and shadows of a control record, after
// checking that they exist and fit.
func (b *books) settleGuides(ctx context.Context, store *objects.Store, ctl *schemas.CrawlControl) error {
	for _, p := range schemas.Orders(ctl) {
		if p.GetRanker() != schemas.Ranker_RANKER_GUIDE {
			continue
		}
		by, version, err := b.openGuide(ctx, store, p.GetGuide())
		if err != nil {
			return fmt.Errorf("ranker %s: %w", p.GetName(), err)
		}
		if is := guides.Ranker(by); is != p.GetName() && slices.Contains(crawlfile.Guides, p.GetName()) {
			return fmt.Errorf("ranker %s: guide %s is %s", p.GetName(), version, is)
		}
		if critic := b.published(version).GetCritic(); critic != "" && critic != ctl.GetCritic() {
			return fmt.Errorf("ranker %s: guide %s was made for the critic %s, and the crawl is judged by %s", p.GetName(), version, critic, ctl.GetCritic())
		}
		p.Guide = version
	}
	return b.settleBacklinks(ctx, store, ctl)
}

// openGuide opens a guide by its name or version, as openCritic does.
func (b *books) openGuide(ctx context.Context, store *objects.Store, name string) (by guide.Guide, version string, err error) {
	m, unknown := b.guide(name)
	data, version, err := fetchNamed(ctx, store, "guide", name, m, unknown)
	if err != nil {
		return nil, "", err
	}
	if by, err = guides.Open(data, predicate.Options{}); err != nil {
		return nil, "", fmt.Errorf("guide %s: %w", version, err)
	}
	return by, version, nil
}

// readNoURLs names the critic, guide or features of a crawl that read URLs, if its evaluation labels follow from URLs.
func (b *books) readNoURLs(ctx context.Context, store *objects.Store, ctl *schemas.CrawlControl) error {
	if !ctl.GetLabelsFromUrls() {
		return nil
	}
	const both = "labels_from_urls: %s %s reads URLs, from which the labels follow: what it finds would say nothing"
	if ctl.GetCritic() != "" {
		if by, version, err := b.openCritic(ctx, store, ctl.GetCritic()); err != nil {
			return err
		} else if judges.ReadsURLs(by) {
			return fmt.Errorf(both, "critic", version)
		}
	}
	for _, version := range schemas.Guides(ctl) {
		if by, _, err := b.openGuide(ctx, store, version); err != nil {
			return err
		} else if by.ReadsURLs() {
			return fmt.Errorf(both, "guide", version)
		}
	}
	families, err := linkfeature.FamiliesOf(ctl.GetLearning().GetFeatures())
	if err == nil && families.ReadsURLs() && schemas.Learns(ctl) {
		err = fmt.Errorf(both, "an apprentice by the features", families)
	}
	return err
}

// showGuide implements models show for a guide.
func showGuide(s *session, version string, data []byte) error {
	by, err := guides.Open(data, predicate.Options{})
	if err != nil {
		return fmt.Errorf("model %s: %w", version, err)
	}
	r := struct {
		Version    string            `json:"version"`
		Kind       string            `json:"kind"`
		Ranker     string            `json:"ranker"`
		Bytes      int               `json:"bytes"`
		ReadsURLs  bool              `json:"reads_urls"`
		Provenance map[string]string `json:"provenance,omitempty"`
		Source     string            `json:"source,omitempty"`
	}{Version: version, Kind: "guide", Ranker: guides.Ranker(by), Bytes: len(data), ReadsURLs: by.ReadsURLs()}
	if made, ok := by.(interface{ Source() string }); ok {
		r.Source = made.Source()
	}
	if from, ok := by.(interface{ Provenance() map[string]string }); ok {
		r.Provenance = from.Provenance()
	}
	return s.print(r, func(w io.Writer) {
		fmt.Fprintf(w, "%s, a guide (%s, a file of kind %s), %s\n", version, r.Ranker, modelfile.Kind(data), size(uint64(r.Bytes)))
		for _, k := range slices.Sorted(maps.Keys(r.Provenance)) {
			fmt.Fprintf(w, "%s: %s\n", k, r.Provenance[k])
		}
		if r.Source != "" {
			fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(r.Source))
		}
	})
}
