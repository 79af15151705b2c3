package e2e

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/cmd/forager/demo"
	"forager/cmd/internal/crawls"
	"forager/internal/stream"
	"forager/schemas"
)

// fourShards crawls with four shards, one after another of which loses its owner: it spends its budget exactly,
// and every command sums the shards.
func (r *rig) fourShards(t *testing.T, g *demo.Environment) {
	open := r.gate(200)
	r.begin(r.crawl(g, "four", "apprentice", 400, func(c *schemas.CrawlControl) {
		c.Shards, c.Excludes = 4, &schemas.Excludes{Urls: []string{excludedEnd + "$"}}
		c.Learning.Features = []schemas.FeatureFamily{schemas.FeatureFamily_FEATURE_FAMILY_OFFSETS, schemas.FeatureFamily_FEATURE_FAMILY_COCITATION}
	}))
	r.until("four", "under way", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > 50 })
	if out := r.mustRun("verify", "four"); !strings.Contains(out, "link.found       checked by its records, as of the offsets ") || !strings.Contains(out, "everything agrees") {
		t.Errorf("verify of a crawl that runs:\n%s", out)
	}
	open()
	r.kill("prioritize-0")
	old := r.epochs("four")
	r.start([]string{"prioritize"})
	// The crawl may have finished before the kill; the new owner then reports its shards as restored first.
	st := r.until("four", "finished", 2*time.Minute, func(st *schemas.CrawlStatus) bool {
		now := r.epochs("four")
		for k, epoch := range old {
			if now[k] <= epoch {
				return false
			}
		}
		return finished(st)
	})
	if st.GetPages() != 400 || st.GetEndReason() != "pages budget spent" || st.GetPagesLeft() != 0 || st.GetInFlight() != 0 {
		t.Errorf("ended with %v", st)
	}
	if st.GetModel() == "" || st.GetTrained() == 0 {
		t.Errorf("the apprentice learnt nothing: model %q, %d leaps trained", st.GetModel(), st.GetTrained())
	}
	for k := range uint32(4) {
		shard := r.books.Statuses["four"][k]
		if shard.GetPages() < 10 || shard.GetState() != schemas.ShardState_SHARD_STATE_FINISHED {
			t.Errorf("shard %d: %v", k, shard)
		}
	}
	r.verified("four")
	if out := r.mustRun("verify", "four", "--sample", "0.5"); !strings.Contains(out, "damage to 1 of them is found with probability 0.500, to 10 with 0.999") {
		t.Errorf("verify by a sample:\n%s", out)
	}
	excluded := make(map[string]bool)
	r.all(t, schemas.TopicLinkFound, func(rec stream.Record) {
		m := new(schemas.LinkFound)
		if rec.Headers[schemas.HeaderCrawl] != "four" || proto.Unmarshal(rec.Value, m) != nil {
			return
		}
		for _, v := range append(m.GetLinks(), &schemas.Link{Url: m.GetRedirect()}) {
			if strings.HasSuffix(v.GetUrl(), excludedEnd) {
				excluded[v.GetUrl()] = true
			}
		}
	})
	if got, want := strings.Fields(r.mustRun("export", "four", "--outcome", "refused-link", "--format", "urls")), slices.Sorted(maps.Keys(excluded)); len(want) < 20 || !slices.Equal(got, want) {
		t.Errorf("%d excluded URLs are exported, %d were found", len(got), len(want))
	}
	r.leaseMutations("four")
	var states []crawls.Summary
	if err := json.Unmarshal([]byte(r.mustRun("--json", "crawl", "status", "four")), &states); err != nil || len(states) != 1 || states[0].Pages != 400 {
		t.Errorf("crawl status: %v (%v)", states, err)
	}
	if out := r.mustRun("report", "four"); !strings.Contains(out, "400 pages") || !strings.Contains(out, "only those to hosts of its own shard") {
		t.Errorf("report:\n%s", out)
	}
	for query, want := range map[string]string{
		"SELECT max(pages), argMax(pages, at), argMax(in_flight, at) FROM standings WHERE crawl = 'four' ": "400\t400\t0",
		"SELECT count(), uniqExact(shard) FROM pages WHERE crawl = 'four' AND outcome = 'delivered'":       "400\t4",
	} {
		if out := r.mustRun("query", "--format", "TSV", query); !strings.Contains(out, want) {
			t.Errorf("%s:\n%s", query, out)
		}
	}
	t.Log(r.mustRun("query", "--example", "harvest"))
	for _, example := range []string{"loss", "progress"} {
		t.Log(r.mustRun("query", "--example", example, "--crawl", "four"))
	}
}

// threeShards: a crawl of three shards is paused, resumed, gets more seeds, is stopped and deleted like any other.
func (r *rig) threeShards(t *testing.T, g *demo.Environment) {
	c := r.crawl(g, "three", "soft-focus", 50_000, func(c *schemas.CrawlControl) { c.Shards, c.Window, c.Politeness.DelayMs = 3, 12, 100 })
	more := c.Seeds[1:]
	c.Seeds = c.Seeds[:1]
	r.begin(c)
	r.until("three", "under way", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > 40 })
	r.mustRun("crawl", "pause", "three")
	at := r.until("three", "at rest", time.Minute, func(st *schemas.CrawlStatus) bool {
		return st.GetState() == schemas.ShardState_SHARD_STATE_PAUSED && st.GetInFlight() == 0
	})
	r.mustRun(append([]string{"crawl", "seeds", "three"}, more...)...)
	r.mustRun("crawl", "resume", "three")
	r.until("three", "going on", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > at.GetPages()+40 })
	for range 2 {
		r.mustRun("crawl", "stop", "three")
		st := r.until("three", "finished", time.Minute, finished)
		if st.GetEndReason() != "stopped" || st.GetInFlight() != 0 || st.GetQueued() == 0 {
			t.Errorf("stopped: %v", st)
		}
		r.verified("three")
		r.mustRun("crawl", "resume", "three")
		r.until("three", "going on after it was stopped", time.Minute, func(now *schemas.CrawlStatus) bool { return now.GetPages() > st.GetPages()+40 })
	}
	r.mustRun("crawl", "stop", "three")
	r.mustRun("crawl", "delete", "three")
	r.books.Mu.Lock()
	defer r.books.Mu.Unlock()
	for k := range uint32(3) {
		if st := r.books.Statuses["three"][k]; st.GetEndReason() != "deleted" {
			t.Errorf("shard %d is not deleted: %v", k, st)
		}
	}
}

// epochs returns the epoch of the last status of each shard of a crawl.
func (r *rig) epochs(crawl string) map[uint32]uint64 {
	r.books.Mu.Lock()
	defer r.books.Mu.Unlock()
	epochs := make(map[uint32]uint64)
	for k, st := range r.books.Statuses[crawl] {
		epochs[k] = st.GetEpoch()
	}
	return epochs
}
