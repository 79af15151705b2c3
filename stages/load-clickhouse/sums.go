package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"forager/internal/platform/analytics"
	"forager/internal/stream/kafka"
)

// sumShare bounds the time that sums take: a pass is followed by a pause of so many times its length.
const sumShare = 10

// keepSums computes the sums of crawls until ctx ends: of those whose rows have become a tenth more, or changed and then did not for a
// pause. So each row is read some eleven times in all.
func (l *loader) keepSums(ctx context.Context, every time.Duration, log *slog.Logger) {
	before := make(map[string]uint64)
	var logged time.Time
	for pause := every; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		if !l.ready.Load() {
			continue
		}
		begin := time.Now()
		err := l.sum(ctx, before)
		if err != nil && ctx.Err() == nil && time.Since(logged) >= kafka.LogPause {
			logged = time.Now()
			log.Warn("sums of crawls are not up to date", "error", err)
		}
		pause = max(every, sumShare*time.Since(begin))
	}
}

// sum is one pass; before has the rows of each crawl at the pass before.
func (l *loader) sum(ctx context.Context, before map[string]uint64) error {
	all, err := l.db.Summed(ctx)
	if err != nil {
		return err
	}
	for _, of := range all {
		if due := of.Rows != of.Sums && (of.Rows >= of.Sums+of.Sums/10 || of.Rows == before[of.Crawl]) || of.Rows == 0; due {
			err = errors.Join(err, analytics.Sum(ctx, l.db, of))
		}
		before[of.Crawl] = of.Rows
	}
	return err
}
