package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"forager/infra/local/clickhouse"
	"forager/internal/crawl/controls"
	"forager/internal/platform/analytics"
	"forager/internal/platform/pipeline"
	"forager/internal/stream"
	"forager/schemas"
	tables "forager/schemas/clickhouse"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		f.Value.Set("10") // each check makes some dozens of inserts
	}
	os.Exit(m.Run())
}

func database(t testing.TB) *analytics.DB {
	t.Helper()
	s, err := clickhouse.Start(t.Context(), t.TempDir(), "127.0.0.1:0", clickhouse.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	d, err := analytics.Open(pipeline.ClickHouse{URL: s.URL(), Database: "forager", User: "default"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func message(topic string, partition int, offset int64, m proto.Message, headers map[string]string) stream.Record {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	h := map[string]string{schemas.HeaderVersion: "1"}
	for k, v := range headers {
		h[k] = v
	}
	return stream.Record{Topic: topic, Partition: partition, Offset: offset, Value: b, Headers: h, Time: time.UnixMilli(1_000 + offset).UTC()}
}

// plain recounts what the views must show: for each view the first record of each key.
type plain map[string]map[string]string

func (p plain) add(view, key, row string) {
	if p[view] == nil {
		p[view] = map[string]string{}
	}
	if _, seen := p[view][key]; !seen {
		p[view][key] = row
	}
}

// TestReplaysNeverCountTwice loads a log with duplicates in random batches, some of them again
// after a crash, and compares the views with a plain recount.
func TestReplaysNeverCountTwice(t *testing.T) {
	l := &loader{db: database(t), crawls: controls.New()}
	// Requests more often: it takes a marker and an older owner to make one void.
	topics := append(slices.Repeat([]string{schemas.TopicFetchRequested}, 8), inputs...)
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		crawl := "c" + strconv.Itoa(round)
		base := round * 10 // markers are distinguished by their partition only
		want := plain{}
		log, fences := map[string][]stream.Record{}, map[int]*stream.Fence{}
		n := rapid.IntRange(1, 80).Draw(rt, "records")
		for i := range n {
			// Few ids, so that many records come again, with other contents.
			url := fmt.Sprintf("http://h%d.example/", rapid.IntRange(0, 7).Draw(rt, "url"))
			id := schemas.RequestID(crawl, url, 1)
			partition := base + int(url[8]-'0')%2
			topic := rapid.SampledFrom(topics).Draw(rt, "topic")
			key := fmt.Sprint(topic, partition)
			offset := int64(len(log[key]) * 3) // offsets have holes
			status := uint32(i)
			var r stream.Record
			switch topic {
			case schemas.TopicFetchRequested:
				if fences[partition] == nil {
					fences[partition] = new(stream.Fence)
				}
				owner, epoch := uint32(rapid.IntRange(0, 1).Draw(rt, "owner")), uint64(rapid.IntRange(1, 4).Draw(rt, "epoch"))
				if rapid.IntRange(0, 3).Draw(rt, "marker") == 0 {
					r = message(topic, partition, offset, &schemas.FetchRequest{Marker: true, Epoch: epoch, Owner: owner}, stream.OwnerHeaders(owner, epoch))
					if _, err := fences[partition].Read(&r); err != nil {
						rt.Fatal(err)
					}
					break
				}
				m := &schemas.FetchRequest{Id: id.Bytes(), Crawl: crawl, Url: url, Host: "h", Attempt: status, Epoch: epoch, Owner: owner}
				r = message(topic, partition, offset, m, schemas.RequestHeaders(m))
				if kind, err := fences[partition].Read(&r); err != nil {
					rt.Fatal(err)
				} else if kind == stream.Decision {
					want.add("requests", id.String(), fmt.Sprint(status, url, offset))
				}
			case schemas.TopicPageFetched:
				r = message(topic, partition, offset, &schemas.PageFetched{Id: id.Bytes(), Crawl: crawl, Url: url, Status: status}, nil)
				want.add("fetches", id.String(), fmt.Sprint(status, url, offset))
			case schemas.TopicPageJudged:
				parsed, err := proto.Marshal(&schemas.PageParsed{Id: id.Bytes(), Page: &schemas.Page{Url: url, LeafLengths: make([]uint32, i)}})
				if err != nil {
					rt.Fatal(err)
				}
				r = message(topic, partition, offset, &schemas.PageJudged{Id: id.Bytes(), Crawl: crawl, Outcome: schemas.Outcome_OUTCOME_DELIVERED,
					Judgement: &schemas.Judgement{Raw: .5}, Parsed: parsed}, nil)
				want.add("judgements", id.String(), fmt.Sprint(i, url, offset))
			case schemas.TopicPageRejudged:
				critic := fmt.Sprint("critic/", i%3)
				r = message(topic, partition, offset, &schemas.PageRejudged{Request: id.Bytes(), Crawl: crawl, Focus: "A", Judgement: &schemas.Judgement{Critic: critic, Raw: float64(i)}}, nil)
				want.add("rejudgements", id.String()+critic+"A", fmt.Sprint(i, critic, offset))
			case schemas.TopicLinkFound:
				m := &schemas.LinkFound{Id: id.Bytes(), Crawl: crawl, Url: url, Status: status, Outcome: schemas.Outcome_OUTCOME_DELIVERED}
				want.add("verdicts", id.String(), fmt.Sprint(status, url, offset))
				for j := range rapid.IntRange(0, 3).Draw(rt, "links") {
					v := fmt.Sprintf("http://h%d.example/%d", j, rapid.IntRange(0, 3).Draw(rt, "v"))
					m.Links = append(m.Links, &schemas.Link{Url: v, Position: status})
					want.add("links", schemas.LeapID(crawl, url, v).String(), fmt.Sprint(status, v, offset))
				}
				r = message(topic, partition, offset, m, nil)
			case schemas.TopicLeapSettled:
				leap := schemas.LeapID(crawl, url, "http://v/")
				r = message(topic, partition, offset, &schemas.LeapSettled{Id: leap.Bytes(), Crawl: crawl, U: url, V: "http://v/", Pages: uint64(i), Boundary: i%7 == 0}, nil)
				if _, other := want["boundaries"][leap.String()]; i%7 == 0 && want["leaps"][leap.String()] == "" {
					want.add("boundaries", leap.String(), fmt.Sprint(i, "", offset))
				} else if i%7 != 0 && !other {
					want.add("leaps", leap.String(), fmt.Sprint(i, url, offset))
				}
			case schemas.TopicModelPublished:
				r = message(topic, partition, offset, &schemas.ModelPublished{Kind: "apprentice", Crawl: crawl, Version: url, Pages: uint64(i)}, nil)
				want.add("models", url, fmt.Sprint(i, url, offset))
			case schemas.TopicHubRanked:
				partition = base
				offset = int64(len(log[fmt.Sprint(topic, partition)]) * 3)
				r = message(topic, partition, offset, &schemas.HubRanked{
					Id: id.Bytes(), Crawl: crawl, Pages: uint64(i), Hubs: []*schemas.RankedPage{{Url: url}}, Authorities: []*schemas.RankedPage{{Url: url}, {Url: url}},
				}, nil)
				for _, row := range []string{"hub1", "authority1", "authority2"} {
					want.add("hubs", id.String()+row, fmt.Sprint(i, url, offset))
				}
			case schemas.TopicCrawlControl:
				revision := uint64(i % 5)
				partition = base
				offset = int64(len(log[fmt.Sprint(topic, partition)]) * 3)
				r = message(topic, partition, offset, &schemas.CrawlControl{Crawl: crawl, Revision: revision, Critic: url}, nil)
				want.add("controls", fmt.Sprint(revision), fmt.Sprint(revision, url, offset))
			case schemas.TopicCrawlStatus:
				at := int64(i % 5)
				partition = base
				offset = int64(len(log[fmt.Sprint(topic, partition)]) * 3)
				r = message(topic, partition, offset, &schemas.CrawlStatus{Crawl: crawl, At: at, Pages: uint64(i), Activity: url}, nil)
				want.add("statuses", fmt.Sprint(at), fmt.Sprint(i, url, offset))
			case schemas.TopicDeadLetter:
				r = message(topic, partition, offset, &schemas.DeadLetter{Stage: "s", Topic: "t", Partition: uint32(partition), Offset: int64(i % 5), Error: url, Tries: status}, map[string]string{schemas.HeaderCrawl: crawl})
				want.add("letters", fmt.Sprint(partition, i%5), fmt.Sprint(status, url, offset))
			}
			key = fmt.Sprint(topic, partition)
			log[key] = append(log[key], r)
		}
		// The consumer: batches over all partitions, and crashes after an insert, before a commit.
		next := map[string]int{}
		for left := n; left > 0; {
			var batch []stream.Record
			taken := map[string]int{}
			for _, key := range slices.Sorted(maps.Keys(log)) {
				k := min(rapid.IntRange(0, 20).Draw(rt, "take"), len(log[key])-next[key])
				batch = append(batch, log[key][next[key]:next[key]+k]...)
				taken[key] = k
			}
			if err := l.load(t.Context(), batch); err != nil {
				rt.Fatal(err)
			}
			if rapid.IntRange(0, 2).Draw(rt, "crash") == 0 {
				continue
			}
			for key, k := range taken {
				next[key] += k
				left -= k
			}
		}
		for view, sql := range map[string]string{
			"requests":     "SELECT id, concat(toString(attempt), ' ', url, ' ', toString(offset)) FROM requests",
			"fetches":      "SELECT id, concat(toString(status), ' ', url, ' ', toString(offset)) FROM fetches",
			"judgements":   "SELECT id, concat(toString(leaves), ' ', url, ' ', toString(offset)) FROM judgements",
			"rejudgements": "SELECT concat(request, critic, focus), concat(toString(relevance), ' ', critic, ' ', toString(offset)) FROM rejudgements",
			"verdicts":     "SELECT id, concat(toString(status), ' ', url, ' ', toString(offset)) FROM verdicts",
			"links":        "SELECT id, concat(toString(position), ' ', v, ' ', toString(offset)) FROM links",
			"leaps":        "SELECT id, concat(toString(pages), ' ', u, ' ', toString(offset)) FROM leaps",
			"boundaries":   "SELECT id, concat(toString(pages), '  ', toString(offset)) FROM boundaries",
			"models":       "SELECT model, concat(toString(pages), ' ', model, ' ', toString(offset)) FROM models",
			"hubs":         "SELECT concat(id, kind, toString(place)), concat(toString(pages), ' ', url, ' ', toString(offset)) FROM hubs",
			"controls":     "SELECT toString(revision), concat(toString(revision), ' ', critic, ' ', toString(offset)) FROM controls",
			"statuses":     "SELECT toString(toUnixTimestamp64Milli(at)), concat(toString(pages), ' ', activity, ' ', toString(offset)) FROM statuses",
			"letters":      "SELECT concat(toString(of_partition), ' ', toString(of_offset)), concat(toString(tries), ' ', error, ' ', toString(offset)) FROM letters",
		} {
			r, err := l.db.Query(t.Context(), sql+" WHERE crawl = {crawl:String}", analytics.Params{"crawl": crawl})
			if err != nil {
				rt.Fatalf("%s: %v", view, err)
			}
			if len(r.Rows) != len(want[view]) {
				rt.Errorf("%s: %d rows, want %d", view, len(r.Rows), len(want[view]))
			}
			for _, row := range r.Rows {
				key, got := row[0].(string), strings.Join(strings.Fields(row[1].(string)), "")
				if w := strings.Join(strings.Fields(want[view][key]), ""); got != w {
					rt.Errorf("%s %s: %s, want %s", view, key, got, w)
				}
			}
		}
	})
}

func TestRowsEqualRecords(t *testing.T) {
	id := schemas.RequestID("c", "http://a.example/", 1)
	parsed, err := proto.Marshal(&schemas.PageParsed{Id: id.Bytes(), Page: &schemas.Page{
		Url: "http://a.example/", Title: "T", Description: "D", Language: "en", Charset: "utf-8", Canonical: "http://a.example/c", Fingerprint: math.MaxUint64,
		LeafLengths: []uint32{1, 2}, Tokens: []uint32{0, 1, 0}, Links: []*schemas.Link{{Url: "http://b.example/"}}, Nofollow: true, Noindex: true, Cut: true, TokenizerOnly: true, Size: 99,
	}})
	if err != nil {
		t.Fatal(err)
	}
	var b rows
	for _, r := range []stream.Record{
		message(schemas.TopicPageJudged, 1, 7, &schemas.PageJudged{Id: id.Bytes(), Crawl: "c", Outcome: schemas.Outcome_OUTCOME_DELIVERED, Parsed: parsed,
			Judgement: &schemas.Judgement{Raw: .9, Tempered: .8, Calibrated: .7, BestIsFocus: true, Critic: "k/1", KnownTokens: 3, Marking: 4, Degraded: "timeout",
				Shadows:  []*schemas.Shadow{{Critic: "l/1", Raw: .3, Tempered: .2, Calibrated: .1, BestIsFocus: true}, {Critic: "m/1", Failure: "away"}},
				Guidance: []*schemas.Guidance{{Guide: "near/1", Failure: "rubbish"}, {Guide: "far/1", Scores: []float64{1}}}, Backlinks: &schemas.Backlinks{Source: "links/1", Failure: "timeout"}, Topics: []*schemas.TopicScore{{Topic: "/A", Tempered: .8}, {Topic: "/B", Tempered: .1}}}}, nil),
		// A page that no stage could parse: what rides on is not looked at.
		message(schemas.TopicPageJudged, 1, 8, &schemas.PageJudged{Id: id.Bytes(), Crawl: "c", Outcome: schemas.Outcome_OUTCOME_FAILED_PARSE_DOM, Parsed: []byte("\xff")}, nil),
		message(schemas.TopicLinkFound, 1, 9, &schemas.LinkFound{Id: id.Bytes(), Crawl: "c", Outcome: schemas.Outcome_OUTCOME_SEEDS, Links: []*schemas.Link{{Url: "http://seed.example:81/x"}}}, nil),
		message(schemas.TopicLeapSettled, 1, 10, &schemas.LeapSettled{Id: id.Bytes(), Crawl: "c", Boundary: true, Pages: 30}, nil),
		message(schemas.TopicLeapSettled, 1, 11, &schemas.LeapSettled{Id: id.Bytes(), Crawl: "c", Request: id.Bytes(), Outcome: schemas.Outcome_OUTCOME_FAILED_CRITIC_SCORE,
			Features: []*schemas.Feature{{Term: "t", Offset: -5, Count: 2}, {Term: "c:/A", Offset: schemas.NoOffset, Count: 1}},
			Shadows:  []*schemas.ShadowPlace{{Policy: "a", Tier: 3, Score: .5, Model: "c/1"}, {Policy: "b", Dropped: true}}}, nil),
		message(schemas.TopicCrawlControl, 0, 12, &schemas.CrawlControl{Crawl: "c", Revision: 2, Focus: []string{"A"}, Bad: []string{"A/B"}, Weights: map[string]float64{"A": .5}, Shadows: []string{"l/1"}, State: schemas.CrawlState_CRAWL_STATE_RUNNING, Budget: &schemas.Budget{Pages: 100},
			Policies: []*schemas.Policy{{Name: "p", Ranker: schemas.Ranker_RANKER_SOFT_FOCUS}}}, nil),
		{Topic: schemas.TopicCrawlStatus, Headers: map[string]string{schemas.HeaderVersion: "1"}}, // a tombstone
		{Topic: schemas.TopicFetchRequested, Headers: stream.OwnerHeaders(3, 0), Value: []byte{}}, // a claim
		{Topic: schemas.TopicFetchRequested, Partition: 2, Offset: 4, Headers: stream.OwnerHeaders(3, 9), Value: []byte{}},
	} {
		if err := b.add(&r); err != nil {
			t.Fatal(err)
		}
	}
	j := b.judgements[0]
	if j.Relevance != .9 || j.Tempered != .8 || j.Calibrated != .7 || !j.BestIsFocus || j.Critic != "k/1" || j.KnownTokens != 3 || !slices.Equal(j.Topics, []string{"/A", "/B"}) || !slices.Equal(j.Posteriors, []float64{.8, .1}) ||
		j.Title != "T" || j.Description != "D" || j.Language != "en" || j.Charset != "utf-8" || j.Canonical != "http://a.example/c" || j.Fingerprint != math.MaxUint64 ||
		j.Leaves != 2 || j.Tokens != 3 || j.Links != 1 || j.Size != 99 || !j.Nofollow || !j.Noindex || !j.Cut || !j.TokenizerOnly ||
		j.Outcome != "delivered" || j.Partition != 1 || j.Precedence != math.MaxUint64-7 || j.RecordedAt.UnixMilli() != 1007 {
		t.Errorf("judgement %+v", j)
	}
	shadows := [][]any{{"l/1", .3, .2, .1, true, ""}, {"m/1", 0., 0., 0., false, "away"}}
	for i, want := range shadows {
		got := []any{j.ShadowCritics[i], j.ShadowRelevances[i], j.ShadowTempered[i], j.ShadowCalibrated[i], j.ShadowFocus[i], j.ShadowFailures[i]}
		if !slices.Equal(got, want) {
			t.Errorf("shadow %d: %v, want %v", i, got, want)
		}
	}
	if diff := cmp.Diff(map[string]string{"near/1": "rubbish", "links/1": "timeout"}, j.Silent); diff != "" {
		t.Errorf("who did not answer: %s", diff)
	}
	if j.Marking != 4 || j.Degraded != "timeout" || len(j.ShadowCritics) != len(shadows) {
		t.Errorf("marking %d, degraded %q, shadows %v", j.Marking, j.Degraded, j.ShadowCritics)
	}
	if f := b.judgements[1]; f.Outcome != "failed:parse-dom" || f.URL != "" {
		t.Errorf("a page that could not be parsed: %+v", f)
	}
	if l := b.links[0]; l.U != "" || l.UHost != "" || l.VHost != "seed.example:81" || l.ID != string(schemas.LeapID("c", "", "http://seed.example:81/x").Bytes()) {
		t.Errorf("a seed: %+v", l)
	}
	if v := b.verdicts[0]; v.Outcome != "seeds" || v.Links != 1 {
		t.Errorf("the list of seeds: %+v", v)
	}
	if l := b.leaps[0]; !l.Boundary || l.Outcome != "" || len(l.Request) != 16 {
		t.Errorf("boundary %+v", l)
	}
	if l := b.leaps[1]; l.Outcome != "failed:critic-score" || !slices.Equal(l.Terms, []string{"t", "c:/A"}) || !slices.Equal(l.Offsets, []int16{-5, 127}) || !slices.Equal(l.Counts, []uint32{2, 1}) {
		t.Errorf("leap %+v", l)
	}
	if c := b.controls[0]; c.State != "running" || c.Pages != 100 || !slices.Equal(c.Bad, []string{"A/B"}) || c.Weights["A"] != .5 || !slices.Equal(c.Shadows, []string{"l/1"}) || !slices.Equal(c.Rankers, []string{"soft-focus"}) || !strings.Contains(c.Control, `"revision":`) {
		t.Errorf("control %+v", c)
	}
	if len(b.statuses) != 0 || len(b.requests) != 0 {
		t.Error("a tombstone or a claim became a row")
	}
	if m := b.markers[0]; m.Owner != 3 || m.Epoch != 9 || m.Partition != 2 || m.Precedence != math.MaxUint64-4 {
		t.Errorf("marker %+v", m)
	}
}

// TestRowsOfLinks comes with each of them, and what does not fit breaks nothing.
func TestRowsOfLinks(t *testing.T) {
	b := new(rows)
	r := message(schemas.TopicLinkFound, 0, 1, &schemas.LinkFound{
		Id: make([]byte, 16), Crawl: "c", Url: "http://a.example/", Outcome: schemas.Outcome_OUTCOME_DELIVERED,
		Links: []*schemas.Link{{Url: "http://a.example/1"}, {Url: "http://a.example/2"}},
		Judgement: &schemas.Judgement{Anchors: []uint32{schemas.AnchorSteps}, Guidance: []*schemas.Guidance{
			{Guide: "each/1", Scores: []float64{-2, 7}}, {Guide: "all/1", Scores: []float64{.5}}, {Guide: "failed/1", Failure: "away"}, {Guide: "odd/1", Scores: []float64{}},
		}},
	}, nil)
	if err := b.add(&r); err != nil {
		t.Fatal(err)
	}
	for i, want := range []map[string]float64{{"each/1": -2, "all/1": .5}, {"each/1": 7, "all/1": .5}} {
		if diff := cmp.Diff(want, b.links[i].Guidance); diff != "" {
			t.Errorf("link %d: %s", i, diff)
		}
	}
	if a := b.links[0].Anchor; a == nil || *a != 1 || b.links[1].Anchor != nil {
		t.Errorf("anchors %v, %v", a, b.links[1].Anchor)
	}
}

func TestUndecodableRecordsAreRefused(t *testing.T) {
	for _, topic := range inputs {
		r := stream.Record{Topic: topic, Value: []byte("\xff\xff\xff"), Headers: map[string]string{schemas.HeaderVersion: "1", schemas.HeaderID: "00"}}
		if err := new(rows).add(&r); err == nil || stream.IsBroken(err) || stream.IsUnavailable(err) {
			t.Errorf("%s: %v", topic, err)
		}
	}
	short := message(schemas.TopicPageFetched, 0, 0, &schemas.PageFetched{Id: []byte("short"), Crawl: "c"}, nil)
	if err := new(rows).add(&short); err == nil || !strings.Contains(err.Error(), "16") {
		t.Errorf("a short id: %v", err)
	}
	strange := stream.Record{Topic: "other", Value: []byte{}}
	if err := new(rows).add(&strange); !stream.IsBroken(err) {
		t.Errorf("a topic that is not loaded: %v", err)
	}
}

func FuzzAdd(f *testing.F) {
	id := schemas.RequestID("c", "http://a/", 1).Bytes()
	for i, m := range []proto.Message{
		&schemas.CrawlControl{Crawl: "c"}, &schemas.CrawlStatus{Crawl: "c"}, &schemas.FetchRequest{Id: id}, &schemas.PageFetched{Id: id, Url: "x"},
		&schemas.PageJudged{Id: id, Outcome: 1}, &schemas.LinkFound{Id: id, Links: []*schemas.Link{{Url: ":"}}}, &schemas.LeapSettled{Id: id}, &schemas.ModelPublished{}, &schemas.DeadLetter{},
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), b)
	}
	f.Fuzz(func(t *testing.T, topic uint8, value []byte) {
		r := stream.Record{Topic: inputs[int(topic)%len(inputs)], Value: value}
		var b rows
		if err := b.add(&r); err != nil {
			return
		}
		for _, x := range b.judgements {
			if len(x.Topics) != len(x.Posteriors) || len(x.ID) != 16 {
				t.Fatalf("%+v", x)
			}
		}
		for _, x := range b.leaps {
			if len(x.ID) != 16 || len(x.Request) != 16 || len(x.Terms) != len(x.Offsets) {
				t.Fatalf("%+v", x)
			}
		}
	})
}

// FuzzNeeds: the rows of what is decoded of a record are those of the whole record.
func FuzzNeeds(f *testing.F) {
	id := schemas.RequestID("c", "http://a/", 1).Bytes()
	parsed, err := proto.Marshal(&schemas.PageParsed{Id: id, Page: &schemas.Page{Terms: []string{"a"}, Tokens: []uint32{0, 0}, Title: "t", Fingerprint: 7}})
	if err != nil {
		f.Fatal(err)
	}
	judgement := &schemas.Judgement{Raw: .5, Document: &schemas.Document{Words: []string{"a"}}, Anchors: []uint32{3}, Guidance: []*schemas.Guidance{{Guide: "g", Scores: []float64{1}, Failure: "f"}}}
	for _, m := range []proto.Message{
		&schemas.PageJudged{Id: id, Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: judgement, Parsed: parsed},
		&schemas.PageJudged{Id: id, Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: judgement, Parsed: parsed[len(id)+2:]},
		&schemas.LinkFound{Id: id, Judgement: judgement, Links: []*schemas.Link{{Url: ":"}}, Table: &schemas.LeafTable{Terms: []string{"a"}}, Fingerprint: 7},
	} {
		value, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		name := m.ProtoReflect().Descriptor().Name()
		if kept := tables.Need(name).Of(value); len(kept) == 0 || len(kept) >= len(value) {
			f.Errorf("of %d bytes of %s %d are decoded", len(value), name, len(kept))
		}
		f.Add(name == "PageJudged", value)
		f.Add(name == "PageJudged", append(value, value...))
	}
	f.Fuzz(func(t *testing.T, judged bool, value []byte) {
		r := stream.Record{Topic: schemas.TopicLinkFound, Value: value}
		var want, got rows
		place := analytics.PlaceOf(r.Partition, r.Offset, r.Time)
		if judged {
			r.Topic = schemas.TopicPageJudged
			var m schemas.PageJudged
			var parsed schemas.PageParsed
			if proto.Unmarshal(value, &m) != nil || proto.Unmarshal(m.Parsed, &parsed) != nil || len(m.Id) != 16 {
				return
			}
			if m.Outcome != schemas.Outcome_OUTCOME_DELIVERED {
				m.Judgement, parsed = nil, schemas.PageParsed{}
			} else if len(parsed.Id) != 16 {
				if err := got.add(&r); err == nil || !strings.Contains(err.Error(), "PageParsed") {
					t.Fatalf("a page with the id %x: %v", parsed.Id, err)
				}
				return
			}
			want.judgements = rowsOf[analytics.Judgement]{analytics.NewJudgement(&m, &parsed, place)}
		} else {
			var m schemas.LinkFound
			if proto.Unmarshal(value, &m) != nil || len(m.Id) != 16 {
				return
			}
			want.verdicts = rowsOf[analytics.Verdict]{analytics.NewVerdict(&m, place)}
			want.links = analytics.AppendLink(nil, &m, m.Links, place)
		}
		if err := got.add(&r); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(rows{}), cmpopts.EquateNaNs()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestErrorsOfClickHouse(t *testing.T) {
	away, err := analytics.Open(pipeline.ClickHouse{URL: "http://127.0.0.1:1", Database: "forager", User: "default"})
	if err != nil {
		t.Fatal(err)
	}
	defer away.Close()
	rs := []stream.Record{message(schemas.TopicModelPublished, 0, 0, &schemas.ModelPublished{Kind: "critic", Version: "v"}, nil)}
	if err := (&loader{db: away, crawls: controls.New()}).load(t.Context(), rs); !stream.IsUnavailable(err) {
		t.Errorf("no server: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (&loader{db: away, crawls: controls.New()}).load(ended, rs); stream.IsUnavailable(err) || stream.IsBroken(err) || err == nil {
		t.Errorf("called off: %v", err)
	}
	l := &loader{db: database(t), crawls: controls.New()}
	if err := l.load(t.Context(), rs); err != nil {
		t.Fatal(err)
	}
	if err := l.db.Exec(t.Context(), "DROP TABLE models_rows", nil); err != nil {
		t.Fatal(err)
	}
	if err := l.load(t.Context(), rs); !stream.IsBroken(err) || !strings.Contains(err.Error(), "models_rows") {
		t.Errorf("a table that is gone: %v", err)
	}
}
