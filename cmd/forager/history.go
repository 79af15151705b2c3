package main

import (
	"context"
	"errors"
	"fmt"

	"forager/internal/platform/archive"
	"forager/internal/platform/objects"
	"forager/internal/stream"
)

// history is a source of past records.
type history interface {
	// name is its name in messages.
	name() string
	// span returns the offset of the first record of a partition and the one after the last.
	span(ctx context.Context, topic string, partition int) (first, end int64, err error)
	// read calls f for each record with from ≤ offset < to, in order.
	read(ctx context.Context, topic string, partition int, from, to int64, f func(stream.Record) error) error
}

// topicHistory is the records that the topics retain.
type topicHistory struct{ client *stream.Client }

func (h topicHistory) name() string { return "topic" }

func (h topicHistory) span(ctx context.Context, topic string, partition int) (first, end int64, err error) {
	return h.client.Offsets(ctx, topic, partition)
}

func (h topicHistory) read(ctx context.Context, topic string, partition int, from, to int64, f func(stream.Record) error) error {
	err := h.client.Read(ctx, topic, partition, from, to, f)
	var out *stream.OffsetError
	if errors.As(err, &out) {
		return fmt.Errorf("%w; what the topic retains no more is in the archive (--from archive)", err)
	}
	return err
}

// archiveHistory is the records that archive-parquet has written. report lists files that were found damaged or overlapping.
type archiveHistory struct {
	store *objects.Store
	keys  map[string][]string // by topic

	report archive.Report
}

func newArchiveHistory(store *objects.Store) *archiveHistory {
	return &archiveHistory{store: store, keys: make(map[string][]string)}
}

func (h *archiveHistory) name() string { return "archive" }

// shelf returns the files of a partition, as they were when the topic was first read.
func (h *archiveHistory) shelf(ctx context.Context, topic string, partition int) (*archive.Shelf, error) {
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
	return archive.NewShelf(topic, partition, keys), nil
}

func (h *archiveHistory) span(ctx context.Context, topic string, partition int) (first, end int64, err error) {
	s, err := h.shelf(ctx, topic, partition)
	if err != nil {
		return 0, 0, err
	}
	first, end = s.Span()
	return first, end, nil
}

func (h *archiveHistory) read(ctx context.Context, topic string, partition int, from, to int64, f func(stream.Record) error) error {
	s, err := h.shelf(ctx, topic, partition)
	if err != nil {
		return err
	}
	gone := func(err error) bool { return errors.Is(err, objects.ErrNotFound) }
	report, err := s.Replay(ctx, from, to, h.store.Get, gone, func(r archive.Record) error { return f(stream.Record(r)) })
	h.report.Files += report.Files
	h.report.Records += report.Records
	h.report.Doubles += report.Doubles
	h.report.Damaged = append(h.report.Damaged, report.Damaged...)
	return err
}
