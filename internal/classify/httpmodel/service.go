package httpmodel

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"forager/internal/platform/strictyaml"
)

// maxAnswer is the maximum size of a response, bytes.
const maxAnswer = 16 << 20

// Reasons of a Failure.
const (
	// Unreachable: no connection, or it broke.
	Unreachable = "unreachable"
	// Timeout: no response in time, or (with a fallback) the queue was too long.
	Timeout = "timeout"
	// Status: a response that is not 200.
	Status = "status"
	// Rubbish: a response that violates the protocol.
	Rubbish = "rubbish"
	// Refused: the service reports that it cannot judge this page.
	Refused = "refused"
	// Open: the service failed so often that requests are suspended.
	Open = "open"
)

// Failure is the error of a page that was not judged.
type Failure struct {
	// Reason is one of the above.
	Reason string
	// Detail is for people.
	Detail string
}

func (f *Failure) Error() string {
	return "the predicate does not answer (" + f.Reason + "): " + f.Detail
}

// Options of a client in addition to the settings.
type Options struct {
	// Transport carries requests; nil = one of its own, which uses no proxy.
	Transport http.RoundTripper
	// Getenv looks up token_env; nil = no token.
	Getenv func(string) string
	// Log receives messages when the service begins and ends to fail; nil = none.
	Log *slog.Logger
}

// address is the address of a service and the limits of requests: what the settings of every kind share.
type address struct {
	url                          string
	textBytes, batch, concurrent int
	timeout                      time.Duration
	breaker                      Breaker
	tokenEnv                     string
}

func (a *address) check(r *strictyaml.Report) {
	u, err := url.Parse(a.url)
	switch {
	case a.url == "":
		r.Problem("url", "is missing; where is the service?")
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		r.Problem("url", "%q is not an http:// or https:// address", a.url)
	case u.User != nil:
		r.Problem("url", "holds a user or a password; let token_env name an environment variable that has a token")
	}
	between := func(path string, value, low, high int) {
		if value < low || value > high {
			r.Problem(path, "is %d; it must lie between %d and %d", value, low, high)
		}
	}
	between("text_bytes", a.textBytes, 1, 4<<20)
	between("batch", a.batch, 1, maxBatch)
	between("concurrent", a.concurrent, 1, 1000)
	between("breaker.failures", a.breaker.Failures, 1, 1000)
	within(r, "timeout", a.timeout, time.Millisecond, 10*time.Minute)
	within(r, "breaker.pause", a.breaker.Pause, time.Millisecond, time.Hour)
}

func within(r *strictyaml.Report, path string, value, low, high time.Duration) {
	if value < low || value > high {
		r.Problem(path, "is %s; it must lie between %s and %s", value, low, high)
	}
}

// poster sends requests to an address.
type poster struct {
	address
	http  http.Client
	token string
}

func newPoster(a address, o Options) poster {
	if o.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.Proxy, t.MaxIdleConnsPerHost = nil, a.concurrent
		o.Transport = t
	}
	s := poster{address: a, http: http.Client{
		Transport:     o.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if a.tokenEnv != "" && o.Getenv != nil {
		s.token = o.Getenv(a.tokenEnv)
	}
	return s
}

// newQueue returns the queue of the predicate with a name.
func newQueue[Q, A any](name string, a address, o Options, send func([]Q) ([]A, []string, error)) queue[Q, A] {
	log := cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return queue[Q, A]{
		batch: a.batch, concurrent: a.concurrent, send: send,
		breaker: breaker{failures: a.breaker.Failures, pause: a.breaker.Pause, log: log.With("predicate", name)},
	}
}

// post sends a request of several pages and returns the response's body.
func (s *poster) post(body []byte) ([]byte, *Failure) {
	// Not the context of one of the pages: the others still wait for their results.
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return nil, &Failure{Unreachable, err.Error()}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Forager/1.0 (critic-score)")
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	answer, err := s.http.Do(r)
	if err != nil {
		return nil, carried(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		_, _ = io.CopyN(io.Discard, answer.Body, 4<<10) // so that the connection can be used again
		return nil, &Failure{Status, answer.Status}
	}
	b, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, carried(err)
	case len(b) > maxAnswer:
		return nil, &Failure{Rubbish, fmt.Sprintf("the answer has more than %d bytes", maxAnswer)}
	}
	return b, nil
}

// carried returns the failure of a request without a response.
func carried(err error) *Failure {
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return &Failure{Timeout, err.Error()}
	}
	return &Failure{Unreachable, err.Error()}
}
