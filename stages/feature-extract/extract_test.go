package main

import (
	"maps"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/controls"
	"forager/internal/rank/linkfeature"
	"forager/internal/stream"
	"forager/internal/stream/runner"
	"forager/schemas"
)

// extracts returns a stage that has read crawl "c" with these settings; nil = no crawl.
func extracts(t testing.TB, learning *schemas.Learning) *runner.Stateless {
	t.Helper()
	x := &extractor{crawls: controls.New()}
	if learning != nil {
		b, err := proto.Marshal(&schemas.CrawlControl{Crawl: "c", Revision: 1, Learning: learning})
		if err != nil {
			t.Fatal(err)
		}
		if err := x.crawls.Take([]byte("c"), b); err != nil {
			t.Fatal(err)
		}
	}
	s := x.stage(1)
	s.Tries = 1
	return &s
}

// record is one of page.judged: a page with a link in leaf 2 of "about / chess / this club / go / home".
func record(t testing.TB, change func(*schemas.PageJudged, *schemas.PageParsed)) stream.Record {
	t.Helper()
	request := &schemas.FetchRequest{
		Id: schemas.RequestID("c", "http://h/u", 1).Bytes(), Crawl: "c", Shard: 3, Url: "http://h/u", Host: "h", Epoch: 7, Owner: 2,
		PathState: []byte("opaque"),
	}
	b, err := proto.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	parsed := &schemas.PageParsed{
		Request: b, Crawl: "c", Id: request.Id, Outcome: schemas.Outcome_OUTCOME_DELIVERED, Status: 200, FetchedAt: 5,
		Page: &schemas.Page{
			Url: "http://h/u", Terms: []string{"about", "chess", "this", "club", "go", "home"}, Tokens: []uint32{0, 1, 2, 3, 4, 5},
			LeafLengths: []uint32{1, 1, 2, 1, 1}, Fingerprint: 99,
			Links: []*schemas.Link{{Url: "http://h/v", FirstLeaf: 2, LastLeaf: 2, Position: 4, Nofollow: true}},
		},
	}
	judged := &schemas.PageJudged{Id: request.Id, Crawl: "c", Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: &schemas.Judgement{
		Raw: .25, Tempered: .5, BestIsFocus: true, Critic: "games/1", Topics: []*schemas.TopicScore{{Topic: "games/chess"}},
	}}
	if change != nil {
		change(judged, parsed)
	}
	if judged.Parsed == nil {
		if judged.Parsed, err = proto.Marshal(parsed); err != nil {
			t.Fatal(err)
		}
	}
	value, err := proto.Marshal(judged)
	if err != nil {
		t.Fatal(err)
	}
	return stream.Record{
		Topic: schemas.TopicPageJudged, Offset: 5, Key: judged.Id, Value: value,
		Headers: schemas.WithTrail(schemas.RequestHeaders(request), schemas.Place{Topic: schemas.TopicPageParsed, Partition: 1, Offset: 7}),
	}
}

func found(t testing.TB, o stream.Out) *schemas.LinkFound {
	t.Helper()
	f := new(schemas.LinkFound)
	if err := proto.Unmarshal(o.Value, f); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestVerdictAndLinksGoToTheShard(t *testing.T) {
	s := extracts(t, &schemas.Learning{DMax: 1, Topics: schemas.TopicFeatures_TOPIC_FEATURES_TOP2})
	r := record(t, nil)
	outs, err := s.Apply(t.Context(), r)
	if err != nil || len(outs) != 1 || outs[0].Topic != schemas.TopicLinkFound || string(outs[0].Key) != "c/3" {
		t.Fatalf("%v, %v", outs, err)
	}
	onward := maps.Clone(r.Headers)
	onward[schemas.HeaderTrail] = "page.parsed/1/7 page.judged/0/5"
	for name, want := range onward {
		if outs[0].Headers[name] != want {
			t.Errorf("header %s is %q, want %q", name, outs[0].Headers[name], want)
		}
	}
	f := found(t, outs[0])
	request := new(schemas.FetchRequest)
	if err := proto.Unmarshal(f.Request, request); err != nil || string(request.PathState) != "opaque" {
		t.Errorf("request %v, %v", request, err)
	}
	if string(f.Id) != string(request.Id) || f.Crawl != "c" || f.Shard != 3 || f.Url != "http://h/u" || f.Outcome != schemas.Outcome_OUTCOME_DELIVERED ||
		f.Status != 200 || f.FetchedAt != 5 || f.Fingerprint != 99 || f.Cut || f.Judgement.GetRaw() != .25 || f.Judgement.GetCritic() != "games/1" {
		t.Errorf("%v", f)
	}
	if len(f.Links) != 1 || f.Links[0].Url != "http://h/v" || f.Links[0].Position != 4 || !f.Links[0].Nofollow {
		t.Fatalf("links %v", f.Links)
	}
	var features []string
	for _, x := range linkfeature.Features(f.Table, f.Links[0], 1) {
		features = append(features, x.Term)
	}
	if got := strings.Join(features, " "); got != "c:/ c:/games c:/games/chess chess club go this" {
		t.Errorf("features %q", got)
	}
	again, err := s.Apply(t.Context(), r)
	if err != nil || string(again[0].Value) != string(outs[0].Value) {
		t.Errorf("a second time gives other bytes, %v", err)
	}
}

func TestOtherOutcomesPassWithoutLinks(t *testing.T) {
	s := extracts(t, nil) // without a crawl
	for o := range schemas.Outcomes {
		if o == schemas.Outcome_OUTCOME_DELIVERED {
			continue
		}
		outs, err := s.Apply(t.Context(), record(t, func(j *schemas.PageJudged, p *schemas.PageParsed) {
			j.Outcome, j.Judgement, p.Outcome, p.Page = o, nil, o, nil
			p.Detail, p.Redirect, p.NotBefore = "why", "http://h/w", 77
		}))
		if err != nil || len(outs) != 1 {
			t.Fatalf("%s: %d records, %v", o, len(outs), err)
		}
		f := found(t, outs[0])
		if f.Outcome != o || f.Detail != "why" || f.Redirect != "http://h/w" || f.NotBefore != 77 || f.Judgement != nil || f.Table != nil || len(f.Links) != 0 || f.Shard != 3 {
			t.Errorf("%s: %v", o, f)
		}
	}
}

func TestLinksThatMustNotBeFollowedAreLeftOut(t *testing.T) {
	outs, err := extracts(t, &schemas.Learning{DMax: 5}).Apply(t.Context(), record(t, func(_ *schemas.PageJudged, p *schemas.PageParsed) {
		p.Page.Nofollow, p.Page.Cut = true, true
	}))
	if err != nil || len(outs) != 1 {
		t.Fatalf("%d records, %v", len(outs), err)
	}
	if f := found(t, outs[0]); len(f.Links) != 0 || f.Table != nil || f.Judgement == nil || !f.Cut {
		t.Errorf("%v", f)
	}
}

func TestUnknownCrawlIsWaitedFor(t *testing.T) {
	outs, err := extracts(t, nil).Apply(t.Context(), record(t, nil))
	if !stream.IsUnavailable(err) || len(outs) != 0 || !strings.Contains(err.Error(), `crawl "c"`) {
		t.Errorf("%d records, %v", len(outs), err)
	}
}

func TestPoisonIsAnsweredForTheRequest(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*schemas.PageJudged, *schemas.PageParsed)
		value  []byte
		dMax   uint32
		detail string
		kept   bool // the fields of the record are kept
	}{
		"undecodable":        {nil, []byte{0xff, 1}, 5, "decode page.judged", false},
		"undecodable within": {func(j *schemas.PageJudged, _ *schemas.PageParsed) { j.Parsed = []byte{0xff} }, nil, 5, "decode the parsed page", false},
		"no page":            {func(_ *schemas.PageJudged, p *schemas.PageParsed) { p.Page = nil }, nil, 5, "without the page", true},
		"no judgement":       {func(j *schemas.PageJudged, _ *schemas.PageParsed) { j.Judgement = nil }, nil, 5, "or its judgement", true},
		"contradiction":      {func(_ *schemas.PageJudged, p *schemas.PageParsed) { p.Page.LeafLengths[0] = 9 }, nil, 5, "its leaves have 14 tokens", true},
		"d_max":              {nil, nil, 101, "d_max is 101", true},
		"another request": {func(j *schemas.PageJudged, p *schemas.PageParsed) { p.Id = make([]byte, 16); p.Request = []byte("?") }, nil, 5,
			"name different requests", false},
		"another crawl": {func(j *schemas.PageJudged, p *schemas.PageParsed) { j.Crawl = "d" }, nil, 5, "name different requests", false},
	} {
		r := record(t, c.change)
		if c.value != nil {
			r.Value = c.value
		}
		outs, err := extracts(t, &schemas.Learning{DMax: c.dMax}).Apply(t.Context(), r)
		if err != nil || len(outs) != 2 || outs[0].Topic != schemas.TopicLinkFound || outs[1].Topic != schemas.TopicDeadLetter {
			t.Errorf("%s: %d records, %v", name, len(outs), err)
			continue
		}
		f := found(t, outs[0])
		request := new(schemas.FetchRequest)
		if err := proto.Unmarshal(f.Request, request); err != nil {
			t.Errorf("%s: request: %v", name, err)
		}
		id := schemas.RequestID("c", "http://h/u", 1).Bytes()
		if f.Outcome != schemas.Outcome_OUTCOME_FAILED_FEATURE_EXTRACT || string(f.Id) != string(id) || string(request.Id) != string(id) ||
			f.Crawl != "c" || f.Shard != 3 || f.Url != "http://h/u" || string(outs[0].Key) != "c/3" || f.Judgement != nil || len(f.Links) != 0 ||
			request.Epoch != 7 || request.Owner != 2 {
			t.Errorf("%s: %v for %v", name, f, request)
		}
		if !strings.Contains(f.Detail, c.detail) {
			t.Errorf("%s: detail %q does not contain %q", name, f.Detail, c.detail)
		}
		if kept := string(request.PathState) == "opaque" && f.Status == 200 && f.FetchedAt == 5; kept != c.kept {
			t.Errorf("%s: what the record had is kept: %v", name, kept)
		}
	}
}

// FuzzHandle: for any bytes, the request gets one verdict.
func FuzzHandle(f *testing.F) {
	s := extracts(f, &schemas.Learning{DMax: 5, Topics: schemas.TopicFeatures_TOPIC_FEATURES_TOP2})
	r := record(f, nil)
	f.Add(r.Value)
	f.Add(record(f, func(j *schemas.PageJudged, p *schemas.PageParsed) { p.Page = nil }).Value)
	f.Fuzz(func(t *testing.T, value []byte) {
		r := r
		r.Value = value
		outs, err := s.Apply(t.Context(), r)
		if err != nil || len(outs) == 0 || outs[0].Topic != schemas.TopicLinkFound {
			t.Fatalf("%d records, %v", len(outs), err)
		}
		found(t, outs[0])
	})
}
