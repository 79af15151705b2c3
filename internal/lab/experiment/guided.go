package experiment

import (
	"context"
	"fmt"
	"sync"

	"forager/internal/classify/critic"
	"forager/internal/rank/guide"
	"forager/internal/rank/pageguide"
	"forager/schemas"
)

// taughtGuide is a guide that all crawls of tasks with the same samples share, with the pages that it has read.
type taughtGuide struct {
	once  sync.Once
	guide guide.Guide
	err   error
	seen  sync.Map // pageguide.PageView by URL
}

// guideKey has all that a guide depends on.
type guideKey struct {
	ranker string
	sampleKey
}

// sampleKey has all that the training data of the guides of a task depend on.
type sampleKey struct {
	web           *Web
	critic        string // its pages are the training data
	model         *critic.Model
	focus         string
	labelsFromURL bool
}

func (g *Environment) sampleKey() sampleKey {
	return sampleKey{g.web, g.task.Critic, g.model, g.task.FocusClass, g.task.LabelsFromURL}
}

// release drops the guides of tasks with these samples, under any critic.
func (l sampleKey) release() {
	l.web.taught.Range(func(key, _ any) bool {
		of := key.(guideKey).sampleKey
		if of.model = l.model; of == l {
			l.web.taught.Delete(key)
		}
		return true
	})
}

// training makes the guide of a ranker for an environment.
type training func(context.Context, *Environment) (guide.Guide, error)

// guide trains the guide of a ranker, once for all tasks of the web that differ in their scope only. A training that ctx
// ended is begun again by the next call.
func (g *Environment) guide(ctx context.Context, name string, train training) (*taughtGuide, error) {
	key := guideKey{name, g.sampleKey()}
	held, _ := g.web.taught.LoadOrStore(key, new(taughtGuide))
	t := held.(*taughtGuide)
	t.once.Do(func() {
		if t.guide, t.err = train(ctx, g); t.err != nil {
			t.err = fmt.Errorf("train %s: %w", name, t.err)
		}
		if ctx.Err() != nil {
			g.web.taught.CompareAndDelete(key, t)
		}
	})
	return t, t.err
}

// walksPerPage bounds the training sequences: on a small web more of them repeat the same.
const walksPerPage = 20

// fromGraph trains a guide of a kind on the graph of the environment's samples.
func fromGraph(kind pageguide.Kind) training {
	return observing(kind, pageguide.ObserveAll)
}

// observing trains a MEMM on a subset of the observations (2008, Fig. 4).
func observing(kind pageguide.Kind, subset pageguide.Observations) training {
	return func(ctx context.Context, g *Environment) (guide.Guide, error) {
		l, err := learn(g)
		if err != nil {
			return nil, err
		}
		s := pageguide.Default()
		s.Path.Topic = g.task.FocusClass
		s.Path.Walks.Number = min(s.Path.Walks.Number, walksPerPage*len(l.Corpus))
		if subset != pageguide.ObserveAll {
			s.Path.Observe = subset
		}
		if g.task.LabelsFromURL {
			s.Path.Observe &^= pageguide.ReadURLs
		}
		guide, _, err := pageguide.Train(ctx, kind, l, s)
		return guide, err
	}
}

// along makes a guide of the model of memm-marginal: all MEMMs have the same training.
func along(by pageguide.Inference, order pageguide.Order) training {
	return func(ctx context.Context, g *Environment) (guide.Guide, error) {
		trained, err := g.guide(ctx, "memm-marginal", fromGraph(pageguide.MEMM))
		if err != nil {
			return nil, err
		}
		return trained.guide.(*pageguide.Guide).Along(by, order)
	}
}

// Guide implements guide.Guide; a page is read once for all crawls of the environment.
func (t *taughtGuide) Guide(ctx context.Context, v *guide.View) (*schemas.Guidance, error) {
	looks, ok := t.guide.(*pageguide.Guide)
	if !ok {
		return t.guide.Guide(ctx, v)
	}
	held, ok := t.seen.Load(v.Page.GetUrl())
	if !ok {
		s, err := looks.View(v.Page)
		if err != nil {
			return nil, err
		}
		held, _ = t.seen.LoadOrStore(v.Page.GetUrl(), s)
	}
	return held.(pageguide.PageView).Guide(v.State)
}

// ReadsURLs returns that of the guide.
func (t *taughtGuide) ReadsURLs() bool { return t.guide.ReadsURLs() }
