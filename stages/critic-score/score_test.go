package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"forager/internal/classify/critic"
	"forager/internal/classify/httpmodel"
	"forager/internal/stream"
	"forager/internal/stream/runner"
	"forager/schemas"
)

// trained is a critic of two topics, named after the words of its examples.
func trained(t testing.TB, topics ...string) []byte {
	t.Helper()
	var e critic.Examples
	for _, topic := range topics {
		for i := range 4 {
			if err := e.AddText(fmt.Sprintf("http://h/%s/%d", topic, i), []string{topic}, topic+" "+topic+" page"); err != nil {
				t.Fatal(err)
			}
		}
	}
	m, _, err := critic.Train(t.Context(), &e, critic.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return m.Marshal()
}

// world has what the stage reads in addition to its input.
type world struct {
	scorer  *scorer
	models  *library
	stage   runner.Stateless
	objects map[string][]byte
	fetches atomic.Int64
	away    error
}

func newWorld(t testing.TB) *world {
	w := &world{objects: make(map[string][]byte)}
	get := func(_ context.Context, key string) ([]byte, error) {
		w.fetches.Add(1)
		if w.away != nil {
			return nil, w.away
		}
		b, ok := w.objects[key]
		if !ok {
			return nil, errors.New("no such object: " + key)
		}
		return b, nil
	}
	w.models = newLibrary(get, t.TempDir(), httpmodel.Options{})
	w.models.critics.retry, w.models.guides.retry, w.models.backlinks.retry = 0, 0, 0
	w.scorer = newScorer(w.models, 1, prometheus.NewRegistry())
	w.stage = w.scorer.stage()
	return w
}

// publish stores and announces a critic and returns its version.
func (w *world) publish(t testing.TB, name string, model []byte) string {
	t.Helper()
	return w.publishKind(t, "critic", name, model)
}

func (w *world) publishKind(t testing.TB, kind, name string, model []byte) string {
	t.Helper()
	sum := sha256.Sum256(model)
	version := name + "/" + hex.EncodeToString(sum[:])[:12]
	w.publishAs(t, kind, version, model)
	return version
}

// publishAs stores and announces a model under a version.
func (w *world) publishAs(t testing.TB, kind, version string, model []byte) {
	t.Helper()
	sum := sha256.Sum256(model)
	m := &schemas.ModelPublished{Kind: kind, Version: version, Object: "models/" + kind + "/" + version, Digest: "sha256:" + hex.EncodeToString(sum[:])}
	w.objects[m.Object] = model
	w.announce(t, m)
}

func (w *world) announce(t testing.TB, m *schemas.ModelPublished) {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.models.published([]byte(schemas.ModelKey(m)), b); err != nil {
		t.Fatal(err)
	}
}

func (w *world) control(t testing.TB, crawl, critic string, focus ...string) {
	t.Helper()
	w.revise(t, &schemas.CrawlControl{Crawl: crawl, Critic: critic, Focus: focus})
}

// revise makes a control record the newest of its crawl.
func (w *world) revise(t testing.TB, ctl *schemas.CrawlControl) {
	t.Helper()
	ctl.Revision = w.scorer.crawls.Get(ctl.GetCrawl()).GetRevision() + 1
	b, err := proto.Marshal(ctl)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.scorer.crawls.Take([]byte(ctl.GetCrawl()), b); err != nil {
		t.Fatal(err)
	}
}

// parsed is a record of page.parsed.
func parsed(t testing.TB, change func(*schemas.PageParsed)) stream.Record {
	t.Helper()
	request := &schemas.FetchRequest{
		Id: schemas.RequestID("c", "http://h/u", 1).Bytes(), Crawl: "c", Shard: 0, Url: "http://h/u", Host: "h", Epoch: 7, Owner: 2,
		PathState: []byte("opaque"),
	}
	b, err := proto.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	p := &schemas.PageParsed{
		Request: b, Crawl: "c", Id: request.Id, Outcome: schemas.Outcome_OUTCOME_DELIVERED, Status: 200, FetchedAt: 5,
		Page: &schemas.Page{Url: "http://h/u", Terms: []string{"chess", "page", "never"}, Tokens: []uint32{0, 1, 0, 2}, LeafLengths: []uint32{4}},
	}
	if change != nil {
		change(p)
	}
	value, err := proto.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return stream.Record{
		Topic: schemas.TopicPageParsed, Partition: 3, Offset: 11, Key: p.Id, Value: value, Headers: schemas.WithTrail(schemas.RequestHeaders(request), schemas.Place{Topic: schemas.TopicPageFetched, Partition: 1, Offset: 7}),
	}
}

// one returns the only record among outs, which is for page.judged.
func one(t testing.TB, outs []stream.Out, err error) (stream.Out, *schemas.PageJudged) {
	t.Helper()
	if err != nil || len(outs) != 1 || outs[0].Topic != schemas.TopicPageJudged {
		t.Fatalf("%d records, %v", len(outs), err)
	}
	return outs[0], judged(t, outs[0])
}

func judged(t testing.TB, o stream.Out) *schemas.PageJudged {
	t.Helper()
	j := new(schemas.PageJudged)
	if err := proto.Unmarshal(o.Value, j); err != nil {
		t.Fatal(err)
	}
	return j
}

func TestPageIsJudgedAndForwarded(t *testing.T) {
	w := newWorld(t)
	model := trained(t, "chess", "go")
	version := w.publish(t, "games", model)
	w.control(t, "c", version, "chess")
	r := parsed(t, nil)
	outs, err := w.stage.Apply(t.Context(), r)
	out, j := one(t, outs, err)
	if string(j.Parsed) != string(r.Value) {
		t.Error("the parsed page has other bytes")
	}
	if string(out.Key) != string(r.Key) || string(j.Id) != string(r.Key) || j.Crawl != "c" || j.Outcome != schemas.Outcome_OUTCOME_DELIVERED {
		t.Errorf("%v under key %x", j, out.Key)
	}
	onward := maps.Clone(r.Headers)
	onward[schemas.HeaderTrail] = "page.fetched/1/7 page.parsed/3/11"
	for name, want := range onward {
		if out.Headers[name] != want {
			t.Errorf("header %s is %q, want %q", name, out.Headers[name], want)
		}
	}
	m, err := critic.Unmarshal(model)
	if err != nil {
		t.Fatal(err)
	}
	p := new(schemas.PageParsed)
	if err := proto.Unmarshal(r.Value, p); err != nil {
		t.Fatal(err)
	}
	want, err := m.Judge(p.Page, []string{"chess"})
	if err != nil {
		t.Fatal(err)
	}
	want.Critic, want.Marking = version, 1
	if !proto.Equal(j.Judgement, want) || want.Raw < .5 || want.KnownTokens != 3 {
		t.Errorf("judgement %v, want %v", j.Judgement, want)
	}
	again, err := w.stage.Apply(t.Context(), r)
	if err != nil || string(again[0].Value) != string(out.Value) {
		t.Errorf("a second time gives other bytes, %v", err)
	}
	if n := w.fetches.Load(); n != 1 {
		t.Errorf("the critic was fetched %d times", n)
	}
}

func TestOtherOutcomesPassWithoutAnything(t *testing.T) {
	w := newWorld(t) // without crawl and critic
	for o := range schemas.Outcomes {
		if o == schemas.Outcome_OUTCOME_DELIVERED {
			continue
		}
		r := parsed(t, func(p *schemas.PageParsed) { p.Outcome, p.Page = o, nil })
		outs, err := w.stage.Apply(t.Context(), r)
		if _, j := one(t, outs, err); j.Outcome != o || j.Judgement != nil || string(j.Parsed) != string(r.Value) {
			t.Errorf("%s: %v", o, j)
		}
	}
}

func TestCrawlWithoutCriticIsNotJudged(t *testing.T) {
	w := newWorld(t)
	w.control(t, "c", "")
	outs, err := w.stage.Apply(t.Context(), parsed(t, nil))
	if _, j := one(t, outs, err); !proto.Equal(j.Judgement, new(schemas.Judgement)) || j.Outcome != schemas.Outcome_OUTCOME_DELIVERED {
		t.Errorf("%v", j)
	}
}

func TestWhatIsNotThereYetIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	r := parsed(t, nil)
	wait := func(what string) {
		t.Helper()
		outs, err := w.stage.Apply(t.Context(), r)
		if !stream.IsUnavailable(err) || len(outs) != 0 || !strings.Contains(err.Error(), what) {
			t.Errorf("%d records, error %v, want to wait for %q", len(outs), err, what)
		}
	}
	wait(`crawl "c" has no control record`)
	w.control(t, "c", "games/000000000000", "chess")
	wait("games/000000000000: it was not announced")
	good := trained(t, "chess", "go")
	version := w.publish(t, "games", good)
	w.control(t, "c", version, "chess")
	w.away = errors.New("connection refused")
	wait("connection refused")
	w.away = nil
	object := "models/critic/" + version
	w.objects[object] = good[:len(good)-1]
	wait("its digest is")
	w.objects[object] = good
	outs, err := w.stage.Apply(t.Context(), r)
	one(t, outs, err)
}

func TestUnreadableCriticIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	w.control(t, "c", w.publish(t, "games", []byte("forager critic 99\n from the future, with more bytes than it takes to hold a checksum")), "chess")
	if _, err := w.stage.Apply(t.Context(), parsed(t, nil)); !stream.IsUnavailable(err) || !strings.Contains(err.Error(), "newer program") {
		t.Errorf("error %v", err)
	}
}

func TestFetchOfACriticEndsWithTheStage(t *testing.T) {
	w := newWorld(t)
	w.control(t, "c", "games/000000000000", "chess")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.stage.Apply(ctx, parsed(t, nil)); !errors.Is(err, context.Canceled) || stream.IsUnavailable(err) {
		t.Errorf("error %v", err)
	}
}

// TestCriticNoLongerAnnounced: a newer version of a name took the place of the announcement.
func TestCriticNoLongerAnnounced(t *testing.T) {
	w := newWorld(t)
	model := trained(t, "chess", "go")
	version := w.publish(t, "games", model)
	w.models.critics.published = map[string]*schemas.ModelPublished{}
	w.publish(t, "games", trained(t, "chess", "go", "draughts"))
	w.control(t, "c", version, "chess")
	outs, err := w.stage.Apply(t.Context(), parsed(t, nil))
	if _, j := one(t, outs, err); j.Judgement.GetCritic() != version {
		t.Errorf("judged by %s", j.Judgement.GetCritic())
	}
	w.objects["models/critic/other/0123456789ab"] = trained(t, "a", "b")
	w.objects["models/critic/short/1"] = model
	for _, wrong := range []string{"other/0123456789ab", "short/1"} {
		w.control(t, "c", wrong, "chess")
		if _, err := w.stage.Apply(t.Context(), parsed(t, nil)); !stream.IsUnavailable(err) || !strings.Contains(err.Error(), "digest") {
			t.Errorf("%s: error %v", wrong, err)
		}
	}
}

func TestPoisonIsAnsweredForTheRequest(t *testing.T) {
	for name, c := range map[string]struct {
		record stream.Record
		focus  string
		detail string
		kept   bool // request and facts of the record are kept
	}{
		"undecodable": {func() stream.Record { r := parsed(t, nil); r.Value = []byte{0xff, 1}; return r }(), "chess", "decode page.parsed", false},
		"no page":     {parsed(t, func(p *schemas.PageParsed) { p.Page = nil }), "chess", "without the page", true},
		"contradiction": {parsed(t, func(p *schemas.PageParsed) { p.Page.Tokens[0] = 99 }), "chess",
			"token of term 99", true},
		"unknown focus": {parsed(t, nil), "bridge", `focus topic "bridge" is unknown`, true},
		"another request": {parsed(t, func(p *schemas.PageParsed) { p.Id, p.Request = make([]byte, 16), []byte("?") }), "chess",
			"name different requests", false},
		"another crawl": {parsed(t, func(p *schemas.PageParsed) { p.Crawl = "d" }), "chess", "name different requests", false},
	} {
		w := newWorld(t)
		w.control(t, "c", w.publish(t, "games", trained(t, "chess", "go")), c.focus)
		outs, err := w.stage.Apply(t.Context(), c.record)
		if err != nil || len(outs) != 2 || outs[1].Topic != schemas.TopicDeadLetter {
			t.Errorf("%s: %d records, %v", name, len(outs), err)
			continue
		}
		j := judged(t, outs[0])
		p := new(schemas.PageParsed)
		if err := proto.Unmarshal(j.Parsed, p); err != nil {
			t.Fatal(err)
		}
		request := new(schemas.FetchRequest)
		if err := proto.Unmarshal(p.Request, request); err != nil {
			t.Errorf("%s: request: %v", name, err)
		}
		id := schemas.RequestID("c", "http://h/u", 1).Bytes()
		failed := schemas.Outcome_OUTCOME_FAILED_CRITIC_SCORE
		if j.Outcome != failed || p.Outcome != failed || j.Judgement != nil || p.Page != nil || j.Crawl != "c" ||
			string(j.Id) != string(id) || string(p.Id) != string(id) || string(request.Id) != string(id) ||
			string(outs[0].Key) != string(id) || request.Epoch != 7 || request.Owner != 2 {
			t.Errorf("%s: %v with %v for %v", name, j, p, request)
		}
		if !strings.Contains(p.Detail, c.detail) {
			t.Errorf("%s: detail %q does not contain %q", name, p.Detail, c.detail)
		}
		if kept := string(request.PathState) == "opaque" && p.Status == 200 && p.FetchedAt == 5; kept != c.kept {
			t.Errorf("%s: what the record had is kept: %v", name, kept)
		}
	}
}

func TestPoisonWithoutHeadersIsADeadLetterOnly(t *testing.T) {
	w := newWorld(t)
	r := stream.Record{Topic: schemas.TopicPageParsed, Value: []byte{0xff}, Headers: map[string]string{schemas.HeaderVersion: "1"}}
	outs, err := w.stage.Apply(t.Context(), r)
	if err != nil || len(outs) != 1 || outs[0].Topic != schemas.TopicDeadLetter {
		t.Errorf("%d records, %v", len(outs), err)
	}
}

func TestOneFetchForManyWorkersAndFewCriticsKept(t *testing.T) {
	w := newWorld(t)
	version := w.publish(t, "games", trained(t, "chess", "go"))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := w.models.critics.await(t.Context(), version); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := w.fetches.Load(); n != 1 {
		t.Errorf("%d fetches for one critic", n)
	}
	var others []string
	for i := range keep {
		others = append(others, w.publish(t, fmt.Sprint("other", i), trained(t, "a", fmt.Sprint("b", i))))
	}
	use := func(version string, fetches int64) {
		t.Helper()
		before := w.fetches.Load()
		if _, err := w.models.critics.await(t.Context(), version); err != nil {
			t.Fatal(err)
		}
		if n := w.fetches.Load() - before; n != fetches {
			t.Errorf("%s: %d fetches, want %d", version, n, fetches)
		}
	}
	for _, v := range others[:keep-1] {
		use(v, 1)
	}
	use(version, 0)        // used last now
	use(others[keep-1], 1) // takes the place of others[0]
	use(version, 0)
	use(others[0], 0) // it is in the folder still
}

func TestTakeRefusesWhatItCannotRead(t *testing.T) {
	c := newCritics(nil, "", httpmodel.Options{})
	if err := c.take([]byte("/critic/x"), []byte{0xff}); err == nil {
		t.Error("no error")
	}
	if err := c.take([]byte("/critic/x"), nil); err != nil {
		t.Errorf("a tombstone: %v", err)
	}
}

// FuzzHandle: for any bytes, the request gets one output record.
func FuzzHandle(f *testing.F) {
	w := newWorld(f)
	w.control(f, "c", w.publish(f, "games", trained(f, "chess", "go")), "chess")
	r := parsed(f, nil)
	f.Add(r.Value)
	f.Fuzz(func(t *testing.T, value []byte) {
		r := r
		r.Value = value
		outs, err := w.stage.Apply(t.Context(), r)
		if err != nil || len(outs) == 0 || outs[0].Topic != schemas.TopicPageJudged {
			t.Fatalf("%d records, %v", len(outs), err)
		}
		judged(t, outs[0])
	})
}
