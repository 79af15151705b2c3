package experiment

import (
	"fmt"
	"sync"

	"forager/internal/frontier"
	"forager/internal/guide"
	"forager/internal/localguide"
	"forager/internal/rank"
	"forager/schemas"
)

// guides are the rankers that learn from lessons before a crawl, by name, with the kind of their guide.
var guides = map[string]localguide.Kind{
	"context-graph": localguide.ContextGraph, "focused-2000": localguide.Focused2000, "best-first-cosine": localguide.BestFirst,
	marginal: localguide.MEMM, "memm-viterbi": localguide.MEMM, "memm-states": localguide.MEMM,
	"memm-marginal-words": localguide.MEMM, "memm-marginal-rest": localguide.MEMM,
}

// subsets of the observations, by ranker (2008, Fig. 4).
var subsets = map[string]localguide.Observations{
	"memm-marginal-words": localguide.ObserveWords, "memm-marginal-rest": localguide.ObserveAll &^ localguide.ObserveWords,
}

// marginal is the ranker whose guide the others of MEMMs are made of: they are trained alike.
const marginal = "memm-marginal"

// walksPerPage bounds the training sequences: of a small web more say nothing new.
const walksPerPage = 20

// taughtGuide is a guide that all crawls of a ground share, with what it saw on pages.
type taughtGuide struct {
	once  sync.Once
	guide *localguide.Guide
	err   error
	seen  sync.Map // localguide.Sight by URL
}

// guide trains one of guides, once.
func (g *Ground) guide(name string) (*taughtGuide, error) {
	held, _ := g.trained.LoadOrStore(name, new(taughtGuide))
	t := held.(*taughtGuide)
	t.once.Do(func() {
		if t.guide, t.err = g.trainGuide(name); t.err != nil {
			t.err = fmt.Errorf("train %s: %w", name, t.err)
		}
	})
	return t, t.err
}

func (g *Ground) trainGuide(name string) (*localguide.Guide, error) {
	if kind := guides[name]; kind == localguide.MEMM && name != marginal && subsets[name] == 0 {
		trained, err := g.guide(marginal)
		if err != nil {
			return nil, err
		}
		if name == "memm-viterbi" {
			return trained.guide.Along(localguide.Viterbi, localguide.ByDiscount)
		}
		return trained.guide.Along(localguide.Marginal, localguide.ByStates)
	}
	l, err := g.learn()
	if err != nil {
		return nil, err
	}
	s := localguide.Default()
	s.Path.Topic = g.task.FocusClass
	s.Path.Walks.Number = min(s.Path.Walks.Number, walksPerPage*len(l.Corpus))
	if some := subsets[name]; some != 0 {
		s.Path.Observe = some
	}
	if g.task.LabelsFromURL {
		s.Path.Observe &^= localguide.ReadURLs
	}
	guide, _, err := localguide.Train(guides[name], l, s)
	return guide, err
}

// guidance is what a guide says of a page that was come to by a path.
func (t *taughtGuide) guidance(p *schemas.Page, state []byte) (*schemas.Guidance, error) {
	held, ok := t.seen.Load(p.GetUrl())
	if !ok {
		s, err := t.guide.See(p)
		if err != nil {
			return nil, err
		}
		held, _ = t.seen.LoadOrStore(p.GetUrl(), s)
	}
	return held.(localguide.Sight).Guide(state)
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
	said, err := r.guidance(page, r.best[u].state)
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
