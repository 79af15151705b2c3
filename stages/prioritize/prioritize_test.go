package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/protobuf/proto"

	"forager/internal/frontier"
	"forager/internal/stream"
	"forager/internal/stream/state"
	"forager/internal/stream/stateful"
	"forager/schemas"
)

// desk is a prioritizer without a broker: it passes records and keeps the output.
type desk struct {
	t       testing.TB
	conf    settings
	store   *stateful.Store
	p       *prioritizer
	now     time.Time
	objects map[string]string
	epoch   uint64
	offset  int64
	parts   []int64 // ends of fetch.requested
	// of the last step
	requests []*schemas.FetchRequest
	leaps    []*schemas.LeapSettled
	letters  []*schemas.DeadLetter
	controls []*schemas.CrawlControl
	wake     time.Time
	// since the begin
	statuses map[string][]*schemas.CrawlStatus
	log      []stream.Record // fetch.requested
}

// newStore is an empty Store of a partition, on a file system in memory.
func newStore(t testing.TB) *stateful.Store {
	t.Helper()
	s, err := stateful.OpenStore(state.Options{Dir: "state", Identity: identity, FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newDesk(t testing.TB) *desk {
	d := &desk{
		t: t, store: newStore(t), now: time.Unix(1_000_000, 0), objects: make(map[string]string),
		parts: make([]int64, 3), statuses: make(map[string][]*schemas.CrawlStatus),
	}
	d.conf = settings{book: newCache(), partitions: 1, retryDelay: time.Minute, rescoreBatch: 100, disk: roomy, log: slog.New(slog.DiscardHandler)}
	d.conf.library = newLibrary(func(_ context.Context, key string) ([]byte, error) {
		if o, ok := d.objects[key]; ok {
			return []byte(o), nil
		}
		return nil, errors.New("no such object")
	}, func(b []byte) (frontier.Model, error) {
		if strings.HasPrefix(string(b), "broken") {
			return nil, errors.New("half a model")
		}
		return simModel(b), nil
	}, d.conf.book.notify, d.conf.log)
	d.conf.library.begin = func(f func()) { f() }
	d.open()
	return d
}

// open opens the state again, as a new owner does.
func (d *desk) open() {
	d.t.Helper()
	d.epoch++
	var err error
	if d.p, err = d.conf.open(0, d.epoch, d.store); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) control(ctl *schemas.CrawlControl) {
	d.t.Helper()
	value, err := proto.Marshal(ctl)
	if err != nil {
		d.t.Fatal(err)
	}
	if err := d.conf.book.control(stream.Record{Key: []byte(ctl.GetCrawl()), Value: value}); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) publish(m *schemas.ModelPublished) {
	d.t.Helper()
	value, err := proto.Marshal(m)
	if err != nil {
		d.t.Fatal(err)
	}
	if err := d.conf.book.model(stream.Record{Value: value}); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) record(rec *schemas.LinkFound) stream.Record {
	value, err := proto.Marshal(rec)
	if err != nil {
		d.t.Fatal(err)
	}
	return d.raw(value, map[string]string{schemas.HeaderVersion: "1", schemas.HeaderCrawl: rec.GetCrawl()})
}

func (d *desk) raw(value []byte, headers map[string]string) stream.Record {
	d.offset++
	return stream.Record{Topic: schemas.TopicLinkFound, Offset: d.offset - 1, Value: value, Headers: headers}
}

// step takes one step.
func (d *desk) step(records ...stream.Record) { d.t.Helper(); d.work(false, records...) }

func (d *desk) work(replaying bool, records ...stream.Record) {
	d.t.Helper()
	res, err := d.p.Step(d.t.Context(), stateful.Work{Records: records, Now: d.now, Replaying: replaying})
	if err != nil {
		d.t.Fatal(err)
	}
	d.wake, d.requests, d.leaps, d.letters = res.Wake, nil, nil, nil
	at := make([]stream.Position, len(res.Outs)+len(res.Statuses))
	for i, out := range slices.Concat(res.Outs, res.Statuses) {
		rec := schemas.Record(out.Topic)
		if err := proto.Unmarshal(out.Value, rec); err != nil {
			d.t.Fatal(err)
		}
		if out.Headers[schemas.HeaderVersion] != "1" {
			d.t.Errorf("%s has headers %v", out.Topic, out.Headers)
		}
		switch rec := rec.(type) {
		case *schemas.FetchRequest:
			k := stream.PartitionOf(out.Key, len(d.parts))
			at[i] = stream.Position{Partition: k, Offset: d.parts[k]}
			d.parts[k]++
			d.requests = append(d.requests, rec)
			d.log = append(d.log, stream.Record{Topic: out.Topic, Partition: k, Offset: at[i].Offset, Value: out.Value, Headers: out.Headers})
			if string(out.Key) != rec.GetHost() || rec.GetEpoch() != d.epoch {
				d.t.Errorf("request %v under key %q", rec, out.Key)
			}
		case *schemas.LeapSettled:
			d.leaps = append(d.leaps, rec)
			if string(out.Key) != rec.GetCrawl() {
				d.t.Errorf("leap under key %q", out.Key)
			}
		case *schemas.CrawlControl:
			d.controls = append(d.controls, rec)
		case *schemas.DeadLetter:
			d.letters = append(d.letters, rec)
		case *schemas.CrawlStatus:
			d.statuses[rec.GetCrawl()] = append(d.statuses[rec.GetCrawl()], rec)
			if string(out.Key) != schemas.ShardKey(rec.GetCrawl(), 0) || rec.GetEpoch() != d.epoch {
				d.t.Errorf("status of epoch %d under key %q", rec.GetEpoch(), out.Key)
			}
		}
	}
	if len(res.Outs) > 0 {
		if err := d.p.Acked(res.Outs, at[:len(res.Outs)]); err != nil {
			d.t.Fatal(err)
		}
	}
	if err := d.store.Commit(state.Marks{Input: d.offset}); err != nil {
		d.t.Fatal(err)
	}
}

// lose opens an empty state, as a new owner that has nothing but the topics does, and recovers the decisions of the log.
func (d *desk) lose() {
	d.t.Helper()
	d.store, d.offset = newStore(d.t), 0
	log := d.log
	d.open()
	for _, r := range log {
		if err := d.p.Recover(r); err != nil {
			d.t.Fatal(err)
		}
	}
}

// status is the last one of a crawl.
func (d *desk) status(crawl string) *schemas.CrawlStatus {
	if all := d.statuses[crawl]; len(all) > 0 {
		return all[len(all)-1]
	}
	return nil
}

// urls are those of the last step's requests.
func (d *desk) urls() (urls []string) {
	for _, r := range d.requests {
		urls = append(urls, r.GetUrl())
	}
	return urls
}

func crawlOf(name string) *schemas.CrawlControl {
	return &schemas.CrawlControl{
		Crawl: name, Revision: 1, State: schemas.CrawlState_CRAWL_STATE_RUNNING, Focus: []string{"/f"}, Critic: "c/1",
		Budget: &schemas.Budget{Pages: 100}, Window: 10, HostWindow: 10, Learning: &schemas.Learning{DMax: 2},
		Policies: []*schemas.Policy{{Name: "p", Ranker: schemas.Ranker_RANKER_UNFOCUSED}},
	}
}

func apprenticeCrawl(name string) *schemas.CrawlControl {
	ctl := crawlOf(name)
	ctl.Policies = []*schemas.Policy{{Name: "a", Ranker: schemas.Ranker_RANKER_APPRENTICE}}
	ctl.Learning = &schemas.Learning{DMax: 2, SwitchPages: 1, RefitPages: 1, Sync: true}
	return ctl
}

// pagesUpTo returns the URLs of n pages.
func pagesUpTo(n int) (urls []string) {
	for i := range n {
		urls = append(urls, fmt.Sprint(page, i))
	}
	return urls
}

func seedsOf(crawl string, urls ...string) *schemas.LinkFound {
	rec := &schemas.LinkFound{
		Id:    schemas.RequestID(crawl, "seeds:"+strings.Join(urls, " "), 0).Bytes(),
		Crawl: crawl, Outcome: schemas.Outcome_OUTCOME_SEEDS,
	}
	for _, u := range urls {
		rec.Links = append(rec.Links, &schemas.Link{Url: u})
	}
	return rec
}

// delivered is the verdict on a request: a page with links.
func delivered(r *schemas.FetchRequest, links ...string) *schemas.LinkFound {
	rec := &schemas.LinkFound{
		Id: r.GetId(), Crawl: r.GetCrawl(), Url: r.GetUrl(), Outcome: schemas.Outcome_OUTCOME_DELIVERED,
		Judgement: &schemas.Judgement{Raw: .5, Tempered: .5},
	}
	var err error
	if rec.Request, err = proto.Marshal(r); err != nil {
		panic(err)
	}
	for _, u := range links {
		rec.Links = append(rec.Links, &schemas.Link{Url: u})
	}
	return rec
}

const page = "http://h.example/"

// TestAFinishedCrawlStaysSo: an owner that has lost the state of a crawl that has finished does not report that it runs
// while it reads the topics again, whatever it waits for.
func TestAFinishedCrawlStaysSo(t *testing.T) {
	d := newDesk(t)
	ctl := crawlOf("c")
	ctl.Budget, ctl.Scope = &schemas.Budget{Pages: 2}, &schemas.Scope{UrlList: "lists/x"}
	d.objects["lists/x"] = page + "1\n" + page + "2\n"
	d.control(ctl)
	records := []stream.Record{d.record(seedsOf("c", page+"1", page+"2"))}
	d.step(records...)
	for _, r := range d.requests {
		records = append(records, d.record(delivered(r)))
	}
	d.now = d.now.Add(statusEvery)
	d.step(records[1:]...)
	last := d.status("c")
	if last.GetState() != schemas.ShardState_SHARD_STATE_FINISHED || last.GetPages() != 2 {
		t.Fatalf("it ended with %v", last)
	}

	value, err := proto.Marshal(last)
	if err != nil {
		t.Fatal(err)
	}
	headers := map[string]string{schemas.HeaderCrawl: "c", schemas.HeaderShard: "0", schemas.HeaderEpoch: fmt.Sprint(last.GetEpoch())}
	if err := d.conf.book.status(stream.Record{Value: value, Headers: headers}); err != nil {
		t.Fatal(err)
	}
	delete(d.objects, "lists/x")
	d.conf.library.forget("lists/x")
	d.lose()
	d.statuses = make(map[string][]*schemas.CrawlStatus)
	for i := range records {
		if i == 1 {
			d.objects["lists/x"] = page + "1\n" + page + "2\n"
		}
		d.now = d.now.Add(time.Minute)
		d.work(true, records[i])
	}
	activities := make(map[string]bool)
	for _, st := range d.statuses["c"] {
		if st.GetState() != schemas.ShardState_SHARD_STATE_FINISHED || st.GetPages() != 2 || st.GetEpoch() != d.epoch {
			t.Errorf("while it reads the topics: %v", st)
		}
		word, _, _ := strings.Cut(st.GetActivity(), " ")
		activities[word] = true
	}
	if !activities["waiting"] || !activities["replaying"] {
		t.Errorf("its activities were %v", activities)
	}
	d.now = d.now.Add(time.Minute)
	d.step()
	if st := d.status("c"); st.GetState() != schemas.ShardState_SHARD_STATE_FINISHED || st.GetActivity() != "" || st.GetPages() != 2 {
		t.Errorf("in the end: %v", st)
	}
}

func TestAnUnknownCrawlWaitsAndTheOthersGoOn(t *testing.T) {
	d := newDesk(t)
	d.control(crawlOf("known"))
	d.step(d.record(seedsOf("late", page+"1", page+"2")), d.record(seedsOf("known", page+"k")), d.record(seedsOf("late", page+"3")))
	if got := d.urls(); !slices.Equal(got, []string{page + "k"}) {
		t.Fatalf("requested %v", got)
	}
	if st := d.status("late"); st.GetState() != schemas.ShardState_SHARD_STATE_RUNNING || st.GetActivity() != "waiting for the crawl's control record" {
		t.Errorf("status %v", st)
	}
	d.open() // what waits survives
	d.control(crawlOf("late"))
	d.step(d.record(seedsOf("late", page+"4")))
	d.step()
	var urls []string
	for _, r := range d.log {
		if r.Headers[schemas.HeaderCrawl] == "late" {
			urls = append(urls, r.Headers[schemas.HeaderURL])
		}
	}
	if want := []string{page + "1", page + "2", page + "3", page + "4"}; !slices.Equal(urls, want) {
		t.Errorf("in the order %v, want %v", urls, want)
	}
}

func TestManyParkedRecordsComeInSlices(t *testing.T) {
	d := newDesk(t)
	var records []stream.Record
	for i := range 3*slice + 10 {
		records = append(records, d.record(seedsOf("c", fmt.Sprint(page, i))))
	}
	d.step(records...)
	ctl := crawlOf("c")
	ctl.Window = 1
	d.control(ctl)
	for n := range 3 {
		d.step(d.record(seedsOf("c", fmt.Sprint(page, "late", n))))
		if len(d.requests) > 0 || !d.wake.Equal(d.now) {
			t.Fatalf("slice %d: %d requests, wakes at %v", n, len(d.requests), d.wake)
		}
	}
	d.step()
	if len(d.requests) != 1 {
		t.Fatalf("%d requests", len(d.requests))
	}
	d.now = d.now.Add(time.Second)
	d.step()
	if st := d.status("c"); st.GetQueued()+st.GetInFlight() != 3*slice+10+3 {
		t.Errorf("%d queued and %d in flight", st.GetQueued(), st.GetInFlight())
	}
}

func TestMissingListIsWaitedFor(t *testing.T) {
	d := newDesk(t)
	ctl := crawlOf("c")
	ctl.Scope = &schemas.Scope{UrlList: "lists/x"}
	d.control(ctl)
	d.step(d.record(seedsOf("c", page+"in", page+"out")))
	if st := d.status("c"); !strings.Contains(st.GetActivity(), "waiting for list lists/x (no such object)") {
		t.Errorf("activity %q", st.GetActivity())
	}
	if want := d.now.Add(firstRetry); !d.wake.Equal(want) {
		t.Errorf("wakes at %v, want %v", d.wake, want)
	}
	d.objects["lists/x"] = page + "in\n"
	d.step()
	if len(d.requests) != 0 {
		t.Error("asked again before the pause was over")
	}
	d.now = d.now.Add(firstRetry)
	d.step()
	if got := d.urls(); !slices.Equal(got, []string{page + "in"}) {
		t.Errorf("requested %v", got)
	}
	// A record with another list is refused, and the scope stays.
	ctl = proto.CloneOf(ctl)
	ctl.Revision, ctl.Scope = 2, &schemas.Scope{UrlList: "lists/y"}
	if err := d.take(ctl); err == nil || !strings.Contains(err.Error(), "revision 2 refused: scope.url_list never changes") {
		t.Errorf("another list: %v", err)
	}
	d.objects["lists/y"] = page + "more\n"
	d.now = d.now.Add(longestRetry)
	d.step()
	d.step(d.record(seedsOf("c", page+"more")))
	if slices.Contains(d.urls(), page+"more") {
		t.Error("a URL of the other list was requested")
	}
}

func TestControlRecordsThatCannotBeRun(t *testing.T) {
	d := newDesk(t)
	ctl := crawlOf("c")
	ctl.Budget = nil
	d.control(ctl)
	d.step(d.record(seedsOf("c", page+"1")))
	if st := d.status("c"); st.GetState() != schemas.ShardState_SHARD_STATE_FINISHED || !strings.HasPrefix(st.GetEndReason(), "refused: ") || !strings.Contains(st.GetEndReason(), "budget") {
		t.Errorf("status %v", st)
	}
	good := crawlOf("c")
	good.Revision = 2
	d.control(good)
	d.step()
	if got := d.urls(); !slices.Equal(got, []string{page + "1"}) {
		t.Errorf("requested %v", got)
	}
	ctl.Revision = 3
	d.control(ctl)
	d.now = d.now.Add(time.Minute)
	d.step(d.record(seedsOf("c", page+"2")))
	if got := d.urls(); !slices.Equal(got, []string{page + "2"}) {
		t.Errorf("a crawl that runs stopped at a bad revision: requested %v", got)
	}
	if st := d.status("c"); st.GetState() != schemas.ShardState_SHARD_STATE_RUNNING || !strings.Contains(st.GetActivity(), "revision 3 refused") {
		t.Errorf("status %v", st)
	}
	// Records for a shard that cannot exist.
	other := seedsOf("c", page+"3")
	other.Shard = 1
	d.step(d.record(other))
	if len(d.letters) != 1 || !strings.Contains(d.letters[0].GetError(), "shard 1") {
		t.Errorf("letters %v", d.letters)
	}
}

func TestPauseAndStop(t *testing.T) {
	d := newDesk(t)
	ctl := crawlOf("c")
	ctl.Window = 1
	d.control(ctl)
	d.step(d.record(seedsOf("c", page+"1", page+"2", page+"3")))
	first := d.requests[0]
	state := func(s schemas.CrawlState) {
		ctl = proto.CloneOf(ctl)
		ctl.Revision, ctl.State = ctl.Revision+1, s
		d.control(ctl)
	}
	state(schemas.CrawlState_CRAWL_STATE_PAUSED)
	d.step(d.record(delivered(first)))
	if len(d.requests) != 0 || d.status("c").GetState() != schemas.ShardState_SHARD_STATE_PAUSED {
		t.Errorf("requests %v, status %v", d.urls(), d.status("c"))
	}
	state(schemas.CrawlState_CRAWL_STATE_RUNNING)
	d.step()
	if len(d.requests) != 1 || d.status("c").GetState() != schemas.ShardState_SHARD_STATE_RUNNING {
		t.Fatalf("requests %v, status %v", d.urls(), d.status("c"))
	}
	second := d.requests[0]
	state(schemas.CrawlState_CRAWL_STATE_STOPPED)
	d.step()
	if d.status("c").GetState() != schemas.ShardState_SHARD_STATE_STOPPING {
		t.Errorf("status %v", d.status("c"))
	}
	d.step(d.record(&schemas.LinkFound{Id: second.GetId(), Crawl: "c", Url: second.GetUrl(), Outcome: schemas.Outcome_OUTCOME_CANCELLED}))
	if st := d.status("c"); st.GetState() != schemas.ShardState_SHARD_STATE_FINISHED || st.GetEndReason() != "stopped" {
		t.Errorf("status %v", st)
	}
}

func TestAFinishedCrawlIsPutAway(t *testing.T) {
	d := newDesk(t)
	ctl := crawlOf("c")
	ctl.Window = 1
	d.control(ctl)
	d.step(d.record(seedsOf("c", page+"1")))
	r := d.requests[0]
	d.step(d.record(delivered(r)))
	for d.now = d.now.Add(time.Second); !d.wake.IsZero(); d.now = d.now.Add(time.Second) {
		d.step()
	}
	c := d.p.crawls["c"]
	if !c.asleep() || d.status("c").GetEndReason() != frontier.EndEmpty {
		t.Fatalf("asleep %v, status %v", c.asleep(), d.status("c"))
	}
	n := len(d.statuses["c"])
	d.step()
	d.step()
	if len(d.statuses["c"]) != n {
		t.Error("a finished crawl goes on reporting")
	}
	// A new owner repeats the last status, without opening the shard.
	last := d.status("c")
	d.open()
	d.step()
	if st := proto.CloneOf(d.status("c")); len(d.statuses["c"]) != n+1 || !d.p.crawls["c"].asleep() {
		t.Errorf("%d statuses, want %d", len(d.statuses["c"]), n+1)
	} else if st.At, st.Epoch = last.GetAt(), last.GetEpoch(); !proto.Equal(st, last) {
		t.Errorf("it reports %v, and reported %v", st, last)
	}
	// A duplicate loads it for a moment.
	d.now = d.now.Add(time.Minute)
	d.step(d.record(delivered(r)))
	if st := d.status("c"); st.GetDuplicates() != 1 || st.GetState() != schemas.ShardState_SHARD_STATE_FINISHED {
		t.Errorf("status %v", st)
	}
	// New seeds, and then a larger budget, load it again.
	d.step(d.record(seedsOf("c", page+"2")))
	if got := d.urls(); !slices.Equal(got, []string{page + "2"}) {
		t.Fatalf("requested %v", got)
	}
	d.step(d.record(delivered(d.requests[0], page+"3", page+"4")))
	ctl = proto.CloneOf(ctl)
	ctl.Revision, ctl.Budget.Pages = 2, 3
	d.control(ctl)
	d.step(d.record(delivered(d.requests[0])))
	for d.now = d.now.Add(time.Second); !d.wake.IsZero(); d.now = d.now.Add(time.Second) {
		d.step()
	}
	if st := d.status("c"); st.GetEndReason() != frontier.EndPages || !d.p.crawls["c"].asleep() {
		t.Fatalf("status %v", st)
	}
	d.open()
	d.step()
	ctl = proto.CloneOf(ctl)
	ctl.Revision, ctl.Budget.Pages = 3, 30
	d.control(ctl)
	d.step()
	if got := d.urls(); !slices.Equal(got, []string{page + "4"}) {
		t.Errorf("requested %v", got)
	}
}

func TestReplayDecidesNothing(t *testing.T) {
	d := newDesk(t)
	d.control(crawlOf("c"))
	d.work(true, d.record(seedsOf("c", page+"1", page+"2")))
	if len(d.requests) > 0 || d.status("c").GetActivity() != "replaying" {
		t.Fatalf("requested %v, status %v", d.urls(), d.status("c"))
	}
	d.step()
	if len(d.requests) != 2 {
		t.Errorf("requested %v", d.urls())
	}
}

func TestDecisionsOfTheLogAreRecovered(t *testing.T) {
	d := newDesk(t)
	d.control(crawlOf("c"))
	seeds := d.record(seedsOf("c", page+"1", page+"2", page+"3"))
	d.step(seeds)
	log := d.log
	if len(log) != 3 {
		t.Fatalf("%d requests", len(log))
	}
	recovered := func(known bool) {
		t.Helper()
		fresh := newDesk(t)
		if known {
			fresh.control(crawlOf("c"))
			fresh.open()
		}
		for _, r := range slices.Concat(log, log[:1]) { // one of them twice
			if err := fresh.p.Recover(r); err != nil {
				t.Fatal(err)
			}
		}
		fresh.open() // Start commits before the first step
		fresh.control(crawlOf("c"))
		fresh.step(seeds)
		fresh.now = fresh.now.Add(time.Second)
		fresh.step()
		if st := fresh.status("c"); len(fresh.log) != 0 || st.GetInFlight() != 3 || st.GetDispatched() != 3 {
			t.Errorf("control record known %v: %d requests, status %v", known, len(fresh.log), st)
		}
		span := fresh.status("c").GetSpans()[schemas.TopicFetchRequested]
		for _, r := range log {
			if k := uint32(r.Partition); r.Offset < span.GetFirst()[k] || r.Offset > span.GetLast()[k] {
				t.Errorf("offset %d of partition %d is outside of %v", r.Offset, k, span)
			}
		}
	}
	recovered(true)
	recovered(false)
}

func TestModels(t *testing.T) {
	d := newDesk(t)
	ctl := apprenticeCrawl("c")
	ctl.Window = 1
	d.control(ctl)
	d.step(d.record(seedsOf("c", page+"1")))
	d.step(d.record(delivered(d.requests[0], page+"2", page+"3")))
	if len(d.leaps) != 1 || !d.leaps[0].GetBoundary() || len(d.requests) != 0 {
		t.Fatalf("leaps %v, requests %v", d.leaps, d.urls())
	}
	d.now = d.now.Add(time.Second)
	d.step()
	if d.status("c").GetActivity() != modelWait {
		t.Fatalf("status %v", d.status("c"))
	}
	// Without a model for long, the boundary is sent again.
	first := d.now.Add(-time.Second)
	for !d.now.Equal(first.Add(remindEvery)) {
		if d.wake.IsZero() || len(d.leaps) > 0 {
			t.Fatalf("at %v: wakes at %v, leaps %v", d.now, d.wake, d.leaps)
		}
		d.now = d.wake
		d.step()
	}
	if len(d.leaps) != 1 || !proto.Equal(d.leaps[0], boundary("c", 1)) {
		t.Errorf("reminder %v", d.leaps)
	}
	// A model that was trained with no leaps needs no object.
	d.publish(&schemas.ModelPublished{Kind: "apprentice", Crawl: "c", Version: "c/1-x", Pages: 1})
	d.step()
	if got := d.urls(); !slices.Equal(got, []string{page + "2"}) {
		t.Fatalf("requested %v", got)
	}
	// One that has is fetched; that of another crawl, an older one and a critic change nothing.
	d.step(d.record(delivered(d.requests[0], page+"4")))
	d.publish(&schemas.ModelPublished{Kind: "apprentice", Crawl: "d", Version: "d/2-x", Pages: 2, Leaps: 1})
	d.publish(&schemas.ModelPublished{Kind: "critic", Version: "e/1", Pages: 9})
	d.publish(&schemas.ModelPublished{Kind: "apprentice", Crawl: "c", Version: "c/2-x", Pages: 2, Leaps: 1})
	d.publish(&schemas.ModelPublished{Kind: "apprentice", Crawl: "c", Version: "c/1-x", Pages: 1})
	d.step()
	if len(d.requests) != 0 {
		t.Fatalf("requested %v without the model", d.urls())
	}
	d.objects[schemas.ModelObject("apprentice", "c/2-x")] = "broken"
	d.now = d.now.Add(time.Minute)
	d.step()
	if st := d.status("c"); !strings.Contains(st.GetActivity(), "model c/2-x") || !strings.Contains(st.GetActivity(), "half a model") {
		t.Errorf("status %v", st)
	}
	d.objects[schemas.ModelObject("apprentice", "c/2-x")] = "good"
	d.now = d.now.Add(time.Minute)
	d.step()
	if len(d.requests) != 1 || d.requests[0].GetModel() != "c/2-x" {
		t.Fatalf("requested %v", d.requests)
	}
	// A new owner needs the model that the state ranks by, and waits for it.
	r := d.requests[0]
	delete(d.objects, schemas.ModelObject("apprentice", "c/2-x"))
	d.open()
	d.step(d.record(delivered(r)))
	if len(d.leaps) != 0 || !strings.Contains(d.status("c").GetActivity(), "model c/2-x") {
		t.Fatalf("leaps %v, status %v", d.leaps, d.status("c"))
	}
	d.objects[schemas.ModelObject("apprentice", "c/2-x")] = "good"
	d.now = d.now.Add(time.Minute)
	d.step()
	if len(d.leaps) == 0 {
		t.Error("the verdict that waited was not applied")
	}
	// The newest model broken, a new owner goes on with that of the state.
	d.publish(&schemas.ModelPublished{Kind: "apprentice", Crawl: "c", Version: "c/3-x", Pages: 3, Leaps: 1})
	d.objects[schemas.ModelObject("apprentice", "c/3-x")] = "broken"
	d.open()
	d.now = d.now.Add(time.Minute)
	d.step()
	if !d.p.crawls["c"].ready || !strings.Contains(d.status("c").GetActivity(), "c/3-x") {
		t.Errorf("ready %v, status %v", d.p.crawls["c"].ready, d.status("c"))
	}
	d.objects[schemas.ModelObject("apprentice", "c/3-x")] = "good"
	d.now = d.now.Add(time.Minute)
	d.step()
	if d.p.crawls["c"].model != "c/3-x" {
		t.Errorf("model %q", d.p.crawls["c"].model)
	}
}

// TestAPanicOverAModel: a panic does not end the process: its crawl waits, and the others go on.
func TestAPanicOverAModel(t *testing.T) {
	d := newDesk(t)
	d.conf.library.readModel = func([]byte) (frontier.Model, error) { panic("a damaged model") }
	ctl := apprenticeCrawl("c")
	ctl.Learning.Prior = "earlier/9-abc"
	d.objects[schemas.ModelObject("apprentice", ctl.Learning.Prior)] = "bytes"
	d.control(ctl)
	d.control(crawlOf("d"))
	d.step(d.record(seedsOf("c", page+"1")), d.record(seedsOf("d", page+"2")))
	d.step()
	if st := d.status("c"); !strings.Contains(st.GetActivity(), "a damaged model") {
		t.Errorf("status %v", st)
	}
	if len(d.log) != 1 || d.status("d").GetDispatched() != 1 {
		t.Errorf("%d requests, status %v", len(d.log), d.status("d"))
	}
}

func TestModelsThatCameTooLateAreNotKept(t *testing.T) {
	d := newDesk(t)
	ctl := apprenticeCrawl("c")
	ctl.Learning.Sync = false
	d.control(ctl)
	d.step(d.record(seedsOf("c", page+"1")))
	var fetches []func()
	d.conf.library.begin = func(f func()) { fetches = append(fetches, f) }
	for n := range uint64(3) {
		version := fmt.Sprint("c/", n+1)
		d.objects[schemas.ModelObject("apprentice", version)] = "model"
		d.publish(&schemas.ModelPublished{Kind: "apprentice", Crawl: "c", Version: version, Pages: n + 1, Leaps: 1})
		d.step()
	}
	for _, f := range fetches {
		f()
	}
	d.step()
	if c := d.p.crawls["c"]; c.model != "c/3" || len(d.conf.library.objects) != 0 {
		t.Errorf("model %q, %d objects in the library", c.model, len(d.conf.library.objects))
	}
}

// A model that the operator pinned ranks whatever comes; announced models satisfy boundaries
// and come into use when it is no longer pinned.
func TestAPinnedModelStays(t *testing.T) {
	d := newDesk(t)
	for _, version := range []string{"c/1-x", "c/2-x", "c/2-retrained", "c/3-x"} {
		d.objects[schemas.ModelObject("apprentice", version)] = "good"
	}
	publish := func(version string, pages uint64, retrained bool) {
		d.publish(&schemas.ModelPublished{Kind: "apprentice", Crawl: "c", Version: version, Pages: pages, Leaps: 1, Retrained: retrained})
	}
	ctl := apprenticeCrawl("c") // it waits for the model at every boundary
	ctl.Window = 1
	pin := func(version string) {
		ctl.Revision++
		ctl.Learning.Pinned = version
		d.control(ctl)
	}
	d.control(ctl)
	d.step(d.record(seedsOf("c", page+"1")))
	d.step(d.record(delivered(d.requests[0], page+"2", page+"3", page+"4", page+"5")))
	publish("c/1-x", 1, false)
	publish("c/9-retrained", 9, true) // not in use unless it is pinned
	d.step()
	if len(d.requests) != 1 || d.requests[0].GetModel() != "c/1-x" {
		t.Fatalf("requested %v, want the newest model of the crawl's own", d.requests)
	}
	next := func(want string) {
		t.Helper()
		d.step(d.record(delivered(d.requests[0])))
		if len(d.requests) != 1 || d.requests[0].GetModel() != want {
			t.Fatalf("requested %v, want the model %q; status %v", d.requests, want, d.status("c"))
		}
	}
	pin("c/2-retrained")
	next("c/2-retrained") // although no model comes for the boundary
	publish("c/2-x", 2, false)
	publish("c/3-x", 3, false)
	d.open()
	next("c/2-retrained")
	pin("c/1-x") // an older one
	next("c/1-x")
	pin("")
	d.open()
	d.step()
	if got := d.p.crawls["c"].model; got != "c/3-x" {
		t.Errorf("pinned no more, it ranks by %q", got)
	}
}

// A model may be pinned while the frontier is scored under an older one and a newer one waits.
func TestAModelIsPinnedWhileTheFrontierIsScored(t *testing.T) {
	d := newDesk(t)
	ctl := apprenticeCrawl("c")
	ctl.Window, ctl.Learning.Sync = 1, false
	d.control(ctl)
	urls := pagesUpTo(5 * d.conf.rescoreBatch)
	d.step(d.record(seedsOf("c", page+"1")))
	d.step(d.record(delivered(d.requests[0], urls...)))
	for pages := range uint64(4) {
		version := fmt.Sprintf("c/%d-x", pages+1)
		d.objects[schemas.ModelObject("apprentice", version)] = "good"
		if pages == 0 {
			continue
		}
		d.publish(&schemas.ModelPublished{Kind: "apprentice", Crawl: "c", Version: version, Pages: pages + 1, Leaps: 1})
		d.step()
	}
	if version, pages := d.p.crawls["c"].shard.Model(); version != "c/2-x" || pages != 2 {
		t.Fatalf("it is scored under %q, and was to be in the middle of that", version)
	}
	ctl.Revision++
	ctl.Learning.Pinned = "c/1-x"
	d.control(ctl)
	for range 20 {
		d.step()
	}
	if version, _ := d.p.crawls["c"].shard.Model(); version != "c/1-x" {
		t.Errorf("in the end it is scored under %q", version)
	}
}

func TestAPriorIsUsedFromTheStart(t *testing.T) {
	d := newDesk(t)
	ctl := apprenticeCrawl("c")
	ctl.Learning.Prior = "earlier/9-abc"
	d.control(ctl)
	d.step(d.record(seedsOf("c", page+"1")))
	if len(d.requests) != 0 || !strings.Contains(d.status("c").GetActivity(), "model earlier/9-abc") {
		t.Fatalf("requested %v, status %v", d.urls(), d.status("c"))
	}
	d.objects[schemas.ModelObject("apprentice", "earlier/9-abc")] = "prior"
	d.now = d.now.Add(time.Minute)
	d.step()
	if len(d.requests) != 1 {
		t.Errorf("requested %v", d.urls())
	}
}

func TestPoison(t *testing.T) {
	d := newDesk(t)
	d.control(crawlOf("c"))
	d.step(d.record(seedsOf("c", page+"1", page+"2")))
	r := d.requests[0]
	good := delivered(r)
	good.Judgement.Raw = 1.5
	bad := d.record(good)
	bad.Headers = schemas.RequestHeaders(r)
	d.step(bad, d.raw([]byte("garbage"), map[string]string{schemas.HeaderVersion: "1"}), d.raw([]byte("garbage"), schemas.RequestHeaders(d.requests[1])))
	if len(d.letters) != 3 || d.letters[0].GetStage() != "prioritize" || d.letters[0].GetOffset() != bad.Offset {
		t.Errorf("letters %v", d.letters)
	}
	if st := d.status("c"); st.GetOutcomes()["failed:feature-extract"] != 2 || st.GetInFlight() != 0 {
		t.Errorf("status %v", st)
	}
}

func TestDecodeRefuses(t *testing.T) {
	r := &schemas.FetchRequest{Id: schemas.RequestID("c", page, 1).Bytes(), Crawl: "c", Url: page}
	for name, change := range map[string]func(*schemas.LinkFound){
		"no crawl":      func(l *schemas.LinkFound) { l.Crawl = "" },
		"another shard": func(l *schemas.LinkFound) { l.Shard = 256 },
		"unknown role":  func(l *schemas.LinkFound) { l.Role = 3 },
		"empty note":    func(l *schemas.LinkFound) { l.Role, l.Note = schemas.LinkRole_LINK_ROLE_NOTE, &schemas.ShardNote{} },
		"lease of shard 1": func(l *schemas.LinkFound) {
			l.Role, l.From, l.Note = schemas.LinkRole_LINK_ROLE_NOTE, 1, &schemas.ShardNote{Lease: &schemas.ShardLease{}}
		},
		"report of shard 0": func(l *schemas.LinkFound) {
			l.Role, l.Note = schemas.LinkRole_LINK_ROLE_NOTE, &schemas.ShardNote{Report: &schemas.ShardReport{}}
		},
		"links of no page": func(l *schemas.LinkFound) {
			l.Role, l.Outcome = schemas.LinkRole_LINK_ROLE_LINKS, schemas.Outcome_OUTCOME_TIMEOUT
		},
		"two redirects": func(l *schemas.LinkFound) {
			l.Role, l.Moved = schemas.LinkRole_LINK_ROLE_LINKS, &schemas.MovedLink{}
			l.Links = append(l.Links, &schemas.Link{Url: page + "3"})
		},
		"no id":            func(l *schemas.LinkFound) { l.Id = nil },
		"unknown outcome":  func(l *schemas.LinkFound) { l.Outcome = 99 },
		"no outcome":       func(l *schemas.LinkFound) { l.Outcome = 0 },
		"no judgement":     func(l *schemas.LinkFound) { l.Judgement = nil },
		"R(u) below 0":     func(l *schemas.LinkFound) { l.Judgement.Tempered = -.1 },
		"too many anchors": func(l *schemas.LinkFound) { l.Judgement.Anchors = []uint32{1, 2} },
		"a score too many": func(l *schemas.LinkFound) {
			l.Judgement.Guidance = []*schemas.Guidance{{Guide: "g/1", Scores: []float64{1, 2}}}
		},
		"a score that is none": func(l *schemas.LinkFound) {
			l.Judgement.Guidance = []*schemas.Guidance{{Guide: "g/1", Scores: []float64{math.NaN()}}}
		},
		"link without URL": func(l *schemas.LinkFound) { l.Links = append(l.Links, &schemas.Link{}) },
	} {
		l := delivered(r, page+"2")
		value, err := proto.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decode(stream.Record{Value: value}); err != nil {
			t.Fatal(err)
		}
		change(l)
		if value, err = proto.Marshal(l); err != nil {
			t.Fatal(err)
		}
		if _, err := decode(stream.Record{Value: value}); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func FuzzDecode(f *testing.F) {
	r := &schemas.FetchRequest{Id: schemas.RequestID("c", page, 1).Bytes(), Crawl: "c", Url: page}
	value, err := proto.Marshal(delivered(r, page+"2"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(value)
	f.Add([]byte("\xff"))
	f.Fuzz(func(t *testing.T, value []byte) {
		// Whatever decode takes, the frontier takes.
		found, err := decode(stream.Record{Value: value})
		if err != nil || len(found.Record().GetCrawl()) > 64 {
			return
		}
		d := newDesk(t)
		ctl := crawlOf(found.Record().GetCrawl())
		d.control(ctl)
		d.step(stream.Record{Topic: schemas.TopicLinkFound, Value: value, Headers: map[string]string{schemas.HeaderVersion: "1"}})
	})
}

func FuzzReadState(f *testing.F) {
	b, err := (&crawlState{finished: 3, boundary: 9, spans: map[string]*schemas.TopicSpan{"t": {Count: 1}}}).bytes()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{stateVersion, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := readState(b)
		if err == nil && m.spans == nil {
			t.Error("no spans, and no error")
		}
	})
}

// TestAnOutdatedStatusIsFollowedByTheOwners: a former owner that was held up may write its status last, which
// compaction would keep; the owner writes its own once more, also that of a crawl that has ended.
func TestAnOutdatedStatusIsFollowedByTheOwners(t *testing.T) {
	d := newDesk(t)
	ctl := crawlOf("c")
	d.control(ctl)
	written := func(epoch uint64) {
		t.Helper()
		out, err := statusOut(&schemas.CrawlStatus{Crawl: "c", Epoch: epoch})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.conf.book.status(stream.Record{Topic: out.Topic, Key: out.Key, Value: out.Value, Headers: out.Headers}); err != nil {
			t.Fatal(err)
		}
	}
	repeats := func(when string, want int) {
		t.Helper()
		n := len(d.statuses["c"])
		d.step()
		d.step()
		if got := len(d.statuses["c"]) - n; got != want {
			t.Errorf("%s: %d statuses, want %d", when, got, want)
		}
	}
	d.open()
	d.step(d.record(seedsOf("c", page+"1")))
	r := d.requests[0]
	for d.now = d.now.Add(2 * time.Second); len(d.statuses["c"]) < 2; d.now = d.now.Add(time.Second) {
		d.step()
	}
	written(d.epoch)
	repeats("its own status", 0)
	written(d.epoch - 1)
	repeats("an older epoch's status", 1)
	written(d.epoch)
	repeats("its own status again", 0)
	d.step(d.record(delivered(r)))
	for d.now = d.now.Add(time.Second); !d.wake.IsZero(); d.now = d.now.Add(time.Second) {
		d.step()
	}
	if !d.p.crawls["c"].asleep() {
		t.Fatal("the crawl has not ended")
	}
	written(d.epoch - 1)
	repeats("an older epoch's status of an ended crawl", 1)
	if st := d.status("c"); st.GetEndReason() != frontier.EndEmpty {
		t.Errorf("repeated %v", st)
	}
}

func TestStatusesAreNotMoreThanOneASecond(t *testing.T) {
	d := newDesk(t)
	ctl := crawlOf("c")
	ctl.Window = 1
	d.control(ctl)
	urls := pagesUpTo(60)
	d.step(d.record(seedsOf("c", urls...)))
	began := d.now
	for len(d.requests) > 0 {
		d.now = d.now.Add(100 * time.Millisecond)
		d.step(d.record(delivered(d.requests[0])))
	}
	all := d.statuses["c"]
	if most := int(d.now.Sub(began)/time.Second) + 2; len(all) > most || len(all) < most-2 {
		t.Errorf("%d statuses in %v", len(all), d.now.Sub(began))
	}
	for i := 1; i < len(all); i++ {
		if all[i].GetAt() <= all[i-1].GetAt() {
			t.Errorf("status %d has time %d, behind %d", i, all[i].GetAt(), all[i-1].GetAt())
		}
	}
}

func TestCrawlsOfOnePartitionShareIt(t *testing.T) {
	d := newDesk(t)
	r := rand.New(rand.NewPCG(1, 2))
	first := make(map[string]int)
	for i := range 5 {
		name := fmt.Sprint("c", i)
		d.control(crawlOf(name))
		d.step(d.record(seedsOf(name, page+"0")))
	}
	for range 40 {
		names := slices.Sorted(maps.Keys(d.p.crawls))
		name := names[r.IntN(len(names))]
		d.step(d.record(seedsOf(name, fmt.Sprint(page, r.Uint64()))), d.record(seedsOf(names[0], fmt.Sprint(page, r.Uint64()))))
		if len(d.requests) > 0 {
			first[d.requests[0].GetCrawl()]++
		}
	}
	if len(first) < 3 {
		t.Errorf("the first requests of a step are of %v", first)
	}
}

// TestACrawlLeftAsideWaitsAndTheOthersGoOn: records of a crawl that is parked for a fault are kept in order and
// applied when it is resumed; its status names the fault and keeps its counts.
func TestACrawlLeftAsideWaitsAndTheOthersGoOn(t *testing.T) {
	d := newDesk(t)
	d.control(crawlOf("c"))
	d.control(crawlOf("d"))
	d.step(d.record(seedsOf("c", page+"1", page+"2")))
	requests := d.requests
	for len(d.statuses["c"]) < 2 {
		d.now = d.now.Add(time.Second)
		d.step()
	}
	last, err := statusOut(d.status("c"))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.conf.book.status(stream.Record{Topic: last.Topic, Key: last.Key, Value: last.Value, Headers: last.Headers}); err != nil {
		t.Fatal(err)
	}
	dispatched := d.status("c").GetDispatched()
	d.conf.parked = map[string]stateful.ParkedCrawl{"c": {Cause: "panic: no such place\ngoroutine 1"}}
	d.open()
	d.step(d.record(delivered(requests[0], page+"3")), d.record(seedsOf("d", page+"9")))
	if got := d.urls(); len(got) != 1 || got[0] != page+"9" {
		t.Errorf("requested %v", got)
	}
	if st := d.status("c"); !strings.Contains(st.GetActivity(), "parked for a fault") || !strings.Contains(st.GetActivity(), "no such place") || st.GetDispatched() != dispatched || dispatched == 0 {
		t.Errorf("status %v", st)
	}
	d.conf.parked = nil
	d.open()
	for range 3 {
		d.step()
		if len(d.requests) > 0 {
			break
		}
	}
	if got := d.urls(); len(got) != 1 || got[0] != page+"3" {
		t.Errorf("resumed, it requests %v", got)
	}
}

// TestASkippedRecordIsAnsweredFor: the request of a record that made the stage fail has failed, and no second letter is written.
func TestASkippedRecordIsAnsweredFor(t *testing.T) {
	d := newDesk(t)
	d.control(crawlOf("c"))
	d.step(d.record(seedsOf("c", page+"1")))
	headers := schemas.RequestHeaders(d.requests[0])
	headers[schemas.HeaderSkipped] = "panic: out of range"
	d.now = d.now.Add(2 * time.Second)
	d.step(d.raw(nil, headers))
	for d.now = d.now.Add(2 * time.Second); !d.wake.IsZero(); d.now = d.now.Add(time.Second) {
		d.step()
	}
	if st := d.status("c"); st.GetOutcomes()["failed:feature-extract"] != 1 || st.GetInFlight() != 0 || len(d.letters) != 0 {
		t.Errorf("%d letters, status %v", len(d.letters), st)
	}
}
