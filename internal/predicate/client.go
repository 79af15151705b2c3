package predicate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"forager/internal/critic"
	"forager/internal/taxonomy"
	"forager/schemas"
)

// maxAnswer is the size of the largest answer that is read, bytes.
const maxAnswer = 16 << 20

// Reasons why there is no judgement.
const (
	// Unreachable: no connection, or it broke.
	Unreachable = "unreachable"
	// Timeout: no answer in time, or (with a fallback) none before others had theirs.
	Timeout = "timeout"
	// Status: an answer that is not 200.
	Status = "status"
	// Rubbish: an answer that breaks the protocol.
	Rubbish = "rubbish"
	// Refused: the service says that it cannot judge this page.
	Refused = "refused"
	// Open: the service failed so often that it is left alone for now.
	Open = "open"
)

// Failure says why a predicate did not judge a page.
type Failure struct {
	// Reason is one of the above.
	Reason string
	// Detail is for people.
	Detail string
}

func (f *Failure) Error() string {
	return "the predicate does not answer (" + f.Reason + "): " + f.Detail
}

// Options are what a client needs beside the settings.
type Options struct {
	// Transport carries requests; nil = one of its own, which uses no proxy.
	Transport http.RoundTripper
	// Getenv looks up token_env; nil = there is no token.
	Getenv func(string) string
	// Log is told when the service begins and ends to fail; nil = nobody is.
	Log *slog.Logger
}

// Client asks the service of a predicate. It is safe for concurrent use.
type Client struct {
	*Predicate
	http  http.Client
	token string
	queue queue
}

// Client returns a client of the service. It asks nothing before it is asked.
func (p *Predicate) Client(o Options) *Client {
	if o.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.Proxy, t.MaxIdleConnsPerHost = nil, p.settings.Concurrent
		o.Transport = t
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &Client{Predicate: p, http: http.Client{
		Transport:     o.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	s := p.settings
	if s.TokenEnv != "" && o.Getenv != nil {
		c.token = o.Getenv(s.TokenEnv)
	}
	c.queue = queue{
		batch: s.Batch, concurrent: s.Concurrent, send: c.send,
		breaker: breaker{failures: s.Breaker.Failures, pause: s.Breaker.Pause, log: o.Log.With("predicate", p.name)},
	}
	return c
}

// Pruned returns nil: every topic of the settings is a class.
func (c *Client) Pruned() []taxonomy.Pruned { return nil }

// Opine is as critic.Judge has it: Ask where there is a fallback, Wait where there is none.
func (c *Client) Opine(ctx context.Context, o *critic.Opinion, p *schemas.Page) error {
	if c.fallback != "" {
		return opine(ctx, c.Ask, o, p)
	}
	return opine(ctx, c.Wait, o, p)
}

// Asks says that a judgement waits for somebody else.
func (c *Client) Asks() bool { return true }

// Hasty is a judge that never waits for a service that fails: for judgements that nobody waits for.
func (c *Client) Hasty() critic.Judge { return hasty{c} }

type hasty struct{ *Client }

func (h hasty) Opine(ctx context.Context, o *critic.Opinion, p *schemas.Page) error {
	return opine(ctx, h.Ask, o, p)
}

func opine(ctx context.Context, ask func(context.Context, []float64, *schemas.Page) error, o *critic.Opinion, p *schemas.Page) error {
	if err := ask(ctx, o.Raw, p); err != nil {
		return err
	}
	o.Same()
	return nil
}

// Ask sets the posteriors of a page, in the order of Classes, each in [0,1], together 1. It waits
// for twice the timeout at most: longer only where the service cannot keep up. The error is a
// *Failure, the end of ctx, or that of a page that contradicts itself.
func (c *Client) Ask(ctx context.Context, posteriors []float64, p *schemas.Page) error {
	sent, err := c.page(p)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 2*c.settings.Timeout, &Failure{Timeout, "too many pages wait"})
	defer cancel()
	got, err := c.queue.ask(ctx, sent)
	copy(posteriors, got)
	return err
}

// firstPause is the pause before a page is asked for once more; each next one is twice as long,
// up to the breaker's.
const firstPause = 100 * time.Millisecond

// Wait is Ask by somebody who has no other: it waits for a service that is slow, and asks again
// while one fails, until the page has waited for the settings' patience or the service has failed
// for as long.
func (c *Client) Wait(ctx context.Context, posteriors []float64, p *schemas.Page) error {
	sent, err := c.page(p)
	if err != nil {
		return err
	}
	begun := time.Now()
	for pause := firstPause; ; pause = min(2*pause, c.settings.Breaker.Pause) {
		got, err := c.queue.ask(ctx, sent)
		if err == nil {
			copy(posteriors, got)
			return nil
		}
		var f *Failure
		if !errors.As(err, &f) || f.Reason == Refused || c.impatient(begun) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// impatient says whether a page waits no longer.
func (c *Client) impatient(begun time.Time) bool {
	return time.Since(begun) >= c.settings.Patience || c.queue.failingFor() >= c.settings.Patience
}

// send asks for a batch of pages. An error is a *Failure of the whole request.
func (c *Client) send(pages []*pageSent) (posteriors [][]float64, refused []string, err error) {
	body, err := json.Marshal(&message{Version: 1, Topics: c.topics(), Pages: pages})
	if err != nil {
		return nil, nil, &Failure{Rubbish, fmt.Sprintf("write the request: %v", err)}
	}
	// Not the context of one of the pages: the others want their answer still.
	ctx, cancel := context.WithTimeout(context.Background(), c.settings.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.settings.URL, bytes.NewReader(body))
	if err != nil {
		return nil, nil, &Failure{Unreachable, err.Error()}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Forager/1.0 (critic-score)")
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, nil, carried(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		io.CopyN(io.Discard, answer.Body, 4<<10) // so that the connection can be used again
		return nil, nil, &Failure{Status, answer.Status}
	}
	b, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, nil, carried(err)
	case len(b) > maxAnswer:
		return nil, nil, &Failure{Rubbish, fmt.Sprintf("the answer has more than %d bytes", maxAnswer)}
	}
	if posteriors, refused, err = c.read(b, len(pages)); err != nil {
		return nil, nil, &Failure{Rubbish, err.Error()}
	}
	return posteriors, refused, nil
}

// carried is the failure of a request that got no answer.
func carried(err error) *Failure {
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return &Failure{Timeout, err.Error()}
	}
	return &Failure{Unreachable, err.Error()}
}
