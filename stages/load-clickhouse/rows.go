package main

import (
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	"forager/internal/platform/analytics"
	"forager/internal/stream"
	"forager/schemas"
)

// inputs are the topics that are loaded.
var inputs = []string{
	schemas.TopicCrawlControl, schemas.TopicCrawlStatus, schemas.TopicFetchRequested, schemas.TopicPageFetched,
	schemas.TopicPageJudged, schemas.TopicLinkFound, schemas.TopicLeapSettled, schemas.TopicModelPublished,
	schemas.TopicHubRanked, schemas.TopicPageRejudged, schemas.TopicDeadLetter,
}

// rows are the rows of a batch of records, by table.
type rows struct {
	requests   []analytics.Request
	markers    []analytics.Marker
	fetches    []analytics.Fetch
	judgements []analytics.Judgement
	rejudged   []analytics.Rejudgement
	verdicts   []analytics.Verdict
	links      []analytics.Link
	leaps      []analytics.Leap
	models     []analytics.Model
	hubs       []analytics.Hub
	controls   []analytics.Control
	statuses   []analytics.Status
	letters    []analytics.Letter
}

// empty removes all rows and keeps the capacity.
func (b *rows) empty() {
	*b = rows{
		requests: emptied(b.requests), markers: emptied(b.markers), fetches: emptied(b.fetches), judgements: emptied(b.judgements),
		verdicts: emptied(b.verdicts), links: emptied(b.links), leaps: emptied(b.leaps), models: emptied(b.models),
		hubs: emptied(b.hubs), rejudged: emptied(b.rejudged), controls: emptied(b.controls), statuses: emptied(b.statuses), letters: emptied(b.letters),
	}
}

func emptied[R analytics.Row](all []R) []R {
	clear(all)
	return all[:0]
}

// add adds the rows of one record.
func (b *rows) add(r *stream.Record) error {
	if r.Value == nil {
		return nil // a tombstone of a compacted topic
	}
	place := analytics.PlaceOf(r.Partition, r.Offset, r.Time)
	switch r.Topic {
	case schemas.TopicFetchRequested:
		return b.request(r, place)
	case schemas.TopicPageFetched:
		return one(&b.fetches, new(schemas.PageFetched), analytics.NewFetch, r, place)
	case schemas.TopicPageJudged:
		return b.judged(r, place)
	case schemas.TopicPageRejudged:
		return one(&b.rejudged, new(schemas.PageRejudged), analytics.NewRejudgement, r, place)
	case schemas.TopicLinkFound:
		if r.Headers[schemas.HeaderFrom] != "" {
			return nil // between shards: the links are those of a verdict, which has its rows
		}
		return b.found(r, place)
	case schemas.TopicLeapSettled:
		return one(&b.leaps, new(schemas.LeapSettled), analytics.NewLeap, r, place)
	case schemas.TopicModelPublished:
		return one(&b.models, new(schemas.ModelPublished), analytics.NewModel, r, place)
	case schemas.TopicHubRanked:
		return b.ranked(r, place)
	case schemas.TopicCrawlControl:
		return one(&b.controls, new(schemas.CrawlControl), analytics.NewControl, r, place)
	case schemas.TopicCrawlStatus:
		return one(&b.statuses, new(schemas.CrawlStatus), analytics.NewStatus, r, place)
	case schemas.TopicDeadLetter:
		return b.letter(r, place)
	}
	return stream.Broken(fmt.Errorf("topic %s is not one that is loaded", r.Topic))
}

// decode decodes the record's value and checks its id, if it has one.
func decode(value []byte, m proto.Message) error {
	if err := proto.Unmarshal(value, m); err != nil {
		return fmt.Errorf("decode %s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	if x, ok := m.(interface{ GetId() []byte }); ok {
		if _, err := schemas.ParseID(x.GetId()); err != nil {
			return fmt.Errorf("%s: %w", m.ProtoReflect().Descriptor().Name(), err)
		}
	}
	return nil
}

func (b *rows) request(r *stream.Record, place analytics.Place) error {
	var fence stream.Fence
	kind, err := fence.Read(r)
	if err != nil {
		return err
	}
	switch kind {
	case stream.Claim:
		return nil
	case stream.Marker:
		owner, err := strconv.ParseUint(r.Headers[schemas.HeaderOwner], 10, 32)
		if err != nil {
			return fmt.Errorf("header %q: %w", schemas.HeaderOwner, err)
		}
		b.markers = append(b.markers, analytics.NewMarker(&schemas.FetchRequest{Owner: uint32(owner), Epoch: fence.Epoch(uint32(owner))}, place))
		return nil
	}
	m := new(schemas.FetchRequest)
	if err := decode(r.Value, m); err != nil {
		return err
	}
	b.requests = append(b.requests, analytics.NewRequest(m, place))
	return nil
}

func (b *rows) judged(r *stream.Record, place analytics.Place) error {
	m, parsed := new(schemas.PageJudged), new(schemas.PageParsed)
	if err := decode(r.Value, m); err != nil {
		return err
	}
	if m.Outcome != schemas.Outcome_OUTCOME_DELIVERED {
		m.Judgement = nil
	} else if err := decode(m.Parsed, parsed); err != nil {
		return err
	}
	b.judgements = append(b.judgements, analytics.NewJudgement(m, parsed, place))
	return nil
}

func (b *rows) found(r *stream.Record, place analytics.Place) error {
	m := new(schemas.LinkFound)
	if err := decode(r.Value, m); err != nil {
		return err
	}
	b.verdicts = append(b.verdicts, analytics.NewVerdict(m, place))
	b.links = analytics.AppendLink(slices.Grow(b.links, len(m.Links)), m, m.Links, place)
	return nil
}

func (b *rows) ranked(r *stream.Record, place analytics.Place) error {
	m := new(schemas.HubRanked)
	if err := decode(r.Value, m); err != nil {
		return err
	}
	for kind, pages := range map[string][]*schemas.RankedPage{"hub": m.Hubs, "authority": m.Authorities} {
		first := len(b.hubs)
		b.hubs = analytics.AppendHub(b.hubs, m, pages, place)
		for i := range b.hubs[first:] {
			b.hubs[first+i].Kind = kind
		}
	}
	return nil
}

func (b *rows) letter(r *stream.Record, place analytics.Place) error {
	m := new(schemas.DeadLetter)
	if err := decode(r.Value, m); err != nil {
		return err
	}
	row := analytics.NewLetter(m, place)
	row.Crawl, row.URL = r.Headers[schemas.HeaderCrawl], r.Headers[schemas.HeaderURL]
	b.letters = append(b.letters, row)
	return nil
}

// one adds the row of a record that makes one.
func one[M proto.Message, R analytics.Row](rows *[]R, m M, row func(M, analytics.Place) R, r *stream.Record, place analytics.Place) error {
	if err := decode(r.Value, m); err != nil {
		return err
	}
	*rows = append(*rows, row(m, place))
	return nil
}
