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
	"forager/internal/scope"
	"forager/internal/segment"
	"forager/internal/stream"
	"forager/internal/warc"
	"forager/schemas"
)

// Evidence is everything that the books say of one crawl.
type Evidence struct {
	Control *schemas.CrawlControl
	// Scope is the control record's, with its URL list.
	Scope *scope.Scope
	// Statuses are the last words of the shards, by their number.
	Statuses []*schemas.CrawlStatus
	// Topics are the audited topics in the order of a page's journey.
	Topics []Topic
	// Records of each topic in the order of their partitions, or ClickHouse's rows for them; void
	// dispatches left out. Of page.parsed, which page.judged holds, only ids are looked at.
	Requests []*schemas.FetchRequest
	Fetched  []*schemas.PageFetched
	Judged   []*schemas.PageJudged
	// Verdicts hold what shards sent one another, too: links, of which the verdict on their page
	// speaks as well.
	Verdicts []*schemas.LinkFound
	Leaps    []*schemas.LeapSettled
	// Rankings are the hubs and authorities that the topic still holds: of each shard the newest ones at least.
	Rankings []*schemas.HubRanked
	// Unreadable are the ids, by topic, of records that cannot be decoded. In their place stands
	// above what the stage that could not read them answered.
	Unreadable map[string][]schemas.ID
	// Void are dispatches of owners that had been replaced, which nobody heeds.
	Void int
	// Pages are what the store has for each delivered page, by request id.
	Pages map[schemas.ID]StoredPage
	// Segments are the objects that the crawl names.
	Segments map[string]Segment
	// Orphans are segments that no record of any crawl names, or not yet.
	Orphans int
	// Rows of ClickHouse by view.
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

// Gather reads all the evidence about a crawl. Records that are not retained are made from
// ClickHouse's rows.
func Gather(ctx context.Context, broker Broker, store *objects.Store, rows func(ctx context.Context, crawl string) (Tables, error), control *schemas.CrawlControl, statuses []*schemas.CrawlStatus) (*Evidence, error) {
	e := &Evidence{
		Control: control, Statuses: statuses, Unreadable: make(map[string][]schemas.ID),
		Pages: make(map[schemas.ID]StoredPage), Segments: make(map[string]Segment),
	}
	var err error
	if e.Scope, err = readScope(ctx, store, control.GetScope()); err != nil {
		return nil, err
	}
	if e.Rows, err = rows(ctx, control.GetCrawl()); err != nil {
		return nil, fmt.Errorf("read ClickHouse: %w", err)
	}
	for _, topic := range audited {
		t, err := e.wayOf(ctx, broker, topic)
		if err == nil && t.Way == ByRecords {
			t.Found, err = e.readTopic(ctx, broker, topic)
		} else if err == nil {
			err = e.rebuild(topic)
		}
		if err != nil {
			return nil, fmt.Errorf("topic %s: %w", topic, err)
		}
		e.Topics = append(e.Topics, t)
	}
	if _, err := e.readTopic(ctx, broker, schemas.TopicHubRanked); err != nil {
		return nil, fmt.Errorf("topic %s: %w", schemas.TopicHubRanked, err)
	}
	if err := e.readStore(ctx, store); err != nil {
		return nil, err
	}
	return e, e.countOrphans(ctx, store)
}

// countOrphans counts the segments that nobody names: a fetch that ended between storing one and
// sending its records leaves one behind.
func (e *Evidence) countOrphans(ctx context.Context, store *objects.Store) error {
	named := make(map[string]bool, len(e.Segments))
	for name := range e.Segments {
		named[name] = true
	}
	for _, row := range e.Rows[Named.Name] {
		named[row[0]] = true
	}
	for object, err := range store.List(ctx, segment.Prefix) {
		if err != nil {
			return fmt.Errorf("list %s: %w", segment.Prefix, err)
		}
		if !named[object.Key] {
			e.Orphans++
		}
	}
	return nil
}

func readScope(ctx context.Context, store *objects.Store, s *schemas.Scope) (*scope.Scope, error) {
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

// reading is one topic as it is read.
type reading struct {
	*Evidence
	found Count
	// seen are the keys and ids met.
	seen map[schemas.ID]bool
	// epochs are the highest epochs of markers in the partition, by owner.
	epochs map[string]uint64
}

func (e *Evidence) readTopic(ctx context.Context, broker Broker, topic string) (Count, error) {
	n, err := broker.Partitions(ctx, topic)
	if err != nil {
		return Count{}, err
	}
	r := &reading{Evidence: e, seen: make(map[schemas.ID]bool)}
	for p := range n {
		first, end, err := broker.Offsets(ctx, topic, p)
		if err != nil {
			return Count{}, err
		}
		r.epochs = make(map[string]uint64)
		if err := broker.Read(ctx, topic, p, first, end, r.take); err != nil {
			return Count{}, err
		}
	}
	return r.found, nil
}

// take keeps a record of the crawl.
func (e *reading) take(r stream.Record) error {
	if r.Topic == schemas.TopicFetchRequested {
		if valid, err := e.valid(r); err != nil || !valid {
			return err
		}
	}
	if r.Headers[schemas.HeaderCrawl] != e.Control.GetCrawl() {
		return nil
	}
	if r.Topic == schemas.TopicPageParsed {
		if id, err := schemas.ParseHex(r.Headers[schemas.HeaderID]); err == nil {
			e.first(id)
		}
		return nil
	}
	m := schemas.Record(r.Topic)
	if r.Headers[schemas.HeaderFrom] != "" { // among shards: nobody counts it
		if proto.Unmarshal(r.Value, m) == nil {
			e.keep(m)
		}
		return nil
	}
	if err := proto.Unmarshal(r.Value, m); err != nil {
		request, herr := schemas.RequestFromHeaders(r.Headers)
		if m = standIn(r.Topic, request); herr != nil || m == nil {
			return nil // it answers for nothing; it is in dead.letter
		}
		if id := schemas.ID(request.GetId()); e.first(id) {
			e.Unreadable[r.Topic] = append(e.Unreadable[r.Topic], id)
		}
		e.keep(m)
		return nil
	}
	if id, err := schemas.ParseID(m.(record).GetId()); err == nil {
		e.first(id)
	}
	e.keep(m)
	return nil
}

// first counts a record where it is the first of its id.
func (e *reading) first(id schemas.ID) bool {
	if e.seen[id] {
		return false
	}
	e.seen[id] = true
	e.found.add(1, id.Bytes())
	return true
}

// valid says whether a record of the decision log is a dispatch that counts.
func (e *reading) valid(r stream.Record) (bool, error) {
	owner := r.Headers[schemas.HeaderOwner]
	epoch, err := strconv.ParseUint(r.Headers[schemas.HeaderEpoch], 10, 64)
	if r.Headers[schemas.HeaderID] == "" { // a claim or a marker
		if err == nil {
			e.epochs[owner] = max(e.epochs[owner], epoch)
		}
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("offset %d: header %q: %w", r.Offset, schemas.HeaderEpoch, err)
	}
	if epoch < e.epochs[owner] {
		if r.Headers[schemas.HeaderCrawl] == e.Control.GetCrawl() {
			e.Void++
		}
		return false, nil
	}
	return true, nil
}

// standIn is what the stage that reads a topic makes of a record that it cannot decode.
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

func (e *Evidence) keep(m proto.Message) {
	switch m := m.(type) {
	case *schemas.FetchRequest:
		e.Requests = append(e.Requests, m)
	case *schemas.PageFetched:
		e.Fetched = append(e.Fetched, m)
	case *schemas.PageJudged:
		m.Parsed = nil // it says nothing that the verdict does not
		e.Judged = append(e.Judged, m)
	case *schemas.LinkFound:
		if m.GetRole() == schemas.LinkRole_LINK_ROLE_NOTE {
			return
		}
		m.Table = nil
		e.Verdicts = append(e.Verdicts, m)
	case *schemas.LeapSettled:
		e.Leaps = append(e.Leaps, m)
	case *schemas.HubRanked:
		e.Rankings = append(e.Rankings, m)
	}
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
