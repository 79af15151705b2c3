package pulearning

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// templated is a page of a site: nearly all words of a long template, a hundred words on any subject, and a few that pages on
// topic have more often.
func templated(random *rand.Rand, on bool) string {
	var b strings.Builder
	for i := range 2000 {
		if random.IntN(40) > 0 {
			fmt.Fprintf(&b, "menu%d ", i)
		}
	}
	for range 100 {
		// Words as rare as in prose: rank r has a share of 1/r.
		fmt.Fprintf(&b, "any%d ", int(math.Exp(random.Float64()*math.Log(20_000))))
	}
	for i := range 40 {
		if share := random.IntN(20); share == 0 || on && share < 3 {
			fmt.Fprintf(&b, "topic%d ", i)
		}
	}
	return b.String()
}

// TestATemplateIsNoEvidence: on a site with one template, where pages on topic differ from others in a few words, ten likes
// neither make the rest of the site relevant, nor does their critic forget how pages rank.
func TestATemplateIsNoEvidence(t *testing.T) {
	const sites, share = 8, .1
	var claimed, above, pairs float64
	for site := range uint64(sites) {
		random := rand.New(rand.NewPCG(site, 14))
		e := new(Examples)
		for i := range 10 {
			e.Liked = append(e.Liked, Read(fmt.Sprintf("http://site.test/liked/%d", i), templated(random, true)))
		}
		for i := range 40 {
			e.Background = append(e.Background, Read(fmt.Sprintf("http://site.test/met/%d", i), templated(random, float64(i) < share*40)))
		}
		c, _, err := Train(t.Context(), "like", e, nil)
		if err != nil {
			t.Fatal(err)
		}
		var on, off []float64
		for i := range 100 {
			d := Read(fmt.Sprintf("http://site.test/new/%d", i), templated(random, float64(i) < share*100))
			p := c.probability(&d)
			claimed += p / 100 / sites
			if float64(i) < share*100 {
				on = append(on, p)
			} else {
				off = append(off, p)
			}
		}
		for _, p := range on {
			for _, q := range off {
				pairs++
				switch {
				case p > q:
					above++
				case p == q:
					above += .5
				}
			}
		}
	}
	t.Logf("mean probability %.3f, %g of the pages are on topic; AUC %.3f", claimed, share, above/pairs)
	if math.Abs(claimed-share) > .3 {
		t.Errorf("the mean probability is %.3f, %g of the pages are on topic", claimed, share)
	}
	if above/pairs < .68 {
		t.Errorf("AUC %.3f", above/pairs)
	}
}
