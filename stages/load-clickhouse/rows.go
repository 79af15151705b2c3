package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	"forager/internal/platform/analytics"
	"forager/internal/stream"
	"forager/schemas"
	tables "forager/schemas/clickhouse"
)

// inputs are the topics that are loaded.
var inputs = []string{
	schemas.TopicCrawlControl, schemas.TopicCrawlStatus, schemas.TopicFetchRequested, schemas.TopicPageFetched,
	schemas.TopicPageJudged, schemas.TopicLinkFound, schemas.TopicLeapSettled, schemas.TopicModelPublished,
	schemas.TopicHubRanked, schemas.TopicPageRejudged, schemas.TopicDeadLetter,
}

// rows are the rows of a batch of records, by table.
type rows struct {
	requests   rowsOf[analytics.Request]
	markers    rowsOf[analytics.Marker]
	fetches    rowsOf[analytics.Fetch]
	judgements rowsOf[analytics.Judgement]
	rejudged   rowsOf[analytics.Rejudgement]
	verdicts   rowsOf[analytics.Verdict]
	links      rowsOf[analytics.Link]
	leaps      rowsOf[analytics.Leap]
	models     rowsOf[analytics.Model]
	hubs       rowsOf[analytics.Hub]
	controls   rowsOf[analytics.Control]
	statuses   rowsOf[analytics.Status]
	letters    rowsOf[analytics.Letter]
}

// table is a table with the topic whose records are its rows.
type table struct {
	topic, name string
	rows        interface {
		insert(context.Context, *analytics.DB) (int, error)
		empty()
	}
}

// tables returns the tables in the order in which those of a topic are written: a verdict in its table has its links in theirs.
func (b *rows) tables() []table {
	return []table{
		{schemas.TopicCrawlControl, "controls", &b.controls}, {schemas.TopicCrawlStatus, "statuses", &b.statuses},
		{schemas.TopicFetchRequested, "requests", &b.requests}, {schemas.TopicFetchRequested, "markers", &b.markers},
		{schemas.TopicPageFetched, "fetches", &b.fetches}, {schemas.TopicPageJudged, "judgements", &b.judgements},
		{schemas.TopicLinkFound, "links", &b.links}, {schemas.TopicLinkFound, "verdicts", &b.verdicts},
		{schemas.TopicLeapSettled, "leaps", &b.leaps}, {schemas.TopicModelPublished, "models", &b.models},
		{schemas.TopicHubRanked, "hubs", &b.hubs}, {schemas.TopicPageRejudged, "rejudgements", &b.rejudged},
		{schemas.TopicDeadLetter, "letters", &b.letters},
	}
}

// rowsOf are the rows of a table.
type rowsOf[R analytics.Row[R]] []R

// insertRows is the most rows of one insert: a page has up to 2,000 links.
const insertRows = 100_000

// insert returns the number of rows that were written.
func (o *rowsOf[R]) insert(ctx context.Context, db *analytics.DB) (n int, err error) {
	for part := range slices.Chunk(*o, insertRows) {
		if err := analytics.Insert(ctx, db, part); err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}

// empty removes all rows and keeps the capacity.
func (o *rowsOf[R]) empty() {
	clear(*o)
	*o = (*o)[:0]
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
		return one(&b.letters, new(schemas.DeadLetter), func(m *schemas.DeadLetter, place analytics.Place) analytics.Letter {
			row := analytics.NewLetter(m, place)
			row.Crawl, row.URL = r.Headers[schemas.HeaderCrawl], r.Headers[schemas.HeaderURL]
			return row
		}, r, place)
	}
	return stream.Broken(fmt.Errorf("topic %s is not one that is loaded", r.Topic))
}

// What is decoded of page.judged and link.found. The rest, the words of pages, is most of a record.
var needJudged, needFound = tables.Need("PageJudged"), tables.Need("LinkFound")

// decode decodes a value and checks its id, if it has one.
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
	return one(&b.requests, new(schemas.FetchRequest), analytics.NewRequest, r, place)
}

func (b *rows) judged(r *stream.Record, place analytics.Place) error {
	m, parsed := new(schemas.PageJudged), new(schemas.PageParsed)
	if err := decode(needJudged.Of(r.Value), m); err != nil {
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
	if err := decode(needFound.Of(r.Value), m); err != nil {
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

// one adds the row of a record that makes one.
func one[M proto.Message, R analytics.Row[R]](rows *rowsOf[R], m M, row func(M, analytics.Place) R, r *stream.Record, place analytics.Place) error {
	if err := decode(r.Value, m); err != nil {
		return err
	}
	*rows = append(*rows, row(m, place))
	return nil
}
