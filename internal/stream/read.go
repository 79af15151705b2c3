package stream

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
)

const (
	fetchBytes    = 1 << 20 // of one response, compressed; a larger batch comes whole
	maxFetchBytes = 64 << 20
	fetchWait     = 500 * time.Millisecond // a broker responds to a fetch after it, also without records
	// longestFetchWait leaves time for the response within requestTimeout.
	longestFetchWait = 5 * time.Second
)

// chunk is the result of one fetch: records in order, the offset to continue at, and the offset
// after the partition's last record.
type chunk struct {
	records   []Record
	next, end int64
}

// source is a partition to read from an offset up to another; group is the group whose offset from
// is, for errors.
type source struct {
	topic     string
	partition int
	from, to  int64
	group     string
	// least is the number of bytes that the broker waits for; 0 = any. wait is how long it does; 0 = fetchWait.
	least int64
	wait  time.Duration
}

// endless is the end of a source that is read without end.
const endless = math.MaxInt64

// reader reads partitions without a consumer group.
type reader struct{ *cluster }

// Read calls f for each record of a partition with from <= offset < to, in order. Offsets that the
// partition does not have are an *OffsetError. An error of f ends the read and is returned.
func (rd *reader) Read(ctx context.Context, topic string, partition int, from, to int64, f func(Record) error) error {
	if from >= to {
		return nil
	}
	first, end, err := rd.Offsets(ctx, topic, partition)
	if err != nil {
		return err
	}
	for _, at := range []int64{from, to} {
		if at < first || at > end {
			return &OffsetError{Topic: topic, Partition: partition, Offset: at, First: first, End: end}
		}
	}
	return rd.consume(ctx, source{topic: topic, partition: partition, from: from, to: to}, func(ch chunk) error {
		for _, r := range ch.records {
			if err := r.checkVersion(); err != nil {
				return err
			}
			if err := f(r); err != nil {
				return err
			}
		}
		return nil
	})
}

// consume calls f for each chunk of the source until its end, an error of f or the end of ctx. The
// next chunk is fetched while f works.
func (rd *reader) consume(ctx context.Context, s source, f func(chunk) error) error {
	ctx, cancel := context.WithCancel(ctx)
	chunks := make(chan chunk)
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

func (rd *reader) fetchAll(ctx context.Context, s source, chunks chan<- chunk) error {
	maxBytes := int64(fetchBytes)
	w := rd.Waiting(func() string { return fmt.Sprintf("records of %s/%d", s.topic, s.partition) })
	defer w.Over()
	for s.from < s.to {
		ch, err := rd.fetch(ctx, s, maxBytes)
		switch class := rd.failed(err); {
		case err == nil:
			w.Over()
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, kafka.OffsetOutOfRange):
			first, end, err := rd.Offsets(ctx, s.topic, s.partition)
			if err != nil {
				return err
			}
			if s.from < first && rd.topics[s.topic].Compact {
				s.from = first // what compaction removed has a newer record
				continue
			}
			if s.from < first || s.from > end {
				return &OffsetError{Topic: s.topic, Partition: s.partition, Offset: s.from, First: first, End: end, Group: s.group}
			}
			continue // a new leader had not caught up for a moment
		case class == broken:
			return Broken(fmt.Errorf("read %s/%d: %w", s.topic, s.partition, err))
		default:
			rd.Metrics.failed(class)
			if err := w.Wait(ctx, err); err != nil {
				return err
			}
			continue
		}
		if ch.next == s.from {
			if s.from < ch.end { // there are records and none came: one may be larger than the requested size
				maxBytes = min(2*maxBytes, maxFetchBytes)
			}
			if len(ch.records) == 0 && s.to != endless {
				continue
			}
		} else {
			maxBytes = fetchBytes
		}
		s.from = ch.next
		select {
		case chunks <- ch:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// fetch makes one request.
func (rd *reader) fetch(ctx context.Context, s source, maxBytes int64) (chunk, error) {
	r, err := rd.kafka.Fetch(ctx, &kafka.FetchRequest{
		Topic: s.topic, Partition: s.partition, Offset: s.from,
		MinBytes: max(1, s.least), MaxBytes: max(maxBytes, s.least), MaxWait: cmp.Or(s.wait, fetchWait),
	})
	if err != nil {
		return chunk{}, err
	}
	if r.Error != nil {
		return chunk{}, r.Error
	}
	ch := chunk{next: s.from, end: r.HighWatermark}
	seen := int64(-1)
	for _, batch := range batchesOf(r.Records) {
		_, control := batch.(*protocol.ControlBatch)
		for {
			rec, err := batch.ReadRecord()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return chunk{}, err
			}
			out, err := copyRecord(s, rec)
			if err != nil {
				return chunk{}, err
			}
			seen = max(seen, rec.Offset)
			if rec.Offset < ch.next || rec.Offset >= s.to {
				continue // a batch comes whole, also with records before the requested offset
			}
			ch.next = rec.Offset + 1
			if !control {
				ch.records = append(ch.records, out)
			}
		}
	}
	switch {
	case seen >= s.to:
		ch.next = s.to
	case seen >= 0 && ch.next == s.from && seen < s.from:
		// The batch with this offset came without it: compaction removed its last records. Their
		// number is not known, so the offsets are skipped one by one.
		ch.next++
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

func copyRecord(s source, rec *kafka.Record) (Record, error) {
	out := Record{Topic: s.topic, Partition: s.partition, Offset: rec.Offset, Headers: headersOf(rec.Headers), Time: rec.Time.UTC()}
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
