package shards

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"forager/schemas"
)

var testEnds = Ends{Stopped: "stopped", Pages: "pages", Requests: "requests", Empty: "empty", Stagnated: "stagnated"}

// crawl is a crawl of several shards, reduced to what coordinator and Members use: how
// much each has to dispatch, what is in flight, and the outcomes. Notes arrive in their order,
// any time later. Owners of shard 0 are replaced; the last of each may go on for a while.
type crawl struct {
	t      *rapid.T
	limits Limits
	shards []*model
	leads  []*Coordinator // the last one is the newest
	inbox  [][]*schemas.LinkFound
	epoch  uint64
	now    time.Time
}

// model is a shard.
type model struct {
	number                  uint32
	todo                    int // entries that can be dispatched
	flying, pages, requests uint64
	window                  uint64
	lease                   *schemas.ShardNote
	member                  *Follower
	sent                    map[uint32]int64
	next                    int64
	links                   bool
	seeds                   uint64
	hostsWait               bool // nothing can be dispatched for now
	void                    bool // its lease is that of an owner who may have given it away since
	stopped                 bool
}

func (m *model) report() *schemas.ShardReport {
	r := &schemas.ShardReport{
		LeaseEpoch: m.lease.GetEpoch(), LeaseSequence: m.lease.GetSequence(), Lease: proto.CloneOf(m.lease.GetLease()),
		Pages: m.pages, Requests: m.requests, InFlight: m.flying, Window: m.window, Backlog: uint64(m.todo), Seeds: m.seeds,
		Next: m.next, Sent: make(map[uint32]int64), Stopped: m.stopped,
	}
	if !m.hostsWait && !m.stopped {
		r.Want = uint64(m.todo)
	}
	maps.Copy(r.Sent, m.sent)
	return r
}

// dispatch dispatches what the lease lets it.
func (m *model) dispatch() {
	l := m.lease.GetLease()
	for m.todo > 0 && !m.void && !m.hostsWait && !m.stopped && l.GetEnd() == "" && m.flying < min(l.GetWindow(), m.window) &&
		m.pages+m.flying < l.GetPages() && m.requests+m.flying < l.GetRequests() {
		m.todo--
		m.flying++
	}
}

func newCrawl(t *rapid.T) *crawl {
	n := rapid.IntRange(2, 5).Draw(t, "shards")
	c := &crawl{t: t, inbox: make([][]*schemas.LinkFound, n), now: time.Unix(0, 0)}
	c.limits = Limits{
		Pages: rapid.Uint64Range(0, 60).Draw(t, "pages"), Requests: rapid.Uint64Range(0, 60).Draw(t, "requests"),
		Window: uint64(n) + rapid.Uint64Range(0, 10).Draw(t, "window"),
	}
	if c.limits.Pages == 0 && c.limits.Requests == 0 {
		c.limits.Pages = 20
	}
	for k := range n {
		c.shards = append(c.shards, &model{
			number: uint32(k), window: rapid.Uint64Range(1, 8).Draw(t, "own window"), lease: &schemas.ShardNote{Lease: &schemas.ShardLease{}},
			sent: make(map[uint32]int64), member: NewFollower(1),
		})
	}
	c.shards[0].todo, c.shards[0].seeds = rapid.IntRange(1, 20).Draw(t, "seeds"), 1
	c.replaceLead()
	return c
}

// replaceLead makes a new owner of shard 0, which dispatches nothing before it has decided: what the
// one before it lowers of shard 0's lease until it learns of its end is in its notes only.
func (c *crawl) replaceLead() {
	c.epoch++
	c.shards[0].void = true
	c.leads = append(c.leads, NewCoordinator(c.epoch, uint32(len(c.shards)), testEnds))
	if len(c.leads) > 2 {
		c.leads = c.leads[1:]
	}
}

func (c *crawl) send(to uint32, rec *schemas.LinkFound) { c.inbox[to] = append(c.inbox[to], rec) }

// lead lets an owner of shard 0 decide; one that was replaced only sends notes.
func (c *crawl) lead(l *Coordinator) {
	zero := c.shards[0]
	lease, notes := l.Decide(c.limits, zero.report())
	if l == c.leads[len(c.leads)-1] {
		zero.lease, zero.void = &schemas.ShardNote{Lease: proto.CloneOf(lease)}, false
	}
	for to, note := range notes {
		c.send(to, &schemas.LinkFound{Note: proto.CloneOf(note)})
	}
}

// take lets shard k read the next record that was sent to it.
func (c *crawl) take(k int) {
	m := c.shards[k]
	if int(m.next) == len(c.inbox[k]) {
		return
	}
	rec := c.inbox[k][m.next]
	m.next++
	note := rec.GetNote()
	switch {
	case note.GetReport() != nil:
		for _, l := range c.leads {
			l.Observe(rec.GetFrom(), proto.CloneOf(note))
		}
	case note.GetLease() != nil:
		was := m.lease
		if note.GetEpoch() < was.GetEpoch() || note.GetEpoch() == was.GetEpoch() && note.GetSequence() <= was.GetSequence() {
			return
		}
		m.lease = proto.CloneOf(note)
		if note.GetLease().GetKeep() {
			m.lease.Lease = was.GetLease()
		}
	default:
		m.todo += int(rec.GetDepth())
		m.links = true
	}
}

// answer ends a request in flight of a shard: it may be charged, and cause more.
func (c *crawl) answer(m *model, outcome, found int) {
	if m.flying == 0 {
		return
	}
	m.flying--
	switch outcome % 3 {
	case 0:
		m.pages++
		m.requests++
	case 1:
		m.requests++
	}
	to := uint32(found % len(c.shards))
	if more := uint32(found / len(c.shards)); to == m.number {
		m.todo += int(more)
	} else if more > 0 {
		c.send(to, &schemas.LinkFound{Depth: more})
		m.sent[to] = int64(len(c.inbox[to])) - 1
		m.links = true
	}
}

// step lets a shard do its part.
func (c *crawl) step(k int) {
	m := c.shards[k]
	m.dispatch()
	if k == 0 {
		c.lead(c.leads[len(c.leads)-1])
		m.dispatch()
		return
	}
	if due, _ := m.member.Due(m.report(), m.links, c.now); due {
		m.links = false
		c.send(0, &schemas.LinkFound{From: m.number, Note: proto.CloneOf(m.member.Note(m.report(), c.now))})
	}
}

func (c *crawl) check() {
	var pages, requests, flying uint64
	for _, m := range c.shards {
		pages += m.pages + m.flying
		requests += m.requests + m.flying
		flying += m.flying
	}
	for _, x := range []struct {
		what     string
		is, most uint64
	}{{"pages", pages, c.limits.Pages}, {"requests", requests, c.limits.Requests}, {"window", flying, c.limits.Window}} {
		if x.most > 0 && x.is > x.most {
			c.t.Fatalf("%s: %d are used, %d are allowed", x.what, x.is, x.most)
		}
	}
	for _, m := range c.shards {
		if m.lease.GetLease().GetEnd() == "empty" && (flying > 0 || c.todo() > 0) {
			c.t.Fatalf("shard %d ended because the frontier is empty; %d in flight, %d to do", m.number, flying, c.todo())
		}
	}
}

// todo is what is still to be dispatched, links on their way included.
func (c *crawl) todo() (n int) {
	for k, m := range c.shards {
		n += m.todo
		for _, rec := range c.inbox[k][m.next:] {
			n += int(rec.GetDepth())
		}
	}
	return n
}

// TestLeases: whatever the order of notes, owners and responses, no limit is passed and no shard is
// given a false end; and once everything arrives, the crawl ends: with its whole budget spent,
// or with nothing left to do.
func TestLeases(t *testing.T) {
	for range 20 { // a check is cheap, and what it may meet is rare
		rapid.Check(t, testLeases)
	}
}

func testLeases(t *rapid.T) {
	c := newCrawl(t)
	for range rapid.IntRange(0, 200).Draw(t, "turns") {
		k := rapid.IntRange(0, len(c.shards)-1).Draw(t, "shard")
		m := c.shards[k]
		switch rapid.IntRange(0, 9).Draw(t, "what") {
		case 0, 1, 2:
			c.take(k)
		case 3, 4, 5:
			c.step(k)
		case 6:
			c.answer(m, rapid.IntRange(0, 8).Draw(t, "outcome"), rapid.IntRange(0, 20).Draw(t, "found"))
		case 7:
			m.hostsWait = !m.hostsWait
		case 8:
			c.now = c.now.Add(pause / 2)
		case 9:
			switch {
			case rapid.IntRange(0, 3).Draw(t, "who") > 0:
				c.lead(c.leads[0]) // stalled until now, perhaps
			case k == 0:
				c.replaceLead()
			default:
				m.member = NewFollower(m.member.epoch + 1)
			}
		}
		c.check()
	}
	c.leads = c.leads[len(c.leads)-1:]
	for turn := 0; ; turn++ {
		if turn > 2000 {
			t.Fatalf("no end: %v", c)
		}
		for k, m := range c.shards {
			m.hostsWait = false
			for range len(c.inbox[k]) {
				c.take(k)
			}
			c.step(k)
			c.answer(m, turn, 0)
			c.check()
		}
		c.now = c.now.Add(pause)
		if c.ended() {
			break
		}
	}
	var pages, requests uint64
	for _, m := range c.shards {
		pages += m.pages
		requests += m.requests
	}
	switch end := c.shards[0].lease.GetLease().GetEnd(); {
	case end == "pages" && pages == c.limits.Pages, end == "requests" && requests == c.limits.Requests, end == "empty" && c.todo() == 0:
	default:
		t.Fatalf("ended with %q, %d pages, %d requests, %d left to do", end, pages, requests, c.todo())
	}
}

func (c *crawl) ended() bool {
	for k, m := range c.shards {
		if m.lease.GetLease().GetEnd() == "" || int(m.next) < len(c.inbox[k]) {
			return false
		}
	}
	return true
}

func (c *crawl) String() string {
	s := fmt.Sprintf("limits %+v", c.limits)
	for _, m := range c.shards {
		s += fmt.Sprintf("; shard %d: %v", m.number, m.report())
	}
	return s
}

// TestBudgetsAreCutFine: a level is at least what is used, all of them within the total; a shard that asks for
// some gets some while there is some, and no shard more than it asks for.
func TestBudgetsAreCutFine(t *testing.T) {
	shares := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) share {
		return share{used: rapid.Uint64Range(0, 20).Draw(t, "used"), want: rapid.Uint64Range(0, 30).Draw(t, "want")}
	}), 1, 8)
	rapid.Check(t, func(t *rapid.T) {
		of := shares.Draw(t, "shards")
		var used uint64
		for _, s := range of {
			used += s.used
		}
		total := used + rapid.Uint64Range(0, 100).Draw(t, "left")
		var sum uint64
		for i, level := range budgetLevels(total, of) {
			sum += level
			if level < of[i].used || level > of[i].used+of[i].want {
				t.Fatalf("shard %d of %+v: level %d", i, of, level)
			}
			if total-used >= uint64(len(of)) && of[i].want > 0 && level == of[i].used {
				t.Fatalf("shard %d of %+v asks for some of %d, and gets none", i, of, total-used)
			}
		}
		if sum > total {
			t.Fatalf("levels of %+v add up to %d of %d", of, sum, total)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		of := shares.Draw(t, "shards")
		total := uint64(len(of)) + rapid.Uint64Range(0, 60).Draw(t, "more")
		levels := windowLevels(total, of)
		var sum, wishes uint64
		for i, level := range levels {
			sum += level
			wish := max(1, of[i].used+of[i].want)
			wishes += wish
			if level < 1 || level > wish {
				t.Fatalf("shard %d of %+v: level %d", i, of, level)
			}
			for k, other := range levels { // as even as wishes allow, up to one
				if level < wish && other > level+1 {
					t.Fatalf("shards %d and %d of %+v: levels %d and %d", i, k, of, level, other)
				}
			}
		}
		if sum != min(total, wishes) {
			t.Fatalf("levels of %+v add up to %d of %d", of, sum, total)
		}
	})
}

// TestAShardReportsSeldom: a shard that is busy with its lease reports to shard 0 no more often than
// it must.
func TestAShardReportsSeldom(t *testing.T) {
	m := NewFollower(7)
	m.Stride = 50
	now := time.Unix(0, 0)
	lease := &schemas.ShardLease{Pages: 1000, Requests: 2000, Window: 10}
	report := func(pages, flying uint64) *schemas.ShardReport {
		return &schemas.ShardReport{
			LeaseEpoch: 1, LeaseSequence: 1, Lease: lease, Pages: pages, Requests: pages, InFlight: flying, Want: 5000, Backlog: 5000, Window: 10,
		}
	}
	n := 0
	for pages := range uint64(990) {
		now = now.Add(time.Millisecond)
		r := report(pages, 10)
		if due, _ := m.Due(r, false, now); due {
			m.Note(r, now)
			n++
		}
	}
	// The first, one for each 100 ms in which 50 more pages came or half the lease was used up.
	if n < 5 || n > 11 {
		t.Errorf("%d reports", n)
	}
	if due, _ := m.Due(report(995, 5), false, now); !due {
		t.Error("a shard whose lease is used up waits")
	}
	if due, _ := NewFollower(1).Due(&schemas.ShardReport{}, true, now); due {
		t.Error("a report that was not requested is due")
	}
}
