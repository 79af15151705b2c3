package main

import (
	"context"
	"flag"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/frontier"
	"forager/internal/shards"
	"forager/internal/stream"
	"forager/internal/stream/crashtest"
	"forager/schemas"
)

// TestSimulationOfShards is TestSimulation with crawls of two to four shards, some of them in one
// partition, some with another crawl's.
func TestSimulationOfShards(t *testing.T) {
	all := seen{counts: make(map[string]int)}
	seeds := uint64(200)
	if testing.Short() {
		seeds = 50
	}
	crashtest.Seeds(t, seeds, func(seed uint64) error {
		s, err := simulate(seed, "", true)
		all.add(s.audit.seen)
		return err
	})
	for _, what := range slices.Sorted(maps.Keys(all.counts)) {
		t.Logf("%7d %s", all.counts[what], what)
	}
	if testing.Short() || flag.Lookup("crash.seed").Value.String() != "-1" || flag.Lookup("crash.seeds").Value.String() != "0" {
		return
	}
	for _, what := range []string{
		"owners that crashed", "owners that were superseded", "owners that began with nothing", "requests that are void",
		"requests that came twice", "verdicts that came twice", "leaps that came twice", "boundaries", "models in use",
		"notes among shards", "links sent to another shard", "redirects to another shard", "links sent on by a third shard",
		"several shards ended: pages budget spent", "several shards ended: requests budget spent", "several shards ended: frontier empty",
		"several shards ended: stagnated: the gate let no link through", "several shards ended: stopped",
	} {
		if all.counts[what] < 5 {
			t.Errorf("the simulation has met %q %d times only", what, all.counts[what])
		}
	}
}

// peerRules break what shards owe one another: each meddles with a step and with what it came to.
var peerRules = map[string]func(p *prioritizer, w *stream.Work) func(*stream.Result){
	// Links on their way are nobody's.
	"offsets forgotten": func(p *prioritizer, _ *stream.Work) func(*stream.Result) {
		for _, c := range p.crawls {
			clear(c.peers.sent)
			clear(c.peers.sending)
		}
		return nil
	},
	// A new owner of shard 0 goes on with the lease of the one before.
	"lease of another owner": func(p *prioritizer, w *stream.Work) func(*stream.Result) {
		for _, c := range p.crawls {
			if c.ready && c.number == 0 && c.peers.lead == nil && !w.Replaying {
				c.peers.lead = shards.NewLead(p.epoch, c.shard.Shards(), ends)
			}
		}
		return nil
	},
	// A lease is obeyed whoever gave it, so an owner of the past still gives some.
	"old leases obeyed": func(p *prioritizer, w *stream.Work) func(*stream.Result) {
		for _, r := range w.Records {
			rec, err := decode(r)
			if err != nil || rec.GetNote().GetLease() == nil || rec.GetNote().GetLease().GetKeep() {
				continue
			}
			if c := p.crawls[unit(rec.GetCrawl(), rec.GetShard())]; c != nil && c.ready {
				was := c.shard.Lease()
				if rec.GetNote().GetEpoch() < was.GetEpoch() {
					note := &schemas.ShardNote{Epoch: was.GetEpoch(), Sequence: was.GetSequence() + 1, Lease: rec.GetNote().GetLease()}
					if _, err := c.shard.Apply(&schemas.LinkFound{Crawl: c.name, Shard: c.number, Role: schemas.LinkRole_LINK_ROLE_NOTE, Note: note}, w.Now); err != nil {
						panic(err)
					}
				}
			}
		}
		return nil
	},
	// Links that another shard sent are applied each time they come.
	"links count twice": func(p *prioritizer, w *stream.Work) func(*stream.Result) {
		for i, r := range w.Records {
			rec, err := decode(r)
			if err == nil && rec.GetRole() == schemas.LinkRole_LINK_ROLE_LINKS {
				rec.Id = schemas.RequestID("again", strconv.FormatInt(r.Offset, 10), 0).Bytes()
				if w.Records[i].Value, err = proto.Marshal(rec); err != nil {
					panic(err)
				}
			}
		}
		return nil
	},
}

type meddler struct {
	*prioritizer
	rule func(*prioritizer, *stream.Work) func(*stream.Result)
}

func (m meddler) Step(ctx context.Context, w stream.Work) (stream.Result, error) {
	w.Records = slices.Clone(w.Records)
	behind := m.rule(m.prioritizer, &w)
	r, err := m.prioritizer.Step(ctx, w)
	if behind != nil {
		behind(&r)
	}
	return r, err
}

// TestReportsAreLookedFor: what a shard reports is how it stood at the end of a step that looked for
// newer owners. (A simulation in which it does not look goes wrong some hundred seeds later.)
func TestReportsAreLookedFor(t *testing.T) {
	conf := newDesk(t).conf
	control, err := proto.Marshal(&schemas.CrawlControl{
		Crawl: "c", Revision: 1, State: schemas.CrawlState_CRAWL_STATE_RUNNING, Shards: 2, Window: 4, Budget: &schemas.Budget{Pages: 9},
		Policies: []*schemas.Policy{{Name: "p", Ranker: schemas.Ranker_RANKER_UNFOCUSED}},
	})
	if err != nil {
		t.Fatal(err)
	}
	conf.book = newBook()
	if err := conf.book.control(stream.Record{Key: []byte("c"), Value: control}); err != nil {
		t.Fatal(err)
	}
	p, err := conf.open(0, 3, frontier.NewMemory()) // both shards are in the one partition
	if err != nil {
		t.Fatal(err)
	}
	var next int64
	looked, reports := false, 0
	var inbox []stream.Record
	now := time.Unix(0, 0)
	for range 40 {
		now = now.Add(time.Second)
		w := stream.Work{Records: inbox, Now: now, Next: next + int64(len(inbox))}
		next, inbox = w.Next, nil
		r, err := p.Step(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		at := make([]stream.Position, len(r.Outs))
		for i, out := range r.Outs {
			if out.Topic != schemas.TopicLinkFound {
				continue
			}
			rec := stream.Record{Topic: out.Topic, Offset: next + int64(len(inbox)), Key: out.Key, Value: out.Value, Headers: out.Headers}
			at[i].Offset = rec.Offset
			inbox = append(inbox, rec)
			found, err := decode(rec)
			if err != nil {
				t.Fatal(err)
			}
			if report := found.GetNote().GetReport(); report != nil {
				reports++
				if !looked {
					t.Errorf("a report follows a step that did not look: %v", report)
				}
				if report.GetNext() != w.Next-int64(len(w.Records)) {
					t.Errorf("a report of a state behind offset %d was sent by the step behind %d", report.GetNext(), w.Next)
				}
			}
		}
		if len(r.Outs) > 0 {
			if err := p.Acked(r.Outs, at); err != nil {
				t.Fatal(err)
			}
		}
		looked = r.Look
	}
	if reports < 2 {
		t.Errorf("%d reports", reports)
	}
}

// TestSimulationSeesBrokenShards shows that the simulation of shards would notice.
func TestSimulationSeesBrokenShards(t *testing.T) {
	for _, rule := range slices.Concat(ownerRules, slices.Sorted(maps.Keys(peerRules))) {
		seed, err := crashtest.First(600, func(seed uint64) error {
			_, err := simulate(seed, rule, true)
			return err
		})
		if err == nil {
			t.Errorf("%s: 600 seeds saw nothing", rule)
			continue
		}
		t.Logf("%s: seed %d: %s", rule, seed, strconv.Quote(err.Error()))
	}
}
