package propose

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"forager/internal/classify/taxonomy"
)

// clip is the least probability that is distinguished from 0.
const clip = 5e-4

// mostFocus is the maximum number of focus topics that are proposed.
const mostFocus = 4

// Proposal is a topic with its fit to the examples.
type Proposal struct {
	Topic string `json:"topic"`
	// Score is the mean of ln Pr(t|u) − ln Pr(t), Mean that of Pr(t|u), in [0,1].
	Score float64 `json:"score"`
	Mean  float64 `json:"mean"`
	// Fits is the number of examples with Pr(t|u) ≥ ½.
	Fits int `json:"fits"`
}

// Predictions are a critic's posteriors of examples.
type Predictions struct {
	classes []string
	topics  []string
	members [][]int // the classes of each topic
	prior   []float64
	pages   [][]float64 // Pr(t|u) by example and topic
}

// New begins with the critic's posteriors of a page without words: a number for each class. If these do not sum to
// 1, as those of rules, all classes get the same prior.
func New(classes []string, empty []float64) *Predictions {
	o := &Predictions{classes: classes}
	at := make(map[string]int)
	for k, class := range classes {
		for topic := class; topic != ""; topic = topic[:max(0, strings.LastIndexByte(topic, '/'))] {
			i, ok := at[topic]
			if !ok {
				i = len(o.topics)
				at[topic] = i
				o.topics, o.members = append(o.topics, topic), append(o.members, nil)
			}
			o.members[i] = append(o.members[i], k)
		}
	}
	sum := 0.0
	for _, p := range empty {
		sum += p
	}
	if math.Abs(sum-1) > .01 {
		empty = slices.Repeat([]float64{1 / float64(len(classes))}, len(classes))
	}
	o.prior = o.topicsOf(empty)
	return o
}

// topicsOf sums the posteriors of the classes of each topic.
func (o *Predictions) topicsOf(posteriors []float64) []float64 {
	p := make([]float64, len(o.topics))
	for i, classes := range o.members {
		for _, k := range classes {
			p[i] += posteriors[k]
		}
		p[i] = min(1, p[i])
	}
	return p
}

// Add adds the posteriors of an example, in the order of the classes.
func (o *Predictions) Add(posteriors []float64) { o.pages = append(o.pages, o.topicsOf(posteriors)) }

// Rank returns all topics, the best first, ties by name.
func (o *Predictions) Rank() []Proposal { return o.rank(o.pages) }

func (o *Predictions) rank(pages [][]float64) []Proposal {
	list := make([]Proposal, len(o.topics))
	for i, topic := range o.topics {
		x := &list[i]
		x.Topic = topic
		for _, p := range pages {
			x.Score += math.Log(max(p[i], clip)) - math.Log(max(o.prior[i], clip))
			x.Mean += p[i]
			if p[i] >= .5 {
				x.Fits++
			}
		}
		x.Score /= float64(max(1, len(pages)))
		x.Mean /= float64(max(1, len(pages)))
	}
	slices.SortFunc(list, func(a, b Proposal) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Topic, b.Topic))
	})
	return list
}

// Focus returns topics that can be the focus of a crawl for the examples, none below another, and how many
// examples fit one of them. It is empty if the critic has no such topic.
func (o *Predictions) Focus() (topics []string, covered int) {
	left := o.pages
	for len(topics) < mostFocus && len(left) > 0 {
		best := o.next(left, topics)
		if best < 0 {
			break
		}
		topics = append(topics, o.topics[best])
		var rest [][]float64
		for _, p := range left {
			if p[best] < .5 {
				rest = append(rest, p)
			}
		}
		left = rest
	}
	return topics, len(o.pages) - len(left)
}

// next returns the best topic for the remaining examples, given those chosen; -1 where none fits.
func (o *Predictions) next(left [][]float64, chosen []string) int {
	ranked := slices.DeleteFunc(o.rank(left), func(p Proposal) bool {
		return slices.ContainsFunc(chosen, func(c string) bool { return taxonomy.Within(p.Topic, c) || taxonomy.Within(c, p.Topic) })
	})
	for _, enough := range []int{(len(left) + 1) / 2, max(1, len(o.pages)/10)} {
		for _, p := range ranked {
			if p.Fits >= enough {
				return slices.Index(o.topics, p.Topic)
			}
		}
	}
	return -1
}
