package view

import (
	"context"
	"errors"
	"time"

	"forager/internal/classify/taxonomy"
	"forager/internal/crawl/crawlfile"
	"forager/internal/operate"
	"forager/schemas"
)

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

// Delete has how a crawl is deleted.
type Delete struct {
	Stop bool `query:"stop" doc:"Stop it first, if it has not finished."`
}

// Deletions go on when the one who asked has gone; each of their waits takes deleteWait at most, and who asks waits for answerWithin.
const deleteWait, answerWithin = time.Minute, 40 * time.Second

// Start starts a crawl by the text of its crawl file, which may name no file of this machine (crawlfile.Parse).
func (s *Source) Start(ctx context.Context, file []byte) (crawl string, err error) {
	c, err := crawlfile.Parse(file)
	if err != nil {
		return "", err
	}
	return c.Control.GetCrawl(), operate.Start(ctx, s.Topics, s.Store, c, false)
}

// Delete deletes a crawl; further calls meanwhile wait for the same. ended is false if it goes on.
func (s *Source) Delete(ctx context.Context, crawl string, seen uint64, x *Delete) (d *operate.Deletion, ended bool, err error) {
	job := context.WithoutCancel(ctx)
	deleted := s.deleting.DoChan(crawl, func() (any, error) {
		return operate.Deleter{Topics: s.Topics, Store: s.Store, DB: s.DB, Stop: x.Stop, Wait: deleteWait}.Delete(job, crawl, seen)
	})
	select {
	case r := <-deleted:
		d, _ = r.Val.(*operate.Deletion)
		return d, true, r.Err
	case <-time.After(answerWithin):
		return &operate.Deletion{Crawl: crawl}, false, nil
	}
}

// SetState returns what pauses or stops a crawl. It and the methods below change a crawl as the commands do. seen is the revision from which
// the change was derived, 0 = that in force. Errors wrap the reasons of package operate.
func (s *Source) SetState(state schemas.CrawlState) func(ctx context.Context, crawl string, seen uint64) error {
	return func(ctx context.Context, crawl string, seen uint64) error {
		_, err := s.Topics.SetState(ctx, crawl, seen, state)
		return err
	}
}

// Resume lets a crawl continue.
func (s *Source) Resume(ctx context.Context, crawl string, seen uint64, r *operate.Resumption) (err error) {
	r.Crawl = crawl
	if r.Seeds, err = canonical(r.Seeds); err == nil {
		_, _, err = s.Topics.Resume(ctx, s.Config, seen, *r)
	}
	return err
}

// Rank changes the rankers.
func (s *Source) Rank(ctx context.Context, crawl string, seen uint64, r *operate.Ranking) error {
	_, _, err := s.Topics.SwitchRanker(ctx, s.Store, crawl, seen, r.Apply)
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
