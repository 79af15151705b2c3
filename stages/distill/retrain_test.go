package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/stream"
	"forager/internal/stream/stateful"
	"forager/schemas"
)

// renewed is a control record of a crawl that makes its guide of its own pages.
func renewed(revision uint64, change func(*schemas.CrawlControl)) *schemas.CrawlControl {
	ctl := &schemas.CrawlControl{
		Crawl: "c", Revision: revision, State: running,
		Policies: []*schemas.Policy{{Name: "other", Ranker: schemas.Ranker_RANKER_SOFT_FOCUS}, {Name: "context-graph", Ranker: schemas.Ranker_RANKER_UNFOCUSED}},
		Renewal: &schemas.Renewal{
			Every: 4, Bootstrap: 2, Then: &schemas.Policy{Name: "context-graph", Ranker: schemas.Ranker_RANKER_GUIDE, Expand: schemas.Expand_EXPAND_PAGE},
		},
	}
	if change != nil {
		change(ctl)
	}
	return ctl
}

func (b *bench) publish(ctl *schemas.CrawlControl) {
	b.t.Helper()
	value, err := proto.Marshal(ctl)
	if err == nil {
		err = b.cache.Take([]byte("c"), value)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// renew gives so many pages, each with a link to the next one and some on topic, and returns what the stage sends.
func (b *bench) renew(pages int, relevance float64) (models []*schemas.ModelPublished, controls []*schemas.CrawlControl) {
	b.t.Helper()
	var records []stream.Record
	for range pages {
		out := verdictOut(&schemas.LinkFound{
			Id: schemas.RequestID("c", fmt.Sprint(b.offset), 1).Bytes(), Crawl: "c", Url: fmt.Sprintf("http://h.test/%d", b.offset),
			Outcome: schemas.Outcome_OUTCOME_DELIVERED, Links: []*schemas.Link{{Url: fmt.Sprintf("http://h.test/%d", b.offset+1)}},
			Judgement: &schemas.Judgement{Raw: relevance, Document: &schemas.Document{Words: []string{"acid", fmt.Sprintf("b%d", b.offset%3)}, Counts: []uint32{2, 1}}},
		})
		records = append(records, stream.Record{Topic: out.Topic, Offset: b.offset, Key: out.Key, Value: out.Value, Headers: out.Headers})
		b.offset++
	}
	res, err := b.distiller.Step(b.t.Context(), stateful.Work{Records: records, Now: time.Unix(1000, 0)})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, out := range res.Outs {
		m := schemas.Record(out.Topic)
		if err := proto.Unmarshal(out.Value, m); err != nil {
			b.t.Fatal(err)
		}
		switch m := m.(type) {
		case *schemas.ModelPublished:
			models = append(models, m)
		case *schemas.CrawlControl:
			controls = append(controls, m)
		}
	}
	return models, controls
}

// only is the one control record that was sent.
func only(t *testing.T, all []*schemas.CrawlControl, revision, pages uint64) *schemas.CrawlControl {
	t.Helper()
	if len(all) != 1 || all[0].GetRevision() != revision || all[0].GetRenewal().GetPages() != pages {
		t.Fatalf("sent %v, want revision %d for %d pages", all, revision, pages)
	}
	return all[0]
}

func silent(t *testing.T, models []*schemas.ModelPublished, controls []*schemas.CrawlControl) {
	t.Helper()
	if len(models)+len(controls) > 0 {
		t.Fatalf("sent %v, %v", models, controls)
	}
}

// TestAGuideComesIntoUse: with enough targets, and at each later multiple with new ones, once; also if the crawl
// changes meanwhile or the process is killed.
func TestAGuideComesIntoUse(t *testing.T) {
	b := newBench(t)
	b.publish(renewed(1, nil))
	models, controls := b.renew(4, .1) // a multiple, but nothing to learn from
	silent(t, models, controls)
	models, controls = b.renew(2, .9)
	first := only(t, controls, 2, 6)
	p := first.GetPolicies()[1]
	if len(models) != 1 || models[0].GetCrawl() != "c" || p.GetGuide() != models[0].GetVersion() || !strings.HasPrefix(p.GetGuide(), "c/") ||
		p.GetRanker() != schemas.Ranker_RANKER_GUIDE || p.GetExpand() != schemas.Expand_EXPAND_PAGE || first.GetPolicies()[0].GetName() != "other" {
		t.Fatalf("%v, %v", models, first)
	}
	models, controls = b.renew(1, .1) // announced, not yet in force
	silent(t, models, controls)
	b.open() // it is not known whether it was sent
	models, controls = b.renew(0, 0)
	if only(t, controls, 2, 6); len(models) > 0 {
		t.Fatalf("made once more: %v", models)
	}
	b.publish(renewed(2, func(c *schemas.CrawlControl) { c.Window = 7 })) // an operator was faster
	_, controls = b.renew(0, 0)
	first = only(t, controls, 3, 6)
	if first.GetWindow() != 7 || first.GetPolicies()[1].GetGuide() != p.GetGuide() {
		t.Fatalf("sent %v", first)
	}
	b.publish(first)
	models, controls = b.renew(1, .1) // after 8 pages, no new target
	if second := only(t, controls, 4, 8); len(models) > 0 || second.GetPolicies()[1].GetGuide() != p.GetGuide() {
		t.Fatalf("%v, %v", models, second)
	} else {
		b.publish(second)
	}
	models, controls = b.renew(4, .8)
	third := only(t, controls, 5, 12)
	if len(models) != 1 || third.GetPolicies()[1].GetGuide() != models[0].GetVersion() || models[0].GetVersion() == p.GetGuide() {
		t.Fatalf("%v, %v", models, third)
	}
	deleted := proto.CloneOf(first)
	deleted.Revision, deleted.State = 5, schemas.CrawlState_CRAWL_STATE_DELETED // and that was faster, too
	b.publish(deleted)
	_, controls = b.renew(0, 0)
	if last := only(t, controls, 6, 6); last.GetState() != schemas.CrawlState_CRAWL_STATE_DELETED {
		t.Fatalf("sent %v", last)
	}
	if n := b.keys(); n != 0 {
		t.Errorf("%d keys of a deleted crawl", n)
	}
}

// TestNoGuideForAFinishedCrawl, or one whose policies do not rank by it.
func TestNoGuideForAFinishedCrawl(t *testing.T) {
	for name, change := range map[string]func(*schemas.CrawlControl){
		"its budget is spent": func(c *schemas.CrawlControl) { c.Budget = &schemas.Budget{Pages: 2} },
		"another ranker":      func(c *schemas.CrawlControl) { c.Policies = c.Policies[:1] },
		"several shards":      func(c *schemas.CrawlControl) { c.Shards = 2 },
	} {
		b := newBench(t)
		b.publish(renewed(1, change))
		if models, controls := b.renew(6, .9); len(models)+len(controls) > 0 {
			t.Errorf("%s: sent %v, %v", name, models, controls)
		}
	}
}
