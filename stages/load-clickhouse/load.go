package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"forager/internal/crawl/controls"
	"forager/internal/platform/analytics"
	"forager/internal/stream"
	"forager/schemas"
)

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

// topicsAtOnce is the number of topics that are written at once: while the engine writes the rows of one, the stage makes those of another.
const topicsAtOnce = 2

// load writes a batch: all of it is in the tables when it returns nil. Calls must not overlap.
func (l *loader) load(ctx context.Context, rs []stream.Record) error {
	defer func() {
		for _, t := range l.rows.tables() {
			t.rows.empty()
		}
	}()
	topics := make(map[string][]*stream.Record)
	for i := range rs {
		if !l.crawls.Deleted(rs[i].Headers[schemas.HeaderCrawl]) {
			topics[rs[i].Topic] = append(topics[rs[i].Topic], &rs[i])
		}
	}
	if !l.ready.Load() {
		if err := l.db.Migrate(ctx); err != nil {
			return class(ctx, err)
		}
		l.ready.Store(true)
	}
	var g errgroup.Group
	g.SetLimit(topicsAtOnce)
	for topic, rs := range topics {
		g.Go(func() error { return stream.Recovered(func() error { return l.write(ctx, topic, rs) }) })
	}
	return g.Wait()
}

// write makes and writes the rows of records of one topic, which has tables of its own.
func (l *loader) write(ctx context.Context, topic string, rs []*stream.Record) error {
	for _, r := range rs {
		if err := l.rows.add(r); err != nil {
			return fmt.Errorf("%s/%d offset %d: %w", r.Topic, r.Partition, r.Offset, err)
		}
	}
	for _, t := range l.rows.tables() {
		if t.topic != topic {
			continue
		}
		n, err := t.rows.insert(ctx, l.db)
		if l.loaded != nil {
			l.loaded.WithLabelValues(t.name).Add(float64(n))
		}
		if err != nil {
			return class(ctx, err)
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
