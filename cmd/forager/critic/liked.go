package critic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/models"
	"forager/internal/classify/pulearning"
	"forager/internal/crawl/crawlfile"
	"forager/internal/export"
	"forager/internal/operate"
	"forager/internal/page/dom"
	"forager/internal/platform/analytics"
	"forager/internal/platform/modelfile"
	"forager/internal/platform/registry"
	"forager/internal/platform/samples"
	"forager/schemas"
)

// Use sets the critic of a crawl from now on. The error is that of operate.Topics.Change.
func (p *LikedCritic) Use(s *cli.Session, crawl string, m *schemas.ModelPublished) error {
	_, err := p.Topics.Change(s, p.Store, crawl, 0, false, func(inForce *schemas.CrawlControl) (*crawlfile.Changed, error) {
		return crawlfile.Set(inForce, []string{"critic=" + m.GetVersion()})
	})
	return err
}

// LikedCritic trains critics of one name from pages that are on topic.
type LikedCritic struct {
	cli.Parts
	Name  string
	Topic string
}

// fromExamples is the key of a critic's provenance that names the object with its training pages (package samples).
const fromExamples = "examples"

// errNotLiked: a critic was made in another way.
var errNotLiked = errors.New("it was not learnt from likes")

// openLiked opens the newest critic of a name, with its training pages. For another kind of critic the error is errNotLiked.
func openLiked(ctx context.Context, parts cli.Parts, name string) (*LikedCritic, []samples.Sample, error) {
	m, err := parts.Topics.Critic(name)
	if err != nil {
		return nil, nil, err
	}
	data, err := registry.Fetch(ctx, parts.Store, m)
	if err != nil {
		return nil, nil, err
	}
	if modelfile.Kind(data) != pulearning.FileKind {
		return nil, nil, fmt.Errorf("critic %s: %w", m.GetVersion(), errNotLiked)
	}
	c, err := pulearning.Unmarshal(data)
	if err != nil {
		return nil, nil, fmt.Errorf("critic %s: %w", m.GetVersion(), err)
	}
	set, err := samples.Load(ctx, parts.Store, c.Provenance()[fromExamples])
	if err != nil {
		return nil, nil, err
	}
	return &LikedCritic{Parts: parts, Name: schemas.ModelName(name), Topic: c.Topic()}, set, nil
}

// Train trains on the samples and the marks, stores the training data and publishes the critic.
func (p *LikedCritic) Train(ctx context.Context, set []samples.Sample) (*schemas.ModelPublished, *pulearning.Report, error) {
	marks, err := samples.Marks(ctx, p.Store, p.Name)
	if err != nil {
		return nil, nil, err
	}
	draws, err := samples.Draws(ctx, p.Store, p.Name)
	if err != nil {
		return nil, nil, err
	}
	var e pulearning.Examples
	drawn := samples.Weights(marks, draws)
	for _, x := range samples.Apply(set, marks) {
		d := pulearning.Read(x.URL, x.Text)
		d.Drawn = drawn[x.URL]
		switch {
		case d.Words() == 0: // a page without text
		case x.Label == samples.Liked:
			e.Liked = append(e.Liked, d)
		case x.Label == samples.Wrong:
			e.Wrong = append(e.Wrong, d)
		default:
			e.Background = append(e.Background, d)
		}
	}
	key, err := samples.Save(ctx, p.Store, p.Name, set)
	if err != nil {
		return nil, nil, err
	}
	c, report, err := pulearning.Train(ctx, p.Topic, &e, map[string]string{fromExamples: key})
	if err != nil {
		return nil, nil, err
	}
	data := c.Marshal()
	m := registry.Critic(p.Name, data, map[string]float64{
		"liked": float64(report.Liked), "background": float64(report.Background), "wrong": float64(report.Wrong), "drawn": float64(report.Drawn),
		"prior": report.Prior, "prior_most": report.Most, "brier": report.Brier, "recall": report.Recall, "background_taken": report.Taken,
	}, time.Now())
	if err := models.Publish(ctx, p.Topics, p.Store, m, data); err != nil {
		return nil, nil, err
	}
	return m, report, nil
}

// mostOfCrawl is the largest number of pages of a crawl that are used as background.
const mostOfCrawl = 1000

// Retrain trains with a sample of the pages of a crawl as further background; without a crawl on the samples and the marks alone.
func (p *LikedCritic) Retrain(s *cli.Session, set []samples.Sample, crawl string) (*schemas.ModelPublished, *pulearning.Report, error) {
	if crawl == "" {
		return p.Train(s, set)
	}
	if err := operate.Loaded(s, p.Topics, time.Minute); err != nil {
		return nil, nil, err
	}
	known := make(map[string]bool)
	for _, x := range set {
		known[x.URL] = true
	}
	set = set[:len(set):len(set)]
	sel := analytics.Selection{Crawl: crawl, Outcome: schemas.OutcomeName(schemas.Outcome_OUTCOME_DELIVERED), Sample: mostOfCrawl}
	err := export.Each(s, p.DB, p.Store, sel, func(page export.Page) error {
		if !known[page.URL] {
			set = append(set, samples.Sample{URL: page.URL, Label: samples.Background, Text: dom.Text(page.Body, page.ContentType)})
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("pages of crawl %s: %w", crawl, err)
	}
	return p.Train(s, set)
}

// ShowLiked implements models show for a critic that was trained on likes.
func ShowLiked(s *cli.Session, version string, data []byte) error {
	c, err := pulearning.Unmarshal(data)
	if err != nil {
		return fmt.Errorf("model %s: %w", version, err)
	}
	on, off := c.StrongestWords(30)
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
	return s.Print(r, func(w io.Writer) {
		fmt.Fprintf(w, "%s, a critic learnt from pages on topic, %s\n%d pages, %d words; of the background some %.0f %% are on topic\n",
			version, cli.Size(uint64(r.Bytes)), r.Examples, r.Words, 100*r.Prior)
		for _, k := range slices.Sorted(maps.Keys(r.Provenance)) {
			fmt.Fprintf(w, "%s: %s\n", k, r.Provenance[k])
		}
		fmt.Fprintf(w, "words for %s:  %s\nwords against it:  %s\n", c.Topic(), strings.Join(on, " "), strings.Join(off, " "))
	})
}
