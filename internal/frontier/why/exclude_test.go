package why

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"forager/internal/frontier/state"
	"forager/internal/web/scope"
	"forager/schemas"
)

// TestExclude compares counts and the best URLs with the answers for every URL and with the order in which they are then requested.
func TestExclude(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := []string{"a", "b", "c", "d"}
		drawRules := func(label string) *schemas.Excludes {
			x := new(schemas.Excludes)
			for _, h := range hosts {
				if rapid.IntRange(0, 3).Draw(t, label+h) == 0 {
					x.Hosts = append(x.Hosts, h+".example")
				}
			}
			if n := rapid.IntRange(0, 9).Draw(t, label); n > 0 {
				x.Prefixes = append(x.Prefixes, fmt.Sprintf("/%d", n))
			}
			return x
		}
		c := newCrawl(t, func(ctl *schemas.CrawlControl) { ctl.Excludes = drawRules("in force") })
		random := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "links")))
		var known []string
		for i := range rapid.IntRange(1, 30).Draw(t, "pages") {
			links := make([]string, random.IntN(6)+1)
			for j := range links {
				links[j] = page(hosts[random.IntN(len(hosts))], fmt.Sprint(random.IntN(90)))
			}
			known = append(known, links...)
			if i == 0 {
				c.seed(links...)
				continue
			}
			requested := c.dispatch(1)
			if len(requested) == 0 {
				break
			}
			outcome := schemas.Outcome_OUTCOME_DELIVERED
			if random.IntN(4) == 0 {
				outcome, links = schemas.Outcome_OUTCOME_SERVER_ERROR, nil
			}
			c.end(requested[0], outcome, func(rec *schemas.LinkFound) {
				if j := rec.GetJudgement(); j != nil {
					j.Raw, j.Tempered, j.Calibrated = random.Float64(), random.Float64(), random.Float64()
				}
			}, links...)
		}
		rules := drawRules("wanted")
		got, err := Exclude(c.store, state.ShardName{Crawl: "c"}, rules)
		if err != nil {
			t.Fatal(err)
		}
		excludes, err := scope.NewExcludes(rules)
		if err != nil {
			t.Fatal(err)
		}
		var queued, removed, admitted uint64
		slices.Sort(known)
		for _, u := range slices.Compact(known) {
			out := excludes.URL(u) != ""
			switch c.ask(u, 1).State {
			case Queued, Waiting:
				queued++
				if out {
					removed++
				}
			case Excluded:
				if !out {
					admitted++
				}
			}
		}
		if got.Queued != queued || got.Removed != removed || got.Admitted != admitted || !got.Exact {
			t.Fatalf("%+v; there are %d queued, %d removed, %d admitted", got, queued, removed, admitted)
		}
		var best []string
		for _, u := range c.dispatch(10_000) {
			if excludes.URL(u) != "" && len(best) < MostBest {
				best = append(best, u)
			}
		}
		for i, u := range best {
			if got.Best[i].URL != u {
				t.Fatalf("number %d of the best is %s, and %s is requested first", i, got.Best[i].URL, u)
			}
		}
	})
}

func TestBlocks(t *testing.T) {
	for _, n := range []uint64{0, 1, mostRead, mostRead + 1, 3*mostRead + 7, 1 << 40} {
		read, last := uint64(0), uint64(0)
		for from, to := range blocks(n) {
			if from < 1 || to > n || to < from || from <= last {
				t.Errorf("%d: block from %d to %d behind %d", n, from, to, last)
			}
			read, last = read+to-from+1, to
		}
		if want := min(n, mostRead); read != want || last != n {
			t.Errorf("%d: %d were looked at up to %d, want %d", n, read, last, want)
		}
	}
}

func TestMerge(t *testing.T) {
	total := &Effect{Exact: true}
	total.Merge(&Effect{Queued: 9, Removed: 3, Admitted: 1, Exact: true, Best: []Ranked{{URL: "a", Score: .5}, {URL: "b", Tier: 2, Score: .9}, {URL: "c", Tier: 2, Score: .1}}})
	total.Merge(&Effect{Queued: 5, Removed: 2, Best: []Ranked{{URL: "d", Score: .7}, {URL: "e", Tier: 2, Score: .4}}})
	var best []string
	for _, r := range total.Best {
		best = append(best, r.URL)
	}
	if total.Queued != 14 || total.Removed != 5 || total.Admitted != 1 || total.Exact || !slices.Equal(best, []string{"d", "a", "b", "e", "c"}) {
		t.Errorf("%+v", total)
	}
}
