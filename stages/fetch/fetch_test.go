package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"forager/internal/platform/segment"
	"forager/internal/stream"
	"forager/internal/web/warc"
	"forager/schemas"
)

func TestOutcomes(t *testing.T) {
	t.Parallel()
	html := func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/html; charset=\"\xe9\"") }
	b := newBed(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Host + r.URL.Path {
		case "strict.test/robots.txt":
			io.WriteString(w, "User-agent: forager\nDisallow: /secret\nCrawl-delay: 3600\nUser-agent: *\nDisallow: /")
		case "a.test/gzip":
			html(w)
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			io.WriteString(z, "<html>zipped")
			z.Close()
		case "a.test/empty":
			html(w)
		case "a.test/binary":
			html(w)
			io.WriteString(w, "<html>\x00\x01\xff\xfe")
		case "a.test/long":
			html(w)
			io.WriteString(w, strings.Repeat("<p>long</p>", 10000))
		case "a.test/moved":
			http.Redirect(w, r, "http://B.test:80/x#y", http.StatusMovedPermanently)
		case "a.test/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "a.test/pdf":
			html(w)
			io.WriteString(w, "%PDF-1.4 "+strings.Repeat("x", 5000))
		case "a.test/css":
			w.Header().Set("Content-Type", "text/css")
			io.WriteString(w, "p {}")
		case "a.test/gone":
			w.WriteHeader(http.StatusGone)
		case "a.test/broken":
			w.WriteHeader(http.StatusInternalServerError)
		case "busy.test/429":
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		case "away.test/503":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "a.test/cut":
			html(w)
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, "<html>cut")
		case "slow.test/slow":
			<-r.Context().Done() // fetch has given up
		default:
			page(w, r)
		}
	})
	b.cfg.Stages.Fetch.HeaderTimeout = 3 * time.Second // the others must keep it on a busy machine
	want := map[string]schemas.Outcome{
		"http://a.test/page":        schemas.Outcome_OUTCOME_DELIVERED,
		"http://a.test/gzip":        schemas.Outcome_OUTCOME_DELIVERED,
		"http://a.test/empty":       schemas.Outcome_OUTCOME_DELIVERED,
		"http://a.test/binary":      schemas.Outcome_OUTCOME_DELIVERED,
		"http://a.test/long":        schemas.Outcome_OUTCOME_DELIVERED,
		"http://a.test/moved":       schemas.Outcome_OUTCOME_REDIRECTED,
		"http://a.test/loop":        schemas.Outcome_OUTCOME_BAD_REDIRECT,
		"http://a.test/pdf":         schemas.Outcome_OUTCOME_NOT_HTML,
		"http://a.test/css":         schemas.Outcome_OUTCOME_NOT_HTML,
		"http://a.test/gone":        schemas.Outcome_OUTCOME_CLIENT_ERROR,
		"http://a.test/broken":      schemas.Outcome_OUTCOME_SERVER_ERROR,
		"http://busy.test/429":      schemas.Outcome_OUTCOME_DEFERRED,
		"http://away.test/503":      schemas.Outcome_OUTCOME_SERVER_ERROR,
		"http://a.test/cut":         schemas.Outcome_OUTCOME_DELIVERED,
		"http://slow.test/slow":     schemas.Outcome_OUTCOME_TIMEOUT,
		"http://strict.test/secret": schemas.Outcome_OUTCOME_ROBOTS_DISALLOWED,
		"http://strict.test/open":   schemas.Outcome_OUTCOME_DEFERRED, // crawl-delay
		"http://10.0.0.1/":          schemas.Outcome_OUTCOME_REFUSED,
		"http://a.test:25/":         schemas.Outcome_OUTCOME_REFUSED,
	}
	var requests []*schemas.FetchRequest
	for url := range want {
		requests = append(requests, b.request("crawl", url, 1, 0))
	}
	b.send(requests...)
	b.send(requests[0]) // a duplicate, as a producer's retry makes it
	b.run()
	pages := b.fetched(len(want))
	for url, outcome := range want {
		p := pages[url+" 1"]
		if p == nil || p.Outcome != outcome {
			t.Errorf("%s: %v, want %v", url, p, outcome)
			continue
		}
		if (p.Object != "") != (outcome == schemas.Outcome_OUTCOME_DELIVERED) || (p.Detail == "") != (outcome == schemas.Outcome_OUTCOME_DELIVERED) {
			t.Errorf("%s: object %q, detail %q", url, p.Object, p.Detail)
		}
		if p.Crawl != "crawl" || p.FetchedAt == 0 {
			t.Errorf("%s: %v", url, p)
		}
	}
	if got := pages["http://a.test/moved 1"]; got.Redirect != "http://b.test/x" || got.Status != 301 {
		t.Errorf("redirect: %v", got)
	}
	for url, least := range map[string]time.Duration{"http://busy.test/429 1": 59 * time.Minute, "http://strict.test/open 1": 59 * time.Minute, "http://away.test/503 1": 5 * time.Second} {
		if wait := time.Duration(pages[url].NotBefore-pages[url].FetchedAt) * time.Millisecond; wait < least {
			t.Errorf("%s: not before %v have passed", url, wait)
		}
	}
	store := b.store.Store(t)
	for url, body := range map[string]string{
		"http://a.test/page 1": "<html><title>http://a.test/page</title>", "http://a.test/gzip 1": "<html>zipped", "http://a.test/empty 1": "",
		"http://a.test/binary 1": "<html>\x00\x01\xff\xfe", "http://a.test/long 1": strings.Repeat("<p>long</p>", 10000)[:1<<16],
		"http://a.test/cut 1": "<html>cut",
	} {
		p, cut := pages[url], map[string]string{"http://a.test/long 1": "length", "http://a.test/cut 1": "disconnect"}[url]
		stored, err := segment.Read(t.Context(), store, p.Object, p.Offset, p.Length)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if string(stored.Body) != body || p.Digest != warc.Digest(stored.Body) || p.Size != uint64(len(body)) || p.Truncated != (cut != "") {
			t.Errorf("%s: %d bytes %s, the record has %d, %s, truncated %v", url, len(stored.Body), warc.Digest(stored.Body), p.Size, p.Digest, p.Truncated)
		}
		if stored.Record.TargetURI != p.Url || stored.Record.Header.Get("WARC-Truncated") != cut {
			t.Errorf("%s: %v", url, stored.Record.Header)
		}
	}
	for _, v := range b.seen("strict.test") {
		if !strings.HasSuffix(v.url, "/robots.txt") {
			t.Errorf("asked for %s", v.url)
		}
	}
}

func TestKeepsPauses(t *testing.T) {
	t.Parallel()
	const delay = 60 * time.Millisecond
	b := newBed(t, page)
	var requests []*schemas.FetchRequest
	for i := range 4 {
		for host := range 3 {
			for crawl := range 2 {
				requests = append(requests, b.request(fmt.Sprint("crawl", crawl), fmt.Sprintf("http://h%d.test/%d", host, i), 1, delay))
			}
		}
	}
	b.send(requests...)
	b.run()
	for i := 0; i < len(requests); i += 2 { // a page of two crawls comes once for each
		requests[i].Attempt = 2
	}
	deadline := time.Now().Add(60 * time.Second)
	for len(b.read(schemas.TopicPageFetched)) < len(requests) && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
	for host := range 3 {
		all := b.seen(fmt.Sprintf("h%d.test", host))
		if len(all) != 9 { // with robots.txt
			t.Errorf("host %d was asked %d times", host, len(all))
		}
		for i := 1; i < len(all); i++ {
			// The web gets requests a little later than fetch sends them, at begin and end alike.
			if gap := all[i].begin.Sub(all[i-1].end); gap < delay-10*time.Millisecond {
				t.Errorf("host %d: %v between two requests", host, gap)
			}
		}
	}
}

// A server that closes a kept connection without a response gets one more request, after the pause
// and over a new connection; if it closes that too, the request has failed.
func TestComesBackWhereAKeptConnectionBroke(t *testing.T) {
	t.Parallel()
	const delay = 60 * time.Millisecond
	var mu sync.Mutex
	asked, ended := map[string]int{}, map[string]time.Time{}
	b := newBed(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if gap := time.Since(ended[r.URL.Host]); gap < delay-10*time.Millisecond {
			t.Errorf("%s: %v between two requests", r.RequestURI, gap)
		}
		ended[r.URL.Host] = time.Now()
		asked[r.RequestURI]++
		switch {
		case r.URL.Path == "/always" || r.URL.Path != "/page" && asked[r.RequestURI] == 1:
			panic(http.ErrAbortHandler)
		case r.URL.Path == "/robots.txt":
			http.NotFound(w, r)
		default:
			page(w, r)
		}
	})
	b.run()
	wants := map[string]schemas.Outcome{
		"http://a.test/once":      schemas.Outcome_OUTCOME_DELIVERED, // robots.txt left a connection
		"http://z.test/always":    schemas.Outcome_OUTCOME_CONNECTION_FAILED,
		"http://strict.test/page": schemas.Outcome_OUTCOME_DELIVERED, // robots.txt broke
	}
	for i, url := range slices.Sorted(maps.Keys(wants)) { // one by one: the next finds the connections of those before
		b.send(b.request("c", url, 1, delay))
		if got := b.fetched(i + 1)[url+" 1"]; got.GetOutcome() != wants[url] {
			t.Errorf("%s: %v %s", url, got.GetOutcome(), got.GetDetail())
		}
	}
	mu.Lock() // a response that was cut off may still be counted
	defer mu.Unlock()
	want := map[string]int{"http://a.test/once": 2, "http://z.test/always": 2, "http://strict.test/robots.txt": 2, "http://strict.test/page": 1}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("asked (− want, + got):\n%s", diff)
	}
}

// A new owner skips requests in page.fetched, and makes no request for one session timeout to hosts
// to which an old one may still make some.
func TestTakesOver(t *testing.T) {
	t.Parallel()
	b := newBed(t, page)
	var requests []*schemas.FetchRequest
	for i := range 6 {
		requests = append(requests, b.request("crawl", fmt.Sprintf("http://a.test/%d", i), 1, time.Millisecond))
	}
	b.send(requests...)
	for _, r := range requests[:4:4] {
		if r == requests[1] {
			continue
		}
		out, err := fetched(encode(t, r), r, &schemas.PageFetched{Outcome: schemas.Outcome_OUTCOME_CLIENT_ERROR})
		if err != nil {
			t.Fatal(err)
		}
		b.produce(out)
	}
	free := b.request("crawl", "http://free.test/", 1, time.Millisecond)
	began := time.Now()
	b.run()
	b.send(free)
	pages := b.fetched(7)
	for i := range 6 {
		want := schemas.Outcome_OUTCOME_DELIVERED
		if i < 4 && i != 1 {
			want = schemas.Outcome_OUTCOME_CLIENT_ERROR
		}
		if p := pages[fmt.Sprintf("http://a.test/%d 1", i)]; p.Outcome != want {
			t.Errorf("page %d: %v", i, p)
		}
	}
	seen := b.seen("")
	if len(seen) != 4 || seen[0].url != free.Url {
		t.Errorf("asked for %v", seen)
	}
	for _, v := range b.seen("a.test") {
		if wait := v.begin.Sub(began); wait < b.cfg.Kafka.SessionTimeout {
			t.Errorf("%s was asked for %v after the begin", v.url, wait)
		}
	}
}

// Stopping ends requests that have not begun; pausing ends none; requests in progress continue.
func TestStoppedCrawl(t *testing.T) {
	t.Parallel()
	reached, release := make(chan struct{}, 10), make(chan struct{})
	b := newBed(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/slow") {
			reached <- struct{}{}
			<-release
		}
		page(w, r)
	})
	control := func(crawl string, revision uint64, state schemas.CrawlState) {
		ctl := &schemas.CrawlControl{Crawl: crawl, Revision: revision, State: state}
		b.produce(stream.Out{Topic: schemas.TopicCrawlControl, Key: []byte(crawl), Value: encode(t, ctl), Headers: map[string]string{schemas.HeaderVersion: "1", schemas.HeaderCrawl: crawl}})
	}
	control("before", 3, schemas.CrawlState_CRAWL_STATE_STOPPED)
	control("before", 2, schemas.CrawlState_CRAWL_STATE_RUNNING) // an older revision counts for nothing
	b.run()
	b.send(b.request("before", "http://a.test/before", 1, time.Millisecond))
	b.send(b.request("stops", "http://a.test/slow", 1, time.Millisecond))
	<-reached
	b.send(b.request("stops", "http://a.test/waits", 1, time.Millisecond), b.request("pauses", "http://a.test/pauses", 1, time.Millisecond))
	b.fetched(1)
	control("pauses", 1, schemas.CrawlState_CRAWL_STATE_PAUSED)
	control("stops", 1, schemas.CrawlState_CRAWL_STATE_STOPPED)
	b.fetched(2)
	close(release)
	pages := b.fetched(4)
	for url, want := range map[string]schemas.Outcome{
		"http://a.test/before": schemas.Outcome_OUTCOME_CANCELLED, "http://a.test/waits": schemas.Outcome_OUTCOME_CANCELLED,
		"http://a.test/slow": schemas.Outcome_OUTCOME_DELIVERED, "http://a.test/pauses": schemas.Outcome_OUTCOME_DELIVERED,
	} {
		if p := pages[url+" 1"]; p.Outcome != want {
			t.Errorf("%s: %v, want %v", url, p.Outcome, want)
		}
	}
}

func TestPoison(t *testing.T) {
	t.Parallel()
	b := newBed(t, page)
	good := b.request("crawl", "http://a.test/good", 1, 0)
	bad := map[string]*schemas.FetchRequest{}
	for name, change := range map[string]func(*schemas.FetchRequest){
		"not canonical": func(r *schemas.FetchRequest) { r.Url = "http://a.test/x/../y"; r.Host = "a.test" },
		"other host":    func(r *schemas.FetchRequest) { r.Host = "b.test" },
		"no agent":      func(r *schemas.FetchRequest) { r.Politeness = nil },
		"other scheme":  func(r *schemas.FetchRequest) { r.Url = "ftp://a.test/" },
		"other id":      func(r *schemas.FetchRequest) { r.Attempt = 7 },
	} {
		r := b.request("crawl", "http://a.test/"+strings.ReplaceAll(name, " ", "-"), 1, 0)
		change(r)
		if name != "other id" {
			r.Id = schemas.RequestID(r.Crawl, r.Url, r.Attempt).Bytes()
		}
		bad[name] = r
		b.send(r)
	}
	garbage := b.request("crawl", "http://a.test/garbage", 1, 0)
	b.produce(stream.Out{Topic: schemas.TopicFetchRequested, Partition: -1, Key: []byte("a.test"), Value: []byte{0xff}, Headers: schemas.RequestHeaders(garbage)})
	b.send(good)
	b.run()
	pages := b.fetched(len(bad) + 2)
	failed := 0
	for _, p := range pages {
		if p.Outcome == schemas.Outcome_OUTCOME_FAILED_FETCH {
			failed++
			if p.Detail == "" {
				t.Errorf("%s failed without a reason", p.Url)
			}
		} else if p.Url != good.Url || p.Outcome != schemas.Outcome_OUTCOME_DELIVERED {
			t.Errorf("%v", p)
		}
	}
	if failed != len(bad)+1 {
		t.Errorf("%d failed: %v", failed, outcomes(pages))
	}
	letters := b.read(schemas.TopicDeadLetter)
	for _, r := range letters {
		letter := &schemas.DeadLetter{}
		if err := proto.Unmarshal(r.Value, letter); err != nil {
			t.Fatal(err)
		}
		if letter.Stage != "fetch" || letter.Topic != schemas.TopicFetchRequested || letter.Error == "" {
			t.Errorf("%v", letter)
		}
	}
	if len(letters) != len(bad)+1 {
		t.Errorf("%d dead letters", len(letters))
	}
}

// Without the store nothing is announced; when it is back everything is, once.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	b := newBed(t, page)
	b.run()
	b.send(b.request("crawl", "http://a.test/before", 1, 0))
	b.fetched(1)
	b.store.Down(t)
	for i := range 20 {
		b.send(b.request("crawl", fmt.Sprintf("http://h%d.test/", i), 1, 0))
	}
	for len(b.seen("")) < 21 { // all pages are fetched
		time.Sleep(5 * time.Millisecond)
	}
	b.fetched(1)
	b.store.Up(t)
	for _, p := range b.fetched(21) {
		if p.Outcome != schemas.Outcome_OUTCOME_DELIVERED {
			t.Errorf("%s: %v", p.Url, p.Outcome)
		}
	}
}

// A stop in the middle: requests with a header end, the others are left to the next run. Every
// request is completed once.
func TestDrains(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	reached := map[string]chan struct{}{"/header": make(chan struct{}), "/silent": make(chan struct{})}
	first := map[string]bool{"/header": true, "/silent": true}
	rest := make(chan struct{})
	b := newBed(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		held := first[r.URL.Path]
		first[r.URL.Path] = false
		mu.Unlock()
		if held && r.URL.Path == "/header" {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<html>"+strings.Repeat(" ", 1000))
			w.(http.Flusher).Flush()
			<-rest
			io.WriteString(w, "whole")
			return
		}
		if held {
			close(reached[r.URL.Path])
			<-r.Context().Done()
			return
		}
		page(w, r)
	})
	b.header = func(url string) {
		if url == "http://header.test/header" {
			close(reached["/header"])
		}
	}
	b.cfg.Stages.Fetch.SegmentAge = time.Minute // what ends while draining is stored at once all the same
	stop := b.run()
	b.send(b.request("crawl", "http://header.test/header", 1, time.Second), b.request("crawl", "http://silent.test/silent", 1, time.Second),
		b.request("crawl", "http://silent.test/waits", 1, time.Second), b.request("crawl", "http://header.test/waits", 1, time.Second))
	<-reached["/header"]
	<-reached["/silent"]
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	close(rest)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	pages := b.fetched(1)
	if p := pages["http://header.test/header 1"]; p == nil || p.Outcome != schemas.Outcome_OUTCOME_DELIVERED || p.Size != 1011 {
		t.Errorf("%v", outcomes(pages))
	}
	b.cfg.Stages.Fetch.SegmentAge = time.Millisecond
	b.run()
	for _, p := range b.fetched(4) {
		if p.Outcome != schemas.Outcome_OUTCOME_DELIVERED {
			t.Errorf("%s: %v", p.Url, p.Outcome)
		}
	}
	asked := 0
	for _, v := range b.seen("") {
		if strings.HasSuffix(v.url, "/header") {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("the page that was answered was asked for %d times", asked)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"120": 2 * time.Minute, " 0 ": 0, "Sat, 21 Nov 2026 10:01:00 GMT": time.Minute, "Sat, 21 Nov 2026 09:00:00 GMT": 0,
		"": -1, "-1": -1, "soon": -1, "99999999999999999999": -1,
	} {
		got, ok := retryAfter(value, now)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{"a\r\nb": "a  b", "caf\xe9": "caf\uFFFD", strings.Repeat("é", 300): strings.Repeat("é", 250)} {
		if got := text(in, 500); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
	if got := text("aé", 2); got != "a" {
		t.Errorf("%q", got)
	}
}

func TestPartitionKeepsAnswers(t *testing.T) {
	p := newPartition()
	id := func(i int) schemas.ID { return schemas.ID{byte(i), byte(i >> 8), byte(i >> 16)} }
	var got []progress
	got = append(got, p.begin(id(1)), p.begin(id(1)))
	p.end(id(1), false) // comes again
	got = append(got, p.begin(id(1)))
	p.end(id(1), true)
	got = append(got, p.begin(id(1)))
	if want := []progress{notBegun, begunBefore, notBegun, answeredBefore}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for i := range rememberAnswers {
		p.begin(id(i + 2))
		p.end(id(i+2), true)
	}
	if p.begin(id(1)) != notBegun || len(p.known) > rememberAnswers+1 {
		t.Errorf("%d kept", len(p.known))
	}
}

// FuzzRecord: any record is a request whose parts match, or poison, which gets an output if its
// headers name the request.
func FuzzRecord(f *testing.F) {
	r := &schemas.FetchRequest{
		Id: schemas.RequestID("c", "http://a.test/", 1).Bytes(), Crawl: "c", Url: "http://a.test/", Host: "a.test", Attempt: 1,
		Politeness: &schemas.Politeness{UserAgent: "forager/1"},
	}
	good, err := proto.Marshal(r)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, "a.test")
	f.Add([]byte{0xff}, "")
	f.Add([]byte(nil), "\xff")
	f.Fuzz(func(t *testing.T, value []byte, host string) {
		headers := schemas.RequestHeaders(r)
		headers[schemas.HeaderHost] = host
		rec := stream.Record{Topic: schemas.TopicFetchRequested, Value: value, Headers: headers}
		got, err := newRequest(rec)
		if err == nil {
			if got.url.String() != got.req.Url || got.url.Host() != got.req.Host || len(got.req.Id) != 16 {
				t.Errorf("%v", got.req)
			}
			return
		}
		outs, perr := poison(rec, err)
		if perr == nil && len(outs) != 1 {
			t.Errorf("%d outputs", len(outs))
		}
	})
}

// FuzzRetryAfter: for any header, the wait is none or ends in the future.
func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"", "0", " 120 ", "-1", "99999999999999999999", "Fri, 31 Dec 1999 23:59:59 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "soon"} {
		f.Add(s)
	}
	now := time.UnixMilli(1_800_000_000_000)
	f.Fuzz(func(t *testing.T, value string) {
		if wait, result := retryAfter(value, now); wait < 0 || !result && wait != 0 {
			t.Fatalf("%q: %s, %t", value, wait, result)
		}
	})
}
