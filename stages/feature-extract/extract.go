package main

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/controls"
	"forager/internal/rank/backlink"
	"forager/internal/rank/guide"
	"forager/internal/rank/linkfeature"
	"forager/internal/stream"
	"forager/internal/stream/runner"
	"forager/schemas"
)

// extractor is the stage's logic.
type extractor struct{ crawls *controls.Cache }

// stage returns the declaration of the stage.
func (x *extractor) stage(workers int) runner.Stateless {
	return runner.Stateless{
		Stage: name, Workers: workers,
		Handle: x.handle, Poison: poison, Unit: func(r *stream.Record) string { return r.Headers[schemas.HeaderCrawl] },
	}
}

// handle returns the record of link.found for one record of page.judged.
func (x *extractor) handle(_ context.Context, r stream.Record) ([]stream.Out, error) {
	judged, parsed, err := decode(r)
	if err != nil {
		return nil, err
	}
	found := verdict(judged.GetOutcome(), parsed)
	if judged.GetOutcome() == schemas.Outcome_OUTCOME_DELIVERED {
		found.Judgement = judged.GetJudgement()
		if err := x.links(found, judged, parsed.GetPage()); err != nil {
			return nil, err
		}
	}
	return send(r, found)
}

// decode reads a record of page.judged and the page.parsed within.
func decode(r stream.Record) (*schemas.PageJudged, *schemas.PageParsed, error) {
	judged, parsed := new(schemas.PageJudged), new(schemas.PageParsed)
	if err := proto.Unmarshal(r.Value, judged); err != nil {
		return nil, nil, fmt.Errorf("decode %s: %w", r.Topic, err)
	}
	if err := proto.Unmarshal(judged.GetParsed(), parsed); err != nil {
		return nil, nil, fmt.Errorf("decode the parsed page in %s: %w", r.Topic, err)
	}
	if err := schemas.CheckAnswer(r.Headers, judged.GetId(), judged.GetCrawl()); err != nil {
		return nil, nil, err
	}
	return judged, parsed, schemas.CheckAnswer(r.Headers, parsed.GetId(), parsed.GetCrawl())
}

// verdict returns a record of link.found without the fields of a delivered page. Shard and URL
// follow from the headers (send).
func verdict(outcome schemas.Outcome, parsed *schemas.PageParsed) *schemas.LinkFound {
	return &schemas.LinkFound{
		Id: parsed.GetId(), Crawl: parsed.GetCrawl(), Request: parsed.GetRequest(),
		Outcome: outcome, Detail: parsed.GetDetail(), Status: parsed.GetStatus(),
		Redirect: parsed.GetRedirect(), NotBefore: parsed.GetNotBefore(), FetchedAt: parsed.GetFetchedAt(),
	}
}

// links adds the links of a delivered page.
func (x *extractor) links(found *schemas.LinkFound, judged *schemas.PageJudged, page *schemas.Page) error {
	if page == nil || judged.GetJudgement() == nil {
		return errors.New("a delivered page without the page or its judgement")
	}
	control := x.crawls.Get(judged.GetCrawl())
	if control == nil {
		return stream.Missing("control record of "+judged.GetCrawl(), fmt.Errorf("crawl %q has no control record yet", judged.GetCrawl()))
	}
	settings, err := linkfeature.SettingsOf(control.GetLearning())
	if err != nil {
		return err
	}
	table, links, cut, err := linkfeature.Extract(page, judged.GetJudgement(), settings)
	if err != nil {
		return err
	}
	for _, g := range judged.GetJudgement().GetGuidance() {
		if err := guide.Check(g, len(links)); err != nil {
			return fmt.Errorf("guide %s of page %s: %w", g.GetGuide(), page.GetUrl(), err)
		}
	}
	found.Table, found.Links = table, links
	backlink.Join(found)
	found.Fingerprint, found.Cut = page.GetFingerprint(), page.GetCut() || cut
	return nil
}

// poison returns the verdict on the request of a record that could not be handled.
func poison(r stream.Record, cause error) ([]stream.Out, error) {
	_, parsed, err := decode(r)
	if err != nil {
		request, embedded, err := schemas.Embedded(r.Headers)
		if err != nil {
			return nil, err
		}
		parsed = &schemas.PageParsed{Crawl: request.GetCrawl(), Id: request.GetId(), Request: embedded}
	}
	found := verdict(schemas.Outcome_OUTCOME_FAILED_FEATURE_EXTRACT, parsed)
	found.Detail = schemas.DetailOf(cause)
	return send(r, found)
}

func send(r stream.Record, found *schemas.LinkFound) ([]stream.Out, error) {
	// The request is not decoded here; the headers have the necessary fields.
	request, err := schemas.RequestFromHeaders(r.Headers)
	if err != nil {
		return nil, err
	}
	found.Shard, found.Url = request.GetShard(), request.GetUrl()
	b, err := proto.Marshal(found)
	if err != nil {
		return nil, err
	}
	key := schemas.ShardKey(found.GetCrawl(), found.GetShard())
	return []stream.Out{r.Onward(schemas.TopicLinkFound, []byte(key), b)}, nil
}
