package experiment

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"forager/internal/lab/experiment/worldtest"
	"forager/schemas"
)

// naive is a straightforward crawl: no store, no queues, no records; every entry is scored from its links before each
// fetch. It uses the judgements and parsed pages of the environment, and shares nothing with packages frontier, rank,
// linkfeature and apprentice.
type naive struct {
	g       *Environment
	ranker  string
	entries map[string]*naiveEntry
	order   int
	visited map[string]bool
	out     []string
	trained map[string]int
	leaps   []naiveLeap
	cut     int
	weights map[string]float64 // nil = no model
	prior   float64
}

type naiveEntry struct {
	seed  bool
	order int
	links []naiveLink // pending
}

type naiveLink struct {
	u        string
	text     string
	features map[string]int
}

type naiveLeap struct {
	features map[string]int
	bin      int
}

func (n *naive) judgement(u string) *schemas.Judgement { return n.g.found(u).Judgement }

// features of a link by "term offset".
func features(p *schemas.Page, l *schemas.Link) map[string]int {
	f := make(map[string]int)
	at := 0
	for leaf, length := range p.GetLeafLengths() {
		d := 0
		switch {
		case leaf < int(l.FirstLeaf):
			d = leaf - int(l.FirstLeaf)
		case leaf > int(l.LastLeaf):
			d = leaf - int(l.LastLeaf)
		}
		for _, token := range p.Tokens[at : at+int(length)] {
			if d >= -5 && d <= 5 {
				f[fmt.Sprint(p.Terms[token], " ", d)]++
			}
		}
		at += int(length)
	}
	return f
}

// anchorText is the text of a link.
func anchorText(p *schemas.Page, l *schemas.Link) string {
	var words []string
	at := 0
	for leaf, length := range p.GetLeafLengths() {
		for _, token := range p.Tokens[at : at+int(length)] {
			if leaf >= int(l.FirstLeaf) && leaf <= int(l.LastLeaf) {
				words = append(words, p.Terms[token])
			}
		}
		at += int(length)
	}
	return strings.Join(words, " ")
}

func (n *naive) entry(u string) *naiveEntry {
	if n.entries[u] == nil {
		n.order++
		n.entries[u] = &naiveEntry{order: n.order}
	}
	return n.entries[u]
}

// place is tier and score of an entry.
func (n *naive) place(e *naiveEntry) (tier int, score float64) {
	if e.seed {
		return 0, math.Inf(1)
	}
	tier, score = math.MaxInt, math.Inf(-1)
	sum, n1 := 0.0, 0.0
	for _, l := range e.links {
		j := n.judgement(l.u)
		t, s := 0, 0.0
		if n.ranker == "hard-defer" && !j.BestIsFocus || n.ranker == "apprentice-gated" && j.Raw < .5 {
			t = 1
		}
		if n.ranker == "hard-focus" && !j.BestIsFocus {
			continue
		}
		switch n.ranker {
		case "soft-focus":
			s = j.Raw
		case "in-links":
			s = float64(len(e.links))
		case "tiered-soft-focus":
			s = math.Round(j.Raw*10) / 10
		case "smooth-soft-focus", "anchor-soft-focus":
			if s = odds(j.Calibrated); n.ranker == "anchor-soft-focus" {
				text, err := n.g.model.JudgeText(l.text, []string{n.g.task.FocusClass})
				if err != nil {
					panic(err)
				}
				s = odds(1 / (1 + math.Exp(-(s+odds(math.Round(text.Raw*65535)/65535))/2)))
			}
			sum, n1 = sum+s, n1+1
		case "apprentice", "apprentice-gated":
			if s = j.Raw; n.weights != nil {
				s = n.prior
				for f, k := range l.features {
					s += n.weights[f] * float64(k)
				}
				s = 1 / (1 + math.Exp(-s)) // which is 1 from 37 on: then the first discovered wins
			}
		}
		if t < tier || t == tier && s > score {
			tier, score = t, s
		}
	}
	if n1 > 0 {
		score = 1 / (1 + math.Exp(-(sum/n1/2 + score/2)))
	}
	return tier, score
}

// odds are the clipped log odds of a probability.
func odds(p float64) float64 {
	p = math.Max(5e-4, math.Min(1-5e-4, p))
	return math.Log(p) - math.Log1p(-p)
}

func (n *naive) learn(l naiveLink, v string) {
	if n.trained[v] < 5 {
		n.trained[v]++
		n.leaps = append(n.leaps, naiveLeap{l.features, int(n.judgement(v).Raw * 256)})
	}
}

func (n *naive) fit() {
	if n.cut == 0 {
		bins := make([]int, len(n.leaps))
		for i, l := range n.leaps {
			bins[i] = l.bin
		}
		slices.Sort(bins)
		k := len(bins)
		n.cut = min(max((bins[(k-1)/2]+bins[k/2]+1)/2, 26), 230)
	}
	var low, high, lowAll, highAll = map[string]int{}, map[string]int{}, 0, 0
	lows, highs := 0, 0
	all := make(map[string]bool)
	for _, l := range n.leaps {
		if l.bin >= n.cut {
			highs++
		} else {
			lows++
		}
		for f, k := range l.features {
			all[f] = true
			if l.bin >= n.cut {
				high[f], highAll = high[f]+k, highAll+k
			} else {
				low[f], lowAll = low[f]+k, lowAll+k
			}
		}
	}
	// Rounded as in package apprentice, so that ties are the same ties.
	n.prior = math.Log(float64(highs+1)) - math.Log(float64(lows+1))
	tokens := math.Log(float64(len(all)+lowAll)) - math.Log(float64(len(all)+highAll))
	n.weights = make(map[string]float64)
	for f := range all {
		w := math.Log(float64(high[f]+1)) - math.Log(float64(low[f]+1)) + tokens
		n.weights[f] = math.RoundToEven(w*(1<<38)) / (1 << 38)
	}
}

func (n *naive) crawl(draw int) []string {
	for _, s := range n.g.task.Seeds[draw] {
		n.entry(s).seed = true
	}
	aliases := make(map[string]bool)
	for len(n.out) < int(n.g.task.Budget) {
		best, bestTier, bestScore := "", math.MaxInt, 0.0
		for _, u := range slices.Sorted(maps.Keys(n.entries)) {
			e := n.entries[u]
			tier, score := n.place(e)
			if n.visited[u] || aliases[u] || tier == math.MaxInt {
				continue
			}
			if best == "" || tier < bestTier || tier == bestTier && (score > bestScore || score == bestScore && e.order < n.entries[best].order) {
				best, bestTier, bestScore = u, tier, score
			}
		}
		if best == "" {
			break
		}
		page := n.g.web.pages[best]
		if page.outcome == schemas.Outcome_OUTCOME_REDIRECTED {
			aliases[best] = true
			from, to := n.entries[best], page.redirect
			if n.visited[to] {
				for _, l := range from.links {
					if l.u != to {
						n.learn(l, to)
					}
				}
				continue
			}
			t := n.entry(to)
			t.seed = t.seed || from.seed
			t.links = append(t.links, from.links...)
			continue
		}
		n.visit(best, page.text(), aliases)
	}
	return n.out
}

func (n *naive) visit(u string, page *schemas.Page, aliases map[string]bool) {
	n.out = append(n.out, u)
	n.visited[u] = true
	for _, l := range page.Links {
		if !n.g.inScope[l.Url] || l.Url == u {
			continue
		}
		v, link := l.Url, naiveLink{u, anchorText(page, l), features(page, l)}
		if aliases[v] {
			if v = n.g.web.pages[v].redirect; v == u {
				continue
			}
		}
		if n.visited[v] {
			n.learn(link, v)
			continue
		}
		e := n.entry(v)
		e.links = append(e.links, link)
	}
	for _, l := range n.entries[u].links {
		if l.u != u {
			n.learn(l, u)
		}
	}
	if k := len(n.out); k >= 30 && (k-30)%10 == 0 && len(n.leaps) > 0 {
		n.fit()
	}
}

// TestAgainstNaive: both crawl random worlds in the same order.
func TestAgainstNaive(t *testing.T) {
	for seed := range uint64(6) {
		g := env(t, worldtest.Random(seed, 150))
		for _, ranker := range []string{"unfocused", "soft-focus", "hard-focus", "hard-defer", "apprentice", "apprentice-gated",
			"smooth-soft-focus", "anchor-soft-focus", "tiered-soft-focus", "in-links"} {
			for draw := range g.task.Seeds {
				n := &naive{g: g, ranker: ranker, entries: make(map[string]*naiveEntry), visited: make(map[string]bool), trained: make(map[string]int)}
				want := n.crawl(draw)
				c := try(t, g, ranker, draw, 0)
				var got []string
				for _, s := range c.Steps {
					got = append(got, s.URL)
				}
				for i := range max(len(got), len(want)) {
					if i >= len(got) || i >= len(want) || got[i] != want[i] {
						t.Fatalf("world %d, %s, draw %d: they part after %d of %d and %d pages:\n%v\n%v", seed, ranker, draw, i, len(got), len(want),
							got[i:min(i+3, len(got))], want[i:min(i+3, len(want))])
					}
				}
				if ranker == "apprentice" && (n.weights == nil || c.Steps[len(c.Steps)-1].Model == "") {
					t.Errorf("world %d: the apprentice has not learnt", seed)
				}
			}
		}
	}
}
