package main

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"forager/internal/frontier"
	"forager/internal/stream"
	"forager/internal/stream/stateful"
	"forager/schemas"
)

// Keys of the stage itself in a partition's Store; those of the frontier begin with another byte. "crawl"
// is a unit: CRAWL, or CRAWL/SHARD for a shard other than 0.
//
//	1 'm' crawl                        → state
//	1 'r' len(crawl) crawl seq         → a decision of the log that waits for its crawl
//	1 'c' crawl                        → the control record under which the shard was configured last
//	1 'l' crawl                        → offsets of links sent to other shards
//	1 'p' len(crawl) crawl offset      → a record of link.found that waits for its crawl
const (
	ownPrefix   = 1
	stateKind   = 'm'
	recoverKind = 'r'
	parkedKind  = 'p'
	sentKind    = 'l'
	controlKind = 'c'
)

// crawlState is the state that the stage itself keeps of a crawl.
type crawlState struct {
	// finished is the revision of the control record under which the crawl was found finished;
	// 0 = it is not.
	finished uint64
	// boundary is the last boundary sent, in pages.
	boundary uint64
	// spans are the offsets of the crawl's records by topic; also the counts of page.*, which the frontier does
	// not keep.
	spans map[string]*schemas.TopicSpan
	// rejected counts the pages that were rejected lately by their best class (CrawlStatus.rejected).
	rejected map[string]uint64
	// last is the status of a finished crawl; nil for others.
	last *schemas.CrawlStatus
}

const stateVersion = 1

func stateKey(crawl string) []byte { return append([]byte{ownPrefix, stateKind}, crawl...) }

func controlKey(crawl string) []byte { return append([]byte{ownPrefix, controlKind}, crawl...) }

func (m *crawlState) bytes() ([]byte, error) {
	b := []byte{stateVersion}
	b = binary.AppendUvarint(b, m.finished)
	b = binary.AppendUvarint(b, m.boundary)
	st := m.last
	if st == nil {
		st = &schemas.CrawlStatus{Spans: m.spans, Rejected: m.rejected}
	}
	return proto.MarshalOptions{Deterministic: true}.MarshalAppend(b, st)
}

func readState(b []byte) (*crawlState, error) {
	if len(b) == 0 || b[0] != stateVersion {
		return nil, stateful.OtherLayout(errors.New("another version"))
	}
	b = b[1:]
	m := new(crawlState)
	for _, n := range []*uint64{&m.finished, &m.boundary} {
		v, k := binary.Uvarint(b)
		if k <= 0 {
			return nil, errors.New("state of a crawl is cut short")
		}
		*n, b = v, b[k:]
	}
	s := new(schemas.CrawlStatus)
	if err := proto.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("state of a crawl: %w", err)
	}
	m.spans, m.rejected = s.GetSpans(), s.GetRejected()
	if m.spans == nil {
		m.spans = make(map[string]*schemas.TopicSpan)
	}
	if m.rejected == nil {
		m.rejected = make(map[string]uint64)
	}
	if m.finished > 0 {
		m.last = s
	}
	return m, nil
}

// wake notes that the crawl goes on.
func (m *crawlState) wake() { m.finished, m.last = 0, nil }

// note extends the span of a topic by one record.
func (m *crawlState) note(topic string, partition int, offset int64) {
	s := m.spans[topic]
	if s == nil {
		s = &schemas.TopicSpan{First: make(map[uint32]int64), Last: make(map[uint32]int64)}
		m.spans[topic] = s
	}
	if s.First == nil {
		s.First, s.Last = make(map[uint32]int64), make(map[uint32]int64)
	}
	p := uint32(partition)
	if first, ok := s.First[p]; !ok || offset < first {
		s.First[p] = offset
	}
	if last, ok := s.Last[p]; !ok || offset > last {
		s.Last[p] = offset
	}
}

// rejectedPages is the number of pages at which the counts of rejected ones are halved.
const rejectedPages = 200

// reject counts a page whose best class lies under no focus topic.
func (m *crawlState) reject(j *schemas.Judgement) {
	if j.GetBestIsFocus() || len(j.GetTopics()) == 0 {
		return
	}
	m.rejected[j.GetTopics()[0].GetTopic()]++
	sum := uint64(0)
	for _, n := range m.rejected {
		sum += n
	}
	for topic := range m.rejected {
		if sum < rejectedPages {
			break
		}
		if m.rejected[topic] /= 2; m.rejected[topic] == 0 {
			delete(m.rejected, topic)
		}
	}
}

// count counts the records that led to a verdict, by topic.
func (m *crawlState) count(id schemas.ID, trail []schemas.Place) {
	for _, at := range trail {
		m.note(at.Topic, int(at.Partition), at.Offset)
		s := m.spans[at.Topic]
		s.Count++
		s.Xor = id.Xor(s.Xor)
	}
}

// loadStates reads the states of every crawl of the partition.
func loadStates(store frontier.Store) (map[string]*crawlState, error) {
	states := make(map[string]*crawlState)
	from, to := []byte{ownPrefix, stateKind}, []byte{ownPrefix, stateKind + 1}
	err := store.Scan(from, to, func(key, value []byte) (bool, error) {
		m, err := readState(value)
		if err != nil {
			return false, fmt.Errorf("state of crawl %s: %w", key[2:], err)
		}
		states[string(key[2:])] = m
		return true, nil
	})
	return states, err
}

// pendingQueue is a queue in the store of the records of one crawl that wait until the crawl is ready.
type pendingQueue struct {
	store  frontier.Store
	prefix []byte
	// The records that wait are count of those numbered from first to next−1.
	first, next uint64
	count       int
}

func newPendingQueue(store frontier.Store, kind byte, crawl string) (*pendingQueue, error) {
	w := &pendingQueue{store: store, prefix: append([]byte{ownPrefix, kind, byte(len(crawl))}, crawl...)}
	err := store.Scan(w.key(0), w.key(1<<63), func(key, _ []byte) (bool, error) {
		if w.count++; w.count == 1 {
			w.first = binary.BigEndian.Uint64(key[len(key)-8:])
		}
		w.next = binary.BigEndian.Uint64(key[len(key)-8:]) + 1
		return true, nil
	})
	return w, err
}

func (w *pendingQueue) key(n uint64) []byte {
	return binary.BigEndian.AppendUint64(append([]byte(nil), w.prefix...), n)
}

// put adds a record at the end.
func (w *pendingQueue) put(r stream.Record) error {
	b, err := proto.Marshal(letterOf(r))
	if err != nil {
		return fmt.Errorf("park %s/%d offset %d: %w", r.Topic, r.Partition, r.Offset, err)
	}
	if err := w.store.Set(w.key(w.next), b); err != nil {
		return err
	}
	w.next++
	w.count++
	return nil
}

// take removes and returns the first n records.
func (w *pendingQueue) take(n int) ([]stream.Record, error) {
	var records []stream.Record
	var keys [][]byte
	if w.count == 0 {
		return nil, nil
	}
	err := w.store.Scan(w.key(w.first), w.key(w.next), func(key, value []byte) (bool, error) {
		letter := new(schemas.DeadLetter)
		if err := proto.Unmarshal(value, letter); err != nil {
			return false, fmt.Errorf("parked record %x: %w", key, err)
		}
		records = append(records, recordOf(letter))
		keys = append(keys, append([]byte(nil), key...))
		return len(records) < n, nil
	})
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("%d parked records are gone", w.count)
	}
	for _, key := range keys {
		if err := w.store.Delete(key); err != nil {
			return nil, err
		}
	}
	w.count -= len(records)
	w.first = binary.BigEndian.Uint64(keys[len(keys)-1][len(w.prefix):]) + 1
	return records, nil
}

// letterOf and recordOf keep a record in the form of a dead letter, which has a field for all
// of it.
func letterOf(r stream.Record) *schemas.DeadLetter {
	l := &schemas.DeadLetter{Topic: r.Topic, Partition: uint32(r.Partition), Offset: r.Offset, Key: r.Key, Value: r.Value}
	for k, v := range r.Headers {
		l.Headers = append(l.Headers, &schemas.Header{Key: k, Value: []byte(v)})
	}
	return l
}

func recordOf(l *schemas.DeadLetter) stream.Record {
	r := stream.Record{
		Topic: l.GetTopic(), Partition: int(l.GetPartition()), Offset: l.GetOffset(), Key: l.GetKey(), Value: l.GetValue(),
		Headers: make(map[string]string, len(l.GetHeaders())),
	}
	for _, h := range l.GetHeaders() {
		r.Headers[h.GetKey()] = string(h.GetValue())
	}
	return r
}
