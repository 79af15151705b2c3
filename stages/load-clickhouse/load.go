package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"forager/internal/crawl/controls"
	"forager/internal/platform/analytics"
	"forager/internal/stream"
	"forager/schemas"
)

// insertRows is the most rows of one insert: a page has up to 2,000 links.
const insertRows = 100_000

// loader writes batches of records into the tables.
type loader struct {
	db     *analytics.DB
	loaded *prometheus.CounterVec
	// ready reports that the tables exist.
	ready atomic.Bool
	// crawls has the deleted crawls, whose records make no rows.
	crawls *controls.Cache
	// rows of the current batch; empty between batches.
	rows rows
}

// metrics creates the counters; without it nothing is counted.
func (l *loader) metrics() prometheus.Collector {
	l.loaded = prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "forager", Subsystem: "load_clickhouse", Name: "rows_total",
		Help: "Rows inserted, duplicates included."}, []string{"table"})
	return l.loaded
}

// load writes a batch: all of it is in the tables when it returns nil. Calls must not overlap.
func (l *loader) load(ctx context.Context, rs []stream.Record) error {
	b := &l.rows
	defer b.empty()
	for i := range rs {
		if l.crawls.Deleted(rs[i].Headers[schemas.HeaderCrawl]) {
			continue
		}
		if err := b.add(&rs[i]); err != nil {
			return fmt.Errorf("%s/%d offset %d: %w", rs[i].Topic, rs[i].Partition, rs[i].Offset, err)
		}
	}
	if !l.ready.Load() {
		if err := l.db.Migrate(ctx); err != nil {
			return class(ctx, err)
		}
		l.ready.Store(true)
	}
	return class(ctx, l.insert(ctx, b))
}

func (l *loader) insert(ctx context.Context, b *rows) error {
	for _, insert := range []func() error{
		func() error { return insert(ctx, l, "requests", b.requests) },
		func() error { return insert(ctx, l, "markers", b.markers) },
		func() error { return insert(ctx, l, "fetches", b.fetches) },
		func() error { return insert(ctx, l, "judgements", b.judgements) },
		func() error { return insert(ctx, l, "links", b.links) }, // before the verdicts: a verdict in its table has its links in theirs
		func() error { return insert(ctx, l, "rejudgements", b.rejudged) },
		func() error { return insert(ctx, l, "verdicts", b.verdicts) },
		func() error { return insert(ctx, l, "leaps", b.leaps) },
		func() error { return insert(ctx, l, "models", b.models) },
		func() error { return insert(ctx, l, "hubs", b.hubs) },
		func() error { return insert(ctx, l, "controls", b.controls) },
		func() error { return insert(ctx, l, "statuses", b.statuses) },
		func() error { return insert(ctx, l, "letters", b.letters) },
	} {
		if err := insert(); err != nil {
			return err
		}
	}
	return nil
}

func insert[R analytics.Row](ctx context.Context, l *loader, table string, all []R) error {
	for part := range slices.Chunk(all, insertRows) {
		if err := analytics.Insert(ctx, l.db, part); err != nil {
			return err
		}
		if l.loaded != nil {
			l.loaded.WithLabelValues(table).Add(float64(len(part)))
		}
	}
	return nil
}

// class marks an error of ClickHouse for the runtime. It never concerns a record: a faulty record
// fails when it is decoded.
func class(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case analytics.Unavailable(err):
		return stream.Unavailable(err)
	}
	return stream.Broken(err)
}
