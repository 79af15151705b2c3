package operate

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/controls"
	"forager/internal/stream"
	"forager/schemas"
)

// Two operators may change a crawl at the same time. Both write the revision after the one that they have read;
// the first of the two records counts (package controls). So every change reads back the records before its
// own: if there is one of another operator, the change failed and an error is returned (docs/decisions/0500).

// Update writes the next revision of a crawl's control record: the one in force, changed.
func (b *Topics) Update(ctx context.Context, crawl string, change func(*schemas.CrawlControl)) (*schemas.CrawlControl, error) {
	ctl, seen := b.Newest(crawl)
	next := proto.CloneOf(ctl)
	change(next)
	return b.UpdateTo(ctx, next, seen)
}

// UpdateTo writes next as the next revision of its crawl's control record; it was derived from the record that
// was the newest before the offset seen.
func (b *Topics) UpdateTo(ctx context.Context, next *schemas.CrawlControl, seen int64) (*schemas.CrawlControl, error) {
	crawl := next.GetCrawl()
	next.Revision = b.Controls.Next(crawl)
	winner, err := b.Place(ctx, next, seen)
	if err != nil {
		return nil, err
	}
	if winner != nil {
		return nil, reason{fmt.Errorf("crawl %q was changed by somebody else at the same moment (it is to be %s now); nothing was done: look at it with forager crawl status %s and try again",
			crawl, StateName(winner), crawl), ErrChanged}
	}
	return next, nil
}

// Newest returns a crawl's newest control record, nil if there is none, and the offset in crawl.control after the last record read.
func (b *Topics) Newest(crawl string) (ctl *schemas.CrawlControl, seen int64) {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	return b.Controls.Get(crawl), b.Next[schemas.TopicCrawlControl]
}

// Place writes a control record that was derived from the records before the offset seen. If another writer was
// faster, it writes that writer's record again, as compaction would otherwise keep the later one, and returns
// it, unless both want the same.
func (b *Topics) Place(ctx context.Context, ctl *schemas.CrawlControl, seen int64) (winner *schemas.CrawlControl, err error) {
	for wanted := ctl; ; {
		at, err := b.SendControl(ctx, ctl)
		if err != nil {
			return nil, fmt.Errorf("send the control record of crawl %s: %w", ctl.GetCrawl(), err)
		}
		faster, err := b.faster(ctx, ctl, seen, at)
		if err != nil {
			return nil, fmt.Errorf("read back the control record of crawl %s: %w", ctl.GetCrawl(), err)
		}
		if faster == nil {
			b.Note(ctl)
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

// SendControl produces a control record as it is, and returns its offset.
func (b *Topics) SendControl(ctx context.Context, ctl *schemas.CrawlControl) (offset int64, err error) {
	at, err := b.Send(ctx, schemas.TopicCrawlControl, ctl.GetCrawl(), map[string]string{schemas.HeaderCrawl: ctl.GetCrawl()}, ctl)
	return at.Offset, err
}

// faster returns the first record of the same crawl, and of the same or a higher revision, between seen and
// ctl's own position; nil = there is none.
func (b *Topics) faster(ctx context.Context, ctl *schemas.CrawlControl, seen, at int64) (first *schemas.CrawlControl, err error) {
	begin, _, err := b.Client.Offsets(ctx, schemas.TopicCrawlControl, 0)
	if err != nil {
		return nil, err
	}
	err = b.Client.Read(ctx, schemas.TopicCrawlControl, 0, max(seen, begin), at, func(r stream.Record) error {
		other := new(schemas.CrawlControl)
		if string(r.Key) != ctl.GetCrawl() || r.Value == nil {
			return nil
		}
		if err := proto.Unmarshal(r.Value, other); err != nil {
			return fmt.Errorf("%s offset %d: %w", r.Topic, r.Offset, err)
		}
		if ctl.GetRevision() > 1 && controls.Check(ctl, other) != nil {
			return nil // refused: ctl has what never changes as the record in force has it
		}
		if other.GetRevision() >= ctl.GetRevision() && other.GetRevision() > first.GetRevision() && !proto.Equal(other, ctl) {
			first = other // neither a copy of ctl from a retry nor the same change
		}
		return nil
	})
	return first, err
}

// StateName is the desired state of a crawl, in one word.
func StateName(ctl *schemas.CrawlControl) string {
	return strings.ToLower(strings.TrimPrefix(ctl.GetState().String(), "CRAWL_STATE_"))
}
