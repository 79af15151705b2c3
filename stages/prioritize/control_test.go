package main

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"forager/internal/stream"
	"forager/schemas"
)

// byHand is a control record that changes the number of attempts of a crawl, as no command writes it.
func byHand(name string, revision uint64) *schemas.CrawlControl {
	ctl := crawlOf(name)
	ctl.Revision, ctl.MaxAttempts = revision, 9
	return ctl
}

// take passes a control record to the cache, which may refuse it.
func (d *desk) take(ctl *schemas.CrawlControl) error {
	d.t.Helper()
	value, err := proto.Marshal(ctl)
	if err != nil {
		d.t.Fatal(err)
	}
	return d.conf.book.control(stream.Record{Key: []byte(ctl.GetCrawl()), Value: value})
}

// restored takes one step, passes the control records that it wrote to the cache and returns them.
func (d *desk) restored() (all []*schemas.CrawlControl) {
	d.t.Helper()
	d.controls = nil
	d.step()
	all = d.controls
	for _, ctl := range all {
		d.control(ctl)
	}
	return all
}

// TestAFixedFieldStays writes a control record by hand that changes the number of attempts. The crawl goes
// on as before, the record in force is written again once, and the status names the field.
func TestAFixedFieldStays(t *testing.T) {
	d := newDesk(t)
	d.control(crawlOf("c"))
	d.step(d.record(seedsOf("c", page)))
	if err := d.take(byHand("c", 2)); err == nil || !strings.Contains(err.Error(), "revision 2 refused: max_attempts never changes") {
		t.Fatalf("the record: %v", err)
	}
	all := d.restored()
	if len(all) != 1 || all[0].GetRevision() != 3 || all[0].GetMaxAttempts() != 0 {
		t.Fatalf("written: %v", all)
	}
	d.now = d.now.Add(statusEvery)
	if again := d.restored(); again != nil {
		t.Errorf("written once more: %v", again)
	}
	d.now = d.now.Add(statusEvery)
	d.step()
	if st := d.status("c"); st.GetState() != schemas.ShardState_SHARD_STATE_RUNNING || !strings.Contains(st.GetActivity(), "revision 2 refused: max_attempts never changes") {
		t.Errorf("status %v", st)
	}
}

// TestAFixedFieldStaysAfterCompaction starts prioritize when compaction has left only the record written by hand: with
// its state it restores the one in force, and without it the crawl waits.
func TestAFixedFieldStaysAfterCompaction(t *testing.T) {
	d := newDesk(t)
	d.control(crawlOf("c"))
	d.step(d.record(seedsOf("c", page)))
	last, err := proto.Marshal(d.status("c"))
	if err != nil {
		t.Fatal(err)
	}

	d.conf.book = newCache()
	d.control(byHand("c", 2))
	d.open()
	if all := d.restored(); len(all) != 1 || all[0].GetRevision() != 3 || all[0].GetMaxAttempts() != 0 {
		t.Fatalf("with its state it wrote %v", all)
	}

	d.conf.book = newCache()
	d.control(byHand("c", 2))
	if err := d.conf.book.status(stream.Record{Value: last, Headers: map[string]string{
		schemas.HeaderCrawl: "c", schemas.HeaderShard: "0", schemas.HeaderEpoch: "1",
	}}); err != nil {
		t.Fatal(err)
	}
	d.lose()
	if all := d.restored(); all != nil {
		t.Errorf("without its state it wrote %v", all)
	}
	d.step(d.record(seedsOf("c", page)))
	if st := d.status("c"); len(d.requests) > 0 || !strings.Contains(st.GetActivity(), "waiting for the crawl's control record: revision 2 has another scope") {
		t.Errorf("without its state: %v, requests %v", st, d.requests)
	}
	ctl := crawlOf("c")
	ctl.Revision, ctl.Restored = 3, &schemas.Restored{Revision: 3}
	d.control(ctl)
	d.step()
	if d.p.crawls["c"].shard == nil {
		t.Error("the crawl waits although its control record is there again")
	}
}
