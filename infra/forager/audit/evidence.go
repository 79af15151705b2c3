package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	"forager/internal/objects"
	"forager/internal/stream"
	"forager/internal/warc"
	"forager/schemas"
)

// Evidence is everything that the books say of one crawl.
type Evidence struct {
	Control *schemas.CrawlControl
	Status  *schemas.CrawlStatus
	// Records of each topic in the order of their partitions; void dispatches left out.
	Requests []*schemas.FetchRequest
	Fetched  []*schemas.PageFetched
	Judged   []*schemas.PageJudged
	Verdicts []*schemas.LinkFound
	Leaps    []*schemas.LeapSettled
	// Void are dispatches of owners that had been replaced, which nobody heeds.
	Void int
	// Pages are what the store has for each delivered page, by request id.
	Pages map[schemas.ID]StoredPage
	// Segments are the objects that the crawl names.
	Segments map[string]Segment
	// Rows of ClickHouse by table and id.
	Rows Tables
}

// StoredPage is a page as it was read by range.
type StoredPage struct {
	// URL and Digest of the WARC record ("sha1:…" of the body as it was read).
	URL, Digest string
	Err         error
}

// Segment is an object read from end to end.
type Segment struct {
	Records int
	// Errs name the records that could not be read.
	Errs []error
}

// Broker is what is read of Kafka.
type Broker interface {
	Partitions(ctx context.Context, topic string) (int, error)
	Offsets(ctx context.Context, topic string, partition int) (first, end int64, err error)
	Read(ctx context.Context, topic string, partition int, from, to int64, f func(stream.Record) error) error
}

// Gather reads all the evidence about a crawl.
func Gather(ctx context.Context, broker Broker, store *objects.Store, rows func(ctx context.Context, crawl string) (Tables, error), control *schemas.CrawlControl, status *schemas.CrawlStatus) (*Evidence, error) {
	e := &Evidence{Control: control, Status: status, Pages: make(map[schemas.ID]StoredPage), Segments: make(map[string]Segment)}
	for _, topic := range []string{
		schemas.TopicFetchRequested, schemas.TopicPageFetched, schemas.TopicPageJudged,
		schemas.TopicLinkFound, schemas.TopicLeapSettled,
	} {
		if err := e.readTopic(ctx, broker, topic); err != nil {
			return nil, fmt.Errorf("read topic %s: %w", topic, err)
		}
	}
	if err := e.readStore(ctx, store); err != nil {
		return nil, err
	}
	var err error
	if e.Rows, err = rows(ctx, control.GetCrawl()); err != nil {
		return nil, fmt.Errorf("read ClickHouse: %w", err)
	}
	return e, nil
}

func (e *Evidence) readTopic(ctx context.Context, broker Broker, topic string) error {
	n, err := broker.Partitions(ctx, topic)
	if err != nil {
		return err
	}
	for p := range n {
		first, end, err := broker.Offsets(ctx, topic, p)
		if err != nil {
			return err
		}
		epochs := make(map[string]uint64) // owner → highest epoch of a marker in this partition
		if err := broker.Read(ctx, topic, p, first, end, func(r stream.Record) error { return e.add(r, epochs) }); err != nil {
			return err
		}
	}
	return nil
}

// add keeps a record of the crawl. A record that cannot be decoded is in dead.letter, and the
// stage that could not read it has answered for it.
func (e *Evidence) add(r stream.Record, epochs map[string]uint64) error {
	if r.Topic == schemas.TopicFetchRequested {
		owner := r.Headers[schemas.HeaderOwner]
		epoch, err := strconv.ParseUint(r.Headers[schemas.HeaderEpoch], 10, 64)
		if r.Headers[schemas.HeaderID] == "" { // a claim or a marker
			if err == nil {
				epochs[owner] = max(epochs[owner], epoch)
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("offset %d: header %q: %w", r.Offset, schemas.HeaderEpoch, err)
		}
		if r.Headers[schemas.HeaderCrawl] == e.Control.GetCrawl() && epoch < epochs[owner] {
			e.Void++
			return nil
		}
	}
	if r.Headers[schemas.HeaderCrawl] != e.Control.GetCrawl() {
		return nil
	}
	m := schemas.Record(r.Topic)
	if proto.Unmarshal(r.Value, m) != nil {
		return nil
	}
	switch m := m.(type) {
	case *schemas.FetchRequest:
		e.Requests = append(e.Requests, m)
	case *schemas.PageFetched:
		e.Fetched = append(e.Fetched, m)
	case *schemas.PageJudged:
		m.Parsed = nil // it says nothing that the verdict does not
		e.Judged = append(e.Judged, m)
	case *schemas.LinkFound:
		m.Table = nil
		e.Verdicts = append(e.Verdicts, m)
	case *schemas.LeapSettled:
		e.Leaps = append(e.Leaps, m)
	}
	return nil
}

// readStore reads every delivered page by range, and every segment that holds one whole.
func (e *Evidence) readStore(ctx context.Context, store *objects.Store) error {
	for _, f := range e.Fetched {
		id, err := schemas.ParseID(f.GetId())
		if err != nil || f.GetOutcome() != schemas.Outcome_OUTCOME_DELIVERED {
			continue
		}
		if _, known := e.Pages[id]; known {
			continue
		}
		page, err := readPage(ctx, store, f)
		if errors.Is(err, objects.ErrUnavailable) {
			return err
		}
		page.Err = err
		e.Pages[id] = page
		if _, known := e.Segments[f.GetObject()]; known {
			continue
		}
		segment, err := readSegment(ctx, store, f.GetObject())
		if err != nil {
			return err
		}
		e.Segments[f.GetObject()] = segment
	}
	return nil
}

func readPage(ctx context.Context, store *objects.Store, f *schemas.PageFetched) (StoredPage, error) {
	b, err := store.Range(ctx, f.GetObject(), int64(f.GetOffset()), int64(f.GetLength()))
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

func readSegment(ctx context.Context, store *objects.Store, key string) (Segment, error) {
	b, err := store.Get(ctx, key)
	if errors.Is(err, objects.ErrUnavailable) {
		return Segment{}, err
	}
	if err != nil {
		return Segment{Errs: []error{err}}, nil
	}
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

// sorted returns the keys of a map of segments in order.
func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
