package audit

import (
	"context"
	"encoding/binary"
	"strings"

	"google.golang.org/protobuf/proto"

	"forager/internal/web/scope"
	"forager/schemas"
)

// Case is the crawl to audit.
type Case struct {
	Control *schemas.CrawlControl
	// Scope is that of the control record, with its URL list.
	Scope *scope.Scope
	// Statuses are the newest of the shards, by their number.
	Statuses []*schemas.CrawlStatus
	// Sample is the sample of pages, rows and leaps to compare; nil = all.
	Sample *Sample
	// Taken reports, for a running crawl, whether prioritize had applied the record of link.found at a place
	// before anything else was read; nil = all.
	Taken func(place uint64) bool
}

// Place is the position of a record: its partition in the upper 16 bits, its offset below. Position is the
// index of a link in its record.
type Place struct {
	At       uint64
	Position uint32
}

// PlaceOf returns the place of an offset of a partition.
func PlaceOf(partition int, offset int64) uint64 { return uint64(partition)<<48 | uint64(offset) }

// Record is a record of a topic.
type Record struct {
	Place uint64
	// Message is nil for page.parsed.
	Message proto.Message
	ID      schemas.ID
	// Counted: the record counts in crawl.status. Unreadable: it cannot be decoded, and Message is what the
	// stage that read it substituted. Void: it is a dispatch of a replaced owner; no other field is set.
	Counted, Unreadable, Void bool
}

// Source yields the data of a crawl in the topics, the object store and ClickHouse.
type Source interface {
	// Way returns how a topic can be checked.
	Way(ctx context.Context, topic string) (Topic, error)
	// Records calls f for the records of the crawl in a topic, by partition and offset.
	Records(ctx context.Context, topic string, f func(*Record) error) error
	// Rows calls f for the rows of a table, in any order; only those of sample, unless it is nil.
	Rows(ctx context.Context, table Table, sample *Sample, f func(at Place, row []string) error) error
	// Segment reads a whole object. Until the next call Page reads its pages from memory.
	Segment(ctx context.Context, name string) (Segment, error)
	// Page reads a page by range.
	Page(ctx context.Context, f *schemas.PageFetched) StoredPage
	// Objects calls f for the names of all segments in the store.
	Objects(ctx context.Context, f func(name string) error) error
}

// StoredPage is a page read by range.
type StoredPage struct {
	// URL and Digest of the WARC record ("sha1:…" of the body as it was read).
	URL, Digest string
	Err         error
}

// Segment is an object that was read completely.
type Segment struct {
	Records int
	// Errs name the records that could not be read.
	Errs []error
}

// Sample is a random subset of all ids: those whose first 32 bits are in a window. Ids are hashes, so every
// record is in the sample with probability Share.
type Sample struct {
	Share float64 `json:"share"` // between 0 and 1, exclusive
	From  uint32  `json:"from"`  // start of the window
}

func (s *Sample) width() uint32 { return uint32(s.Share * (1 << 32)) }

// has reports whether an id is in the sample; a nil sample contains all.
func (s *Sample) has(id []byte) bool {
	return s == nil || len(id) < 4 || binary.BigEndian.Uint32(id)-s.From < s.width()
}

// HasRow reports whether the id of a row of ClickHouse is in the sample, or it has none.
func (s *Sample) HasRow(row []string) bool {
	text, _, _ := strings.Cut(row[0], " ")
	id, err := schemas.ParseHex(text)
	return err != nil || s.has(id[:])
}
