package operate

import (
	"context"
	"fmt"
	"time"

	"forager/schemas"
)

// Poll calls done until it returns true, or until wait is over (false).
func Poll(ctx context.Context, wait time.Duration, done func() (bool, error)) (bool, error) {
	deadline := time.Now().Add(wait)
	for {
		if ok, err := done(); err != nil || ok {
			return ok, err
		}
		if time.Now().After(deadline) {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// late is the error of a wait that is over; it counts as a part that is away (Away).
func late(format string, args ...any) error {
	return reason{fmt.Errorf(format, args...), context.DeadlineExceeded}
}

// Loaded waits until load-clickhouse has read all records that are in the topics now.
func Loaded(ctx context.Context, b *Topics, wait time.Duration) error {
	const stage = "load-clickhouse"
	ends, err := b.Client.Ends(ctx, append([]string{schemas.TopicModelPublished}, StageInputs[stage]...)...)
	if err != nil {
		return err
	}
	var behind int64
	ok, err := Poll(ctx, wait, func() (bool, error) {
		behind, err = b.Client.LagTo(ctx, stage, ends)
		return behind == 0, err
	})
	if err == nil && !ok {
		err = late("%d records still wait before %s after %s; does it run? (forager up starts it)", behind, stage, wait)
	}
	return err
}

// Await waits until a status that follows ctl is as there reports, or is that of a crawl that has finished.
func Await(ctx context.Context, b *Topics, ctl *schemas.CrawlControl, wait time.Duration, there func(*schemas.CrawlStatus) bool) error {
	crawl := ctl.GetCrawl()
	ok, err := Poll(ctx, wait, func() (bool, error) {
		st := b.Status(crawl)
		return st.GetRevision() >= ctl.GetRevision() && (there(st) || Ended(st)), nil
	})
	if err != nil || ok {
		return err
	}
	if n := b.Status(crawl).GetInFlight(); n > 0 {
		return late("crawl %q is to be %s, but %d requests are still in flight after %s; do all stages run? (forager up starts them)", crawl, StateName(ctl), n, wait)
	}
	return late("crawl %q is to be %s, but is not after %s; does prioritize run? (forager up starts it)", crawl, StateName(ctl), wait)
}

// Taken waits until a crawl has read link.found up to these offsets, by partition.
func Taken(ctx context.Context, b *Topics, crawl string, last map[int]int64, wait time.Duration) error {
	ok, err := Poll(ctx, wait, func() (bool, error) {
		taken := b.Status(crawl).GetSpans()[schemas.TopicLinkFound].GetLast()
		for partition, offset := range last {
			if at, known := taken[uint32(partition)]; !known || at < offset {
				return false, nil
			}
		}
		return true, nil
	})
	if err == nil && !ok {
		err = late("crawl %q has not read the record after %s, but will: it is in %s; does prioritize run? (forager up starts it)", crawl, wait, schemas.TopicLinkFound)
	}
	return err
}
