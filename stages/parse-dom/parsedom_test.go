package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"forager/internal/crawl/controls"
	"forager/internal/page/dom"
	"forager/internal/platform/objects"
	"forager/internal/stream"
	"forager/internal/stream/runner"
	"forager/internal/web/warc"
	"forager/schemas"
)

const (
	url  = "http://h/u"
	body = "<title>T</title><p>One <a href=v>two</a> <!-- c --> three"
	kind = "text/html; charset=utf-8"
)

var id = schemas.RequestID("c", url, 1)

// world is the stage and what it reads in addition to its input.
type world struct {
	parser *parser
	stage  runner.Stateless
	// segment is the one object, fetched the record about the page in it.
	segment []byte
	fetched *schemas.PageFetched
	away    error
	reads   int
}

func (w *world) Range(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	w.reads++
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if w.away != nil {
		return nil, w.away
	}
	if key != "segments/x" {
		return nil, fmt.Errorf("get %s: %w", key, objects.ErrNotFound)
	}
	if offset+length > int64(len(w.segment)) {
		return nil, fmt.Errorf("get %s: range is not there", key)
	}
	return w.segment[offset : offset+length], nil
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{}
	w.parser = &parser{crawls: controls.New(), store: w}
	w.stage = w.parser.stage(1)
	w.stage.Tries = 1
	var file bytes.Buffer
	to := warc.NewWriter(&file)
	page := &warc.Page{ID: id, URL: url, Date: time.UnixMilli(5), Status: 200, Reason: "OK", Header: warc.Header{{Name: "Content-Type", Value: kind}}}
	other := *page
	other.Body = []byte("<p>another page")
	if _, _, err := to.Response(&other); err != nil {
		t.Fatal(err)
	}
	page.Body = []byte(body)
	at, digest, err := to.Response(page)
	if err != nil {
		t.Fatal(err)
	}
	w.segment = file.Bytes()
	request, err := proto.Marshal(request())
	if err != nil {
		t.Fatal(err)
	}
	w.fetched = &schemas.PageFetched{
		Request: request, Crawl: "c", Id: id.Bytes(), Url: url, Outcome: schemas.Outcome_OUTCOME_DELIVERED, Status: 200,
		ContentType: kind, Digest: digest, Object: "segments/x", Offset: uint64(at.Offset), Length: uint64(at.Length),
		Size: uint64(len(body)), FetchedAt: 5, DurationMs: 9,
	}
	return w
}

func request() *schemas.FetchRequest {
	return &schemas.FetchRequest{Id: id.Bytes(), Crawl: "c", Url: url, Host: "h", Epoch: 7, Owner: 2, PathState: []byte("opaque")}
}

func (w *world) control(t testing.TB, mode schemas.LeafMode) {
	t.Helper()
	w.revise(t, &schemas.CrawlControl{Crawl: "c", Leaves: mode})
}

func (w *world) revise(t testing.TB, ctl *schemas.CrawlControl) {
	t.Helper()
	ctl.Revision = w.parser.crawls.Get("c").GetRevision() + 1
	b, err := proto.Marshal(ctl)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.parser.crawls.Take([]byte("c"), b); err != nil {
		t.Fatal(err)
	}
}

// onward returns the headers of the output for record.
func onward() map[string]string {
	h := schemas.RequestHeaders(request())
	h[schemas.HeaderTrail] = "page.fetched/3/11"
	return h
}

// record is the record of page.fetched, changed.
func (w *world) record(t testing.TB, change func(*schemas.PageFetched)) stream.Record {
	t.Helper()
	f := proto.CloneOf(w.fetched)
	if change != nil {
		change(f)
	}
	value, err := proto.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return stream.Record{
		Topic: schemas.TopicPageFetched, Partition: 3, Offset: 11, Key: []byte("h"), Value: value, Headers: schemas.RequestHeaders(request()),
	}
}

func parsed(t testing.TB, o stream.Out) *schemas.PageParsed {
	t.Helper()
	p := new(schemas.PageParsed)
	if err := proto.Unmarshal(o.Value, p); err != nil {
		t.Fatal(err)
	}
	return p
}

// apply runs the stage on a record for which the output must be one of page.parsed and nothing
// else.
func (w *world) apply(t testing.TB, r stream.Record) *schemas.PageParsed {
	t.Helper()
	outs, err := w.stage.Apply(t.Context(), r)
	if err != nil || len(outs) != 1 || outs[0].Topic != schemas.TopicPageParsed {
		t.Fatalf("%d records, %v", len(outs), err)
	}
	if diff := cmp.Diff(onward(), outs[0].Headers); diff != "" || !bytes.Equal(outs[0].Key, id.Bytes()) {
		t.Errorf("key %x, headers %s", outs[0].Key, diff)
	}
	return parsed(t, outs[0])
}

func TestPageIsParsed(t *testing.T) {
	for _, mode := range []schemas.LeafMode{schemas.LeafMode_LEAF_MODE_UNSPECIFIED, schemas.LeafMode_LEAF_MODE_COMPACT, schemas.LeafMode_LEAF_MODE_PAPER} {
		w := newWorld(t)
		w.control(t, mode)
		page, err := dom.Parse([]byte(body), kind, url, dom.Settings{Leaves: mode})
		if err != nil {
			t.Fatal(err)
		}
		want := &schemas.PageParsed{
			Request: w.fetched.Request, Crawl: "c", Id: id.Bytes(), Outcome: schemas.Outcome_OUTCOME_DELIVERED, Status: 200, FetchedAt: 5, Page: page,
		}
		r := w.record(t, nil)
		got := w.apply(t, r)
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", mode, diff)
		}
		if again := w.apply(t, r); !proto.Equal(got, again) {
			t.Errorf("%s: a second time gives another record", mode)
		}
		if w.reads != 2 {
			t.Errorf("%d range requests for two records", w.reads)
		}
	}
}

func TestModesDiffer(t *testing.T) {
	w := newWorld(t)
	w.control(t, schemas.LeafMode_LEAF_MODE_COMPACT)
	compact := w.apply(t, w.record(t, nil)).Page
	w.control(t, schemas.LeafMode_LEAF_MODE_PAPER)
	paper := w.apply(t, w.record(t, nil)).Page
	if len(compact.LeafLengths) != 4 || len(paper.LeafLengths) != 6 {
		t.Errorf("%d leaves in compact mode, %d in paper mode", len(compact.LeafLengths), len(paper.LeafLengths))
	}
}

func TestCutBodyIsACutPage(t *testing.T) {
	w := newWorld(t)
	w.control(t, 0)
	if w.apply(t, w.record(t, nil)).Page.Cut {
		t.Error("a whole page is cut")
	}
	if !w.apply(t, w.record(t, func(f *schemas.PageFetched) { f.Truncated = true })).Page.Cut {
		t.Error("a cut body is not a cut page")
	}
}

func TestExcludedPagesEndHere(t *testing.T) {
	w := newWorld(t)
	change := func(f *schemas.PageFetched) { f.ContentType = "application/xhtml+xml; charset=utf-8" }
	for _, x := range []*schemas.Excludes{{Urls: []string{"."}, ContentTypes: []string{"text/plain"}, Languages: []string{"tlh"}}, nil} {
		w.revise(t, &schemas.CrawlControl{Crawl: "c", Excludes: x})
		if got := w.apply(t, w.record(t, change)); got.GetOutcome() != schemas.Outcome_OUTCOME_DELIVERED || got.GetPage() == nil {
			t.Errorf("under %v: %v", x, got)
		}
	}
	w.revise(t, &schemas.CrawlControl{Crawl: "c", Excludes: &schemas.Excludes{ContentTypes: []string{"application/xhtml+xml"}}})
	want := &schemas.PageParsed{
		Request: w.fetched.Request, Crawl: "c", Id: id.Bytes(), Outcome: schemas.Outcome_OUTCOME_EXCLUDED, Status: 200, FetchedAt: 5,
		Detail: "exclude.content_types: application/xhtml+xml",
	}
	if diff := cmp.Diff(want, w.apply(t, w.record(t, change)), protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOtherOutcomesPassWithoutAnything(t *testing.T) {
	w := newWorld(t) // without a crawl
	w.away = errors.New("not to be asked")
	for o := range schemas.Outcomes {
		if o == schemas.Outcome_OUTCOME_DELIVERED {
			continue
		}
		got := w.apply(t, w.record(t, func(f *schemas.PageFetched) {
			f.Outcome, f.Status, f.Redirect, f.NotBefore, f.Detail = o, 302, "http://h/w", 77, "why"
		}))
		want := &schemas.PageParsed{
			Request: w.fetched.Request, Crawl: "c", Id: id.Bytes(), Outcome: o, Status: 302, Redirect: "http://h/w", NotBefore: 77,
			Detail: "why", FetchedAt: 5,
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", o, diff)
		}
	}
}

func TestWhatIsNotThereYetIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	wait := func(what string) {
		t.Helper()
		outs, err := w.stage.Apply(t.Context(), w.record(t, nil))
		if !stream.IsUnavailable(err) || len(outs) != 0 || !strings.Contains(err.Error(), what) {
			t.Errorf("%d records, error %v, want to wait for %q", len(outs), err, what)
		}
	}
	wait(`crawl "c" has no control record`)
	w.control(t, 0)
	w.away = fmt.Errorf("get segments/x: %w: connection refused", objects.ErrUnavailable)
	wait("connection refused")
	w.away = fmt.Errorf("get segments/x: %w: AccessDenied", objects.ErrDenied)
	wait("AccessDenied")
	w.away = nil
	w.apply(t, w.record(t, nil))
}

func TestEndOfTheStageIsNoFaultOfThePage(t *testing.T) {
	w := newWorld(t)
	w.control(t, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	outs, err := w.stage.Apply(ctx, w.record(t, nil))
	if !errors.Is(err, context.Canceled) || stream.IsUnavailable(err) || len(outs) != 0 {
		t.Errorf("%d records, %v", len(outs), err)
	}
}

func TestPoisonIsAnsweredForTheRequest(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*schemas.PageFetched)
		spoil  func(*world, *stream.Record)
		detail string
		kept   bool // the request is passed on as it came
	}{
		{"not a record", nil, func(_ *world, r *stream.Record) { r.Value = []byte("\xff\xff") }, "decode page.fetched", false},
		{"another request", func(f *schemas.PageFetched) { f.Id = schemas.RequestID("c", url, 2).Bytes() }, nil, "different requests", false},
		{"another crawl", func(f *schemas.PageFetched) { f.Crawl = "d" }, nil, "different requests", false},
		{"no such object", func(f *schemas.PageFetched) { f.Object = "segments/y" }, nil, "object not found", true},
		{"no such range", func(f *schemas.PageFetched) { f.Length++ }, nil, "range", true},
		{"half a member", func(f *schemas.PageFetched) { f.Length-- }, nil, "damaged", true},
		{"no place", func(f *schemas.PageFetched) { f.Offset = 1 << 63 }, nil, "damaged", true},
		{"another member", func(f *schemas.PageFetched) { f.Offset, f.Length = 0, f.Offset }, nil, "digest", true},
		{"damaged bytes", nil, func(w *world, _ *stream.Record) { w.segment[len(w.segment)-12] ^= 0x55 }, "damaged", true},
		{"another digest", func(f *schemas.PageFetched) { f.Digest = warc.Digest(nil) }, nil, "digest", true},
		{"no digest", func(f *schemas.PageFetched) { f.Digest = "" }, nil, "digest", true},
		{"no URL", func(f *schemas.PageFetched) { f.Url = "u" }, nil, "URL", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.control(t, 0)
			r := w.record(t, c.change)
			if c.spoil != nil {
				c.spoil(w, &r)
			}
			outs, err := w.stage.Apply(t.Context(), r)
			if err != nil || len(outs) != 2 || outs[0].Topic != schemas.TopicPageParsed || outs[1].Topic != schemas.TopicDeadLetter {
				t.Fatalf("%d records, %v", len(outs), err)
			}
			p := parsed(t, outs[0])
			if p.Outcome != schemas.Outcome_OUTCOME_FAILED_PARSE_DOM || p.Crawl != "c" || !bytes.Equal(p.Id, id.Bytes()) ||
				!bytes.Equal(outs[0].Key, id.Bytes()) || p.Page != nil || !strings.Contains(p.Detail, c.detail) {
				t.Errorf("key %x: %v", outs[0].Key, p)
			}
			if diff := cmp.Diff(onward(), outs[0].Headers); diff != "" {
				t.Error(diff)
			}
			got, want := new(schemas.FetchRequest), request()
			if err := proto.Unmarshal(p.Request, got); err != nil {
				t.Fatal(err)
			}
			if !c.kept {
				want.PathState = nil // headers do not have it
			}
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			letter := new(schemas.DeadLetter)
			if err := proto.Unmarshal(outs[1].Value, letter); err != nil {
				t.Fatal(err)
			}
			if letter.Stage != "parse-dom" || letter.Offset != 11 || !bytes.Equal(letter.Value, r.Value) || !strings.Contains(letter.Error, c.detail) {
				t.Errorf("letter %v", letter)
			}
		})
	}
}

func TestNothingTravelsOnWithoutHeaders(t *testing.T) {
	w := newWorld(t)
	r := w.record(t, nil)
	r.Value, r.Headers = []byte("\xff"), map[string]string{schemas.HeaderVersion: "1"}
	outs, err := w.stage.Apply(t.Context(), r)
	if err != nil || len(outs) != 1 || outs[0].Topic != schemas.TopicDeadLetter {
		t.Errorf("%d records, %v", len(outs), err)
	}
}

// FuzzHandle: for any record, its request gets one output record.
func FuzzHandle(f *testing.F) {
	w := newWorld(f)
	w.control(f, 0)
	f.Add(w.record(f, nil).Value)
	f.Add(w.record(f, func(p *schemas.PageFetched) { p.Outcome = schemas.Outcome_OUTCOME_REDIRECTED }).Value)
	f.Add([]byte("\xff"))
	f.Fuzz(func(t *testing.T, value []byte) {
		r := w.record(t, nil)
		r.Value = value
		outs, err := w.stage.Apply(t.Context(), r)
		if err != nil || len(outs) == 0 || outs[0].Topic != schemas.TopicPageParsed || !bytes.Equal(outs[0].Key, id.Bytes()) {
			t.Fatalf("%d records, %v", len(outs), err)
		}
	})
}
