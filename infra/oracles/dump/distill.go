package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"

	"forager/internal/rank/distill"
)

// distillCase is a web of pages and the distiller's scores, by page, 0 if it is not listed.
type distillCase struct {
	Sites       []uint32    `json:"sites"`
	R           []float64   `json:"r"`
	Links       [][2]uint32 `json:"links"`
	Relevance   float64     `json:"relevance"`
	Rounds      int         `json:"rounds"`
	Converged   bool        `json:"converged"`
	Hubs        []float64   `json:"hubs"`
	Authorities []float64   `json:"authorities"`
}

// dumpDistill distils generated webs: once with the default settings, once until convergence.
func dumpDistill([]string) error {
	random := rand.New(rand.NewPCG(1999, 5))
	var cases []distillCase
	for _, shape := range []struct {
		pages, sites, links int
		relevance           float64
	}{{30, 4, 150, .15}, {200, 20, 1500, .15}, {400, 300, 4000, .5}, {50, 50, 400, 0}} {
		c := distillCase{Relevance: shape.relevance}
		var pages []distill.Page
		for range shape.pages {
			p := distill.Page{Site: uint32(random.IntN(shape.sites)), R: random.Float64()}
			pages = append(pages, p)
			c.Sites, c.R = append(c.Sites, p.Site), append(c.R, p.R)
		}
		for range shape.links {
			// Pages of low numbers are linked more often, some links come twice.
			to := random.IntN(1 + random.IntN(shape.pages))
			c.Links = append(c.Links, [2]uint32{uint32(random.IntN(shape.pages)), uint32(to)})
		}
		for _, converged := range []bool{false, true} {
			s := distill.Default
			s.Relevance, s.Top = shape.relevance, shape.pages
			if c.Converged = converged; converged {
				s.Change, s.Rounds = 1e-15, 20_000
			}
			r, err := distill.Rank(pages, func(yield func(distill.Link, error) bool) {
				for _, l := range c.Links {
					if !yield(distill.Link{From: l[0], To: l[1]}, nil) {
						return
					}
				}
			}, s)
			if err != nil {
				return err
			}
			c.Rounds, c.Hubs, c.Authorities = r.Rounds, make([]float64, shape.pages), make([]float64, shape.pages)
			for _, h := range r.Hubs {
				c.Hubs[h.Page] = h.Score
			}
			for _, a := range r.Authorities {
				c.Authorities[a.Page] = a.Score
			}
			cases = append(cases, c)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(cases)
}
