package simweb

import "math"

// Web is a synthetic web; its methods are safe for concurrent use.
type Web struct{ addresses }

// addresses are the URLs of a web.
type addresses struct{ space }

// space is the pages of a web and where each is.
type space struct {
	c        Config
	topics   []string // leaf topics
	language *language
	// starts of the sections of inner ids: one a topic, then the one of mixed topics, then the number of pages.
	starts []uint64
	bits   int // half the bits of an id, for scramble
}

// mixedShare is the share of pages on hosts of mixed topics.
const mixedShare = 0.3

// New checks the configuration and returns its web.
func New(c Config) (*Web, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	w := &Web{addresses{space{c: c, language: newLanguage(c.Language, c.Branches, c.Leaves)}}}
	for b := range c.Branches {
		for l := range c.Leaves {
			w.topics = append(w.topics, w.language.topicName(b, l))
		}
	}
	w.cutSections()
	return w, nil
}

// cutSections gives topics shares of pages that decrease with the root of their rank, in an order that the language determines.
func (w *space) cutSections() {
	weights := make([]float64, len(w.topics))
	sum := 0.0
	order := permutation(len(weights), mix(w.c.Language^0x73697a65))
	for i := range weights {
		weights[i] = 1 / math.Sqrt(float64(order[i]+1))
		sum += weights[i]
	}
	at := 0.0
	for _, x := range weights {
		w.starts = append(w.starts, uint64(at*float64(w.c.Pages)))
		at += x / sum * (1 - mixedShare)
	}
	w.starts = append(w.starts, uint64((1-mixedShare)*float64(w.c.Pages)), w.c.Pages)
	w.setBits()
}

// permutation of 0 … n−1 (Fisher–Yates).
func permutation(n int, seed uint64) []int {
	s := &stream{state: seed}
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j := s.intn(i + 1)
		p[i], p[j] = p[j], p[i]
	}
	return p
}

// Config returns the configuration of the web.
func (w *space) Config() Config { return w.c }

// Topics returns the leaf topics, "Branch/Leaf".
func (w *space) Topics() []string { return w.topics }

// Other is the topic of pages that are about none of Topics.
const Other = "Other"

// Size returns the number of pages.
func (w *space) Size() uint64 { return w.c.Pages }

// URL returns the URL of page number n, 0 ≤ n < Size; the order is independent of topics.
func (w *Web) URL(n uint64) string { return w.url(w.unscramble(n)) }

// Alias returns the URL of a redirect to page number n.
func (w *Web) Alias(n uint64) string { return string(w.appendAlias(nil, "go", 1, w.unscramble(n))) }

// Examples returns the URLs of n pages about a topic, or of Other, without hazards: always the same ones, from
// all hosts uniformly; fewer if the web does not have that many.
func (w *Web) Examples(topic string, n int) []string {
	var urls []string
	for k := uint64(0); k < w.Size() && len(urls) < n; k++ {
		p := w.page(w.unscramble(k))
		if w.topicName(p.topic) == topic && w.safe(p) {
			urls = append(urls, w.url(p.id))
		}
	}
	return urls
}

func (w *space) topicName(topic int) string {
	if topic < 0 {
		return Other
	}
	return w.topics[topic]
}
