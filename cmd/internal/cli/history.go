package cli

import (
	"context"
	"errors"
	"fmt"

	"forager/internal/platform/archive"
	"forager/internal/platform/objects"
	"forager/internal/stream"
	"forager/internal/stream/kafka"
)

// History is a source of past records.
type History interface {
	// Name is its name in messages.
	Name() string
	// Span returns the offset of the first record of a partition and the one after the last.
	Span(ctx context.Context, topic string, partition int) (first, end int64, err error)
	// Read calls f for each record with from ≤ offset < to, in order.
	Read(ctx context.Context, topic string, partition int, from, to int64, f func(stream.Record) error) error
}

// TopicHistory is the records that the topics retain.
type TopicHistory struct{ client *kafka.Client }

// NewTopicHistory returns the records that the topics retain.
func NewTopicHistory(client *kafka.Client) TopicHistory { return TopicHistory{client} }

func (h TopicHistory) Name() string { return "topic" }

func (h TopicHistory) Span(ctx context.Context, topic string, partition int) (first, end int64, err error) {
	return h.client.Offsets(ctx, topic, partition)
}

func (h TopicHistory) Read(ctx context.Context, topic string, partition int, from, to int64, f func(stream.Record) error) error {
	err := h.client.Read(ctx, topic, partition, from, to, f)
	var out *stream.OffsetError
	if errors.As(err, &out) {
		return fmt.Errorf("%w; what the topic retains no more is in the archive (--from archive)", err)
	}
	return err
}

// ArchiveHistory is the records that archive-parquet has written. report lists files that were found damaged or overlapping.
type ArchiveHistory struct {
	store *objects.Store
	keys  map[string][]string // by topic

	Report archive.Report
}

// NewArchiveHistory returns the records in the archive.
func NewArchiveHistory(store *objects.Store) *ArchiveHistory {
	return &ArchiveHistory{store: store, keys: make(map[string][]string)}
}

func (h *ArchiveHistory) Name() string { return "archive" }

// filesOf returns the files of a partition, as they were when the topic was first read.
func (h *ArchiveHistory) filesOf(ctx context.Context, topic string, partition int) (*archive.PartitionFiles, error) {
	keys, ok := h.keys[topic]
	if !ok {
		for o, err := range h.store.List(ctx, archive.Prefix(topic)) {
			if err != nil {
				return nil, fmt.Errorf("archive of %s: %w", topic, err)
			}
			keys = append(keys, o.Key)
		}
		h.keys[topic] = keys
	}
	return archive.NewPartitionFiles(topic, partition, keys), nil
}

func (h *ArchiveHistory) Span(ctx context.Context, topic string, partition int) (first, end int64, err error) {
	s, err := h.filesOf(ctx, topic, partition)
	if err != nil {
		return 0, 0, err
	}
	first, end = s.Span()
	return first, end, nil
}

func (h *ArchiveHistory) Read(ctx context.Context, topic string, partition int, from, to int64, f func(stream.Record) error) error {
	s, err := h.filesOf(ctx, topic, partition)
	if err != nil {
		return err
	}
	gone := func(err error) bool { return errors.Is(err, objects.ErrNotFound) }
	report, err := s.Replay(ctx, from, to, h.store.Get, gone, func(r archive.Record) error { return f(stream.Record(r)) })
	h.Report.Files += report.Files
	h.Report.Records += report.Records
	h.Report.Doubles += report.Doubles
	h.Report.Damaged = append(h.Report.Damaged, report.Damaged...)
	return err
}
