package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"forager/internal/platform/archive"
	"forager/internal/platform/objects/objectstest/memory"
	"forager/internal/platform/pipeline"
	"forager/internal/stream"
	"forager/schemas"
)

// bucket is an object store in memory; tear, if set, returns how much of an upload is kept, and
// fail the error of a call.
type bucket struct {
	memory.Bucket
	tear func(key string, b []byte) []byte
	fail func(call, key string) error
}

func (b *bucket) Get(ctx context.Context, key string) ([]byte, error) {
	if b.fail != nil {
		if err := b.fail("get", key); err != nil {
			return nil, err
		}
	}
	return b.Bucket.Get(ctx, key)
}

func (b *bucket) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	if b.fail != nil {
		if err := b.fail("put", key); err != nil {
			return err
		}
	}
	if err := b.Bucket.Put(ctx, key, r, size); err != nil {
		return err
	}
	if b.tear != nil {
		b.Bucket[key] = b.tear(key, b.Bucket[key])
	}
	return nil
}

func newTestArchiver(t *testing.T) (*archiver, *bucket) {
	b := &bucket{Bucket: memory.Bucket{}}
	return newArchiver(b, t.TempDir(), slog.New(slog.DiscardHandler)), b
}

// count returns the value of a counter.
func count(t *testing.T, c prometheus.Counter) float64 {
	t.Helper()
	m := new(dto.Metric)
	if err := c.Write(m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}

// leaps are n records of a partition of leap.settled from an offset on.
func leaps(partition int, from, n int64) []stream.Record {
	var rs []stream.Record
	for o := from; o < from+n; o++ {
		value, err := proto.Marshal(&schemas.LeapSettled{Id: schemas.LeapID("c", "u", fmt.Sprint(o)).Bytes(), Crawl: "c", U: "u", V: fmt.Sprint(o), Trains: true, TargetRaw: .5})
		if err != nil {
			panic(err)
		}
		rs = append(rs, stream.Record{Topic: schemas.TopicLeapSettled, Partition: partition, Offset: o, Key: []byte("c"), Value: value,
			Headers: map[string]string{schemas.HeaderVersion: "1"}, Time: time.UnixMilli(1000 + o)})
	}
	return rs
}

// read replays a partition from the bucket.
func (b *bucket) read(t *testing.T, partition int) []int64 {
	t.Helper()
	s := archive.NewPartitionFiles(schemas.TopicLeapSettled, partition, slices.Sorted(maps.Keys(b.Bucket)))
	first, end := s.Span()
	var got []int64
	_, err := s.Replay(t.Context(), first, end, b.Get, func(error) bool { return false }, func(r archive.Record) error {
		got = append(got, r.Offset)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return got
}

func offsets(from, n int64) []int64 {
	var all []int64
	for o := from; o < from+n; o++ {
		all = append(all, o)
	}
	return all
}

func TestABatchBecomesAFileAPartition(t *testing.T) {
	a, b := newTestArchiver(t)
	batch := slices.Concat(leaps(1, 5, 3), leaps(0, 2, 4), leaps(1, 8, 2))
	batch = append(batch, stream.Record{Topic: schemas.TopicPageJudged, Partition: 0, Offset: 7, Value: []byte("\xff")})
	if err := a.keep(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if len(b.Bucket) != 3 {
		t.Errorf("objects %v", slices.Sorted(maps.Keys(b.Bucket)))
	}
	if got := b.read(t, 1); !slices.Equal(got, offsets(5, 5)) {
		t.Errorf("partition 1: %v", got)
	}
	// The same batch again, and one that ends elsewhere, as a second owner would make them.
	if err := a.keep(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if err := a.keep(t.Context(), leaps(1, 6, 9)); err != nil {
		t.Fatal(err)
	}
	if len(b.Bucket) != 4 {
		t.Errorf("objects %v", slices.Sorted(maps.Keys(b.Bucket)))
	}
	if got := b.read(t, 1); !slices.Equal(got, offsets(5, 10)) {
		t.Errorf("partition 1: %v", got)
	}
	if n := count(t, a.rows.WithLabelValues(schemas.TopicLeapSettled)); n != 27 {
		t.Errorf("%v rows are counted, want 27", n)
	}
}

// A store that keeps half of an upload, once: the file is there again under another name, and
// readers take that one.
func TestATornUploadIsUploadedAgain(t *testing.T) {
	a, b := newTestArchiver(t)
	torn := 0
	b.tear = func(key string, o []byte) []byte {
		if torn++; torn < 3 {
			return o[:len(o)/torn/2]
		}
		return o
	}
	if err := a.keep(t.Context(), leaps(0, 0, 20)); err != nil {
		t.Fatal(err)
	}
	if got := b.read(t, 0); !slices.Equal(got, offsets(0, 20)) || len(b.Bucket) != 3 {
		t.Errorf("%v in objects %v", got, slices.Sorted(maps.Keys(b.Bucket)))
	}
	if n := count(t, a.torn); n != 2 {
		t.Errorf("%v torn files are counted, want 2", n)
	}
	// What a killed process left torn is found by its successor, which makes the same file.
	b.tear = nil
	for key, o := range b.Bucket {
		b.Bucket[key] = o[:len(o)/2]
	}
	if err := a.keep(t.Context(), leaps(0, 0, 20)); err != nil {
		t.Fatal(err)
	}
	if got := b.read(t, 0); !slices.Equal(got, offsets(0, 20)) {
		t.Errorf("%v in objects %v", got, slices.Sorted(maps.Keys(b.Bucket)))
	}
}

func TestNothingIsCommittedThatCannotBeReadBack(t *testing.T) {
	a, b := newTestArchiver(t)
	b.tear = func(_ string, o []byte) []byte { return bytes.Replace(o, []byte("PAR1"), []byte("PAR2"), 1) }
	err := a.keep(t.Context(), leaps(0, 0, 20))
	if !stream.IsUnavailable(err) || !strings.Contains(err.Error(), "does not give back") || len(b.Bucket) != copies {
		t.Errorf("%d objects, error %v", len(b.Bucket), err)
	}
	away := errors.New("away")
	for _, call := range []string{"put", "get"} {
		a, b := newTestArchiver(t)
		b.fail = func(c, _ string) error {
			if c == call {
				return away
			}
			return nil
		}
		if err := a.keep(t.Context(), leaps(0, 0, 20)); !stream.IsUnavailable(err) || !errors.Is(err, away) {
			t.Errorf("%s fails: %v", call, err)
		}
		b.fail = nil // it is back
		if err := a.keep(t.Context(), leaps(0, 0, 20)); err != nil || len(b.Bucket) != 1 {
			t.Errorf("afterwards %d objects, error %v", len(b.Bucket), err)
		}
	}
	a.dir = "/dev/null/no-folder"
	if err := a.keep(t.Context(), leaps(0, 0, 20)); !stream.IsUnavailable(err) {
		t.Errorf("no folder for temporary files: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	a, b = newTestArchiver(t)
	b.fail = func(string, string) error { cancel(); return away }
	if err := a.keep(ctx, leaps(0, 0, 20)); !errors.Is(err, context.Canceled) || stream.IsUnavailable(err) {
		t.Errorf("called off: %v", err)
	}
}

// TestSettingsBoundABatch: the records in memory are bounded by file_bytes, however many wait in the
// topics.
func TestSettingsBoundABatch(t *testing.T) {
	a, _ := newTestArchiver(t)
	b := batches(&pipeline.ArchiveParquet{FileBytes: 9 << 20, FileAge: 5 * time.Second}, a)
	if b.MaxBytes != 9<<20 || b.Flush != 5*time.Second || b.MaxRecords != math.MaxInt {
		t.Errorf("batches %+v", b)
	}
}
