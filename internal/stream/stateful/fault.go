package stateful

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/stream"
	"forager/internal/stream/state"
	"forager/schemas"
)

// Faults of a Processor. When Step fails by itself (a panic, or an error that is not marked) the state may be half
// changed: the Store is closed and opened again at the last commit. A Processor names the record or crawl that it was
// processing (Guard, GuardRecord); where it does not, the records of the step are processed one by one. A record that
// fails twice is skipped: the Processor gets it without its value (Record.Skipped), and the record goes to dead.letter.
// A crawl with mostSkipped records skipped in a row, or that fails without a record, is parked: Store.Parked names it
// to the Processor, until its control record has a newer revision.
//
// Which records are skipped is kept in the Store, and in dead.letter, from which a new Store reads it. Parked crawls
// are kept in the Store only: parking only delays records, and a new Store parks the crawl again if it still fails.

const (
	triesAlone  = 2 // of a record, or of a crawl without records
	mostSkipped = 3
	maxFault    = 4 << 10 // most bytes of a fault's text that are stored
)

// blame is the crawl, and the record of the step, that an error of a Processor concerns.
type blame struct {
	crawl  string
	offset int64 // -1: no record
	err    error
}

func (e *blame) Error() string { return "crawl " + e.crawl + ": " + e.err.Error() }
func (e *blame) Unwrap() error { return e.err }

// Guard calls f for a crawl in a Processor. A panic is returned as an error; the error names the crawl.
func Guard(crawl string, f func() error) error { return guardFor(crawl, -1, f) }

// GuardRecord is Guard for a record of a crawl.
func GuardRecord(crawl string, r *stream.Record, f func() error) error {
	return guardFor(crawl, r.Offset, f)
}

func guardFor(crawl string, offset int64, f func() error) error {
	err := stream.Recovered(f)
	if err == nil || errors.As(err, new(*blame)) {
		return err
	}
	return &blame{crawl, offset, err}
}

// fault is an unmarked error of a Processor, with the records of the step.
type fault struct {
	records []stream.Record
	err     error
}

func (f *fault) Error() string { return f.err.Error() }
func (f *fault) Unwrap() error { return f.err }

// about returns the crawl that the fault concerns, "" if that is not known, and the record, nil if none is to blame.
// A step with one record concerns that record if the Processor names none.
func (f *fault) about() (crawl string, record *stream.Record) {
	b := (*blame)(nil)
	switch {
	case errors.As(f.err, &b):
		if i := slices.IndexFunc(f.records, func(r stream.Record) bool { return r.Offset == b.offset }); i >= 0 {
			record = &f.records[i]
		}
		return b.crawl, record
	case len(f.records) == 1:
		return f.records[0].Headers[schemas.HeaderCrawl], &f.records[0]
	}
	return "", nil
}

// guarded calls a method of the Processor. An error that is not marked becomes a fault.
func guarded(records []stream.Record, f func() error) error {
	err := stream.Recovered(f)
	if err != nil && stream.ClassOf(err) == stream.ClassRecord {
		return &fault{records, err}
	}
	return err
}

// ParkedCrawl is the reason why a crawl is parked.
type ParkedCrawl struct {
	Cause    string    `json:"cause"`
	Since    time.Time `json:"since"`
	Revision uint64    `json:"revision"` // revision of its control record when it was parked
}

// faults are the faults of a claim's Processor so far.
type faults struct {
	careful int64            // records below this offset are processed one by one
	alone   map[int64]int    // failures of records in a step of their own, by offset
	idle    map[string]int   // failures without records, by crawl
	skip    map[int64]string // records to be skipped: offset → cause
	skipped map[string]int   // records skipped in a row, by crawl
	park    map[string]string
}

func newFaults() *faults {
	return &faults{alone: make(map[int64]int), idle: make(map[string]int), skip: make(map[int64]string), skipped: make(map[string]int), park: make(map[string]string)}
}

// note decides how a fault is handled; false: it cannot be, and the process must stop.
func (f *faults) note(x *fault) (decision string, ok bool) {
	crawl, record := x.about()
	cause := x.err.Error()
	if len(cause) > maxFault {
		cause = cause[:maxFault]
	}
	parked := func() (string, bool) {
		if crawl == "" {
			return "stop", false
		}
		f.park[crawl] = cause
		return "the crawl is parked", true
	}
	if record == nil && crawl == "" && len(x.records) > 1 {
		f.careful = max(f.careful, x.records[len(x.records)-1].Offset+1)
		return "take the records one by one", true
	}
	if record == nil {
		if f.idle[crawl]++; f.idle[crawl] < triesAlone {
			return "try again", true
		}
		return parked()
	}
	offset := record.Offset
	if record.Skipped() {
		return parked()
	}
	if f.alone[offset]++; f.alone[offset] < triesAlone {
		return "try again", true
	}
	if f.skipped[crawl] >= mostSkipped {
		return parked()
	}
	f.skipped[crawl]++
	f.skip[offset] = cause
	return "the record is skipped", true
}

// passed notes that records were processed without a fault.
func (f *faults) passed(records []stream.Record) {
	for i := range records {
		if _, skipped := f.skip[records[i].Offset]; !skipped && len(f.skipped) > 0 {
			delete(f.skipped, records[i].Headers[schemas.HeaderCrawl])
		}
	}
	if len(records) == 0 {
		clear(f.idle)
	}
}

// skipped is a record that an Owner passes on without its value. written: its dead letter is written.
type skipped struct {
	Cause   string `json:"cause"`
	written bool
}

// loadSkipped reads the skipped records from the Store, or from dead.letter if the Store is new.
func (o *Owner) loadSkipped(ctx context.Context) error {
	o.skipped = make(map[int64]skipped)
	known, err := o.Store.skipped()
	if err != nil {
		return err
	}
	if known == nil && o.Letters != "" {
		known = make(map[int64]skipped)
		if err := o.readLetters(ctx, known); err != nil {
			return err
		}
	}
	for offset, x := range known {
		if offset >= o.marks.Input {
			x.written = true
			o.skipped[offset] = x
		}
	}
	for offset, cause := range o.Skip {
		if _, ok := o.skipped[offset]; !ok && offset >= o.marks.Input {
			o.skipped[offset] = skipped{Cause: cause}
		}
	}
	return o.Store.SetOwn(skippedKey, o.skipped)
}

// readLetters adds the records of this partition that a former owner skipped.
func (o *Owner) readLetters(ctx context.Context, known map[int64]skipped) error {
	n, err := o.Broker.Partitions(ctx, o.Letters)
	if err != nil {
		return err
	}
	for p := range n {
		first, end, err := o.Broker.Offsets(ctx, o.Letters, p)
		if err != nil {
			return err
		}
		err = o.Broker.Read(ctx, o.Letters, p, first, end, func(r stream.Record) error {
			letter := new(schemas.DeadLetter)
			if r.Headers[schemas.HeaderSkipped] == "" || proto.Unmarshal(r.Value, letter) != nil {
				return nil
			}
			if letter.GetStage() == o.Stage && letter.GetTopic() == o.Input && int(letter.GetPartition()) == o.Partition {
				known[letter.GetOffset()] = skipped{Cause: letter.GetError()}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// strip returns a skipped record without its value, and the dead letter about it if there is none yet.
func (o *Owner) strip(r stream.Record) (stream.Record, []stream.Out, error) {
	x, ok := o.skipped[r.Offset]
	if !ok {
		return r, nil, nil
	}
	var letters []stream.Out
	if !x.written {
		letter, err := stream.DeadLetter(o.Stage, r, errors.New(x.Cause), triesAlone)
		if err != nil {
			return r, nil, stream.Broken(err)
		}
		letter.Headers[schemas.HeaderSkipped] = "1"
		letters = append(letters, letter)
		o.Poison(&r, errors.New(x.Cause))
	}
	r.Value, r.Headers = nil, maps.Clone(r.Headers)
	r.Headers[schemas.HeaderSkipped] = x.Cause
	return r, letters, nil
}

// Store is the state of a partition, with its parked crawls and the records that were skipped.
type Store struct {
	*state.Store
	parked map[string]ParkedCrawl // see park
}

// OpenStore opens the Store in a directory, as state.Open does.
func OpenStore(o state.Options) (*Store, error) {
	s, err := state.Open(o)
	if err != nil {
		return nil, err
	}
	return &Store{Store: s}, nil
}

// Keys that the Store reserves for faults.
var (
	skippedKey = []byte("\x00skipped")
	parkedKey  = []byte("\x00parked")
)

func (s *Store) skipped() (map[int64]skipped, error) {
	var all map[int64]skipped // nil: the Store is new, or of a version that skipped none
	return all, s.Own(skippedKey, &all)
}

// Parked returns the parked crawls, by name, as of OpenStore or the last fault.
func (s *Store) Parked() map[string]ParkedCrawl { return s.parked }

// park reads the parked crawls, adds those of faults, and drops those whose control record is newer.
func (s *Store) park(more map[string]string, revision func(crawl string) uint64) error {
	s.parked = make(map[string]ParkedCrawl)
	if err := s.Own(parkedKey, &s.parked); err != nil {
		return err
	}
	if revision == nil {
		revision = func(string) uint64 { return 0 }
	}
	for _, crawl := range slices.Sorted(maps.Keys(s.parked)) {
		if revision(crawl) > s.parked[crawl].Revision {
			delete(s.parked, crawl)
		}
	}
	for crawl, cause := range more {
		s.parked[crawl] = ParkedCrawl{Cause: cause, Since: time.Now().UTC(), Revision: revision(crawl)}
	}
	return s.SetOwn(parkedKey, s.parked)
}

// errResume reports that a parked crawl is to be tried again.
var errResume = errors.New("a parked crawl is resumed")

// resumes reports whether a parked crawl has a newer control record.
func (s *Store) resumes(revision func(crawl string) uint64) bool {
	for crawl, x := range s.parked {
		if revision != nil && revision(crawl) > x.Revision {
			return true
		}
	}
	return false
}

// parkedCommit is the metadata of the commits of a partition with parked crawls, for Client.Parked.
func parkedCommit(crawls map[string]ParkedCrawl) string {
	if len(crawls) == 0 {
		return ""
	}
	var m stream.ParkedCommit
	for _, crawl := range slices.Sorted(maps.Keys(crawls)) {
		x := stream.Parked{Unit: crawl, Since: crawls[crawl].Since}
		x.Because(errors.New(crawls[crawl].Cause))
		m.Parked = append(m.Parked, x)
	}
	return m.String()
}
