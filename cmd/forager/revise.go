package main

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"forager/internal/stream"
	"forager/schemas"
)

// Two operators may change a crawl at the same moment. Both write the revision behind the one
// that they have seen; the first of the two records counts (package controls). So every change
// reads back what came before its own record: who finds another's there has lost, and is told.

// revise writes the next revision of a crawl's control record: the one in force, changed.
func (b *books) revise(ctx context.Context, crawl string, change func(*schemas.CrawlControl)) (*schemas.CrawlControl, error) {
	ctl, seen := b.newest(crawl)
	next := proto.CloneOf(ctl)
	change(next)
	return b.reviseAs(ctx, next, seen)
}

// reviseAs writes next as the next revision of its crawl's control record; it was made of the one
// that was the newest before the offset seen.
func (b *books) reviseAs(ctx context.Context, next *schemas.CrawlControl, seen int64) (*schemas.CrawlControl, error) {
	crawl := next.GetCrawl()
	next.Revision++
	winner, err := b.place(ctx, next, seen)
	if err != nil {
		return nil, err
	}
	if winner != nil {
		return nil, fmt.Errorf("crawl %q was changed by somebody else at the same moment (it is to be %s now); nothing was done: look at it with forager crawl status %s and try again",
			crawl, stateName(winner), crawl)
	}
	return next, nil
}

// newest returns a crawl's newest control record, nil where there is none, and the offset in
// crawl.control behind the last record that had been read then.
func (b *books) newest(crawl string) (ctl *schemas.CrawlControl, seen int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.controls[crawl], b.next[schemas.TopicCrawlControl]
}

// place writes a control record that was made of what stood before the offset seen. It returns
// the record that counts in its stead where somebody else was faster and wanted something else.
// Then it repeats that one, as compaction would else keep the loser's, which stands last.
func (b *books) place(ctx context.Context, ctl *schemas.CrawlControl, seen int64) (winner *schemas.CrawlControl, err error) {
	for wanted := ctl; ; {
		at, err := b.sendControl(ctx, ctl)
		if err != nil {
			return nil, fmt.Errorf("send the control record of crawl %s: %w", ctl.GetCrawl(), err)
		}
		faster, err := b.faster(ctx, ctl, seen, at)
		if err != nil {
			return nil, fmt.Errorf("read back the control record of crawl %s: %w", ctl.GetCrawl(), err)
		}
		if faster == nil {
			b.note(ctl)
			if winner != nil && sameButRevision(winner, wanted) {
				return nil, nil
			}
			return winner, nil
		}
		winner, seen = faster, at+1
		ctl = proto.CloneOf(faster)
		ctl.Revision++
	}
}

func sameButRevision(a, b *schemas.CrawlControl) bool {
	a = proto.CloneOf(a)
	a.Revision = b.GetRevision()
	return proto.Equal(a, b)
}

func (b *books) sendControl(ctx context.Context, ctl *schemas.CrawlControl) (offset int64, err error) {
	at, err := b.send(ctx, schemas.TopicCrawlControl, ctl.GetCrawl(), map[string]string{schemas.HeaderCrawl: ctl.GetCrawl()}, ctl)
	return at.Offset, err
}

// faster looks for a record of the same crawl and of the same or a higher revision that stands
// between what was seen and ctl's own place; nil = there is none.
func (b *books) faster(ctx context.Context, ctl *schemas.CrawlControl, seen, at int64) (first *schemas.CrawlControl, err error) {
	begin, _, err := b.client.Offsets(ctx, schemas.TopicCrawlControl, 0)
	if err != nil {
		return nil, err
	}
	err = b.client.Read(ctx, schemas.TopicCrawlControl, 0, max(seen, begin), at, func(r stream.Record) error {
		other := new(schemas.CrawlControl)
		if string(r.Key) != ctl.GetCrawl() || r.Value == nil {
			return nil
		}
		if err := proto.Unmarshal(r.Value, other); err != nil {
			return fmt.Errorf("%s offset %d: %w", r.Topic, r.Offset, err)
		}
		if other.GetRevision() >= ctl.GetRevision() && other.GetRevision() > first.GetRevision() && !proto.Equal(other, ctl) {
			first = other // not a copy of ctl that a retry left, nor the same change
		}
		return nil
	})
	return first, err
}

// stateName is what the operator wants of a crawl, in one word.
func stateName(ctl *schemas.CrawlControl) string {
	return strings.ToLower(strings.TrimPrefix(ctl.GetState().String(), "CRAWL_STATE_"))
}
