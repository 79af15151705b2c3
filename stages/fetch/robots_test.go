package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"forager/internal/web/warc"
	"forager/internal/web/webclient"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// fakeWeb responds with the result of a function and notes requests. It is the web under virtual
// time; the HTTP client has its own tests.
type fakeWeb struct {
	mu     sync.Mutex
	asked  []string
	answer func(url string) (*webclient.Response, error)
}

func (f *fakeWeb) Addresses(context.Context, weburl.URL) ([]netip.Addr, error) { return nil, nil }

func (f *fakeWeb) Get(ctx context.Context, r webclient.Request) (*webclient.Response, error) {
	f.mu.Lock()
	f.asked = append(f.asked, r.URL.String())
	f.mu.Unlock()
	time.Sleep(time.Second)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return f.answer(r.URL.String())
}

func status(n int, body string, location ...string) (*webclient.Response, error) {
	a := &webclient.Response{Status: n, Body: []byte(body)}
	for _, l := range location {
		a.Header = append(a.Header, warc.Field{Name: "Location", Value: l})
	}
	return a, nil
}

func parse(t testing.TB, s string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

const deny = "User-agent: *\nDisallow: /\n"

func TestRobotsRulings(t *testing.T) {
	const hop = "http://elsewhere.test/robots.txt"
	for _, test := range []struct {
		name    string
		answer  func(url string) (*webclient.Response, error)
		allowed bool
		outcome schemas.Outcome
	}{
		{"read", func(string) (*webclient.Response, error) { return status(200, deny) }, false, 0},
		{"read, allows", func(string) (*webclient.Response, error) { return status(200, "User-agent: other\nDisallow: /") }, true, 0},
		{"not found", func(string) (*webclient.Response, error) { return status(404, deny) }, true, 0},
		{"forbidden", func(string) (*webclient.Response, error) { return status(403, deny) }, true, 0},
		{"redirect elsewhere", func(url string) (*webclient.Response, error) {
			if url == hop {
				return status(200, deny)
			}
			return status(301, "", hop)
		}, false, 0},
		{"five redirects", func(url string) (*webclient.Response, error) {
			if strings.Count(url, "y") == 5 {
				return status(200, deny)
			}
			return status(302, "", url+"y")
		}, false, 0},
		{"six redirects", func(url string) (*webclient.Response, error) {
			if strings.Count(url, "y") == 6 {
				return status(200, deny)
			}
			return status(302, "", url+"y")
		}, true, 0},
		{"redirect to nowhere", func(string) (*webclient.Response, error) { return status(301, "", "mailto:x") }, true, 0},
		{"server error", func(string) (*webclient.Response, error) { return status(500, "") }, false, schemas.Outcome_OUTCOME_ROBOTS_UNAVAILABLE},
		{"too many requests", func(string) (*webclient.Response, error) { return status(429, "") }, false, schemas.Outcome_OUTCOME_ROBOTS_UNAVAILABLE},
		{"time-out", func(string) (*webclient.Response, error) { return nil, webclient.ErrTimeout }, false, schemas.Outcome_OUTCOME_ROBOTS_UNAVAILABLE},
		{"no connection", func(string) (*webclient.Response, error) { return nil, errors.New("refused") }, false, schemas.Outcome_OUTCOME_CONNECTION_FAILED},
		{"not HTTP", func(string) (*webclient.Response, error) { return nil, webclient.ErrMalformed }, true, 0},
		{"a coding that cannot be read", func(string) (*webclient.Response, error) {
			a, _ := status(200, "")
			return a, webclient.ErrMalformed
		}, true, 0},
		{"damaged in the middle", func(string) (*webclient.Response, error) {
			a, _ := status(200, deny+"\nallow: /pa")
			return a, webclient.ErrMalformed
		}, false, 0},
		{"cut", func(string) (*webclient.Response, error) {
			a, _ := status(200, deny)
			return a, io.ErrUnexpectedEOF
		}, false, schemas.Outcome_OUTCOME_ROBOTS_UNAVAILABLE},
		{"redirect in a circle", func(url string) (*webclient.Response, error) { return status(301, "", url) }, true, 0},
		{"redirect to a private address", func(url string) (*webclient.Response, error) {
			if url == hop {
				return nil, &webclient.RefusedError{Reason: "private"}
			}
			return status(301, "", hop)
		}, true, 0},
		{"redirect to what is not HTTP", func(url string) (*webclient.Response, error) {
			if url == hop {
				return nil, webclient.ErrMalformed
			}
			return status(301, "", hop)
		}, true, 0},
		{"private address", func(string) (*webclient.Response, error) { return nil, &webclient.RefusedError{Reason: "private"} }, false, schemas.Outcome_OUTCOME_REFUSED},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := &fakeWeb{answer: test.answer}
				b := newRobotsCache(&watched{web, newOutages()}, time.Hour, func(string) {})
				u := parse(t, "http://a.test/page")
				r, asked, err := b.ruling(t.Context(), u, "forager/1", false, nil)
				if err != nil {
					t.Fatal(err)
				}
				if r.outcome != test.outcome || asked != (test.name != "private address") {
					t.Errorf("%+v, asked %v", r, asked)
				}
				if test.outcome == 0 && test.allowed != (r.file == nil || r.file.Allowed("forager", "/page")) {
					t.Errorf("allowed: %v", !test.allowed)
				}
				if deferred := r.outcome == schemas.Outcome_OUTCOME_ROBOTS_UNAVAILABLE; deferred && time.Until(r.notBefore) != firstRetry {
					t.Errorf("not before %v", time.Until(r.notBefore))
				}
				before := len(web.asked)
				if _, asked, _ := b.ruling(t.Context(), u, "forager/1", false, nil); asked || len(web.asked) != before {
					t.Error("asked again at once")
				}
				if web.asked[0] != "http://a.test/robots.txt" {
					t.Errorf("asked for %s", web.asked[0])
				}
			})
		})
	}
}

// TestCutRobots: a robots.txt that is always cut short, by a broken connection or a closed one, holds its host up for a
// while; then what there is of it counts.
func TestCutRobots(t *testing.T) {
	testCutRobots(t, func(a *webclient.Response) error { return io.ErrUnexpectedEOF })
	testCutRobots(t, func(a *webclient.Response) error { a.Truncated = webclient.CutByDisconnect; return nil })
}

func testCutRobots(t *testing.T, cut func(*webclient.Response) error) {
	synctest.Test(t, func(t *testing.T) {
		web := &fakeWeb{answer: func(string) (*webclient.Response, error) {
			a, _ := status(200, "user-agent: *\ndisallow: /secret\ndisallow: /p")
			return a, cut(a)
		}}
		b := newRobotsCache(&watched{web, newOutages()}, time.Hour, func(string) {})
		for try := 0; ; try++ {
			r, _, err := b.ruling(t.Context(), parse(t, "http://a.test/page"), "forager/1", false, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.outcome == schemas.Outcome_OUTCOME_ROBOTS_UNAVAILABLE && try < maxFailures {
				time.Sleep(time.Until(r.notBefore))
				continue
			}
			if r.outcome != 0 || try != maxFailures || !r.file.Allowed("forager", "/page") || r.file.Allowed("forager", "/secret") {
				t.Errorf("after %d tries: %+v", try, r)
			}
			return
		}
	})
}

func TestRobotsIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := func() (*webclient.Response, error) { return status(200, deny) }
		web := &fakeWeb{answer: func(string) (*webclient.Response, error) { return now() }}
		b := newRobotsCache(web, time.Hour, func(string) {})
		ask := func(url string) ruling {
			t.Helper()
			r, _, err := b.ruling(t.Context(), parse(t, url), "forager/1", false, nil)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		ask("http://a.test/")
		ask("https://a.test/")
		ask("http://a.test:81/")
		if fmt.Sprint(web.asked) != "[http://a.test/robots.txt https://a.test/robots.txt http://a.test:81/robots.txt]" {
			t.Errorf("asked for %v", web.asked)
		}
		// When it has expired and is unavailable, the old one remains in force.
		time.Sleep(time.Hour)
		now = func() (*webclient.Response, error) { return status(503, "") }
		if r := ask("http://a.test/"); r.outcome != 0 || r.file.Allowed("forager", "/") {
			t.Errorf("the old file was dropped: %+v", r)
		}
		time.Sleep(firstRetry)
		now = func() (*webclient.Response, error) { return status(404, "") }
		if r := ask("http://a.test/"); r.outcome != 0 || r.file != nil {
			t.Errorf("%+v", r)
		}
	})
}

// A robots.txt that never comes defers a bounded number of times, and then disallows.
func TestRobotsNeverComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := &fakeWeb{answer: func(string) (*webclient.Response, error) { return status(500, "") }}
		b := newRobotsCache(web, time.Hour, func(string) {})
		var outcomes []schemas.Outcome
		var waits []time.Duration
		for range 8 {
			r, _, err := b.ruling(t.Context(), parse(t, "http://a.test/"), "forager/1", false, nil)
			if err != nil {
				t.Fatal(err)
			}
			outcomes = append(outcomes, r.outcome)
			waits = append(waits, time.Until(r.notBefore))
			time.Sleep(time.Until(r.notBefore))
		}
		for i, o := range outcomes {
			want := schemas.Outcome_OUTCOME_ROBOTS_UNAVAILABLE
			if i >= maxFailures {
				want = schemas.Outcome_OUTCOME_ROBOTS_DISALLOWED
			}
			if o != want {
				t.Errorf("failure %d: %v", i+1, o)
			}
		}
		if waits[0] != firstRetry || waits[1] != 2*firstRetry || waits[7] != lastRetry {
			t.Errorf("waits %v", waits)
		}
	})
}

func TestRobotsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large := "#" + strings.Repeat("x", 400<<10)
		web := &fakeWeb{answer: func(string) (*webclient.Response, error) { return status(200, large) }}
		b := newRobotsCache(web, time.Hour, func(string) {})
		for i := range 1000 {
			if _, _, err := b.ruling(t.Context(), parse(t, fmt.Sprintf("http://h%d.test/", i)), "forager/1", false, nil); err != nil {
				t.Fatal(err)
			}
		}
		if b.bytes > keepRobots+1<<20 || len(b.origins) != b.recent.Len() || len(b.origins) < 500 {
			t.Errorf("%d origins, %d bytes", len(b.origins), b.bytes)
		}
		if _, asked, _ := b.ruling(t.Context(), parse(t, "http://h999.test/"), "forager/1", false, nil); asked {
			t.Error("the newest one was forgotten")
		}
		if _, asked, _ := b.ruling(t.Context(), parse(t, "http://h0.test/"), "forager/1", false, nil); !asked {
			t.Error("the oldest one was kept")
		}
	})
}

func TestRobotsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := &fakeWeb{answer: func(string) (*webclient.Response, error) { return status(200, deny) }}
		b := newRobotsCache(web, time.Hour, func(string) {})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := b.ruling(ctx, parse(t, "http://a.test/"), "forager/1", false, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if r, asked, err := b.ruling(t.Context(), parse(t, "http://a.test/"), "forager/1", false, nil); err != nil || !asked || r.file == nil {
			t.Errorf("behind it: %+v, %v, %v", r, asked, err)
		}
	})
}

func TestProductToken(t *testing.T) {
	for userAgent, want := range map[string]string{
		"forager/1.0 (+mailto:x@a.test)": "forager", "My-Crawler_x": "My-Crawler_x", "a b": "a", "": "", "1x": "", "/x": "",
	} {
		if got := productToken(userAgent); got != want {
			t.Errorf("%q: %q, want %q", userAgent, got, want)
		}
	}
}
