package main

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"forager/internal/controls"
	"forager/internal/critic"
	"forager/internal/stream"
	"forager/schemas"
)

// scorer is the stage's logic.
type scorer struct {
	crawls  *controls.Book
	critics *critics
}

// stage is the scorer as the runtime takes it.
func (s *scorer) stage(workers int) stream.Stateless {
	return stream.Stateless{
		Stage: "critic-score", Inputs: []string{schemas.TopicPageParsed}, Workers: workers,
		Handle: s.handle, Poison: poison,
	}
}

// handle judges one record of page.parsed.
func (s *scorer) handle(ctx context.Context, r stream.Record) ([]stream.Out, error) {
	parsed, err := decode(r)
	if err != nil {
		return nil, err
	}
	judged := &schemas.PageJudged{Id: parsed.GetId(), Crawl: parsed.GetCrawl(), Outcome: parsed.GetOutcome(), Parsed: r.Value}
	if parsed.GetOutcome() == schemas.Outcome_OUTCOME_DELIVERED {
		if judged.Judgement, err = s.judge(ctx, parsed); err != nil {
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

func (s *scorer) judge(ctx context.Context, parsed *schemas.PageParsed) (*schemas.Judgement, error) {
	if parsed.GetPage() == nil {
		return nil, errors.New("a delivered page without the page")
	}
	control := s.crawls.Look(parsed.GetCrawl())
	if control == nil {
		return nil, stream.Unavailable(fmt.Errorf("crawl %q has no control record yet", parsed.GetCrawl()))
	}
	if control.GetCritic() == "" {
		return new(schemas.Judgement), nil
	}
	model, err := s.critics.model(ctx, control.GetCritic())
	if err != nil {
		return nil, err
	}
	j, err := critic.Say(ctx, model, parsed.GetPage(), control.GetFocus())
	if err != nil {
		return nil, fmt.Errorf("critic %s: %w", control.GetCritic(), err)
	}
	j.Critic = control.GetCritic()
	return j, nil
}

// poison lets the request of a record travel on that could not be judged, without its page.
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
