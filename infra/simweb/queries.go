package simweb

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	// mostNumbers and mostExamples bound one response.
	mostNumbers  = 100_000
	mostExamples = 10_000
	// mostAsked is the largest list of URLs, bytes.
	mostAsked = 64 << 20
)

// questions are the paths of queries.
var questions = []string{"/.truth", "/.truths", "/.topics", "/.urls", "/.examples"}

// answer handles queries about the webs: /.truth?url=, /.topics, /.urls?n=&from=, /.truths?n=&from= (or URLs in
// the body, one a line), /.examples?topic=&n=; &seed= if there are several webs.
func (s *Server) answer(rw http.ResponseWriter, r *http.Request) {
	if !slices.Contains(questions, r.URL.Path) {
		http.NotFound(rw, r)
		return
	}
	out := json.NewEncoder(rw)
	out.SetEscapeHTML(false)
	r.Body = http.MaxBytesReader(rw, r.Body, mostAsked)
	if err := s.answerTo(r, func(v any) error {
		rw.Header().Set("Content-Type", "application/json")
		return out.Encode(v)
	}); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
	}
}

// answerTo passes the response, one value or several, to send. An error describes what is wrong with the query, or with the connection.
func (s *Server) answerTo(r *http.Request, send func(any) error) error {
	q := r.URL.Query()
	if r.URL.Path == "/.truths" && r.Method == http.MethodPost {
		return s.truths(r.Body, send)
	}
	w, err := s.asked(q.Get("url"), q.Get("seed"))
	if err != nil {
		return err
	}
	from, err := number(q, "from", 0)
	if err != nil {
		return err
	}
	n, err := number(q, "n", 100)
	if err != nil {
		return err
	}
	from = min(from, w.Size())
	end := min(from+min(n, mostNumbers), w.Size())
	switch r.URL.Path {
	case "/.truth":
		return send(w.Truth(q.Get("url")))
	case "/.truths":
		for k := from; k < end && err == nil; k++ {
			err = send(w.Truth(w.URL(k)))
		}
		return err
	case "/.urls":
		urls := make([]string, 0, end-from)
		for k := from; k < end; k++ {
			urls = append(urls, w.URL(k))
		}
		return send(urls)
	case "/.examples":
		topic := q.Get("topic")
		if topic != Other && !slices.Contains(w.topics, topic) {
			return fmt.Errorf("there is no topic %q: /.topics lists them, and %s is none of them", topic, Other)
		}
		return send(append([]string{}, w.Examples(topic, int(min(n, mostExamples)))...))
	}
	return send(w.Topics())
}

// truths returns the truths of URLs, one a line, all of which are read before the first response: otherwise
// clients that send everything first would wait for ever.
func (s *Server) truths(body io.Reader, send func(any) error) error {
	b, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		url := strings.TrimSpace(line)
		if url == "" {
			continue
		}
		w, err := s.asked(url, "")
		if err != nil {
			w = s.webs[0] // its truth is that there is no such host
		}
		if err := send(w.Truth(url)); err != nil {
			return err
		}
	}
	return nil
}

func number(q url.Values, name string, preset uint64) (uint64, error) {
	v := q.Get(name)
	if v == "" {
		return preset, nil
	}
	n, err := strconv.ParseUint(v, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%s is no number", name)
	}
	return n, nil
}

// asked finds the web of a query.
func (s *Server) asked(url, seed string) (*Web, error) {
	if rest, ok := strings.CutPrefix(url, "http://"); ok {
		name, _, _ := strings.Cut(rest, "/")
		if _, end, ok := strings.Cut(name, "."); ok && s.bySeed["."+end] != nil {
			return s.bySeed["."+end], nil
		}
	}
	if seed != "" {
		if w := s.bySeed[".s"+seed+".sim"]; w != nil {
			return w, nil
		}
		return nil, fmt.Errorf("there is no web of the seed %s", seed)
	}
	if len(s.webs) != 1 {
		return nil, errors.New("there are several webs: name one with seed=")
	}
	return s.webs[0], nil
}
