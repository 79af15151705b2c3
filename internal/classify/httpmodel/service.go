package httpmodel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
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

// Service is where a service is, and how it is asked; the settings of every kind have it.
type Service struct {
	// URL of the service, http or https.
	URL string `yaml:"url"`
	// Concurrent is the maximum number of requests under way, 2 by default.
	Concurrent int `yaml:"concurrent"`
	// Timeout of a request, 10 s by default.
	Timeout time.Duration `yaml:"timeout"`
	Breaker Breaker       `yaml:"breaker"`
	// TokenEnv is the environment variable of critic-score with the service's bearer token.
	TokenEnv string `yaml:"token_env"`
}

// Breaker defines when requests to a service that fails are suspended.
type Breaker struct {
	// Failures in a row, 5 by default, and the Pause after them, 10 s by default.
	Failures int           `yaml:"failures"`
	Pause    time.Duration `yaml:"pause"`
}

func defaultService() Service {
	return Service{Concurrent: 2, Timeout: 10 * time.Second, Breaker: Breaker{Failures: 5, Pause: 10 * time.Second}}
}

func (s *Service) check(r *strictyaml.Report) {
	u, err := url.Parse(s.URL)
	switch {
	case s.URL == "":
		r.Problem("url", "is missing; where is the service?")
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		r.Problem("url", "%q is not an http:// or https:// address", s.URL)
	case u.User != nil:
		r.Problem("url", "holds a user or a password; let token_env name an environment variable that has a token")
	}
	between(r, "concurrent", s.Concurrent, 1, 1000)
	between(r, "breaker.failures", s.Breaker.Failures, 1, 1000)
	within(r, "timeout", s.Timeout, time.Millisecond, 10*time.Minute)
	within(r, "breaker.pause", s.Breaker.Pause, time.Millisecond, time.Hour)
}

// Sent defines what is sent of pages.
type Sent struct {
	// Send lists the fields of a page that are sent: url, title, description, language, text; all by default.
	Send []string `yaml:"send"`
	// TextBytes is the maximum length of text, cut between two words; 64 KiB by default.
	TextBytes int `yaml:"text_bytes"`
	// Batch is the maximum number of pages in a request, 16 by default.
	Batch int `yaml:"batch"`
}

func defaultSent(send []string) Sent { return Sent{Send: send, TextBytes: 64 << 10, Batch: 16} }

// check reports problems; sendable are the possible values of Send.
func (s *Sent) check(r *strictyaml.Report, sendable []string) {
	between(r, "text_bytes", s.TextBytes, 1, 4<<20)
	between(r, "batch", s.Batch, 1, maxBatch)
	for i, f := range s.Send {
		if !slices.Contains(sendable, f) || slices.Contains(s.Send[:i], f) {
			r.Problem("send", "%q is not one of %s, or is named twice", f, strings.Join(sendable, ", "))
		}
	}
	if len(s.Send) == 0 {
		r.Problem("send", "is empty; name some of %s", strings.Join(sendable, ", "))
	}
}

// ReadsURLs reports whether URLs are sent to the service.
func (s *Sent) ReadsURLs() bool { return s.sends("url") }

func (s *Sent) sends(field string) bool { return slices.Contains(s.Send, field) }

func between(r *strictyaml.Report, path string, value, low, high int) {
	if value < low || value > high {
		r.Problem(path, "is %d; it must lie between %d and %d", value, low, high)
	}
}

func within(r *strictyaml.Report, path string, value, low, high time.Duration) {
	if value < low || value > high {
		r.Problem(path, "is %s; it must lie between %s and %s", value, low, high)
	}
}

// poster sends requests to a service.
type poster struct {
	Service
	http  http.Client
	token string
}

func newPoster(s Service, o Options) *poster {
	if o.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.Proxy, t.MaxIdleConnsPerHost = nil, s.Concurrent
		o.Transport = t
	}
	p := &poster{Service: s, http: http.Client{
		Transport:     o.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if s.TokenEnv != "" && o.Getenv != nil {
		p.token = o.Getenv(s.TokenEnv)
	}
	return p
}

// exchange returns what a queue sends pages by: write gives a request, which is sent as JSON, and read the results for the pages from
// the response, or the reasons why there are none. Every error is a *Failure of the whole request.
func exchange[Q, A any](s Service, o Options, write func(pages []Q) any, read func(body []byte, pages []Q) ([]A, []string, error)) func([]Q) ([]A, []string, error) {
	service := newPoster(s, o)
	return func(pages []Q) ([]A, []string, error) {
		body, err := json.Marshal(write(pages))
		if err != nil {
			return nil, nil, &Failure{Rubbish, fmt.Sprintf("write the request: %v", err)}
		}
		b, failure := service.post(body)
		if failure != nil {
			return nil, nil, failure
		}
		answers, refused, err := read(b, pages)
		if err != nil {
			return nil, nil, &Failure{Rubbish, err.Error()}
		}
		return answers, refused, nil
	}
}

// decode decodes a response, or a part of it.
func decode(body []byte, v any) error {
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("the answer is not the JSON it should be: %w", err)
	}
	return nil
}

// decodePages decodes a response about n pages.
func decodePages[P any](body []byte, n int) ([]P, error) {
	var answer struct {
		Pages []P `json:"pages"`
	}
	if err := decode(body, &answer); err != nil {
		return nil, err
	}
	if len(answer.Pages) != n {
		return nil, fmt.Errorf("the answer is on %d pages, asked was about %d", len(answer.Pages), n)
	}
	return answer.Pages, nil
}

// post sends a request of several pages and returns the response's body.
func (s *poster) post(body []byte) ([]byte, *Failure) {
	// Not the context of one of the pages: the others still wait for their results.
	ctx, cancel := context.WithTimeout(context.Background(), s.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
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
