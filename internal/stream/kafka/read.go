package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"

	"forager/internal/stream"
)

const (
	FetchBytes    = 1 << 20 // of one response, compressed; a larger batch comes whole
	maxFetchBytes = 64 << 20
	FetchWait     = 3 * time.Second // a broker responds to a fetch after it, also without records; with .5 s an idle deployment takes 1.4 times the CPU
	// LongestFetchWait leaves time for the response within requestTimeout.
	LongestFetchWait = 5 * time.Second
)

// Chunk is the result of one fetch: records in order, the offset to continue at, and the offset
// after the partition's last record.
type Chunk struct {
	Records   []stream.Record
	Next, End int64
}

// Source is a partition to read from an offset up to another; group is the group whose offset From
// is, for errors.
type Source struct {
	Topic     string
	Partition int
	From, To  int64
	group     string
	// Least is the number of bytes that the broker waits for; 0 = any. Wait is how long it does; 0 = FetchWait.
	Least int64
	Wait  time.Duration
}

// Endless is the end of a source that is read without end.
const Endless = math.MaxInt64

// reader reads partitions without a consumer group.
type reader struct{ *cluster }

// Read calls f for each record of a partition with from <= offset < to, in order. Offsets that the
// partition does not have are an *OffsetError. An error of f ends the read and is returned.
func (rd *reader) Read(ctx context.Context, topic string, partition int, from, to int64, f func(stream.Record) error) error {
	if from >= to {
		return nil
	}
	first, end, err := rd.Offsets(ctx, topic, partition)
	if err != nil {
		return err
	}
	for _, at := range []int64{from, to} {
		if at < first || at > end {
			return &stream.OffsetError{Topic: topic, Partition: partition, Offset: at, First: first, End: end}
		}
	}
	return rd.Consume(ctx, Source{Topic: topic, Partition: partition, From: from, To: to}, func(ch Chunk) error {
		for _, r := range ch.Records {
			if err := r.CheckVersion(); err != nil {
				return err
			}
			if err := f(r); err != nil {
				return err
			}
		}
		return nil
	})
}

// Consume calls f for each chunk of the source until its end, an error of f or the end of ctx. The
// next chunk is fetched while f works.
func (rd *reader) Consume(ctx context.Context, s Source, f func(Chunk) error) error {
	ctx, cancel := context.WithCancel(ctx)
	chunks := make(chan Chunk)
	fetched := make(chan error, 1)
	go func() {
		defer close(chunks)
		fetched <- rd.fetchAll(ctx, s, chunks)
	}()
	var err error
	for ch := range chunks {
		if err = f(ch); err != nil {
			break
		}
	}
	cancel()
	if ferr := <-fetched; err == nil {
		err = ferr
	}
	return err
}

func (rd *reader) fetchAll(ctx context.Context, s Source, chunks chan<- Chunk) error {
	maxBytes := int64(FetchBytes)
	w := rd.Waiting(func() string { return fmt.Sprintf("records of %s/%d", s.Topic, s.Partition) })
	defer w.Over()
	for s.From < s.To {
		ch, err := rd.fetch(ctx, s, maxBytes)
		switch class := rd.failed(err); {
		case err == nil:
			w.Over()
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, kafka.OffsetOutOfRange):
			first, end, err := rd.Offsets(ctx, s.Topic, s.Partition)
			if err != nil {
				return err
			}
			if s.From < first && rd.topics[s.Topic].Compact {
				s.From = first // what compaction removed has a newer record
				continue
			}
			if s.From < first || s.From > end {
				return &stream.OffsetError{Topic: s.Topic, Partition: s.Partition, Offset: s.From, First: first, End: end, Group: s.group}
			}
			continue // a new leader had not caught up for a moment
		case class == stream.ClassBroken:
			return stream.Broken(fmt.Errorf("read %s/%d: %w", s.Topic, s.Partition, err))
		default:
			rd.Metrics.Failed(class)
			if err := w.Wait(ctx, err); err != nil {
				return err
			}
			continue
		}
		if ch.Next == s.From {
			if s.From < ch.End { // there are records and none came: one may be larger than the requested size
				maxBytes = min(2*maxBytes, maxFetchBytes)
			}
			if len(ch.Records) == 0 && s.To != Endless {
				continue
			}
		} else {
			maxBytes = FetchBytes
		}
		s.From = ch.Next
		select {
		case chunks <- ch:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// fetch makes one request.
func (rd *reader) fetch(ctx context.Context, s Source, maxBytes int64) (Chunk, error) {
	r, err := rd.kafka.Fetch(ctx, &kafka.FetchRequest{
		Topic: s.Topic, Partition: s.Partition, Offset: s.From,
		MinBytes: max(1, s.Least), MaxBytes: max(maxBytes, s.Least), MaxWait: cmp.Or(s.Wait, FetchWait),
	})
	if err != nil {
		return Chunk{}, err
	}
	if r.Error != nil {
		return Chunk{}, r.Error
	}
	ch := Chunk{Next: s.From, End: r.HighWatermark}
	seen := int64(-1)
	for _, batch := range batchesOf(r.Records) {
		_, control := batch.(*protocol.ControlBatch)
		for {
			rec, err := batch.ReadRecord()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return Chunk{}, err
			}
			out, err := copyRecord(s, rec)
			if err != nil {
				return Chunk{}, err
			}
			seen = max(seen, rec.Offset)
			if rec.Offset < ch.Next || rec.Offset >= s.To {
				continue // a batch comes whole, also with records before the requested offset
			}
			ch.Next = rec.Offset + 1
			if !control {
				ch.Records = append(ch.Records, out)
			}
		}
	}
	switch {
	case seen >= s.To:
		ch.Next = s.To
	case seen >= 0 && ch.Next == s.From && seen < s.From:
		// The batch with this offset came without it: compaction removed its last records. Their
		// number is not known, so the offsets are skipped one by one.
		ch.Next++
	}
	return ch, nil
}

// batchesOf returns the batches of a reader: kafka-go skips control batches, whose offsets must be
// counted too.
func batchesOf(r kafka.RecordReader) []kafka.RecordReader {
	if s, ok := r.(*protocol.RecordStream); ok {
		return s.Records
	}
	return []kafka.RecordReader{r}
}

func copyRecord(s Source, rec *kafka.Record) (stream.Record, error) {
	out := stream.Record{Topic: s.Topic, Partition: s.Partition, Offset: rec.Offset, Headers: headersOf(rec.Headers), Time: rec.Time.UTC()}
	var err error
	if rec.Key != nil {
		defer rec.Key.Close()
		if out.Key, err = protocol.ReadAll(rec.Key); err != nil {
			return out, fmt.Errorf("key at offset %d: %w", rec.Offset, err)
		}
	}
	if rec.Value != nil {
		defer rec.Value.Close()
		if out.Value, err = protocol.ReadAll(rec.Value); err != nil {
			return out, fmt.Errorf("value at offset %d: %w", rec.Offset, err)
		}
	}
	return out, nil
}
