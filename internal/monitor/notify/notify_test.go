package notify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"forager/internal/monitor/view"
	"forager/internal/operate"
	"forager/internal/platform/analytics"
	"forager/internal/platform/objects"
	"forager/internal/platform/objects/objectstest"
	"forager/internal/platform/pipeline"
	"forager/internal/stream"
	"forager/internal/stream/kafka"
	"forager/internal/stream/streamtest"
	"forager/schemas"
)

func TestMain(m *testing.M) { objectstest.Main(m) }

// bed has what notifiers need, and stays while they are restarted.
type bed struct {
	t       *testing.T
	source  *view.Source
	store   *objects.Store
	client  *kafka.Client
	now     time.Time
	log     strings.Builder
	counted map[string]int // by webhook and outcome
}

func newBed(t *testing.T) *bed {
	w := streamtest.NewWorld(streamtest.Embedded(t))
	w.Setup(t)
	client, _ := w.Dial(t)
	return &bed{t: t, now: time.Now(), source: view.New(nil, operate.New(nil), nil, nil), store: objectstest.Start(t).Store(t), client: client, counted: make(map[string]int)}
}

// notifier returns a new one. What an earlier one has not stored is lost, as when it is killed.
func (b *bed) notifier(hooks pipeline.Webhooks) *Notifier {
	n := &Notifier{
		Source: b.source, Settings: &pipeline.Monitor{Webhooks: hooks, StalledAfter: time.Minute}, Link: "http://monitor.test:1", Store: b.store, Kafka: b.client,
		Log: slog.New(slog.NewTextHandler(&b.log, nil)), Sends: true,
		Count: func(webhook int, outcome string) { b.counted[fmt.Sprint(webhook, " ", outcome)]++ },
	}
	n.prepare()
	return n
}

// turn lets a second pass, and what is sent then be sent.
func (b *bed) turn(n *Notifier) {
	b.now = b.now.Add(time.Second)
	n.step(b.t.Context(), b.now)
	for slices.ContainsFunc(n.hooks, func(h *hook) bool { return h.busy }) {
		n.take(<-n.sent, b.now)
	}
}

// pass lets some time pass in turns.
func (b *bed) pass(n *Notifier, d time.Duration) {
	for end := b.now.Add(d); b.now.Before(end); {
		b.turn(n)
	}
}

func (b *bed) read(topic, key string, m proto.Message) {
	b.t.Helper()
	value, err := proto.Marshal(m)
	if err == nil {
		err = b.source.Read(stream.Record{Topic: topic, Key: []byte(key), Value: value})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) begin(crawl string) {
	b.t.Helper()
	b.read(schemas.TopicCrawlControl, crawl, &schemas.CrawlControl{Crawl: crawl, Revision: 1, Critic: "c", State: schemas.CrawlState_CRAWL_STATE_RUNNING})
}

func (b *bed) status(st *schemas.CrawlStatus) {
	b.t.Helper()
	st.At = time.Now().UnixMilli()
	b.read(schemas.TopicCrawlStatus, st.Crawl+"/0", st)
}

func (b *bed) finish(crawl string, dispatched uint64, reason string) {
	b.t.Helper()
	b.status(&schemas.CrawlStatus{Crawl: crawl, State: schemas.ShardState_SHARD_STATE_FINISHED, EndReason: reason, Dispatched: dispatched, Requests: dispatched, Pages: dispatched / 2, RelevanceRaw: float64(dispatched) / 8})
}

// stored lists the objects of the state.
func (b *bed) stored() (keys []string) {
	for o, err := range b.store.List(b.t.Context(), prefix) {
		if err != nil {
			b.t.Fatal(err)
		}
		keys = append(keys, o.Key)
	}
	return keys
}

func (b *bed) dead(crawl string, n int, cause string) {
	b.t.Helper()
	var outs []stream.Out
	for i := range n {
		out, err := stream.DeadLetter("parse-dom", stream.Record{Topic: schemas.TopicPageFetched, Offset: int64(i), Key: []byte("k"), Headers: map[string]string{schemas.HeaderCrawl: crawl}}, errors.New(cause), 1)
		if err != nil {
			b.t.Fatal(err)
		}
		outs = append(outs, out)
	}
	streamtest.Send(b.t, b.client, outs)
}

// delivery is a request of a webhook.
type delivery struct {
	header http.Header
	body   []byte
	event  view.Event
}

// receiver keeps the requests that it accepts. An address of "" is any.
func receiver(t *testing.T, address string) (url string, got chan delivery, stop func()) {
	t.Helper()
	got = make(chan delivery, 1000)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		d := delivery{header: r.Header, body: body}
		if err = errors.Join(err, json.Unmarshal(body, &d.event)); err != nil || r.Method != http.MethodPost {
			t.Errorf("%s %s: %v", r.Method, body, err)
		}
		got <- d
	}))
	if address != "" {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		s.Listener.Close()
		s.Listener = l
	}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL, got, s.Close
}

// arrived returns the requests of a receiver so far.
func arrived(t *testing.T, got chan delivery) (list []delivery, ids []string) {
	t.Helper()
	for len(got) > 0 {
		d := <-got
		if d.header.Get("Idempotency-Key") != d.event.ID {
			t.Errorf("key %q of event %q", d.header.Get("Idempotency-Key"), d.event.ID)
		}
		list, ids = append(list, d), append(ids, d.event.ID)
	}
	return list, ids
}

// signature is HMAC-SHA256 by its definition (RFC 2104), of a key of at most a block.
func signature(key string, body []byte) string {
	inner, outer := make([]byte, sha256.BlockSize), make([]byte, sha256.BlockSize)
	copy(inner, key)
	copy(outer, key)
	for i := range inner {
		inner[i] ^= 0x36
		outer[i] ^= 0x5c
	}
	first := sha256.Sum256(append(inner, body...))
	second := sha256.Sum256(append(outer, first[:]...))
	return "sha256=" + hex.EncodeToString(second[:])
}

// TestEachKind causes an event of each kind. After each the notifier is killed, and the next one does not repeat it.
func TestEachKind(t *testing.T) {
	b := newBed(t)
	for _, crawl := range []string{"old", "news-1", "paused", "other"} {
		b.begin(crawl)
	}
	b.finish("old", 10, "frontier empty") // before the first start
	b.dead("news-1", 2, "before the first start")
	all, got, _ := receiver(t, "")
	few, gotFew, _ := receiver(t, "")
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	hooks := pipeline.Webhooks{{URL: all, HarvestBelow: 0.3, SecretFile: file}, {URL: few, Crawls: "news-*", Events: []string{pipeline.EventFinished}}}
	n := b.notifier(hooks)
	b.turn(n)
	var ids []string
	one := func(id, text string, figures map[string]float64) {
		t.Helper()
		b.turn(n) // stores what was sent
		n = b.notifier(hooks)
		b.pass(n, 20*time.Second)
		list, came := arrived(t, got)
		if len(list) != 1 || list[0].event.ID != id {
			t.Fatalf("%v, want %s once\n%s", came, id, &b.log)
		}
		d := list[0]
		if want := signature("hunter2", d.body); d.header.Get("Forager-Signature") != want {
			t.Errorf("%s: signature %q, want %q", id, d.header.Get("Forager-Signature"), want)
		}
		kind := strings.Split(id, "/")[1]
		link := map[bool]string{true: "http://monitor.test:1/letters", false: "http://monitor.test:1/crawls/" + d.event.Crawl}[kind == pipeline.EventDeadLetters]
		if d.event.Kind != kind || !strings.HasPrefix(id, d.event.Crawl) || d.event.Link != link || !strings.Contains(d.event.Text, text) || d.event.Time.IsZero() {
			t.Errorf("%s: %+v, want the text %q", id, d.event, text)
		}
		if diff := cmp.Diff(figures, d.event.Figures, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
		ids = append(ids, id)
	}

	// R is 0.5 for 1,000 pages, then 0: the last 1,000 pages are below 0.3 behind page 1,400.
	st := &schemas.CrawlStatus{Crawl: "news-1", State: schemas.ShardState_SHARD_STATE_RUNNING, Window: 8, InFlight: 8}
	for pages := uint64(0); pages <= 1500; pages += 50 {
		st.Pages, st.Requests, st.Dispatched, st.RelevanceRaw = pages, pages, pages, 0.5*float64(min(pages, 1000))
		b.status(st)
		b.turn(n)
	}
	one("news-1/harvest-below/0.3-1450", "is 0.275, below 0.3", map[string]float64{"harvest": 0.275, "bound": 0.3, "pages": 1450})

	b.status(&schemas.CrawlStatus{Crawl: "paused", State: schemas.ShardState_SHARD_STATE_PAUSED, Waits: []*schemas.Wait{{Cause: schemas.WaitCause_WAIT_CAUSE_PAUSED, Urls: 5}}})
	st.InFlight, st.Waits = 0, []*schemas.Wait{{Cause: schemas.WaitCause_WAIT_CAUSE_GATE, Urls: 1}, {Cause: schemas.WaitCause_WAIT_CAUSE_ROBOTS, Object: "a.test", Urls: 3}}
	b.status(st)
	b.pass(n, 39*time.Second) // of 60, with those after the last request above
	if _, early := arrived(t, got); len(early) > 0 {
		t.Errorf("%v within a minute", early)
	}
	b.pass(n, 90*time.Second)
	one("news-1/stalled/1500", "75 % of the URLs wait: robots.txt of their hosts cannot be read (a.test)", map[string]float64{"pages": 1500, "requests": 1500, "waiting": 3, "share": 0.75})

	b.dead("news-1", 3, "no such tag\u202e\x1b")
	b.pass(n, 20*time.Second)
	one("news-1/dead-letters/0-2", `3 records went to dead.letter, the last one of the stage parse-dom: no such tag\u202E\u001B`, map[string]float64{"records": 3})

	b.finish("news-1", 1600, "pages budget spent")
	b.turn(n)
	one("news-1/finished/1600-pages", "pages budget spent; 800 pages of 1600 requests, harvest 0.250", map[string]float64{"pages": 800, "requests": 1600, "harvest": 0.25})
	b.finish("other", 7, "refused: no critic")
	b.turn(n)
	one("other/finished/7-refused", "refused: no critic", map[string]float64{"pages": 3, "requests": 7, "harvest": 0.875 / 3})

	// It is resumed, and ends in the same way without a request; then with requests.
	st.Dispatched = 1600
	b.status(st)
	b.turn(n)
	b.finish("news-1", 1600, "pages budget spent")
	b.turn(n)
	b.finish("news-1", 1700, "pages budget spent")
	b.turn(n)
	one("news-1/finished/1700-pages", "pages budget spent", map[string]float64{"pages": 850, "requests": 1700, "harvest": 0.25})

	if _, finished := arrived(t, gotFew); !slices.Equal(finished, []string{"news-1/finished/1600-pages", "news-1/finished/1700-pages"}) {
		t.Errorf("the other receiver has %v", finished)
	}
	var kept []string
	for _, e := range b.source.EventsAfter(ids[0]) {
		kept = append(kept, e.ID)
	}
	if !slices.Equal(kept, ids[1:]) {
		t.Errorf("kept are %v, of %v", kept, ids)
	}
	if keys := b.stored(); len(keys) > 2 {
		t.Errorf("stored are %v", keys)
	}
	if strings.Contains(b.log.String(), "hunter") {
		t.Errorf("%s", &b.log)
	}
}

// TestARiseAndASecondFall: below a bound a crawl has one event, and another one 1,000 pages later at the earliest, if it was above meanwhile.
func TestARiseAndASecondFall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := &Notifier{
			Source: view.New(nil, operate.New(nil), nil, nil), Settings: &pipeline.Monitor{Webhooks: pipeline.Webhooks{{URL: "http://r.test/", HarvestBelow: 0.5}}},
			Log: slog.New(slog.DiscardHandler), Count: func(int, string) {}, state: &state{Waiting: make(map[string][]waiting)},
		}
		n.prepare()
		n.Source.Topics.Note(&schemas.CrawlControl{Crawl: "c", Revision: 1, Critic: "c"})
		var relevance []float64 // of each page
		sum, c := 0.0, new(crawl)
		for len(relevance) < 6000 {
			r := rapid.Float64Range(0, 1).Draw(t, "R")
			for range rapid.IntRange(1, 300).Draw(t, "pages") {
				relevance, sum = append(relevance, r), sum+r
			}
			pages := len(relevance)
			before := len(n.state.Recent)
			n.harvest("c", c, &schemas.CrawlStatus{Crawl: "c", Pages: uint64(pages), RelevanceRaw: sum}, time.Now())
			mean := 0.0
			for _, x := range relevance[max(0, pages-window):] {
				mean += x / window
			}
			for _, e := range n.state.Recent[before:] {
				if pages < window || math.Abs(e.Figures["harvest"]-mean) > (300+spacing)/float64(window) || e.Figures["harvest"] >= 0.5 {
					t.Fatalf("at %d pages %v, and the mean is %v", pages, e.Figures, mean)
				}
			}
		}
		for i := 1; i < len(n.state.Recent); i++ {
			if a, b := n.state.Recent[i-1].Figures["pages"], n.state.Recent[i].Figures["pages"]; b < a+window {
				t.Fatalf("events at %v and %v", a, b)
			}
		}
	})
}

// TestAHarvestThatIsNotKnown: neither of the first pages that the monitor reads, nor behind pages that it has not seen.
func TestAHarvestThatIsNotKnown(t *testing.T) {
	c := new(crawl)
	for _, x := range []struct {
		pages uint64
		known bool
	}{{5000, false}, {5500, false}, {5999, false}, {6000, true}, {6400, true}, {50_000, false}, {50_600, false}, {51_000, true}, {400, false}, {1000, true}} {
		if _, known := c.lately(analytics.CrawlPoint{Pages: x.pages, Relevance: float64(x.pages) / 2}); known != x.known {
			t.Errorf("at %d pages known is %t", x.pages, known)
		}
	}
}

// TestADeadReceiver: events wait for it across a kill, and arrive in order when it is back; one whose arrival was not stored arrives once
// more, with the same ID and body. What is too much is dropped.
func TestADeadReceiver(t *testing.T) {
	b := newBed(t)
	address := streamtest.FreeAddr(t)
	hooks := pipeline.Webhooks{{URL: "http://" + address + "/confidential", Secret: "hunter2"}}
	n := b.notifier(hooks)
	b.turn(n)
	for i := range maxWaiting + 5 {
		name := fmt.Sprintf("c%03d", i)
		b.begin(name)
		b.finish(name, uint64(i), "stopped")
	}
	b.pass(n, time.Minute)
	if failed := b.counted["1 failed"]; failed < 4 || failed > 8 || b.counted["1 dropped"] != 5 {
		t.Errorf("%v, want 4 to 8 tries in a minute, as pauses double, and 5 events dropped", b.counted)
	}
	n = b.notifier(hooks)
	b.turn(n)
	_, got, _ := receiver(t, address)
	b.turn(n)
	first, _ := arrived(t, got)
	if len(first) != perRound {
		t.Fatalf("%d events", len(first))
	}
	n = b.notifier(hooks) // the one before was killed before it had stored that
	b.pass(n, 10*time.Second)
	list, ids := arrived(t, got)
	for i, d := range list {
		if want := fmt.Sprintf("c%03d/finished/%d-stopped", i+5, i+5); d.event.ID != want {
			t.Fatalf("event %d is %s, want %s", i, d.event.ID, want)
		}
		if i < len(first) && !bytes.Equal(d.body, first[i].body) {
			t.Errorf("%s, then %s", first[i].body, d.body)
		}
	}
	if len(list) != maxWaiting {
		t.Errorf("%d events: %v", len(list), ids)
	}
	b.pass(n, 10*time.Second)
	b.pass(b.notifier(hooks), 10*time.Second)
	if _, more := arrived(t, got); len(more) > 0 {
		t.Errorf("sent again: %v", more)
	}
	if log := b.log.String(); strings.Contains(log, "hunter2") || strings.Contains(log, "confidential") || !strings.Contains(log, "webhook=1 host=127.0.0.1") {
		t.Errorf("%s", log)
	}
}

// TestAnOldEventIsGivenUp after a day.
func TestAnOldEventIsGivenUp(t *testing.T) {
	b := newBed(t)
	n := b.notifier(pipeline.Webhooks{{URL: "http://" + streamtest.FreeAddr(t)}})
	b.turn(n)
	b.begin("c")
	b.finish("c", 1, "stopped")
	b.turn(n)
	b.now = b.now.Add(keepFor)
	b.turn(n)
	tries := b.counted["1 failed"]
	b.pass(n, time.Minute)
	if b.counted["1 dropped"] != 1 || b.counted["1 failed"] != tries || tries == 0 {
		t.Errorf("%v", b.counted)
	}
}

// TestHostileReceivers: what they send is neither followed nor read, and the others get their events.
func TestHostileReceivers(t *testing.T) {
	b := newBed(t)
	good, got, _ := receiver(t, "")
	var followed atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Add(1) }))
	t.Cleanup(elsewhere.Close)
	endless := func(w http.ResponseWriter) error {
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return err
			}
		}
	}
	ended := make(chan error, 10)
	handlers := []http.HandlerFunc{
		func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		},
		func(w http.ResponseWriter, _ *http.Request) { ended <- endless(w) },
		func(w http.ResponseWriter, _ *http.Request) {
			for i := range 2000 {
				w.Header().Set(fmt.Sprint("H", i), strings.Repeat("x", 100))
			}
		},
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) },
		func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice the end of the connection
			<-r.Context().Done()
		},
		func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			fmt.Fprintf(conn, "\x1b[2J no HTTP")
			conn.Close()
		},
	}
	hooks := pipeline.Webhooks{}
	for _, h := range handlers {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		hooks = append(hooks, pipeline.Webhook{URL: s.URL})
	}
	n := b.notifier(append(hooks, pipeline.Webhook{URL: good}))
	ctx, cancel := context.WithCancel(t.Context())
	n.step(ctx, b.now)
	b.begin("c")
	b.finish("c", 1, "stopped")
	n.step(ctx, b.now)
	for range len(n.hooks) - 1 { // the one that does not respond is busy
		n.take(<-n.sent, b.now)
	}
	if err := <-ended; err == nil {
		t.Error("an endless body was read")
	}
	if _, ids := arrived(t, got); len(ids) != 1 || followed.Load() != 0 {
		t.Errorf("the good receiver has %v, a redirect was followed %d times", ids, followed.Load())
	}
	for i, want := range []string{"failed", "delivered", "failed", "failed", "", "failed", "delivered"} {
		if want != "" && b.counted[fmt.Sprint(i+1, " ", want)] != 1 {
			t.Errorf("receiver %d: %v, want %s", i+1, b.counted, want)
		}
	}
	if h := n.hooks[4]; !h.busy {
		t.Error("the receiver that does not respond has responded")
	}
	cancel()
	n.take(<-n.sent, b.now)
	if strings.Contains(b.log.String(), "\x1b") {
		t.Errorf("%s", &b.log)
	}
}

// TestProbe: receivers that respond, with whatever status, and those that do not.
func TestProbe(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	if err := Probe(t.Context(), 1, &pipeline.Webhook{URL: s.URL}); err != nil {
		t.Error(err)
	}
	s.Close()
	for _, w := range []pipeline.Webhook{{URL: s.URL + "/confidential"}, {URL: s.URL, SecretEnv: "FORAGER_TEST_NOT_SET"}, {URL: s.URL, SecretFile: filepath.Join(t.TempDir(), "none")}} {
		if err := Probe(t.Context(), 2, &w); err == nil || !strings.HasPrefix(err.Error(), "number 2 at 127.0.0.1: ") || strings.Contains(err.Error(), "confidential") {
			t.Errorf("%v", err)
		}
	}
}

// TestTwoProcessesThatSend: the one that stores first sends; the other does when the first is gone.
func TestTwoProcessesThatSend(t *testing.T) {
	b := newBed(t)
	url, got, _ := receiver(t, "")
	one, two := b.notifier(pipeline.Webhooks{{URL: url}}), b.notifier(pipeline.Webhooks{{URL: url}})
	b.turn(one)
	b.turn(two)
	var want []string
	for i := range 4 {
		name := fmt.Sprint("c", i)
		b.begin(name)
		b.finish(name, 1, "stopped")
		want = append(want, name+"/finished/1-stopped")
		for range 5 {
			b.turn(one)
			if i >= 2 { // it was held up meanwhile
				b.turn(two)
			}
		}
	}
	if two.state != nil { // it would send what waits for a receiver, as the other does
		t.Error("the second process has not stepped back")
	}
	b.begin("last")
	b.finish("last", 1, "stopped")
	b.pass(two, standby+2*time.Second)
	_, ids := arrived(t, got)
	if want = append(want, "last/finished/1-stopped"); !slices.Equal(ids, want) || len(b.stored()) > 2 {
		t.Errorf("%v, want %v; stored %v", ids, want, b.stored())
	}
}

// TestDamagedState: an object that is no state is named, and nothing is derived until it is removed.
func TestDamagedState(t *testing.T) {
	for _, body := range []string{"{", "{}", `{"crawls": null, "next": {}}`} {
		b := newBed(t)
		if err := b.store.Put(t.Context(), keyOf(3), strings.NewReader(body), int64(len(body))); err != nil {
			t.Fatal(err)
		}
		b.begin("c")
		b.finish("c", 1, "stopped")
		n := b.notifier(nil)
		if b.turn(n); n.state != nil || !strings.Contains(b.log.String(), keyOf(3)) {
			t.Errorf("%s: %s", body, b.log.String())
		}
		if err := b.store.Delete(t.Context(), keyOf(3)); err != nil {
			t.Fatal(err)
		}
		if b.turn(n); n.state == nil {
			t.Errorf("%s, removed: %s", body, b.log.String())
		}
	}
}
