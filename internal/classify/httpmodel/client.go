package httpmodel

import (
	"context"
	"errors"
	"time"

	"forager/internal/classify/critic"
	"forager/internal/classify/taxonomy"
	"forager/schemas"
)

// Client is a critic.Classifier that calls the service of a predicate. It is safe for concurrent use.
type Client struct {
	*Predicate
	queue queue[*pageSent, []float64]
}

// Client returns a client of the service. It makes no request by itself.
func (p *Predicate) Client(o Options) *Client {
	s := p.settings
	write := func(pages []*pageSent) any { return &message{Version: 1, Topics: p.topics(), Pages: pages} }
	read := func(body []byte, pages []*pageSent) ([][]float64, []string, error) { return p.read(body, len(pages)) }
	return &Client{p, newQueue(p.name, s.Service, s.Batch, o, exchange(s.Service, o, write, read))}
}

// Pruned returns nil: every topic of the settings is a class.
func (c *Client) Pruned() []taxonomy.Pruned { return nil }

// Predict implements critic.Classifier: by Ask where there is a fallback, by Wait where there is none.
func (c *Client) Predict(ctx context.Context, o *critic.Prediction, p *schemas.Page) error {
	if c.fallback != "" {
		return predict(ctx, c.Ask, o, p)
	}
	return predict(ctx, c.Wait, o, p)
}

// Asks reports that a judgement requires a request.
func (c *Client) Asks() bool { return true }

// FailFast returns a classifier that never waits for a service that fails: for judgements that no record waits for.
func (c *Client) FailFast() critic.Classifier { return failFast{c} }

type failFast struct{ *Client }

func (h failFast) Predict(ctx context.Context, o *critic.Prediction, p *schemas.Page) error {
	return predict(ctx, h.Ask, o, p)
}

func predict(ctx context.Context, ask func(context.Context, []float64, *schemas.Page) error, o *critic.Prediction, p *schemas.Page) error {
	if err := ask(ctx, o.Raw, p); err != nil {
		return err
	}
	o.Same()
	return nil
}

// Ask sets the posteriors of a page, in the order of Classes, each in [0,1], with sum 1. It waits for twice the
// timeout at most. The error is a *Failure, the end of ctx, or that of an inconsistent page.
func (c *Client) Ask(ctx context.Context, posteriors []float64, p *schemas.Page) error {
	sent, err := c.settings.fieldsOf(p)
	if err != nil {
		return err
	}
	got, err := c.queue.askSoon(ctx, sent)
	copy(posteriors, got)
	return err
}

// firstPause is the pause before the first repetition of a request; it doubles each time, up to the breaker's.
const firstPause = 100 * time.Millisecond

// Wait is Ask for a caller without a fallback: it waits for a service that is slow, and repeats the request while
// one fails, until the page has waited for the settings' patience or the service has failed for as long.
func (c *Client) Wait(ctx context.Context, posteriors []float64, p *schemas.Page) error {
	sent, err := c.settings.fieldsOf(p)
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
		if !errors.As(err, &f) || f.Reason == Refused || time.Since(begun) >= c.settings.Patience || c.queue.failingFor() >= c.settings.Patience {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
