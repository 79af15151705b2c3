package experiment

import "forager/schemas"

// Verdict is what the stages say of a page in scope, without a request: its judgement, its links and
// the table of their features; nil for any other URL. It must not be changed.
func (g *Ground) Verdict(url string) (*schemas.LinkFound, error) { return g.verdictOn(url) }

// Resolve follows redirects inside the web to a page in scope; "" where there is none.
func (g *Ground) Resolve(url string) string { return g.resolve(url) }

// Distances are the hops from pages in scope to the nearest target, through pages in scope; pages from which none can be
// reached are missing. On webs that are computed there are none.
func (g *Ground) Distances() map[string]int { return newPathOracle(g).distance }

// Lessons is the number of targets among the pages from which rankers learn before a crawl, 0 where there are none.
func (g *Ground) Lessons() int {
	l, err := g.learn()
	if err != nil {
		return 0
	}
	return len(l.Targets)
}

// Tries says why the task cannot be tried with a ranker; nil = it can.
func (g *Ground) Tries(ranker string) error { return g.refuses(ranker, nil) }
