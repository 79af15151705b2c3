package experiment

import (
	"slices"

	"golang.org/x/net/publicsuffix"

	"forager/internal/distill"
	"forager/internal/frontier"
	"forager/internal/rank"
	"forager/internal/weburl"
	"forager/schemas"
)

// distilled is soft focus with the distiller of 1999: every so many pages the hubs among the pages fetched
// are found, and the unvisited pages that the best of them link to come first.
type distilled struct {
	ground *Ground
	every  int
	pages  []distill.Page
	number map[string]uint32 // of fetched pages
	urls   []string          // by number
	sites  map[string]uint32
	raised map[string]bool
}

const (
	// distillEvery is the number of pages between two distillations; of small budgets a tenth.
	distillEvery = 500
	// topHubs are those whose neighbours are raised.
	topHubs = 20
	// raisedScore is above every R.
	raisedScore = 2
)

func newDistilled(g *Ground) *distilled {
	return &distilled{
		ground: g, every: max(1, min(distillEvery, int(g.task.Budget/10))),
		number: make(map[string]uint32), sites: make(map[string]uint32), raised: make(map[string]bool),
	}
}

func (d *distilled) Score(v string, s *rank.Source) float64 {
	switch {
	case s.Seed:
		return seedScore
	case d.raised[d.ground.resolve(v)]:
		return raisedScore
	}
	return s.Raw
}

// observe takes note of a page, and distils when enough have come.
func (d *distilled) observe(s *frontier.Shard, u string) error {
	rec := d.ground.verdicts[u]
	if _, known := d.number[u]; known || rec.GetOutcome() != schemas.Outcome_OUTCOME_DELIVERED {
		return nil
	}
	d.number[u] = uint32(len(d.pages))
	d.urls = append(d.urls, u)
	d.pages = append(d.pages, distill.Page{Site: d.site(u), R: rec.GetJudgement().GetRaw()})
	if len(d.pages)%d.every != 0 {
		return nil
	}
	return d.distil(s)
}

// site is the registrable domain of a URL, or its host where that is one by itself.
func (d *distilled) site(u string) uint32 {
	host := weburl.Host(u)
	name, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		name = host
	}
	if _, ok := d.sites[name]; !ok {
		d.sites[name] = uint32(len(d.sites))
	}
	return d.sites[name]
}

func (d *distilled) distil(s *frontier.Shard) error {
	r, err := distill.Rank(d.pages, func(yield func(distill.Link, error) bool) {
		for from, u := range d.urls {
			for _, l := range d.ground.verdicts[u].GetLinks() {
				if to, ok := d.number[d.ground.resolve(l.GetUrl())]; ok && !yield(distill.Link{From: uint32(from), To: to}, nil) {
					return
				}
			}
		}
	}, distill.Default)
	if err != nil {
		return err
	}
	var changed []string
	for _, hub := range r.Hubs[:min(topHubs, len(r.Hubs))] {
		for _, l := range d.ground.verdicts[d.urls[hub.Page]].GetLinks() {
			v := d.ground.resolve(l.GetUrl())
			if _, visited := d.number[v]; v != "" && !visited && !d.raised[v] {
				d.raised[v] = true
				changed = append(changed, v, l.GetUrl()) // it may be known by an alias only
			}
		}
	}
	slices.Sort(changed)
	return s.Reconsider(changed...)
}
