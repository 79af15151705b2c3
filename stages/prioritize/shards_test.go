package main

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/stream"
	"forager/internal/stream/crashtest"
	"forager/internal/stream/stateful"
	"forager/schemas"
)

// TestSimulationOfShards is TestSimulation with crawls of two to four shards, some of them in one
// partition, some with another crawl's.
func TestSimulationOfShards(t *testing.T) {
	runSimulations(t, 200, 50, true, 5,
		"owners that crashed", "owners that were superseded", "owners that began with nothing", "requests that are void",
		"requests that came twice", "verdicts that came twice", "leaps that came twice", "boundaries", "models in use",
		"notes among shards", "links sent to another shard", "redirects to another shard", "links sent on by a third shard",
		"several shards ended: pages budget spent", "several shards ended: requests budget spent", "several shards ended: frontier empty",
		"several shards ended: stagnated: the gate let no link through", "several shards ended: stopped")
}

// peerRules break the protocol between shards: each changes a step and its result.
var peerRules = map[string]func(p *prioritizer, w *stateful.Work) func(*stateful.Result){
	// A lease is obeyed whichever owner gave it, so a former owner still gives some.
	"old leases obeyed": func(p *prioritizer, w *stateful.Work) func(*stateful.Result) {
		for _, r := range w.Records {
			found, err := decode(r)
			rec, note := found.(schemas.PeerNote)
			if err != nil || !note || rec.GetNote().GetLease() == nil || rec.GetNote().GetLease().GetKeep() {
				continue
			}
			if c := p.crawls[unit(rec.GetCrawl(), rec.GetShard())]; c != nil && c.ready {
				was := c.shard.Lease()
				if rec.GetNote().GetEpoch() < was.GetEpoch() {
					note := &schemas.ShardNote{Epoch: was.GetEpoch(), Sequence: was.GetSequence() + 1, Lease: rec.GetNote().GetLease()}
					if _, err := c.shard.Apply(schemas.NoteTo(c.name, 0, c.number, note), w.Now); err != nil {
						panic(err)
					}
				}
			}
		}
		return nil
	},
	// Links that another shard sent are applied each time they come.
	"links count twice": func(p *prioritizer, w *stateful.Work) func(*stateful.Result) {
		for i, r := range w.Records {
			found, err := decode(r)
			if err != nil {
				continue
			}
			if _, note := found.(schemas.PeerNote); schemas.BetweenShards(found) && !note {
				rec := found.Record()
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
	rule func(*prioritizer, *stateful.Work) func(*stateful.Result)
}

func (m meddler) Step(ctx context.Context, w stateful.Work) (stateful.Result, error) {
	w.Records = slices.Clone(w.Records)
	behind := m.rule(m.prioritizer, &w)
	r, err := m.prioritizer.Step(ctx, w)
	if behind != nil {
		behind(&r)
	}
	return r, err
}

// pair is a crawl of two shards in one partition, without a broker.
type pair struct {
	t     *testing.T
	conf  settings
	store *stateful.Store
	p     *prioritizer
	epoch uint64
	now   time.Time
	next  int64
	inbox []stream.Record
	// of the last step
	looked   bool
	requests []*schemas.FetchRequest
	notes    []*schemas.ShardNote
}

func newPair(t *testing.T) *pair {
	c := &pair{t: t, conf: newDesk(t).conf, store: newStore(t), now: time.Unix(0, 0)}
	control, err := proto.Marshal(&schemas.CrawlControl{
		Crawl: "c", Revision: 1, State: schemas.CrawlState_CRAWL_STATE_RUNNING, Shards: 2, Window: 4, HostWindow: 9, Budget: &schemas.Budget{Pages: 50},
		Policies: []*schemas.Policy{{Name: "p", Ranker: schemas.Ranker_RANKER_UNFOCUSED}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.conf.book = newCache()
	if err := c.conf.book.control(stream.Record{Key: []byte("c"), Value: control}); err != nil {
		t.Fatal(err)
	}
	c.open()
	return c
}

// open makes a new owner of the partition, with all that was committed.
func (c *pair) open() {
	c.epoch++
	var err error
	if c.p, err = c.conf.open(0, c.epoch, c.store); err != nil {
		c.t.Fatal(err)
	}
}

func (c *pair) send(out stream.Out) int64 {
	at := c.next + int64(len(c.inbox))
	c.inbox = append(c.inbox, stream.Record{Topic: out.Topic, Offset: at, Key: out.Key, Value: out.Value, Headers: out.Headers})
	return at
}

func (c *pair) record(rec *schemas.LinkFound) {
	value, err := proto.Marshal(rec)
	if err != nil {
		c.t.Fatal(err)
	}
	c.send(stream.Out{Topic: schemas.TopicLinkFound, Value: value, Headers: map[string]string{schemas.HeaderVersion: "1", schemas.HeaderCrawl: "c"}})
}

// step takes what was sent by the last one, or given.
func (c *pair) step() {
	c.t.Helper()
	c.now = c.now.Add(time.Second)
	w := stateful.Work{Records: c.inbox, Now: c.now, Next: c.next + int64(len(c.inbox))}
	c.next, c.inbox = w.Next, nil
	r, err := c.p.Step(c.t.Context(), w)
	if err != nil {
		c.t.Fatal(err)
	}
	c.looked, c.requests, c.notes = r.Look, nil, nil
	at := make([]stream.Position, len(r.Outs))
	for i, out := range r.Outs {
		switch out.Topic {
		case schemas.TopicLinkFound:
			at[i].Offset = c.send(out)
			found, err := decode(c.inbox[len(c.inbox)-1])
			if err != nil {
				c.t.Fatal(err)
			}
			if note, ok := found.(schemas.PeerNote); ok {
				c.notes = append(c.notes, note.GetNote())
			}
		case schemas.TopicFetchRequested:
			req := new(schemas.FetchRequest)
			if err := proto.Unmarshal(out.Value, req); err != nil {
				c.t.Fatal(err)
			}
			c.requests = append(c.requests, req)
		}
	}
	if err := c.p.Acked(r.Outs, at); err != nil {
		c.t.Fatal(err)
	}
}

// TestReportsAreLookedFor: a shard reports its state at the end of a step that looked for
// newer owners. (A simulation in which it does not look fails after some hundred seeds.)
func TestReportsAreLookedFor(t *testing.T) {
	c := newPair(t)
	reports := 0
	for range 40 {
		looked, behind := c.looked, c.next
		c.step()
		for _, note := range c.notes {
			if report := note.GetReport(); report != nil {
				reports++
				if !looked || report.GetNext() != behind {
					t.Errorf("a report follows a step that looked (%t) and read up to %d: %v", looked, behind, report)
				}
			}
		}
	}
	if reports < 2 {
		t.Errorf("%d reports", reports)
	}
}

// TestANewOwnerOfShard0AsksFirst: it does not know what is left of the leases of others, so it
// dispatches nothing before all have reported. It records what was sent to others.
func TestANewOwnerOfShard0AsksFirst(t *testing.T) {
	c := newPair(t)
	var seeds []string
	for i := range 40 {
		seeds = append(seeds, "http://h"+strconv.Itoa(i)+".example/")
	}
	c.record(schemas.SeedPage("c", seeds))
	var zero *schemas.FetchRequest
	for range 10 {
		c.step()
		for _, r := range c.requests {
			if r.GetShard() == 0 {
				zero = r
			}
		}
	}
	sent := maps.Clone(c.p.crawls["c"].peers.sent)
	if zero == nil || len(sent) != 1 || len(c.inbox) > 0 {
		t.Fatalf("request %v, links sent %v, %d records wait", zero, sent, len(c.inbox))
	}
	c.open()
	if got := c.p.crawls["c"].peers.sent; !maps.Equal(got, sent) {
		t.Errorf("a new owner has links sent at %v, they were sent at %v", got, sent)
	}
	verdict := delivered(zero)
	c.record(verdict) // its place in the window is free
	c.step()
	if len(c.requests) > 0 {
		t.Errorf("it dispatched at once: %v", c.requests)
	}
	for range 10 {
		c.step()
		for _, r := range c.requests {
			if r.GetShard() == 0 {
				return
			}
		}
	}
	t.Error("shard 0 does not go on")
}

// TestSimulationFindsBrokenShards checks that the simulation of shards detects broken rules.
func TestSimulationFindsBrokenShards(t *testing.T) {
	rules := slices.Concat([]string{"no look", "no fence", "recover nothing"}, slices.Sorted(maps.Keys(peerRules)))
	if testing.Short() {
		rules = rules[:1] // the race detector needs no more, and takes ten times as long
	}
	for _, rule := range rules {
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
