package linkvalue

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"slices"
)

// Format changes with stored, and with what is learned from a record.
const Format = 3

// stored is a Ranker. Its pages, URLs and what is behind pages refer to one another by positions.
type stored struct {
	Format             int
	Known, Pages, Next uint64
	Cut                float64
	Held               int
	Young, Old         generation
	URLs               bool
	YoungParts         map[uint64]tally
	OldParts           map[uint64]tally
	Odds, TopicOdds    []float64
	Oldest             int // of both
	Prior              [4]float64
	Value, Behind      vector
	Fetched, Reward    float64
	Behinds            []behind
	Examples           []vector
	ExampleR           []float64
	ExampleBehind      []int
	OldestExample      int
	Sources            []storedSource
	Targets            []storedTarget
}

type storedSource struct {
	URL                               uint64
	Relevance, Odds, TopicOdds        float64
	Rank, TopicRank, Inherited, Prior float64
	Sum                               float64
	Outcomes                          []outcome
	Behind                            int
	Waiting                           []int // Targets
}

type storedTarget struct {
	URL       string
	Number    uint64
	Published float64
	Edges     []storedEdge
}

type storedEdge struct {
	From, Index int
	Anchor      float64
}

// positions number what is referred to.
type positions[T comparable] map[T]int

func (p positions[T]) of(x T) int {
	if _, ok := p[x]; !ok {
		p[x] = len(p)
	}
	return p[x]
}

// MarshalBinary returns what was learned, about as many bytes as it takes in memory.
func (r *Ranker) MarshalBinary() ([]byte, error) {
	x := stored{
		Format: Format, Known: r.known, Pages: r.pages, Next: r.next, Cut: r.cut, Held: r.held, Young: r.past.young, Old: r.past.old,
		URLs: r.urls, YoungParts: r.parts.young, OldParts: r.parts.old,
		Odds: r.ranks.all.last, TopicOdds: r.ranks.topics.last, Oldest: r.ranks.all.oldest,
		Prior: r.prior.weights, Value: r.value.weights, Behind: r.behind.weights, Fetched: r.rewards.pages, Reward: r.rewards.sum,
		Examples: r.seen.x, ExampleR: r.seen.r, OldestExample: r.seen.oldest,
	}
	behinds, sources, targets := make(positions[*behind]), make(positions[*source]), make(positions[*target])
	for _, b := range r.seen.behind {
		x.ExampleBehind = append(x.ExampleBehind, behinds.of(b))
	}
	for _, s := range r.sources {
		sources.of(s)
		of := storedSource{
			URL: s.url, Relevance: s.relevance, Odds: s.odds, TopicOdds: s.topicOdds, Rank: s.rank, TopicRank: s.topicRank,
			Inherited: s.inherited, Prior: s.prior, Sum: s.sum, Outcomes: s.outcomes, Behind: behinds.of(s.behind),
		}
		for _, t := range s.waiting {
			of.Waiting = append(of.Waiting, targets.of(t))
		}
		x.Sources = append(x.Sources, of)
	}
	x.Behinds = make([]behind, len(behinds))
	for b, i := range behinds {
		x.Behinds[i] = *b
	}
	x.Targets = make([]storedTarget, len(targets))
	for t, i := range targets {
		of := storedTarget{URL: t.url, Number: t.number, Published: t.published}
		for _, e := range t.edges {
			of.Edges = append(of.Edges, storedEdge{From: sources.of(e.from), Index: e.index, Anchor: e.anchor})
		}
		x.Targets[i] = of
	}
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(&x)
	return b.Bytes(), err
}

// Restore returns a ranker that goes on as the one did whose MarshalBinary returned b.
func Restore(b []byte) (*Ranker, error) {
	var x stored
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&x); err != nil {
		return nil, fmt.Errorf("link-value: what was stored: %w", err)
	}
	if x.Format != Format {
		return nil, errors.New("link-value: what was stored has another format")
	}
	r := New(x.URLs)
	r.known, r.pages, r.next, r.cut, r.held = x.Known, x.Pages, x.Next, x.Cut, x.Held
	r.past.young, r.past.old = x.Young.made(), x.Old.made()
	r.parts.young, r.parts.old = made(x.YoungParts), made(x.OldParts)
	r.ranks = ranks{all: newSample(x.Odds, x.Oldest), topics: newSample(x.TopicOdds, x.Oldest)}
	r.prior.weights, r.value.weights, r.behind.weights, r.rewards = x.Prior, x.Value, x.Behind, rewards{x.Fetched, x.Reward}
	r.seen = examples{x: x.Examples, r: x.ExampleR, oldest: x.OldestExample}
	for _, i := range x.ExampleBehind {
		r.seen.behind = append(r.seen.behind, &x.Behinds[i])
	}
	targets := make([]*target, len(x.Targets))
	for i, t := range x.Targets {
		targets[i] = &target{url: t.URL, number: t.Number, published: t.Published}
		r.waiting[t.URL] = targets[i]
	}
	for _, of := range x.Sources {
		s := &source{
			url: of.URL, relevance: of.Relevance, odds: of.Odds, topicOdds: of.TopicOdds, rank: of.Rank, topicRank: of.TopicRank,
			inherited: of.Inherited, relevanceOdds: logit(of.Relevance), sum: of.Sum, outcomes: of.Outcomes, behind: &x.Behinds[of.Behind],
		}
		s.expect(of.Prior)
		for _, i := range of.Waiting {
			s.waiting = append(s.waiting, targets[i])
		}
		r.sources = append(r.sources, s)
	}
	for i, t := range x.Targets {
		for _, e := range t.Edges {
			targets[i].edges = append(targets[i].edges, edge{from: r.sources[e.From], index: e.Index, anchor: e.Anchor})
		}
	}
	return r, nil
}

// made is a generation whose maps may be written to.
func (g generation) made() generation {
	g.Rewards, g.To = made(g.Rewards), made(g.To)
	return g
}

// made is a map that may be written to: an empty one is stored as nil.
func made[V any](m map[uint64]V) map[uint64]V {
	if m == nil {
		return make(map[uint64]V)
	}
	return m
}

func newSample(last []float64, oldest int) sample {
	return sample{last: last, oldest: oldest, sorted: slices.Sorted(slices.Values(last))}
}
