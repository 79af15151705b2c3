package experiment

import (
	"context"
	"math"

	"forager/internal/frontier"
	"forager/internal/lab/comparators/intelligentcrawler"
	"forager/internal/lab/comparators/qlearning"
	"forager/internal/lab/comparators/sharksearch"
	"forager/internal/lab/comparators/tagbandit"
	"forager/internal/rank/guide"
	"forager/schemas"
)

// interest ranks by interest ratios (Aggarwal, Al-Garawi & Yu 2001).
func interest(_ context.Context, r *Run, p preparation) error {
	words := make(map[string][]uint32)
	r.Read = append(r.Read, func(rec *schemas.LinkFound, page *schemas.Page) (err error) {
		words[rec.GetUrl()], err = intelligentcrawler.Words(page)
		return err
	})
	p.learn(r, func() frontier.Learner {
		return intelligentcrawler.New(!r.Environment.task.LabelsFromURL, func(url string) []uint32 { return words[url] })
	})
	return nil
}

// unknownInFlight is the number of requests in flight that a bandit expects if the window is found by trying.
const unknownInFlight = 32

// bandit ranks by a bandit over groups of links with similar tag paths (Gauquier, Manolescu & Senellart 2025).
func bandit(_ context.Context, r *Run, p preparation) error {
	paths := make(map[string]map[string][]uint32)
	r.Read = append(r.Read, func(rec *schemas.LinkFound, page *schemas.Page) error {
		of := make(map[string][]uint32)
		for _, l := range page.GetLinks() {
			of[l.GetUrl()] = l.GetTagPath()
		}
		paths[rec.GetUrl()] = of
		return nil
	})
	p.learn(r, func() frontier.Learner {
		inFlight := int(r.control().GetWindow())
		if inFlight == 0 {
			inFlight = unknownInFlight
		}
		return tagbandit.New(r.RandomSeed, inFlight, func(url string) map[string][]uint32 { return paths[url] })
	})
	return nil
}

// queried makes a guide of a query of the words with the largest weights for the task's focus.
func queried[G guide.Guide](of func(*sharksearch.Query) G) training {
	return func(_ context.Context, g *Environment) (guide.Guide, error) {
		q, err := sharksearch.NewQuery(g.model, []string{g.task.FocusClass})
		if err != nil {
			return nil, err
		}
		return of(q), nil
	}
}

// worth is trained on the values of links in the samples.
func worth(_ context.Context, g *Environment) (guide.Guide, error) {
	l, err := g.samples()
	if err != nil {
		return nil, err
	}
	s := qlearning.Default
	s.Words = g.model.Cut()
	values, training := qlearning.Values(l.children(), l.targets, s.Gamma), qlearning.NewTraining(s)
	for i, p := range l.pages {
		if len(l.links[i]) == 0 {
			continue // or it asks not to follow its links
		}
		parsed, err := p.parsed()
		if err != nil {
			return nil, err
		}
		sample := qlearning.Sample{Page: parsed}
		for _, to := range l.links[i] {
			q := math.NaN()
			if to >= 0 {
				q = values[to]
			}
			sample.Q = append(sample.Q, q)
		}
		if err := training.Add(sample); err != nil {
			return nil, err
		}
	}
	return training.Model()
}
