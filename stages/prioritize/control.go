package main

import (
	"bytes"
	"fmt"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/controls"
	"forager/internal/stream"
	"forager/schemas"
)

// A control record that changes what never changes during a crawl is refused, and the one in force is written again
// (docs/decisions/0114). As compaction may remove the latter first, the store has it too, and the digest of what never
// changes is in every status, which outlives the store.

// loadControl reads the control record under which a shard was configured last, and makes it the one in force where
// the topic has only others.
func (p *prioritizer) loadControl(c *crawl) error {
	b, ok, err := p.store.Get(controlKey(unit(c.name, c.number)))
	if err != nil {
		return err
	}
	if !ok {
		st, err := p.book.lastStatus(unit(c.name, c.number))
		c.fixed = st.GetFixed()
		return err
	}
	ctl := new(schemas.CrawlControl)
	if err := proto.Unmarshal(b, ctl); err != nil {
		return fmt.Errorf("control record of crawl %s in the store: %w", c.name, err)
	}
	p.book.controls.Precede(ctl)
	c.fixed, err = controls.Digest(ctl)
	return err
}

// saveControl stores the control record under which a shard was configured.
func (p *prioritizer) saveControl(c *crawl, ctl *schemas.CrawlControl) (err error) {
	if c.fixed, err = controls.Digest(ctl); err != nil {
		return err
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(ctl)
	if err != nil {
		return err
	}
	return p.store.Set(controlKey(unit(c.name, c.number)), b)
}

// otherCrawl returns what the shard waits for if the control record differs from the one under which the state was made
// in what never changes, and that one is lost; "" if it does not.
func (c *crawl) otherCrawl(ctl *schemas.CrawlControl) string {
	if _, restored := controls.Restored(ctl); restored || len(c.fixed) == 0 {
		return ""
	}
	if digest, err := controls.Digest(ctl); err == nil && bytes.Equal(digest, c.fixed) {
		return ""
	}
	return fmt.Sprintf("the crawl's control record: revision %d has another scope, max_attempts, shards, renewal or learning than the crawl began with", ctl.GetRevision())
}

// restore writes the control record in force again where compaction would keep another one.
func (s *step) restore(c *crawl) error {
	again := s.book.controls.Restoration(c.name)
	if again == nil || c.number != 0 || again.GetRevision() <= c.restored || c.awaits != "" && c.shard == nil {
		return nil
	}
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(again)
	if err != nil {
		return fmt.Errorf("control record of crawl %s: %w", c.name, err)
	}
	c.restored = again.GetRevision()
	s.log.Warn("control record restored", "crawl", c.name, "revision", c.restored, "refused", again.GetRestored().GetRefused())
	s.outs = append(s.outs, stream.Out{
		Topic: schemas.TopicCrawlControl, Partition: -1, Key: []byte(c.name), Value: value, Headers: headers(c.name, 0),
	})
	return nil
}
