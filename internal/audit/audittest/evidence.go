package audittest

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/protobuf/proto"

	"forager/internal/audit"
	"forager/schemas"
)

// Evidence is an audit.Source in memory, which tests can alter.
type Evidence struct {
	audit.Case
	// Topics are the audited topics in the order of a page's journey.
	Topics []audit.Topic
	// Records of each topic in the order of their partitions; of page.parsed the ids.
	Requests []*schemas.FetchRequest
	Fetched  []*schemas.PageFetched
	Parsed   []schemas.ID
	Judged   []*schemas.PageJudged
	Verdicts []*schemas.LinkFound
	Leaps    []*schemas.LeapSettled
	Rankings []*schemas.HubRanked
	Rejudged []*schemas.PageRejudged
	// Unreadable are the ids, by topic, of records that cannot be decoded; their messages are what the stage
	// that could not read them substituted.
	Unreadable map[string][]schemas.ID
	// Pages and Segments are the contents of the store, by request and by name.
	Pages    map[schemas.ID]audit.StoredPage
	Segments map[string]audit.Segment
	// Tables are ClickHouse's rows.
	Tables Tables
}

// Tables are rows by the name of their table; a row is its columns as text.
type Tables map[string][][]string

// Collect reads everything that a source yields.
func Collect(ctx context.Context, c audit.Case, src audit.Source) (*Evidence, error) {
	e := &Evidence{Case: c, Unreadable: make(map[string][]schemas.ID), Pages: make(map[schemas.ID]audit.StoredPage), Segments: make(map[string]audit.Segment), Tables: make(Tables)}
	for _, topic := range audit.Read {
		if slices.Contains(audit.Audited, topic) {
			t, err := src.Way(ctx, topic)
			if err != nil {
				return nil, err
			}
			e.Topics = append(e.Topics, t)
		}
		if err := src.Records(ctx, topic, func(r *audit.Record) error { e.Add(topic, r); return nil }); err != nil {
			return nil, err
		}
	}
	for _, table := range append([]audit.Table{audit.Books, audit.Named}, audit.Compared...) {
		err := src.Rows(ctx, table, nil, func(_ audit.Place, row []string) error {
			e.Tables[table.Name] = append(e.Tables[table.Name], slices.Clone(row))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for _, f := range e.Fetched {
		if f.GetOutcome() != schemas.Outcome_OUTCOME_DELIVERED {
			continue
		}
		e.Pages[schemas.ID(f.GetId())] = src.Page(ctx, f)
		if _, known := e.Segments[f.GetObject()]; !known {
			s, err := src.Segment(ctx, f.GetObject())
			if err != nil {
				return nil, err
			}
			e.Segments[f.GetObject()] = s
		}
	}
	return e, nil
}

// Add adds a record of a topic.
func (e *Evidence) Add(topic string, r *audit.Record) {
	switch m := r.Message.(type) {
	case nil:
		if topic == schemas.TopicPageParsed && !r.Void {
			e.Parsed = append(e.Parsed, r.ID)
		}
	case *schemas.FetchRequest:
		e.Requests = append(e.Requests, m)
	case *schemas.PageFetched:
		e.Fetched = append(e.Fetched, m)
	case *schemas.PageJudged:
		m.Parsed = nil
		e.Judged = append(e.Judged, m)
	case *schemas.LinkFound:
		e.Verdicts = append(e.Verdicts, m)
	case *schemas.LeapSettled:
		e.Leaps = append(e.Leaps, m)
	case *schemas.HubRanked:
		e.Rankings = append(e.Rankings, m)
	case *schemas.PageRejudged:
		e.Rejudged = append(e.Rejudged, m)
	}
	if r.Unreadable {
		e.Unreadable[topic] = append(e.Unreadable[topic], schemas.ID(r.Message.(message).GetId()))
	}
}

// Judge audits the evidence.
func (e *Evidence) Judge(store audit.Store) (*audit.Result, error) {
	return audit.Audit(context.Background(), e.Case, e, store)
}

// Way returns what Topics contain.
func (e *Evidence) Way(_ context.Context, topic string) (audit.Topic, error) {
	for _, t := range e.Topics {
		if t.Topic == topic {
			return t, nil
		}
	}
	return audit.Topic{Topic: topic, Way: audit.ByRecords}, nil
}

// Records yields the records of a topic; the place of each is its index.
func (e *Evidence) Records(_ context.Context, topic string, f func(*audit.Record) error) error {
	var err error
	place := uint64(0)
	yield := func(m proto.Message, id []byte, counted bool) {
		parsed, idErr := schemas.ParseID(id)
		r := &audit.Record{Place: place, Message: m, ID: parsed, Counted: counted, Unreadable: idErr == nil && slices.Contains(e.Unreadable[topic], parsed)}
		if place++; err == nil {
			err = f(r)
		}
	}
	switch topic {
	case schemas.TopicFetchRequested:
		yieldAll(e.Requests, yield)
	case schemas.TopicPageFetched:
		yieldAll(e.Fetched, yield)
	case schemas.TopicPageParsed:
		for _, id := range e.Parsed {
			yield(nil, id[:], true)
		}
	case schemas.TopicPageJudged:
		yieldAll(e.Judged, yield)
	case schemas.TopicLinkFound:
		for _, v := range e.Verdicts {
			yield(v, v.GetId(), !schemas.BetweenShards(schemas.FoundIn(v)))
		}
	case schemas.TopicLeapSettled:
		yieldAll(e.Leaps, yield)
	case schemas.TopicHubRanked:
		yieldAll(e.Rankings, yield)
	case schemas.TopicPageRejudged:
		for _, m := range e.Rejudged {
			yield(m, m.GetRequest(), true)
		}
	}
	return err
}

// message is implemented by every audited message.
type message interface {
	proto.Message
	GetId() []byte
}

func yieldAll[R message](all []R, yield func(m proto.Message, id []byte, counted bool)) {
	for _, r := range all {
		yield(r, r.GetId(), true)
	}
}

// Rows yields the rows of a table; the place of each is its index.
func (e *Evidence) Rows(_ context.Context, table audit.Table, sample *audit.Sample, f func(at audit.Place, row []string) error) error {
	for i, row := range e.Tables[table.Name] {
		if !sample.HasRow(row) {
			continue
		}
		if err := f(audit.Place{At: uint64(i)}, row); err != nil {
			return err
		}
	}
	return nil
}

// Segment returns a segment.
func (e *Evidence) Segment(_ context.Context, name string) (audit.Segment, error) {
	return e.Segments[name], nil
}

// Page returns a page.
func (e *Evidence) Page(_ context.Context, f *schemas.PageFetched) audit.StoredPage {
	p, ok := e.Pages[schemas.ID(f.GetId())]
	if !ok {
		p.Err = errors.New("the store does not have it")
	}
	return p
}

// Objects lists the segments.
func (e *Evidence) Objects(_ context.Context, f func(name string) error) error {
	for name := range e.Segments {
		if err := f(name); err != nil {
			return err
		}
	}
	return nil
}
