package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"forager/internal/crawl/controls"
	"forager/internal/platform/analytics"
	"forager/schemas"
)

// sums are numbers of the view sums.
type sums struct {
	requests, delivered, targets uint64
	relevance                    float64
	bytes, leaps, leapsDelivered uint64
	leapsRelevance               float64
}

func (s *sums) harvest(digits int) float64 {
	return round(s.relevance/max(float64(s.delivered), 1), digits)
}
func (s *sums) leapHarvest() float64 {
	return round(s.leapsRelevance/max(float64(s.leapsDelivered), 1), 4)
}

// sums are those of a crawl by the records of its topics; keys are a breakdown and its key.
func (c *recount) sums(crawl string) map[[2]string]*sums {
	all := make(map[[2]string]*sums)
	add := func(f func(*sums), keys ...[2]string) {
		for _, key := range append(keys, [2]string{"total"}) {
			if all[key] == nil {
				all[key] = new(sums)
			}
			f(all[key])
		}
	}
	minute := func(at time.Time) [2]string {
		return [2]string{"minute", at.UTC().Truncate(time.Minute).Format(time.DateTime)}
	}
	page := func(r float64) func(*sums) {
		return func(s *sums) {
			s.delivered++
			if s.relevance += r; r >= .5 {
				s.targets++
			}
		}
	}
	for _, f := range c.ended(crawl) {
		keys := [][2]string{
			{"host", f.request.Host}, {"depth", fmt.Sprint(f.request.Depth)}, {"policy", f.request.Policy}, {"model", f.request.Model}, {"outcome", f.outcome()}, minute(f.verdict.at),
		}
		add(func(s *sums) { s.requests++ }, keys...)
		if f.delivered() {
			add(page(f.r()), keys...)
		}
	}
	for _, f := range c.judged[crawl] {
		key := [2]string{"topic", f.judged.Judgement.Topics[0].Topic}
		if all[key] == nil {
			all[key] = new(sums)
		}
		all[key].requests++
		page(judgedR(f))(all[key])
	}
	for _, f := range c.fetched[crawl] {
		add(func(s *sums) { s.bytes += f.Size }, [2]string{"host", hostOf(f.Url)}, [2]string{"outcome", schemas.OutcomeName(f.Outcome)}, minute(time.UnixMilli(f.FetchedAt)))
	}
	for _, l := range c.leaps[crawl] {
		add(func(s *sums) {
			s.leaps++
			if l.Outcome == schemas.Outcome_OUTCOME_DELIVERED {
				s.leapsDelivered++
				s.leapsRelevance += l.TargetRaw
			}
		}, [2]string{"policy", l.Policy}, [2]string{"model", l.Model}, [2]string{"outcome", schemas.LeapOutcome(l.Outcome, l.Boundary)}, minute(c.settled[l]))
	}
	return all
}

// brute has a line for each of the sums.
func (c *recount) brute(crawl string) (lines []string) {
	for key, s := range c.sums(crawl) {
		lines = append(lines, fmt.Sprintf("%v%v", key, *s))
	}
	slices.Sort(lines)
	return lines
}

// summed makes a row of each of a crawl's sums of some breakdowns.
func (c *recount) summed(crawl string, row func(breakdown, key string, s *sums) []any, breakdowns ...string) (rows [][]any) {
	for key, s := range c.sums(crawl) {
		if slices.Contains(breakdowns, key[0]) {
			rows = append(rows, row(key[0], key[1], s))
		}
	}
	return rows
}

// TestSumsCountNothingTwice loads crawls in parts, each twice, and ends passes over their rows at any point, as those of a loader that is
// killed. The sums are always those of all records at the begin of a pass.
func TestSumsCountNothingTwice(t *testing.T) {
	log := &recorded{random: rand.New(rand.NewPCG(16, 5)), next: map[string]int64{}, now: 1_700_000_000_000, epoch: 1}
	log.crawl("one", 1, 200, "http://h1.example/1")
	log.crawl("other", 2, 200, "http://h2.example/2", "http://h3.example/3")
	l := &loader{db: database(t), crawls: controls.New()}
	load := func(from, to int) *recount {
		for range 2 {
			if err := l.load(t.Context(), log.records[from:to]); err != nil {
				t.Fatal(err)
			}
		}
		return recounted(t, log.records[:to])
	}
	sums := func(crawl string) (lines []string) {
		r, err := l.db.Query(t.Context(), "SELECT * EXCEPT (crawl, as_of, rows) FROM sums WHERE crawl = {crawl:String}", analytics.Params{"crawl": crawl})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range r.Rows {
			lines = append(lines, fmt.Sprintf("[%v %v]{%v %v %v %v %v %v %v %v}", row...))
		}
		slices.Sort(lines)
		return lines
	}
	begun, last := make(map[string]uint64), load(0, 0)
	for at, n := 0, len(log.records)/3; at < len(log.records); at += n {
		to := min(at+n, len(log.records))
		now := load(at, to)
		for ended := 1; ended < 12; ended++ {
			ctx, kill := context.WithTimeout(t.Context(), time.Duration(ended)*10*time.Millisecond)
			_ = l.sum(ctx, begun)
			kill()
			for _, crawl := range now.crawls() {
				if got := sums(crawl); cmp.Diff(last.brute(crawl), got) != "" && cmp.Diff(now.brute(crawl), got) != "" {
					t.Fatalf("after a pass that was killed: sums of %s are those of no time: %s", crawl, cmp.Diff(now.brute(crawl), got))
				}
			}
		}
		if err := l.sum(t.Context(), begun); err != nil {
			t.Fatal(err)
		}
		for _, crawl := range now.crawls() {
			if diff := cmp.Diff(now.brute(crawl), sums(crawl)); diff != "" {
				t.Fatalf("sums of %s: %s", crawl, diff)
			}
		}
		last = now
	}
	for _, crawl := range last.crawls() { // as those of a crawl of so many rows, which are in several ranges of ids
		if err := analytics.Sum(t.Context(), l.db, analytics.Summed{Crawl: crawl, Rows: 12_345_678}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(last.brute(crawl), sums(crawl)); diff != "" {
			t.Fatalf("sums of %s, by ranges: %s", crawl, diff)
		}
	}
	if _, err := l.db.DeleteCrawl(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if got := sums("one"); len(got) > 0 {
		t.Errorf("sums of a deleted crawl: %s", got)
	}
}
