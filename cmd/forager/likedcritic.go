package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"forager/internal/classify/positive"
	"forager/internal/export"
	"forager/internal/page/dom"
	"forager/internal/platform/analytics"
	"forager/internal/platform/modelfile"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/platform/registry"
	"forager/internal/platform/samples"
	"forager/schemas"
)

// likedCritic trains critics of one name from pages that are on topic.
type likedCritic struct {
	cfg   *pipeline.Config
	b     *books
	store *objects.Store
	name  string
	topic string
}

// fromExamples is the key of a critic's provenance that names the object with its training pages (package samples).
const fromExamples = "examples"

// errNotLiked: a critic was made in another way.
var errNotLiked = errors.New("it was not learnt from likes")

// openLiked opens the newest critic of a name, with its training pages. For another kind of critic the error is errNotLiked.
func openLiked(ctx context.Context, cfg *pipeline.Config, b *books, store *objects.Store, name string) (*likedCritic, []samples.Sample, error) {
	m, err := b.critic(name)
	if err != nil {
		return nil, nil, err
	}
	data, err := registry.Fetch(ctx, store, m)
	if err != nil {
		return nil, nil, err
	}
	if modelfile.Kind(data) != positive.FileKind {
		return nil, nil, fmt.Errorf("critic %s: %w", m.GetVersion(), errNotLiked)
	}
	c, err := positive.Unmarshal(data)
	if err != nil {
		return nil, nil, fmt.Errorf("critic %s: %w", m.GetVersion(), err)
	}
	set, err := samples.Load(ctx, store, c.Provenance()[fromExamples])
	if err != nil {
		return nil, nil, err
	}
	return &likedCritic{cfg: cfg, b: b, store: store, name: schemas.ModelName(name), topic: c.Topic()}, set, nil
}

// train trains on the samples and the marks, stores the training data and publishes the critic.
func (p *likedCritic) train(ctx context.Context, set []samples.Sample) (*schemas.ModelPublished, *positive.Report, error) {
	marks, err := samples.Marks(ctx, p.store, p.name)
	if err != nil {
		return nil, nil, err
	}
	var e positive.Examples
	all := samples.Apply(set, marks)
	for _, x := range all {
		d := positive.Read(x.URL, x.Text)
		switch {
		case d.Words() == 0: // a page without text
		case x.Said == samples.Liked:
			e.Liked = append(e.Liked, d)
		case x.Said == samples.Wrong:
			e.Wrong = append(e.Wrong, d)
		default:
			e.Background = append(e.Background, d)
		}
	}
	key, err := samples.Save(ctx, p.store, p.name, set)
	if err != nil {
		return nil, nil, err
	}
	c, report, err := positive.Train(ctx, p.topic, &e, map[string]string{fromExamples: key})
	if err != nil {
		return nil, nil, err
	}
	data := c.Marshal()
	m := registry.Critic(p.name, data, map[string]float64{
		"liked": float64(report.Liked), "background": float64(report.Background), "wrong": float64(report.Wrong),
		"prior": report.Prior, "brier": report.Brier, "recall": report.Recall, "background_taken": report.Taken,
	}, time.Now())
	if err := p.b.publish(ctx, p.store, m, data); err != nil {
		return nil, nil, err
	}
	return m, report, nil
}

// met is the largest number of pages of a crawl that are used as background.
const met = 1000

// retrain trains with a sample of the pages of a crawl as further background; without a crawl on the samples and the marks alone.
func (p *likedCritic) retrain(s *session, set []samples.Sample, crawl string) (*schemas.ModelPublished, *positive.Report, error) {
	if crawl == "" {
		return p.train(s, set)
	}
	if err := p.b.loaded(s, time.Minute); err != nil {
		return nil, nil, err
	}
	db, err := analytics.Open(p.cfg.ClickHouse)
	if err != nil {
		return nil, nil, err
	}
	defer db.Close()
	known := make(map[string]bool)
	for _, x := range set {
		known[x.URL] = true
	}
	set = set[:len(set):len(set)]
	sel := export.Selection{Crawl: crawl, Outcome: schemas.OutcomeName(schemas.Outcome_OUTCOME_DELIVERED), Sample: met}
	err = export.Each(s, db, p.store, sel, func(page export.Page) error {
		if !known[page.URL] {
			set = append(set, samples.Sample{URL: page.URL, Said: samples.Background, Text: dom.Text(page.Body, page.ContentType)})
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("pages of crawl %s: %w", crawl, err)
	}
	return p.train(s, set)
}

// showLiked implements models show for a critic that was trained on likes.
func showLiked(s *session, version string, data []byte) error {
	c, err := positive.Unmarshal(data)
	if err != nil {
		return fmt.Errorf("model %s: %w", version, err)
	}
	on, off := c.Telling(30)
	r := struct {
		Version    string            `json:"version"`
		Kind       string            `json:"kind"`
		Bytes      int               `json:"bytes"`
		Words      int               `json:"words"`
		Examples   int               `json:"examples"`
		Prior      float64           `json:"prior"`
		Provenance map[string]string `json:"provenance"`
		Classes    []string          `json:"classes"`
		For        []string          `json:"for"`
		Against    []string          `json:"against"`
	}{version, "critic", len(data), c.Words(), c.HeldOut(), c.Prior(), c.Provenance(), c.Classes(), on, off}
	return s.print(r, func(w io.Writer) {
		fmt.Fprintf(w, "%s, a critic learnt from pages on topic, %s\n%d pages, %d words; of the background some %.0f %% are on topic\n",
			version, size(uint64(r.Bytes)), r.Examples, r.Words, 100*r.Prior)
		for _, k := range slices.Sorted(maps.Keys(r.Provenance)) {
			fmt.Fprintf(w, "%s: %s\n", k, r.Provenance[k])
		}
		fmt.Fprintf(w, "speaks for %s:  %s\nspeaks against it:  %s\n", c.Topic(), strings.Join(on, " "), strings.Join(off, " "))
	})
}
