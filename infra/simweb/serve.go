package simweb

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"forager/internal/web/webarchive"
)

// Handler serves webs as an HTTP proxy: requests carry absolute URLs, whose host names (".s<seed>.sim") select
// the web. Other requests are queries to the server itself: see README.md.
func Handler(webs ...*Web) http.Handler { return NewServer(nil, webs...) }

// Server serves webs. Its only state is which requests were refused for a while.
type Server struct {
	webs     []*Web
	bySeed   map[string]*Web // by the suffix of host names
	log      io.Writer
	logMu    sync.Mutex
	refusals refusals
}

// access is a line of the access log: the request, and the truth of its URL.
type access struct {
	webarchive.Access
	// Kind and Topic are those of the URL's Truth.
	Kind  string `json:"kind"`
	Topic string `json:"topic,omitempty"`
}

// NewServer serves webs; each request is written to log as one line of JSON (access), unless log is nil.
func NewServer(log io.Writer, webs ...*Web) *Server {
	s := &Server{webs: webs, bySeed: make(map[string]*Web, len(webs)), log: log}
	for _, w := range webs {
		s.bySeed[".s"+strconv.FormatUint(w.c.Seed, 10)+".sim"] = w
	}
	return s
}

// bodies are buffers for pages.
var bodies = sync.Pool{New: func() any { b := make([]byte, 0, 32<<10); return &b }}

func (s *Server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	name := r.URL.Host
	if name == "" {
		name = r.Host
	}
	dot := strings.IndexByte(name, '.')
	if dot < 0 || s.bySeed[name[dot:]] == nil {
		if r.URL.Host == "" && strings.HasPrefix(r.URL.Path, "/.") {
			s.answer(rw, r)
			return
		}
		rw.Header().Set(webarchive.OfflineHeader, "simweb")
		http.Error(rw, "no such host", http.StatusBadGateway)
		return
	}
	w, url := s.bySeed[name[dot:]], "http://"+name+r.URL.RequestURI()
	if s.log == nil {
		s.serve(rw, r, w, url)
		return
	}
	truth := w.truth(url)
	line := access{webarchive.Access{Begin: time.Now(), Method: r.Method, URL: url, Host: name, UserAgent: r.UserAgent()}, truth.Kind, truth.Topic}
	defer func() { // also if the connection is cut
		line.End = time.Now()
		if b, err := json.Marshal(line); err == nil {
			s.logMu.Lock()
			defer s.logMu.Unlock()
			_, _ = s.log.Write(append(b, '\n'))
		}
	}()
	line.Status, line.Bytes = s.serve(rw, r, w, url)
}

// serve responds for a URL of a web and returns status and length; 0 if there was no response.
func (s *Server) serve(rw http.ResponseWriter, r *http.Request, w *Web, url string) (status, length int) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(rw, "GET and HEAD only", http.StatusMethodNotAllowed)
		return http.StatusMethodNotAllowed, 0
	}
	at, ok := w.locate(url)
	if !ok {
		rw.Header().Set(webarchive.OfflineHeader, "simweb")
		http.Error(rw, "no such host", http.StatusBadGateway)
		return http.StatusBadGateway, 0
	}
	if at.kind != isRobots && at.kind != isMovedRobots {
		if status := s.hinder(rw, r, w, &at, url); status >= 0 {
			return status, 0
		}
	}
	buf := bodies.Get().(*[]byte)
	a := w.answer(&at, *buf)
	defer func() {
		if cap(a.body) <= 1<<20 {
			*buf = a.body[:0]
			bodies.Put(buf)
		}
	}()
	return a.status, send(rw, r, &a)
}

// hinder applies the hazards that precede the response. −1 = continue; otherwise the status that was sent, 0 if none was.
func (s *Server) hinder(rw http.ResponseWriter, r *http.Request, w *Web, at *spot, url string) int {
	z := &w.c.Hazards
	again := func(key string, status int) int {
		if !s.refusals.first(key, z.RetryAfter) {
			return -1
		}
		rw.Header().Set("Retry-After", strconv.Itoa(int(z.RetryAfter/time.Second)))
		http.Error(rw, "come back later", status)
		return status
	}
	switch w.hostHazard(at.host) {
	case HazardThrottled:
		if status := again(r.URL.Host+r.Host, http.StatusTooManyRequests); status >= 0 {
			return status
		}
	case HazardSlow:
		wait(r, z.SlowFor)
	case HazardStalled:
		if w.hash(at.host.lo, ofVariant)&1 == 0 { // some send their header first
			rw.Header().Set("Content-Type", htmlType)
			rw.WriteHeader(http.StatusOK)
			http.NewResponseController(rw).Flush()
		}
		wait(r, z.StallFor)
		return 0
	}
	if at.kind == isPage && w.pageHazard(at.page.id) == HazardFlaky {
		return again(url, http.StatusServiceUnavailable)
	}
	return -1
}

func wait(r *http.Request, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.Context().Done():
	}
}

var filler = []byte(strings.Repeat("<p>and so on</p>\n", 2048))

// send writes the response and returns the length of its body.
func send(rw http.ResponseWriter, r *http.Request, a *answer) int {
	h := rw.Header()
	h["Content-Type"] = nil // no sniffing
	if a.contentType != "" {
		h.Set("Content-Type", a.contentType)
	}
	if a.location != "" {
		h.Set("Location", a.location)
	}
	if a.hangUp {
		panic(http.ErrAbortHandler)
	}
	if !a.cut { // with a length, a body that is cut would count as a page
		h.Set("Content-Length", strconv.Itoa(len(a.body)+a.filler))
	}
	rw.WriteHeader(a.status)
	if r.Method == http.MethodHead {
		return 0
	}
	if a.cut {
		rw.Write(a.body[:len(a.body)/2])
		http.NewResponseController(rw).Flush() // otherwise the client would receive nothing
		panic(http.ErrAbortHandler)
	}
	n, err := rw.Write(a.body) // an error means that the client has disconnected
	for left := a.filler; left > 0 && err == nil; {
		var k int
		k, err = rw.Write(filler[:min(left, len(filler))])
		n, left = n+k, left-k
	}
	return n
}

// refusals has refused requests, so that later ones are accepted: a bounded number of hosts and pages, the oldest dropped first.
type refusals struct {
	mu    sync.Mutex
	until map[string]time.Time // when a key is accepted
	order []string
}

// mostRefusals is the greatest number of keys.
const mostRefusals = 4096

// first reports whether a request for the key is to be refused: because it is the first, or too early.
func (t *refusals) first(key string, wait time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if until, known := t.until[key]; known {
		return now.Before(until)
	}
	if t.until == nil {
		t.until = make(map[string]time.Time)
	}
	if len(t.order) >= mostRefusals {
		delete(t.until, t.order[0])
		t.order = t.order[1:]
	}
	t.until[key] = now.Add(wait)
	t.order = append(t.order, key)
	return true
}
