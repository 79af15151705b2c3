package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// PartitionFiles has the files of one partition of a topic.
type PartitionFiles struct {
	topic     string
	partition int
	files     []Name // by first offset, then the longest first
	// Foreign are objects of the same prefix that the archive did not write.
	Foreign []string
}

// NewPartitionFiles returns the files of a partition among the objects with Prefix(topic).
func NewPartitionFiles(topic string, partition int, keys []string) *PartitionFiles {
	s := &PartitionFiles{topic: topic, partition: partition}
	for _, key := range keys {
		n, err := ParseName(key)
		switch {
		case err != nil || n.Topic != topic:
			s.Foreign = append(s.Foreign, key)
		case n.Partition == partition:
			s.files = append(s.files, n)
		}
	}
	slices.SortFunc(s.files, func(a, b Name) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(b.Last, a.Last), cmp.Compare(a.Copy, b.Copy))
	})
	return s
}

// Span returns the offset of the first record and the one after the last; 0 and 0 without files.
func (s *PartitionFiles) Span() (first, end int64) {
	for i, f := range s.files {
		if i == 0 {
			first = f.First
		}
		end = max(end, f.Last+1)
	}
	return first, end
}

// Gap is a range of offsets, first and last, that no file covers.
type Gap struct{ First, Last int64 }

// MissingError reports the records that cannot be read from the archive, and why.
type MissingError struct {
	Topic     string
	Partition int
	Gap
	// Causes are the faults of the files that should have them; none if there is no file.
	Causes []error
}

func (e *MissingError) Error() string {
	what := fmt.Sprintf("%s/%d: the archive lacks offsets %d to %d", e.Topic, e.Partition, e.First, e.Last)
	if len(e.Causes) == 0 {
		return what + ": their files were deleted or never written; read these records from the topic while it retains them, or restore the files"
	}
	return fmt.Sprintf("%s: %v; restore the files from a copy, or read these records from the topic while it retains them", what, errors.Join(e.Causes...))
}

func (e *MissingError) Unwrap() []error { return e.Causes }

// ConflictError reports that two files have different records under one offset: the topic was
// recreated at some time, and its offsets began again.
type ConflictError struct {
	A, B   Name
	Offset int64
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s and %s hold different records at offset %d: the topic was created again after the older one was written; move the files of the old topic to another bucket or prefix",
		e.A.Key(), e.B.Key(), e.Offset)
}

// Report has the statistics of a replay.
type Report struct {
	// Files read, Records passed on, and Doubles, records that existed more than once.
	Files, Records, Doubles int
	// Damaged are the faults of files instead of which others were read.
	Damaged []error
}

// Replay calls f for each record with from ≤ offset < to, in order, each offset once: where files
// overlap, their records are compared and the first is taken. get fetches an object; its errors,
// except those that a missing function recognises, end the replay. One file is in memory at a time,
// and a second one where two overlap.
//
// Offsets that no readable file has are a *MissingError, records that differ a *ConflictError. An
// error of f ends the replay.
func (s *PartitionFiles) Replay(ctx context.Context, from, to int64, get func(ctx context.Context, key string) ([]byte, error), missing func(error) bool, f func(Record) error) (Report, error) {
	r := &replay{files: s, get: get, missing: missing, bad: make(map[Name]error), done: make(map[Name]bool)}
	for from < to {
		n, records, err := r.open(ctx, from)
		if err != nil {
			return r.report, err
		}
		if records == nil { // nothing begins before to
			return r.report, r.lacks(from, to)
		}
		if err := r.compare(ctx, n, records); err != nil {
			return r.report, err
		}
		for i := range records {
			if records[i].Offset < from {
				continue
			}
			if records[i].Offset >= to {
				return r.report, nil
			}
			r.report.Records++
			if err := f(records[i]); err != nil {
				return r.report, err
			}
		}
		from = n.Last + 1
	}
	return r.report, nil
}

// replay is the state of one replay.
type replay struct {
	files   *PartitionFiles
	get     func(ctx context.Context, key string) ([]byte, error)
	missing func(error) bool
	// bad are files that cannot be read, done those that were compared with all others.
	bad    map[Name]error
	done   map[Name]bool
	report Report
}

// open reads a file with the offset, the one with the largest last offset; nil records if there is
// none.
func (r *replay) open(ctx context.Context, offset int64) (Name, []Record, error) {
	var covering []Name
	for _, f := range r.files.files {
		if f.First <= offset && offset <= f.Last && r.bad[f] == nil {
			covering = append(covering, f)
		}
	}
	slices.SortStableFunc(covering, func(a, b Name) int { return cmp.Compare(b.Last, a.Last) })
	for _, f := range covering {
		records, err := r.read(ctx, f)
		if err != nil {
			return f, nil, err
		}
		if records != nil {
			return f, records, nil
		}
	}
	return Name{}, nil, nil
}

// read reads a file; nil if it is damaged or missing, which is noted.
func (r *replay) read(ctx context.Context, n Name) ([]Record, error) {
	data, err := r.get(ctx, n.Key())
	var records []Record
	switch {
	case err == nil:
		records, err = Read(n, data)
	case r.missing(err):
		err = fmt.Errorf("%s: %w", n.Key(), err)
	default:
		return nil, fmt.Errorf("%s: %w", n.Key(), err)
	}
	if err != nil {
		r.bad[n] = err
		r.report.Damaged = append(r.report.Damaged, err)
		return nil, nil
	}
	r.report.Files++
	return records, nil
}

// compare compares the records of a file with those of the files that overlap it.
func (r *replay) compare(ctx context.Context, n Name, records []Record) error {
	r.done[n] = true
	var seen map[int64][8]byte
	for _, f := range r.files.files {
		if f == n || r.done[f] || r.bad[f] != nil || f.Last < n.First || f.First > n.Last || f.Digest == n.Digest {
			continue
		}
		if seen == nil {
			seen = make(map[int64][8]byte, len(records))
			for i := range records {
				seen[records[i].Offset] = fingerprint(&records[i])
			}
		}
		others, err := r.read(ctx, f)
		if err != nil {
			return err
		}
		for i := range others {
			mark, ok := seen[others[i].Offset]
			if !ok {
				continue
			}
			r.report.Doubles++
			if mark != fingerprint(&others[i]) {
				return &ConflictError{A: n, B: f, Offset: others[i].Offset}
			}
		}
	}
	return nil
}

// lacks returns the error for those offsets from ≤ offset < to that cannot be read.
func (r *replay) lacks(from, to int64) error {
	for _, f := range r.files.files {
		if f.First > from && r.bad[f] == nil {
			to = min(to, f.First)
		}
	}
	e := &MissingError{Topic: r.files.topic, Partition: r.files.partition, Gap: Gap{from, to - 1}}
	for _, f := range r.files.files {
		if err := r.bad[f]; err != nil && f.First < to && f.Last >= from {
			e.Causes = append(e.Causes, err)
		}
	}
	return e
}
