package main

import (
	"context"
	"fmt"
	"sort"
	"sync"
	"time"

	"forager/internal/stream"
	"forager/schemas"
)

// partition is the state of a partition of fetch.requested that is assigned to this process.
type partition struct {
	// since is when it was assigned, if another process may have made requests before.
	since time.Time
	// quiet are hosts to which such a process may still make requests, until quietEnd.
	quiet    map[string]bool
	quietEnd time.Time
	// watch starts the watch of its end, once.
	watch sync.Once

	mu sync.Mutex
	// known are requests that were completed or begun; bounded.
	known  map[schemas.ID]progress
	recent []schemas.ID // those completed, oldest first
}

type progress int

const (
	notBegun progress = iota
	begunBefore
	answeredBefore
)

// rememberAnswers bounds the completed requests that are kept of a partition.
const rememberAnswers = 1 << 16

func newPartition() *partition { return &partition{known: map[schemas.ID]progress{}} }

// begin returns the progress of a request, and notes that it is begun.
func (p *partition) begin(id schemas.ID) progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := p.known[id]; at != notBegun {
		return at
	}
	p.known[id] = begunBefore
	return notBegun
}

// end notes that a request was completed, or is to come again.
func (p *partition) end(id schemas.ID, answered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !answered {
		delete(p.known, id)
		return
	}
	p.known[id] = answeredBefore
	p.recent = append(p.recent, id)
	for len(p.recent) > rememberAnswers {
		delete(p.known, p.recent[0])
		p.recent = p.recent[1:]
	}
}

func (p *partition) quietUntil(host string) time.Time {
	if p.quiet[host] {
		return p.quietEnd
	}
	return time.Time{}
}

// partition returns the state of an assigned partition.
func (s *stage) partition(n int) *partition {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.partitions[n]
	if p == nil {
		p = newPartition()
		s.partitions[n] = p
	}
	return p
}

// revoked drops the state of a partition; a later assignment reads it again.
func (s *stage) revoked(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.partitions, n)
}

// takeover finds out, before the first record of a partition, which requests an earlier owner has
// completed and which may still be in flight (see the package comment).
type takeover struct {
	log interface {
		Offsets(ctx context.Context, topic string, partition int) (first, end int64, err error)
		Partitions(ctx context.Context, topic string) (int, error)
		Read(ctx context.Context, topic string, partition int, from, to int64, f func(stream.Record) error) error
	}
	stage *stage
}

// openRequest is a request in the log after the committed offset.
type openRequest struct {
	host string
	time time.Time
}

// assigned implements runner.Unordered.OnAssign.
func (t *takeover) assigned(ctx context.Context, n int, from int64) error {
	first, end, err := t.log.Offsets(ctx, schemas.TopicFetchRequested, n)
	if err != nil {
		return err
	}
	p := newPartition()
	open := map[schemas.ID]openRequest{}
	var oldest time.Time
	if from < end {
		err := t.log.Read(ctx, schemas.TopicFetchRequested, n, from, end, func(r stream.Record) error {
			if id, err := schemas.ParseHex(r.Headers[schemas.HeaderID]); err == nil {
				open[id] = openRequest{r.Headers[schemas.HeaderHost], r.Time}
				if oldest.IsZero() || r.Time.Before(oldest) {
					oldest = r.Time
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("requests behind the committed offset: %w", err)
		}
	}
	found := 0
	if len(open) > 0 {
		if found, err = t.answers(ctx, n, oldest, p, open); err != nil {
			return fmt.Errorf("tail of %s: %w", schemas.TopicPageFetched, err)
		}
	}
	if now := time.Now(); from > first || found > 0 {
		p.since = now
		p.quiet, p.quietEnd = map[string]bool{}, now.Add(t.stage.set.SessionTimeout)
		for _, a := range open {
			p.quiet[a.host] = true
		}
	}
	t.stage.log.Info("partition assigned", "partition", n, "from", from, "open", len(open), "answered", found, "hosts_in_doubt", len(p.quiet))
	t.stage.mu.Lock()
	defer t.stage.mu.Unlock()
	t.stage.partitions[n] = p
	return nil
}

// clockSkew is how far the time stamps of two producers may differ.
const clockSkew = time.Minute

// answers reads page.fetched from the time of the oldest open request on. It moves the completed
// requests from open to the partition's known ones, and counts them.
func (t *takeover) answers(ctx context.Context, n int, oldest time.Time, p *partition, open map[schemas.ID]openRequest) (found int, err error) {
	topic := schemas.TopicPageFetched
	requests, err := t.log.Partitions(ctx, schemas.TopicFetchRequested)
	if err != nil {
		return 0, err
	}
	pages, err := t.log.Partitions(ctx, topic)
	if err != nil {
		return 0, err
	}
	// Both topics have the host as their key: with equal numbers of partitions, one has them all.
	from, to := n, n+1
	if pages != requests {
		from, to = 0, pages
	}
	for partition := from; partition < to; partition++ {
		first, end, err := t.log.Offsets(ctx, topic, partition)
		if err != nil {
			return found, err
		}
		if first, err = t.since(ctx, topic, partition, first, end, oldest.Add(-clockSkew)); err != nil {
			return found, err
		}
		if first >= end {
			continue
		}
		err = t.log.Read(ctx, topic, partition, first, end, func(r stream.Record) error {
			id, err := schemas.ParseHex(r.Headers[schemas.HeaderID])
			if _, isOpen := open[id]; err == nil && isOpen {
				delete(open, id)
				p.end(id, true)
				found++
			}
			return nil
		})
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// since returns the offset of the first record that is not older than at, by bisection.
func (t *takeover) since(ctx context.Context, topic string, partition int, first, end int64, at time.Time) (int64, error) {
	var failed error
	i := sort.Search(int(end-first), func(i int) bool {
		if failed != nil {
			return true
		}
		offset := first + int64(i)
		newer := true // a gap in the log decides nothing
		failed = t.log.Read(ctx, topic, partition, offset, offset+1, func(r stream.Record) error {
			newer = !r.Time.Before(at)
			return nil
		})
		return newer
	})
	return first + int64(i), failed
}
