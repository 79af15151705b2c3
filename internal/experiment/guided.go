package experiment

import (
	"context"
	"fmt"
	"sync"

	"forager/internal/frontier"
	"forager/internal/guide"
	"forager/internal/localguide"
	"forager/internal/rank"
	"forager/schemas"
)

// taughtGuide is a guide that all crawls of a ground share, with what it saw on pages.
type taughtGuide struct {
	once  sync.Once
	guide guide.Guide
	err   error
	seen  sync.Map // localguide.Sight by URL
}

// guide trains the guide of a ranker, once.
func (g *Ground) guide(name string, train func(*Ground) (guide.Guide, error)) (*taughtGuide, error) {
	held, _ := g.trained.LoadOrStore(name, new(taughtGuide))
	t := held.(*taughtGuide)
	t.once.Do(func() {
		if t.guide, t.err = train(g); t.err != nil {
			t.err = fmt.Errorf("train %s: %w", name, t.err)
		}
	})
	return t, t.err
}

// walksPerPage bounds the training sequences: of a small web more say nothing new.
const walksPerPage = 20

// fromGraph trains a guide of a kind on the graph of the ground's lessons.
func fromGraph(kind localguide.Kind) func(*Ground) (guide.Guide, error) {
	return observing(kind, localguide.ObserveAll)
}

// observing trains it on a subset of the observations of a MEMM (2008, Fig. 4).
func observing(kind localguide.Kind, subset localguide.Observations) func(*Ground) (guide.Guide, error) {
	return func(g *Ground) (guide.Guide, error) {
		l, err := g.learn()
		if err != nil {
			return nil, err
		}
		s := localguide.Default()
		s.Path.Topic = g.task.FocusClass
		s.Path.Walks.Number = min(s.Path.Walks.Number, walksPerPage*len(l.Corpus))
		if subset != localguide.ObserveAll {
			s.Path.Observe = subset
		}
		if g.task.LabelsFromURL {
			s.Path.Observe &^= localguide.ReadURLs
		}
		guide, _, err := localguide.Train(kind, l, s)
		return guide, err
	}
}

// along makes a guide of the model of memm-marginal: all of MEMMs are trained alike.
func along(by localguide.Inference, order localguide.Order) func(*Ground) (guide.Guide, error) {
	return func(g *Ground) (guide.Guide, error) {
		trained, err := g.guide("memm-marginal", fromGraph(localguide.MEMM))
		if err != nil {
			return nil, err
		}
		return trained.guide.(*localguide.Guide).Along(by, order)
	}
}

// guidance is what a guide says of a page that was come to by a path.
func (t *taughtGuide) guidance(v *guide.View) (*schemas.Guidance, error) {
	looks, ok := t.guide.(*localguide.Guide)
	if !ok {
		return t.guide.Guide(context.Background(), v)
	}
	held, ok := t.seen.Load(v.Page.GetUrl())
	if !ok {
		s, err := looks.See(v.Page)
		if err != nil {
			return nil, err
		}
		held, _ = t.seen.LoadOrStore(v.Page.GetUrl(), s)
	}
	return held.(localguide.Sight).Guide(v.State)
}

// guided ranks the links of one crawl by a guide.
type guided struct {
	*taughtGuide
	ground *Ground
	// best is the link of the highest score that leads to a page, so far; links are what the guide said of the links of
	// the pages fetched, by their targets.
	best  map[string]led
	links map[string]map[string]led
	err   error
}

// led is a link with the state of the path over it.
type led struct {
	score float64
	state []byte
}

func newGuided(g *Ground, t *taughtGuide) *guided {
	return &guided{taughtGuide: t, ground: g, best: make(map[string]led), links: make(map[string]map[string]led)}
}

func (r *guided) Score(v string, s *rank.Source) float64 {
	if s.Seed {
		return seedScore
	}
	links, ok := r.links[s.URL]
	if !ok {
		links = r.ask(s.URL)
		r.links[s.URL] = links
	}
	v = r.ground.resolve(v)
	l := links[v]
	if old, ok := r.best[v]; !ok || l.score > old.score {
		r.best[v] = l
	}
	return l.score
}

// ask is called when the first link of a page is scored, which is when the page was fetched: its path is that
// of the best link known then.
func (r *guided) ask(u string) map[string]led {
	links := make(map[string]led)
	page := r.ground.web.pages[u].parsed
	said, err := r.guidance(&guide.View{Page: page, Judgement: r.ground.verdicts[u].GetJudgement(), State: r.best[u].state})
	if err != nil {
		r.err = err
		return links
	}
	for i, l := range page.GetLinks() {
		v := r.ground.resolve(l.GetUrl())
		score, _ := guide.Score(said, i)
		if old, ok := links[v]; !ok || score > old.score {
			links[v] = led{score, guide.State(said, i)}
		}
	}
	return links
}

// observe ends a crawl whose guide failed.
func (r *guided) observe(*frontier.Shard, string) error { return r.err }
