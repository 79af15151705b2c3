package main

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/controls"
	"forager/internal/judging"
	"forager/internal/stream"
	"forager/internal/stream/runner"
	"forager/schemas"
)

// scorer is the stage's logic.
type scorer struct {
	crawls  *controls.Cache
	judge   judging.Judge
	turns   turns
	metrics *metrics
}

// turns bounds the records being judged. A worker that calls a service gives up its turn meanwhile,
// so that pages that wait do not delay others, and gather for one request.
type turns chan struct{}

func (t turns) take() { t <- struct{}{} }
func (t turns) give() { <-t }

// lend gives up the turn while a function waits for a service.
func (t turns) lend(wait func()) {
	t.give()
	defer t.take()
	wait()
}

// inHand is the number of records that may wait for a service, of all partitions. The runtime's own
// bounds, records and bytes a partition, are reached first.
const inHand = 4096

func newScorer(models judging.Models, workers int, reg prometheus.Registerer) *scorer {
	m := newMetrics(reg)
	s := &scorer{crawls: controls.New(), turns: make(turns, workers), metrics: m}
	s.judge = judging.Judge{Models: models, Failed: m.failed, Wait: s.turns.lend}
	return s
}

// stage returns the declaration of the stage. A record is tried once: temporary failures are
// waited for.
func (s *scorer) stage() runner.Stateless {
	return runner.Stateless{
		Stage: name, Workers: inHand, Tries: 1,
		Handle: s.handle, Poison: poison, Unit: func(r *stream.Record) string { return r.Headers[schemas.HeaderCrawl] },
	}
}

// handle judges one record of page.parsed.
func (s *scorer) handle(ctx context.Context, r stream.Record) ([]stream.Out, error) {
	s.turns.take()
	defer s.turns.give()
	parsed, err := decode(r)
	if err != nil {
		return nil, err
	}
	judged := &schemas.PageJudged{Id: parsed.GetId(), Crawl: parsed.GetCrawl(), Outcome: parsed.GetOutcome(), Parsed: r.Value}
	if parsed.GetOutcome() == schemas.Outcome_OUTCOME_DELIVERED {
		if judged.Judgement, err = s.judgement(ctx, parsed); err != nil {
			return nil, err
		}
	}
	return send(r, judged)
}

// decode reads a record of page.parsed.
func decode(r stream.Record) (*schemas.PageParsed, error) {
	parsed := new(schemas.PageParsed)
	if err := proto.Unmarshal(r.Value, parsed); err != nil {
		return nil, fmt.Errorf("decode %s: %w", r.Topic, err)
	}
	return parsed, schemas.CheckAnswer(r.Headers, parsed.GetId(), parsed.GetCrawl())
}

// poison returns the record of page.judged, without a page, that ends the request of a record that
// could not be judged.
func poison(r stream.Record, cause error) ([]stream.Out, error) {
	parsed, err := decode(r)
	if err != nil {
		request, embedded, err := schemas.Embedded(r.Headers)
		if err != nil {
			return nil, err
		}
		parsed = &schemas.PageParsed{Crawl: request.GetCrawl(), Id: request.GetId(), Request: embedded}
	}
	parsed.Outcome, parsed.Page = schemas.Outcome_OUTCOME_FAILED_CRITIC_SCORE, nil
	parsed.Detail = schemas.DetailOf(cause)
	b, err := proto.Marshal(parsed)
	if err != nil {
		return nil, err
	}
	return send(r, &schemas.PageJudged{Id: parsed.GetId(), Crawl: parsed.GetCrawl(), Outcome: parsed.GetOutcome(), Parsed: b})
}

func send(r stream.Record, judged *schemas.PageJudged) ([]stream.Out, error) {
	b, err := proto.Marshal(judged)
	if err != nil {
		return nil, err
	}
	out := r.Onward(schemas.TopicPageJudged, judged.GetId(), b)
	out.Partition = stream.Along(r.Partition)
	return []stream.Out{out}, nil
}
