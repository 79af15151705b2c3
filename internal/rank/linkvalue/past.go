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
	verdicts map[uint64]verdict
	bytes    int
}

// verdict is what became of a URL.
type verdict struct {
	r         float64
	delivered bool
	to        string // target of a redirect, "" = none that is known
}

// verdictCost is what a verdict takes, bytes, and mostPast what a generation takes at most: that of 200,000 verdicts without
// redirects.
const verdictCost, mostPast = 80, 200_000 * verdictCost

func newPast() past { return past{young: newGeneration(), most: mostPast} }

func newGeneration() generation { return generation{verdicts: make(map[uint64]verdict)} }

func (p *past) add(url string, v verdict) { p.keep(xxhash.Sum64String(url), v) }

func (p *past) keep(key uint64, v verdict) {
	cost := verdictCost + len(v.to)
	if p.young.bytes+cost > p.most {
		p.young, p.old = newGeneration(), p.young
	}
	p.young.verdicts[key] = v
	p.young.bytes += cost
}

func (p *past) of(url string) (v verdict, ok bool) {
	key := xxhash.Sum64String(url)
	if v, ok = p.young.verdicts[key]; ok {
		return v, true
	}
	if v, ok = p.old.verdicts[key]; ok {
		p.keep(key, v)
	}
	return v, ok
}
