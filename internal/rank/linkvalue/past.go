package linkvalue

import "github.com/cespare/xxhash/v2"

// past are verdicts by the hash of their URL, in two generations: a new one begins when it is full, and replaces the older. A verdict that is
// asked for is young again, so that pages that every page links to are not taken for URLs that wait.
type past struct {
	young, old generation
	most       int // bytes of a generation
}

// generation is a set of verdicts that takes so many bytes.
type generation struct {
	Rewards map[uint64]float64 // R, below 0 of what was not delivered
	To      map[uint64]string  // targets of redirects
	Bytes   int
}

// verdict is what became of a URL.
type verdict struct {
	r         float64
	delivered bool
	to        string // target of a redirect, "" = none that is known
}

// verdictCost is what a verdict takes, bytes, with the spare capacity of its map, redirectCost what a redirect adds apart from its text,
// and mostPast what a generation takes at most: that of 100,000 verdicts without redirects.
const verdictCost, redirectCost, mostPast = 40, 60, 100_000 * verdictCost

func newPast() past { return past{young: newGeneration(), most: mostPast} }

func newGeneration() generation {
	return generation{Rewards: make(map[uint64]float64), To: make(map[uint64]string)}
}

func (p *past) add(url string, v verdict) { p.keep(xxhash.Sum64String(url), v) }

func (p *past) keep(key uint64, v verdict) {
	cost := verdictCost
	if v.to != "" {
		cost += redirectCost + len(v.to)
	}
	if p.young.Bytes+cost > p.most {
		p.young, p.old = newGeneration(), p.young
	}
	p.young.Bytes += cost
	if p.young.Rewards[key] = v.r; !v.delivered {
		p.young.Rewards[key] = -1
	}
	if v.to != "" {
		p.young.To[key] = v.to
	}
}

func (p *past) of(url string) (v verdict, ok bool) {
	key := xxhash.Sum64String(url)
	if v, ok = p.young.of(key); ok {
		return v, true
	}
	if v, ok = p.old.of(key); ok {
		p.keep(key, v)
	}
	return v, ok
}

func (g *generation) of(key uint64) (verdict, bool) {
	r, ok := g.Rewards[key]
	return verdict{r: max(0, r), delivered: ok && r >= 0, to: g.To[key]}, ok
}
