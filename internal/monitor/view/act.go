package view

import (
	"context"
	"errors"

	"forager/internal/classify/taxonomy"
	"forager/internal/crawl/crawlfile"
	"forager/internal/operate"
	"forager/schemas"
)

// Resume is what a crawl is given so that it continues.
type Resume struct {
	Pages       uint64   `json:"pages,omitempty" doc:"New budget of pages, in all; 0 = as before."`
	Requests    uint64   `json:"requests,omitempty" doc:"New budget of requests, in all; 0 = as before."`
	RetryFailed bool     `json:"retry_failed,omitempty" doc:"Try URLs again whose tries were used up."`
	Seeds       []string `json:"seeds,omitempty" maxItems:"1000" doc:"Further seeds."`
}

// Ranker is a change of rankers.
type Ranker struct {
	Ranker    string            `json:"ranker,omitempty" doc:"Or several with + between them: the arms of a mixture; empty = as before."`
	Guides    map[string]string `json:"guides,omitempty" doc:"Published guides, by ranker."`
	Shadows   []string          `json:"shadows,omitempty" doc:"Rankers for comparison only; empty = as before."`
	NoShadows bool              `json:"no_shadows,omitempty"`
}

// Focus is a change of the focus.
type Focus struct {
	Good    []string           `json:"good,omitempty" doc:"Topics that are focus topics from now on."`
	Bad     []string           `json:"bad,omitempty" doc:"Topics that do not count any more."`
	Weights map[string]float64 `json:"weights,omitempty" doc:"Weights of focus topics, above 0 and at most 1."`
}

// Critic is a change of critics.
type Critic struct {
	Critic    string   `json:"critic,omitempty" doc:"Name or version; empty = as before."`
	Shadows   []string `json:"shadows,omitempty" doc:"Critics for comparison only; empty = as before."`
	NoShadows bool     `json:"no_shadows,omitempty"`
}

// Seeds are URLs for a crawl to begin from, too.
type Seeds struct {
	URLs []string `json:"urls" minItems:"1" maxItems:"1000"`
}

// Mark is a verdict of a person on pages.
type Mark struct {
	URLs  []string `json:"urls" minItems:"1" maxItems:"100"`
	Right bool     `json:"right" doc:"They are on topic."`
	Topic string   `json:"topic,omitempty" doc:"What they are about; the crawl's one focus topic by default."`
}

// Model is a model to rank by.
type Model struct {
	Version string `json:"version" doc:"Empty = the newest, and those to come."`
}

// Settings are settings of a crawl file that a crawl is given.
type Settings struct {
	Set    []string `json:"set" minItems:"1" maxItems:"100" doc:"SETTING=VALUE with a setting of a crawl file and its value in YAML; += and -= add a word to a list and remove it."`
	DryRun bool     `json:"dry_run,omitempty" doc:"Show what would be changed or refused, change nothing."`
}

// Pause pauses a crawl. It and the methods below change a crawl as the commands do. seen is the revision from which the change was derived, 0 = that in
// force. Errors wrap the reasons of package operate.
func (s *Source) Pause(ctx context.Context, crawl string, seen uint64) error {
	_, err := s.Topics.SetState(ctx, crawl, seen, schemas.CrawlState_CRAWL_STATE_PAUSED)
	return err
}

// Stop ends a crawl; Resume lets it continue.
func (s *Source) Stop(ctx context.Context, crawl string, seen uint64) error {
	_, err := s.Topics.SetState(ctx, crawl, seen, schemas.CrawlState_CRAWL_STATE_STOPPED)
	return err
}

// Resume lets a crawl continue.
func (s *Source) Resume(ctx context.Context, crawl string, seen uint64, r *Resume) error {
	seeds, err := canonical(r.Seeds)
	if err != nil {
		return err
	}
	_, _, err = s.Topics.Resume(ctx, s.Config, seen, operate.Resumption{Crawl: crawl, Pages: r.Pages, Requests: r.Requests, RetryFailed: r.RetryFailed, Seeds: seeds})
	return err
}

// Rank changes the rankers.
func (s *Source) Rank(ctx context.Context, crawl string, seen uint64, r *Ranker) error {
	wanted := operate.Ranking{Ranker: r.Ranker, Guides: r.Guides, Shadows: r.Shadows, NoShadows: r.NoShadows}
	_, _, err := s.Topics.SwitchRanker(ctx, s.Store, crawl, seen, wanted.Apply)
	return err
}

// Change changes settings, or shows with DryRun what would be changed or refused.
func (s *Source) Change(ctx context.Context, crawl string, seen uint64, x *Settings) (*operate.Change, error) {
	c, err := s.Topics.Change(ctx, s.Store, crawl, seen, x.DryRun, func(inForce *schemas.CrawlControl) (*crawlfile.Changed, error) {
		return crawlfile.Set(inForce, x.Set)
	})
	if err == nil {
		operate.Explainer{Topics: s.Topics, Config: s.Config}.Preview(ctx, c)
	}
	return c, err
}

// Focus changes the focus.
func (s *Source) Focus(ctx context.Context, crawl string, seen uint64, f *Focus) error {
	_, _, err := s.Topics.Rejudge(ctx, s.Store, crawl, seen, operate.Refocus(taxonomy.Change{Good: f.Good, Bad: f.Bad, Weights: f.Weights}))
	return err
}

// Judge changes the critics.
func (s *Source) Judge(ctx context.Context, crawl string, seen uint64, c *Critic) error {
	_, _, err := s.Topics.Rejudge(ctx, s.Store, crawl, seen, operate.UseCritics(c.Critic, c.Shadows, c.NoShadows))
	return err
}

// Pin lets a crawl rank by a model.
func (s *Source) Pin(ctx context.Context, crawl string, seen uint64, m *Model) error {
	_, err := operate.PinModel(ctx, s.Topics, s.Store, crawl, seen, m.Version)
	return err
}

// Seed sends seeds to a crawl. They change no control record.
func (s *Source) Seed(ctx context.Context, crawl string, _ uint64, x *Seeds) error {
	seeds, err := canonical(x.URLs)
	if err == nil {
		_, err = s.Topics.AddSeeds(ctx, s.Config, crawl, seeds)
	}
	return err
}

// Mark keeps a verdict on pages for the next training of the crawl's critic. It changes no control record.
func (s *Source) Mark(ctx context.Context, crawl string, _ uint64, x *Mark) error {
	urls, err := canonical(x.URLs)
	if err != nil {
		return err
	}
	ctl, err := s.Topics.Control(crawl)
	if err != nil {
		return err
	}
	critic := schemas.ModelName(ctl.GetCritic())
	if critic == "" {
		return refused{errors.New("the crawl only fetches: no critic judges its pages")}
	}
	marks := operate.Marks{DB: s.DB, Store: s.Store, Critic: critic, Crawl: crawl, Focus: ctl.GetFocus()}
	m, err := marks.New(x.Right, false, x.Topic)
	if err == nil {
		_, err = marks.Add(Ask(ctx), urls, m)
	}
	return err
}

// refused is an error that the one who asked can mend.
type refused struct{ error }

func (r refused) Unwrap() []error { return []error{r.error, operate.ErrRefused} }

func canonical(raw []string) ([]string, error) {
	urls, err := operate.CanonicalSeeds(raw)
	if err != nil {
		return nil, refused{err}
	}
	return urls, nil
}
