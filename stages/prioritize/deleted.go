package main

import (
	"google.golang.org/protobuf/proto"

	"forager/internal/frontier"
	"forager/schemas"
)

// endDeleted is the end reason of a deleted crawl's last status.
const endDeleted = "deleted"

// deleted reports whether the crawl was deleted: later records of it are dropped.
func (c *crawl) deleted() bool { return c.state.last.GetEndReason() == endDeleted }

// drop removes all that is kept of a deleted crawl but its state, whose last status has the reason endDeleted. It
// may be called again.
func (p *prioritizer) drop(c *crawl, ctl *schemas.CrawlControl) error {
	p.book.forget(unit(c.name, c.number))
	if c.deleted() {
		return nil
	}
	if err := frontier.Drop(p.store, c.name); err != nil {
		return err
	}
	for _, w := range []*pendingQueue{c.decisions, c.records} {
		if err := w.clear(); err != nil {
			return err
		}
	}
	for _, key := range [][]byte{sentKey(unit(c.name, c.number)), controlKey(unit(c.name, c.number))} {
		if err := p.store.Delete(key); err != nil {
			return err
		}
	}
	p.library.forget(c.asked)
	last := &schemas.CrawlStatus{
		Crawl: c.name, Shard: c.number, State: schemas.ShardState_SHARD_STATE_FINISHED, EndReason: endDeleted,
		At: c.sent.GetAt(), // the next status must be later than the last one sent
	}
	*c = crawl{
		name: c.name, number: c.number, decisions: c.decisions, records: c.records, unsaved: true,
		state: &crawlState{finished: ctl.GetRevision(), spans: make(map[string]*schemas.TopicSpan), rejected: make(map[string]uint64), last: proto.CloneOf(last)},
	}
	p.log.Info("crawl deleted", "crawl", c.name)
	return nil
}

// clear removes what waits.
func (w *pendingQueue) clear() error {
	w.count, w.first, w.next = 0, 0, 0
	return w.store.DeleteRange(w.key(0), w.key(1<<63))
}
