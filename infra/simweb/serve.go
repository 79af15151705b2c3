package simweb

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"forager/internal/webarchive"
)

// Handler serves webs as an HTTP proxy does: requests carry absolute URLs, whose host names
// (".s<seed>.sim") say which web is meant. Requests that are none of a proxy's are for the
// server itself: see package documentation.
func Handler(webs ...*Web) http.Handler { return NewServer(nil, webs...) }

// Server serves webs. It remembers, for a while, who was told to come back later: nothing else.
type Server struct {
	webs   []*Web
	bySeed map[string]*Web // by the end of host names
	log    io.Writer
	logMu  sync.Mutex
	told   told
}

// NewServer serves webs; each request is written to log as one line of JSON
// (webarchive.Access), where log is not nil.
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
			s.tell(rw, r)
			return
		}
		http.Error(rw, "no such host", http.StatusBadGateway)
		return
	}
	url := "http://" + name + r.URL.RequestURI()
	if s.log == nil {
		s.serve(rw, r, s.bySeed[name[dot:]], url)
		return
	}
	line := webarchive.Access{Begin: time.Now(), Method: r.Method, URL: url, Host: name, UserAgent: r.UserAgent()}
	defer func() { // also where the connection is cut
		line.End = time.Now()
		if b, err := json.Marshal(line); err == nil {
			s.logMu.Lock()
			defer s.logMu.Unlock()
			s.log.Write(append(b, '\n'))
		}
	}()
	line.Status, line.Bytes = s.serve(rw, r, s.bySeed[name[dot:]], url)
}

// serve answers for a URL of a web and returns status and length; 0 where nothing was answered.
func (s *Server) serve(rw http.ResponseWriter, r *http.Request, w *Web, url string) (status, length int) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(rw, "GET and HEAD only", http.StatusMethodNotAllowed)
		return http.StatusMethodNotAllowed, 0
	}
	at, ok := w.locate(url)
	if !ok {
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

// hinder does what a host does before it answers. −1 = go on; else the status that was answered,
// 0 where nothing was.
func (s *Server) hinder(rw http.ResponseWriter, r *http.Request, w *Web, at *spot, url string) int {
	z := &w.c.Hazards
	again := func(key string, status int) int {
		if !s.told.first(key, z.RetryAfter) {
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

// send writes the answer and returns the length of its body.
func send(rw http.ResponseWriter, r *http.Request, a *answer) int {
	h := rw.Header()
	h["Content-Type"] = nil // nothing is guessed
	if a.contentType != "" {
		h.Set("Content-Type", a.contentType)
	}
	if a.location != "" {
		h.Set("Location", a.location)
	}
	if a.hangUp {
		panic(http.ErrAbortHandler)
	}
	h.Set("Content-Length", strconv.Itoa(len(a.body)+a.filler))
	rw.WriteHeader(a.status)
	if r.Method == http.MethodHead {
		return 0
	}
	if a.cut {
		rw.Write(a.body[:len(a.body)/2])
		http.NewResponseController(rw).Flush() // or nothing would be seen of it
		panic(http.ErrAbortHandler)
	}
	n, err := rw.Write(a.body) // who hangs up does not want it
	for left := a.filler; left > 0 && err == nil; {
		var k int
		k, err = rw.Write(filler[:min(left, len(filler))])
		n, left = n+k, left-k
	}
	return n
}

// told remembers who was sent away, so that who comes back later is let in: a bounded number of
// hosts and pages, the oldest forgotten first.
type told struct {
	mu    sync.Mutex
	until map[string]time.Time // from when on a key is let in
	order []string
}

const (
	// mostTold is the number of keys remembered.
	mostTold = 4096
)

// first says that whoever asks for the key is to be sent away: because nobody has asked for it
// yet, or too early.
func (t *told) first(key string, wait time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if until, known := t.until[key]; known {
		return now.Before(until)
	}
	if t.until == nil {
		t.until = make(map[string]time.Time)
	}
	if len(t.order) >= mostTold {
		delete(t.until, t.order[0])
		t.order = t.order[1:]
	}
	t.until[key] = now.Add(wait)
	t.order = append(t.order, key)
	return true
}

// tell answers questions about the webs themselves: /.truth?url=, /.topics, /.urls?n=&from=,
// /.examples?topic=&n=; &seed= where there are several webs.
func (s *Server) tell(rw http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	w, problem := s.asked(q.Get("url"), q.Get("seed"))
	number := func(name string, preset uint64) uint64 {
		v := q.Get(name)
		if v == "" {
			return preset
		}
		n, err := strconv.ParseUint(v, 10, 63)
		if err != nil {
			problem = name + " is no number"
		}
		return n
	}
	var out any
	switch r.URL.Path {
	case "/.truth":
		if problem == "" {
			out = w.Truth(q.Get("url"))
		}
	case "/.topics":
		if problem == "" {
			out = w.Topics()
		}
	case "/.urls":
		from, n := number("from", 0), min(number("n", 100), 100_000)
		if problem == "" {
			urls := []string{}
			for k := from; k < w.Size() && k-from < n; k++ {
				urls = append(urls, w.URL(k))
			}
			out = urls
		}
	case "/.examples":
		n := min(number("n", 100), 10_000)
		if problem == "" {
			out = append([]string{}, w.Examples(q.Get("topic"), int(n))...)
		}
	default:
		http.NotFound(rw, r)
		return
	}
	if problem != "" {
		http.Error(rw, problem, http.StatusBadRequest)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(rw)
	e.SetEscapeHTML(false)
	e.Encode(out)
}

// asked finds the web of a question.
func (s *Server) asked(url, seed string) (w *Web, problem string) {
	if rest, ok := strings.CutPrefix(url, "http://"); ok {
		name, _, _ := strings.Cut(rest, "/")
		if _, end, ok := strings.Cut(name, "."); ok && s.bySeed["."+end] != nil {
			return s.bySeed["."+end], ""
		}
	}
	if seed != "" {
		if w := s.bySeed[".s"+seed+".sim"]; w != nil {
			return w, ""
		}
		return nil, "there is no web of that seed"
	}
	if len(s.webs) != 1 {
		return nil, "there are several webs: say which with seed="
	}
	return s.webs[0], ""
}
