package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"google.golang.org/protobuf/proto"

	"forager/internal/platform/objects"
	"forager/internal/platform/segment"
	"forager/internal/stream"
	"forager/internal/web/scope"
	"forager/internal/web/warc"
	"forager/schemas"
)

// Broker is the part of kafka.Client that an audit uses.
type Broker interface {
	Partitions(ctx context.Context, topic string) (int, error)
	Offsets(ctx context.Context, topic string, partition int) (first, end int64, err error)
	Read(ctx context.Context, topic string, partition int, from, to int64, f func(stream.Record) error) error
}

// Live is the Source that reads Kafka, the object store and ClickHouse.
type Live struct {
	Case
	Broker Broker
	Store  *objects.Store
	// Query runs a query of ClickHouse whose columns are text.
	Query func(ctx context.Context, sql string, params map[string]any, f func(row []string) error) error
	// Ends are the offsets up to which topics are read, by partition; nil = to their ends.
	Ends map[string][]int64

	segment string // the last one read
	bytes   []byte
}

// Way checks whether the broker still retains all records of the crawl.
func (l *Live) Way(ctx context.Context, topic string) (Topic, error) {
	t, err := l.wayOf(ctx, l.Broker, topic)
	t.Ends = l.Ends[topic]
	return t, err
}

// ReadScope returns the scope of a control record, with its URL list.
func ReadScope(ctx context.Context, store *objects.Store, s *schemas.Scope) (*scope.Scope, error) {
	var list *scope.List
	if key := s.GetUrlList(); key != "" {
		b, err := store.Get(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("the crawl's URL list: %w", err)
		}
		if list, err = scope.ReadList(bytes.NewReader(b)); err != nil {
			return nil, fmt.Errorf("the crawl's URL list %s: %w", key, err)
		}
	}
	return scope.New(s, list)
}

// reading is the state of reading one partition of a topic.
type reading struct {
	crawl string
	// epochs are the highest epochs of markers in the partition, by owner.
	epochs map[string]uint64
	found  func(*Record) error
}

// Records reads a topic.
func (l *Live) Records(ctx context.Context, topic string, f func(*Record) error) error {
	n, err := l.Broker.Partitions(ctx, topic)
	if err != nil {
		return err
	}
	for p := range n {
		first, end, err := l.Broker.Offsets(ctx, topic, p)
		if err != nil {
			return err
		}
		if ends := l.Ends[topic]; p < len(ends) {
			end = min(end, ends[p])
		}
		r := &reading{crawl: l.Control.GetCrawl(), epochs: make(map[string]uint64), found: f}
		if err := l.Broker.Read(ctx, topic, p, first, max(first, end), r.take); err != nil {
			return err
		}
	}
	return nil
}

// take yields a record of the crawl.
func (e *reading) take(r stream.Record) error {
	mine := r.Headers[schemas.HeaderCrawl] == e.crawl
	out := &Record{Place: PlaceOf(r.Partition, r.Offset), Counted: true}
	if r.Topic == schemas.TopicFetchRequested {
		valid, void, err := e.valid(r)
		if err != nil {
			return err
		}
		if void && mine {
			return e.found(&Record{Void: true})
		}
		if !valid {
			return nil
		}
	}
	if !mine {
		return nil
	}
	var err error
	if r.Topic == schemas.TopicPageParsed {
		if out.ID, err = schemas.ParseHex(r.Headers[schemas.HeaderID]); err != nil {
			return nil
		}
		return e.found(out)
	}
	m := schemas.Record(r.Topic)
	err = proto.Unmarshal(r.Value, m)
	out.Message = m
	if r.Headers[schemas.HeaderFrom] != "" { // between shards: not counted
		if err != nil {
			return nil
		}
		out.Counted = false
		return e.found(out)
	}
	if err != nil {
		request, herr := schemas.RequestFromHeaders(r.Headers)
		if m = standIn(r.Topic, request); herr != nil || m == nil {
			return nil // it ends no request; it is in dead.letter
		}
		out.Message, out.Unreadable = m, true
	}
	return e.found(out)
}

// valid reports whether a record of fetch.requested is a dispatch that counts, and whether it is one of a replaced owner.
func (e *reading) valid(r stream.Record) (valid, void bool, err error) {
	owner := r.Headers[schemas.HeaderOwner]
	epoch, err := strconv.ParseUint(r.Headers[schemas.HeaderEpoch], 10, 64)
	if r.Headers[schemas.HeaderID] == "" { // an owner claim or an epoch marker
		if err == nil {
			e.epochs[owner] = max(e.epochs[owner], epoch)
		}
		return false, false, nil
	}
	if err != nil {
		return false, false, fmt.Errorf("offset %d: header %q: %w", r.Offset, schemas.HeaderEpoch, err)
	}
	return epoch >= e.epochs[owner], epoch < e.epochs[owner], nil
}

// standIn returns what the stage that reads a topic makes of a record that it cannot decode.
func standIn(topic string, r *schemas.FetchRequest) proto.Message {
	switch topic {
	case schemas.TopicPageFetched:
		return &schemas.PageFetched{Id: r.GetId(), Crawl: r.GetCrawl(), Url: r.GetUrl(), Outcome: schemas.Outcome_OUTCOME_FAILED_PARSE_DOM}
	case schemas.TopicPageJudged:
		return &schemas.PageJudged{Id: r.GetId(), Crawl: r.GetCrawl(), Outcome: schemas.Outcome_OUTCOME_FAILED_FEATURE_EXTRACT}
	case schemas.TopicLinkFound:
		return &schemas.LinkFound{Id: r.GetId(), Crawl: r.GetCrawl(), Shard: r.GetShard(), Url: r.GetUrl(), Outcome: schemas.Outcome_OUTCOME_FAILED_FEATURE_EXTRACT}
	}
	return nil
}

// Objects lists the segments of the store.
func (l *Live) Objects(ctx context.Context, f func(name string) error) error {
	for object, err := range l.Store.List(ctx, segment.Prefix) {
		if err != nil {
			return fmt.Errorf("list %s: %w", segment.Prefix, err)
		}
		if err := f(object.Key); err != nil {
			return err
		}
	}
	return nil
}

// Page reads a page of the last segment, or of another one by range.
func (l *Live) Page(ctx context.Context, f *schemas.PageFetched) StoredPage {
	page, err := l.page(ctx, f)
	page.Err = err
	return page
}

func (l *Live) page(ctx context.Context, f *schemas.PageFetched) (StoredPage, error) {
	var b []byte
	var err error
	from, to := f.GetOffset(), f.GetOffset()+f.GetLength()
	switch {
	case l.segment == "" || f.GetObject() != l.segment:
		b, err = l.Store.Range(ctx, f.GetObject(), int64(from), int64(f.GetLength()))
	case from > to || to > uint64(len(l.bytes)):
		err = fmt.Errorf("the object has %d bytes", len(l.bytes))
	default:
		b = l.bytes[from:to]
	}
	if err != nil {
		return StoredPage{}, err
	}
	record, block, err := warc.ReadOne(b, warc.Limits{})
	if err != nil {
		return StoredPage{}, err
	}
	answer, err := warc.ParseResponse(block)
	if err != nil {
		return StoredPage{}, err
	}
	return StoredPage{URL: record.TargetURI, Digest: warc.Digest(answer.Body)}, nil
}

// Segment reads a whole object, and keeps its bytes for Page.
func (l *Live) Segment(ctx context.Context, name string) (Segment, error) {
	l.segment, l.bytes = "", nil
	b, err := l.Store.Get(ctx, name)
	if errors.Is(err, objects.ErrUnavailable) || ctx.Err() != nil {
		return Segment{}, err
	}
	if err != nil {
		return Segment{Errs: []error{err}}, nil
	}
	l.segment, l.bytes = name, b
	var s Segment
	r := warc.NewReader(bytes.NewReader(b), int64(len(b)), warc.Limits{})
	for {
		record, err := r.Next()
		if err == io.EOF {
			return s, nil
		}
		var damaged *warc.DamagedError
		if errors.As(err, &damaged) {
			s.Errs = append(s.Errs, err)
			continue
		}
		if err != nil {
			s.Errs = append(s.Errs, err)
			return s, nil
		}
		s.Records++
		if _, err := io.Copy(io.Discard, record.Block); err != nil {
			s.Errs = append(s.Errs, err)
		}
	}
}
