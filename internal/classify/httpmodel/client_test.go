package httpmodel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"forager/schemas"
)

// exampleServer is a predicate in a few lines: pages about chemistry are those that contain the word.
func exampleServer(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Pages []struct{ Title, Text string }
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	pages := []any{}
	for _, p := range asked.Pages {
		switch words := strings.Fields(p.Text); {
		case len(words) == 0:
			pages = append(pages, map[string]any{"error": "no text"})
		case slices.Contains(words, "chemistry"):
			pages = append(pages, map[string]any{"probabilities": map[string]float64{"Science/Chemistry": .9}})
		default:
			pages = append(pages, map[string]any{"probabilities": map[string]float64{"Science/Chemistry": .1}})
		}
	}
	json.NewEncoder(w).Encode(map[string]any{"pages": pages})
}

func pageOf(title string, words ...string) *schemas.Page {
	p := &schemas.Page{Url: "http://h/x", Title: title, Terms: words}
	for i := range words {
		p.Tokens = append(p.Tokens, uint32(i))
	}
	p.LeafLengths = []uint32{uint32(len(words))}
	return p
}

func predicate(t testing.TB, source, fallback string) *Predicate {
	t.Helper()
	p, err := Parse("p.yaml", source, fallback)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestExampleServer(t *testing.T) {
	var seen atomic.Pointer[http.Request]
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r)
		exampleServer(w, r)
	}))
	defer srv.Close()
	c := predicate(t, "url: "+srv.URL+"/judge\ntopics: [Science/Chemistry]\ntoken_env: KEY\n", "").Client(Options{Getenv: func(name string) string { return map[string]string{"KEY": "secret"}[name] }})
	posteriors := make([]float64, 2)
	if err := c.Ask(t.Context(), posteriors, pageOf("", "on", "chemistry")); err != nil || !slices.Equal(c.Classes(), []string{"Other", "Science/Chemistry"}) ||
		posteriors[1] != .9 || math.Abs(posteriors[0]-.1) > 1e-12 {
		t.Errorf("%v, %v", posteriors, err)
	}
	r := seen.Load()
	if r.Method != "POST" || r.URL.Path != "/judge" || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Authorization") != "Bearer secret" {
		t.Errorf("asked by %s %s %v", r.Method, r.URL, r.Header)
	}
	var f *Failure
	if err := c.Ask(t.Context(), posteriors, pageOf("")); !errors.As(err, &f) || f.Reason != Refused || f.Detail != "no text" {
		t.Errorf("a page that the service refuses: %v", err)
	}
}

func TestWhatIsSent(t *testing.T) {
	page := &schemas.Page{
		Url: "http://h/x", Title: "T", Description: "D", Language: "en",
		Terms: []string{"a", "bb", "ccc"}, Tokens: []uint32{0, 1, 0, 2, 1}, LeafLengths: []uint32{0, 2, 0, 1, 2},
	}
	for source, want := range map[string]string{
		"":                             `{"url":"http://h/x","title":"T","description":"D","language":"en","text":"a bb\na\nccc bb"}`,
		"send: [title, text]":          `{"title":"T","text":"a bb\na\nccc bb"}`,
		"send: [text]\ntext_bytes: 10": `{"text":"a bb\na\nccc"}`,
		"send: [text]\ntext_bytes: 9":  `{"text":"a bb\na"}`,
		"send: [url]":                  `{"url":"http://h/x"}`,
	} {
		p := predicate(t, "url: http://h/\ntopics: [A]\n"+source, "")
		sent, err := p.settings.fieldsOf(page)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(sent); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", source, got, err)
		}
		if want := strings.Contains(want, "http://"); p.ReadsURLs() != want {
			t.Errorf("%s: reads URLs: %v", source, p.ReadsURLs())
		}
	}
	bad := &schemas.Page{Url: "http://bad/", Terms: []string{"a"}, Tokens: []uint32{1}}
	if err := predicate(t, "url: http://h/\ntopics: [A]", "").Client(Options{}).Ask(t.Context(), make([]float64, 2), bad); err == nil || !strings.Contains(err.Error(), "http://bad/") {
		t.Errorf("a page that contradicts itself: %v", err)
	}
}

// service is a service in the test's time that handles each request by its script.
type service struct {
	mu       sync.Mutex
	requests [][]string // titles of the pages
	// answer returns the status and body of a response, after a while; an error breaks the connection.
	answer func(titles []string) (after time.Duration, status int, body string, err error)
}

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	m := new(message)
	if err := json.Unmarshal(b, m); err != nil || m.Version != 1 {
		return nil, fmt.Errorf("asked was %q", b)
	}
	var titles []string
	for _, p := range m.Pages {
		titles = append(titles, p.Title)
	}
	s.mu.Lock()
	s.requests = append(s.requests, titles)
	s.mu.Unlock()
	after, status, body, err := s.answer(titles)
	select {
	case <-time.After(after):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func (s *service) sizes() (sizes []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		sizes = append(sizes, len(r))
	}
	return sizes
}

// fine is a response that gives each page .5.
func fine(titles []string) string {
	return `{"pages":[` + strings.TrimSuffix(strings.Repeat(`{"probabilities":{"A":0.5}},`, len(titles)), ",") + "]}"
}

const settings = "url: http://h/\ntopics: [A]\ntimeout: 10s\nconcurrent: 1\nbreaker: {failures: 3, pause: 20s}\n"

// outcome is the reason of a failure, "" for none.
func outcome(t testing.TB, c *Client, title string) string {
	posteriors := make([]float64, 2)
	ask := c.Wait
	if c.Fallback() != "" {
		ask = c.Ask
	}
	err := ask(t.Context(), posteriors, pageOf(title, "x"))
	var f *Failure
	switch {
	case errors.As(err, &f):
		return f.Reason
	case err != nil || posteriors[0] != .5:
		t.Errorf("%v, %v", posteriors, err)
	}
	return ""
}

func TestABusyServiceIsAskedInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{answer: func(titles []string) (time.Duration, int, string, error) { return time.Second, 200, fine(titles), nil }}
		c := predicate(t, settings+"fallback: x", "x/1").Client(Options{Transport: s})
		begun := time.Now()
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				if got := outcome(t, c, "p"); got != "" {
					t.Error(got)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		if got := s.sizes(); !slices.Equal(got, []int{1, 16, 16, 7}) || time.Since(begun) != 4*time.Second {
			t.Errorf("requests of %v pages in %s", got, time.Since(begun))
		}
	})
}

func TestPageThatTheServiceRejectsFailsAlone(t *testing.T) {
	for name, bad := range map[string]struct {
		status int
		body   string
		want   string
	}{"500": {500, "", Status}, "rubbish": {200, "<html>", Rubbish}} {
		synctest.Test(t, func(t *testing.T) {
			s := &service{answer: func(titles []string) (time.Duration, int, string, error) {
				if slices.Contains(titles, "poison") {
					return time.Second, bad.status, bad.body, nil
				}
				return time.Second, 200, fine(titles), nil
			}}
			c := predicate(t, strings.Replace(settings, "timeout: 10s", "timeout: 60s", 1)+"fallback: x\nbatch: 4", "x/1").Client(Options{Transport: s})
			var wg sync.WaitGroup
			for _, title := range []string{"first", "a", "poison", "b", "c", "d", "e", "f", "g", "h"} {
				wg.Go(func() {
					want := ""
					if title == "poison" {
						want = bad.want
					}
					if got := outcome(t, c, title); got != want {
						t.Errorf("%s: page %s: %q", name, title, got)
					}
				})
				synctest.Wait()
			}
			wg.Wait()
			if got := s.sizes(); !slices.Equal(got, []int{1, 4, 4, 1, 1, 1, 1, 1}) {
				t.Errorf("%s: requests of %v pages", name, got)
			}
		})
	}
}

// TestBreaker: no requests are sent to a service that fails, then one is tried, and all are sent again once it
// responds.
func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		away.Store(true)
		s := &service{answer: func(titles []string) (time.Duration, int, string, error) {
			if away.Load() {
				return time.Second, 0, "", errors.New("connection refused")
			}
			return time.Second, 200, fine(titles), nil
		}}
		var log bytes.Buffer
		c := predicate(t, strings.Replace(settings, "concurrent: 1", "concurrent: 3", 1)+"fallback: x", "x/1").Client(Options{Transport: s, Log: slog.New(slog.NewTextHandler(&log, nil))})
		want := func(reason string, requests int, took time.Duration) {
			t.Helper()
			begun := time.Now()
			if got := outcome(t, c, "p"); got != reason || len(s.sizes()) != requests || time.Since(begun) != took {
				t.Errorf("%q after %s and %d requests in all, want %q after %s and %d", got, time.Since(begun), len(s.sizes()), reason, took, requests)
			}
		}
		for n := range 3 {
			want(Unreachable, n+1, time.Second)
		}
		want(Open, 3, 0)
		time.Sleep(19 * time.Second)
		want(Open, 3, 0)
		time.Sleep(time.Second)
		want(Unreachable, 4, time.Second) // one request is tried
		want(Open, 4, 0)
		away.Store(false)
		time.Sleep(20 * time.Second)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if got := outcome(t, c, "p"); got != "" {
					t.Error(got)
				}
			})
			synctest.Wait()
		}
		if got := s.sizes(); len(got) != 5 {
			t.Errorf("%d requests try at a time", len(got)-4)
		}
		wg.Wait()
		if got := s.sizes(); !slices.Equal(got, []int{1, 1, 1, 1, 1, 2}) {
			t.Errorf("requests of %v pages", got)
		}
		away.Store(true)
		want(Unreachable, 7, time.Second)
		away.Store(false)
		want("", 8, time.Second) // one failure is not many again
		if got := log.String(); strings.Count(got, "left alone") != 1 || strings.Count(got, "answers again") != 1 || !strings.Contains(got, "predicate=p.yaml") {
			t.Errorf("logged:\n%s", got)
		}
	})
}

func TestSlowServiceWithAFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{answer: func(titles []string) (time.Duration, int, string, error) { return time.Hour, 200, fine(titles), nil }}
		c := predicate(t, strings.Replace(settings, "failures: 3", "failures: 100", 1)+"fallback: x\nbatch: 1", "x/1").Client(Options{Transport: s})
		begun := time.Now()
		var wg sync.WaitGroup
		for n := range 5 {
			wg.Go(func() {
				if got := outcome(t, c, "p"); got != Timeout || time.Since(begun) != min(time.Duration(n+1)*10*time.Second, 20*time.Second) {
					t.Errorf("page %d: %q after %s", n, got, time.Since(begun))
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		time.Sleep(10 * time.Second) // the last request ends
		// At 20 s the second request ends and the other pages give up: whether a third is sent is random.
		if got := len(s.sizes()); got < 2 || got > 3 {
			t.Errorf("%d requests; pages that gave up were asked for", got)
		}
	})
}

// TestPatience: without a fallback pages wait for a service that fails, for the patience; then they fail at once
// until it responds again.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		away.Store(true)
		s := &service{answer: func(titles []string) (time.Duration, int, string, error) {
			if away.Load() {
				return 0, 503, "", nil
			}
			return 0, 200, fine(titles), nil
		}}
		c := predicate(t, settings+"patience: 1m\n", "").Client(Options{Transport: s})
		took := func(want string, low, high time.Duration) {
			t.Helper()
			begun := time.Now()
			got := outcome(t, c, "p")
			if d := time.Since(begun); got != want || d < low || d > high {
				t.Errorf("%q after %s, want %q after %s to %s", got, d, want, low, high)
			}
		}
		took(Status, time.Minute, 80*time.Second)
		took(Open, 0, 0)
		time.Sleep(time.Minute)
		took(Status, 0, 0) // one request is tried
		away.Store(false)
		time.Sleep(time.Minute)
		took("", 0, 0)
		away.Store(true)
		time.AfterFunc(30*time.Second, func() { away.Store(false) })
		took("", 30*time.Second, 50*time.Second)
	})
}

// TestPatienceWithAPage: one that always fails is given up though others succeed meanwhile.
func TestPatienceWithAPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{answer: func(titles []string) (time.Duration, int, string, error) {
			if slices.Contains(titles, "poison") {
				return 0, 500, "", nil
			}
			return 0, 200, fine(titles), nil
		}}
		c := predicate(t, settings+"patience: 1m\n", "").Client(Options{Transport: s})
		begun := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() {
			if got := outcome(t, c, "poison"); got != Status || time.Since(begun) < time.Minute || time.Since(begun) > 2*time.Minute {
				t.Errorf("%q after %s", got, time.Since(begun))
			}
		})
		for range 1200 { // two minutes
			time.Sleep(100 * time.Millisecond)
			if got := outcome(t, c, "p"); got != "" {
				t.Fatal(got)
			}
		}
		wg.Wait()
	})
}

func TestTheEndOfTheStageEndsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{answer: func(titles []string) (time.Duration, int, string, error) { return time.Hour, 200, fine(titles), nil }}
		c := predicate(t, settings, "").Client(Options{Transport: s})
		for _, ask := range []func(context.Context, []float64, *schemas.Page) error{c.Ask, c.Wait} {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			begun := time.Now()
			if err := ask(ctx, make([]float64, 2), pageOf("p", "x")); !errors.Is(err, context.Canceled) || time.Since(begun) != time.Second {
				t.Errorf("%v after %s", err, time.Since(begun))
			}
			time.Sleep(time.Minute)
		}
	})
}

func TestAnswersThatAreNone(t *testing.T) {
	for name, c := range map[string]struct {
		handler  http.HandlerFunc
		reason   string
		expected string
	}{
		"redirect":   {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, Status, "302"},
		"no content": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, Status, "204"},
		"broken":     {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, Unreachable, ""},
		"half": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "{")
		}, Unreachable, "unexpected EOF"},
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}, Rubbish, "more than"},
		"not JSON": {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "yes") }, Rubbish, "JSON"},
	} {
		srv := httptest.NewServer(c.handler)
		client := predicate(t, "url: "+srv.URL+"\ntopics: [A]\nfallback: x", "x/1").Client(Options{})
		var f *Failure
		if err := client.Ask(t.Context(), make([]float64, 2), pageOf("p", "x")); !errors.As(err, &f) || f.Reason != c.reason || !strings.Contains(f.Detail, c.expected) {
			t.Errorf("%s: %v", name, err)
		}
		srv.Close()
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	var f *Failure
	if err := predicate(t, "url: "+gone.URL+"\ntopics: [A]\nfallback: x", "x/1").Client(Options{}).Ask(t.Context(), make([]float64, 2), pageOf("p", "x")); !errors.As(err, &f) || f.Reason != Unreachable {
		t.Errorf("no server: %v", err)
	}
}

// TestAPanicOverAnAnswer fails the page that causes it, and no others of the same request.
func TestAPanicOverAnAnswer(t *testing.T) {
	q := newQueue("p", Service{}, 0, Options{Log: slog.New(slog.DiscardHandler)}, func(pages []string) ([]int, []string, error) {
		if slices.Contains(pages, "bad") {
			panic("an answer without pages")
		}
		return make([]int, len(pages)), make([]string, len(pages)), nil
	})
	q.batch, q.concurrent, q.breaker.Failures = 4, 1, 100
	var group sync.WaitGroup
	for _, page := range []string{"good", "bad", "better", "best"} {
		group.Go(func() {
			_, err := q.ask(t.Context(), page)
			var f *Failure
			if (page == "bad") != (errors.As(err, &f) && f.Reason == Rubbish && strings.Contains(f.Error(), "an answer without pages")) {
				t.Errorf("%s: %v", page, err)
			}
		})
	}
	group.Wait()
}
