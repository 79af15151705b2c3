package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/controls"
	"forager/internal/frontier"
	"forager/internal/stream"
	"forager/internal/web/scope"
	"forager/schemas"
)

// audit computes the state independently while the simulation runs, only from the records in the
// order in which they came, and compares it.
type audit struct {
	s      *simulation
	err    error
	crawls map[string]*auditCrawl
	fences []stream.Fence
	seen   map[string]int // how often something was met
}

// auditCrawl is a crawl as the records show it.
type auditCrawl struct {
	seen     map[string]int
	ctl      *schemas.CrawlControl // in force
	newest   *schemas.CrawlControl // the last in the topic
	web      *simWeb
	silent   map[string]bool                 // hosts that could not be connected to at the last request
	requests map[string]*auditRequest        // by id
	asked    map[string]bool                 // ids of requests that were to be replayed
	renewed  map[string]bool                 // those of them after which the URL has all of its tries again
	order    []*schemas.LinkFound            // first verdicts and seeds, in their order
	applied  map[string]bool                 // ids of order
	ticks    map[uint32][]*schemas.LinkFound // what each shard has applied
	through  map[string]*schemas.TopicSpan   // of page.*, by the trails

	pages, charged, flying uint64
	raw, tempered          float64
	hostFlying, hostCount  map[string]uint64
	hostAll                map[string]uint64 // with those that came back deferred
	outcomes               map[string]uint64
	leaps                  map[string]*schemas.LeapSettled
	leapOrder              []*schemas.LeapSettled
	statuses               map[uint32]*schemas.CrawlStatus // the newest of each shard
	last                   map[uint32]*schemas.CrawlStatus // the last record of each shard, which compaction keeps
	// began: a control record was sent; revised: another one than that of another state, or seeds, since.
	began, revised bool
	// most are the largest limits of all control records.
	most struct{ pages, requests, window, hostWindow uint64 }
	// ranked is the number of pages of the last ranking of hubs, by shard.
	ranked map[uint32]uint64
	// over: all shards have reported the end of the crawl, and no operator has changed it since.
	over bool
}

type auditRequest struct {
	*schemas.FetchRequest
	verdict *schemas.LinkFound
}

func newAudit(s *simulation) *audit {
	a := &audit{s: s, seen: make(map[string]int), crawls: make(map[string]*auditCrawl), fences: make([]stream.Fence, s.Partitions(schemas.TopicFetchRequested))}
	for _, ctl := range s.controls {
		a.crawls[ctl.GetCrawl()] = &auditCrawl{
			seen: a.seen, ctl: ctl, web: s.down.web[ctl.GetCrawl()], silent: make(map[string]bool), requests: make(map[string]*auditRequest), asked: make(map[string]bool), renewed: make(map[string]bool), applied: make(map[string]bool), ticks: make(map[uint32][]*schemas.LinkFound),
			hostFlying: make(map[string]uint64), hostCount: make(map[string]uint64), hostAll: make(map[string]uint64), outcomes: make(map[string]uint64),
			leaps: make(map[string]*schemas.LeapSettled), statuses: make(map[uint32]*schemas.CrawlStatus), last: make(map[uint32]*schemas.CrawlStatus), through: make(map[string]*schemas.TopicSpan), ranked: make(map[uint32]uint64),
		}
	}
	s.OnAppend = func(r stream.Record) {
		if err := a.record(r); err != nil && a.err == nil {
			a.err = fmt.Errorf("%s/%d offset %d: %w", r.Topic, r.Partition, r.Offset, err)
		}
	}
	return a
}

func (a *audit) record(r stream.Record) error {
	switch r.Topic {
	case schemas.TopicFetchRequested:
		kind, err := a.fences[r.Partition].Read(&r)
		if kind == stream.Void {
			a.seen["requests that are void"]++
		}
		if err != nil || kind == stream.Claim || kind == stream.Marker || kind == stream.Void && !a.s.down.noFence {
			return err
		}
		req := new(schemas.FetchRequest)
		if err := proto.Unmarshal(r.Value, req); err != nil {
			return err
		}
		return a.crawls[req.GetCrawl()].dispatched(req)
	case schemas.TopicLinkFound:
		rec := new(schemas.LinkFound)
		if err := proto.Unmarshal(r.Value, rec); err != nil {
			// It cannot be decoded; its request has failed.
			a.seen["verdicts that cannot be decoded"]++
			req, err := schemas.RequestFromHeaders(r.Headers)
			if err != nil {
				return err
			}
			rec = &schemas.LinkFound{Id: req.GetId(), Crawl: req.GetCrawl(), Shard: req.GetShard(), Url: req.GetUrl(), Outcome: schemas.Outcome_OUTCOME_FAILED_FEATURE_EXTRACT}
		}
		c := a.crawls[rec.GetCrawl()]
		switch rec.GetRole() {
		case schemas.LinkRole_LINK_ROLE_LINKS:
			return c.brought(rec)
		case schemas.LinkRole_LINK_ROLE_NOTE:
			a.seen["notes among shards"]++
			return nil
		}
		return c.answered(rec, r.Headers[schemas.HeaderTrail])
	case schemas.TopicLeapSettled:
		l := new(schemas.LeapSettled)
		if err := proto.Unmarshal(r.Value, l); err != nil {
			return err
		}
		return a.crawls[l.GetCrawl()].settled(l)
	case schemas.TopicCrawlStatus:
		st := new(schemas.CrawlStatus)
		if err := proto.Unmarshal(r.Value, st); err != nil {
			return err
		}
		a.crawls[st.GetCrawl()].readStatus(st)
	case schemas.TopicCrawlControl:
		a.crawls[string(r.Key)].controlled(controlOf(r))
	case schemas.TopicDeadLetter:
		letter := new(schemas.DeadLetter)
		if err := proto.Unmarshal(r.Value, letter); err != nil {
			return err
		}
		if letter.GetStage() != name || letter.GetTopic() != schemas.TopicLinkFound {
			return fmt.Errorf("dead letter of %s about %s", letter.GetStage(), letter.GetTopic())
		}
	}
	return nil
}

// controlled takes a control record.
func (c *auditCrawl) controlled(ctl *schemas.CrawlControl) {
	c.newest = ctl
	if controls.Check(c.ctl, ctl) != nil {
		return
	}
	if _, restored := controls.Restored(ctl); restored {
		c.seen["control records restored"]++
		return
	}
	c.began, c.over = true, false
	b, unlimited := c.ctl.GetBudget(), uint64(math.MaxUint64)
	raise := func(most *uint64, limit uint64) {
		if limit == 0 {
			limit = unlimited
		}
		*most = max(*most, limit)
	}
	raise(&c.most.pages, b.GetPages())
	raise(&c.most.requests, b.GetRequests())
	raise(&c.most.window, c.window())
	raise(&c.most.hostWindow, uint64(schemas.HostWindow(c.ctl)))
}

// deleted reports whether the crawl was to be deleted.
func (c *auditCrawl) deleted() bool {
	return c.ctl.GetState() == schemas.CrawlState_CRAWL_STATE_DELETED
}

// delivered is the number of pages that a shard has delivered.
func (c *auditCrawl) delivered(shard uint32) (pages uint64) {
	for _, rec := range c.ticks[shard] {
		if rec.GetRole() == schemas.LinkRole_LINK_ROLE_VERDICT && rec.GetOutcome() == schemas.Outcome_OUTCOME_DELIVERED {
			pages++
		}
	}
	return pages
}

// readStatus reads a status.
func (c *auditCrawl) readStatus(st *schemas.CrawlStatus) {
	c.last[st.GetShard()] = st
	old := c.statuses[st.GetShard()]
	if old != nil && (st.GetEpoch() < old.GetEpoch() || st.GetEpoch() == old.GetEpoch() && st.GetAt() < old.GetAt()) {
		return
	}
	c.statuses[st.GetShard()] = st
	c.over = c.whole().GetState() == schemas.ShardState_SHARD_STATE_FINISHED
}

// whole is the state of the crawl.
func (c *auditCrawl) whole() *schemas.CrawlStatus { return schemas.WholeCrawl(c.ctl, c.statuses) }

// brought takes links that came from another shard.
func (c *auditCrawl) brought(rec *schemas.LinkFound) error {
	if id := string(rec.GetId()); !c.applied[id] {
		c.applied[id] = true
		c.ticks[rec.GetShard()] = append(c.ticks[rec.GetShard()], rec)
	}
	c.seen["links sent to another shard"]++
	if rec.GetMoved() != nil {
		c.seen["redirects to another shard"]++
	}
	if rec.GetMoved().GetMoves() > 1 {
		c.seen["links sent on by a third shard"]++
	}
	for _, l := range rec.GetLinks() {
		if k := schemas.ShardOf(strings.Split(l.GetUrl(), "/")[2], c.ctl.GetShards()); k != rec.GetShard() || k == rec.GetFrom() {
			return fmt.Errorf("shard %d sent a link to %s to shard %d", rec.GetFrom(), l.GetUrl(), rec.GetShard())
		}
	}
	return nil
}

// dispatched takes a request that is not void.
func (c *auditCrawl) dispatched(req *schemas.FetchRequest) error {
	id := string(req.GetId())
	if k := schemas.ShardOf(req.GetHost(), c.ctl.GetShards()); k != req.GetShard() {
		return fmt.Errorf("shard %d dispatched %s, of shard %d", req.GetShard(), req.GetUrl(), k)
	}
	if was, ok := c.requests[id]; ok {
		if !proto.Equal(was.FetchRequest, req) {
			return fmt.Errorf("%s, attempt %d, was dispatched twice: %v and %v", req.GetUrl(), req.GetAttempt(), was.FetchRequest, req)
		}
		c.seen["requests that came twice"]++
		return nil
	}
	if want := schemas.RequestID(req.GetCrawl(), req.GetUrl(), req.GetAttempt()); id != string(want.Bytes()) {
		return fmt.Errorf("%s, attempt %d, has another id", req.GetUrl(), req.GetAttempt())
	}
	if req.GetModel() != "" {
		c.seen["models in use"]++
	}
	if n := req.GetAttempt(); n > 1 {
		c.seen["second attempts"]++
		before := c.requests[string(schemas.RequestID(req.GetCrawl(), req.GetUrl(), n-1).Bytes())]
		if before != nil && before.verdict != nil && schemas.Failed(before.verdict.GetOutcome()) && c.asked[string(before.GetId())] {
			c.seen["replays"]++
		} else if before == nil || before.verdict == nil || !schemas.Outcomes[before.verdict.GetOutcome()].Retry {
			return fmt.Errorf("%s, attempt %d, does not follow a failed one: %v", req.GetUrl(), n, before)
		}
	}
	if c.over && c.ctl.GetShards() > 1 && !c.revised {
		return fmt.Errorf("%s, attempt %d, was dispatched though by the status of all shards the crawl has ended", req.GetUrl(), req.GetAttempt())
	}
	c.requests[id] = &auditRequest{FetchRequest: req}
	c.flying++
	c.hostFlying[req.GetHost()]++
	c.hostCount[req.GetHost()]++
	c.hostAll[req.GetHost()]++
	limit := func(what string, n, most uint64) error {
		if n > most {
			return fmt.Errorf("%s, attempt %d: %s is %d, and %d are allowed", req.GetUrl(), req.GetAttempt(), what, n, most)
		}
		return nil
	}
	hostCap := uint64(c.ctl.GetScope().GetHostCap())
	if hostCap == 0 {
		hostCap = math.MaxUint64
	}
	return errors.Join(
		limit("pages and requests in flight", c.pages+c.flying, c.most.pages),
		limit("requests charged and in flight", c.charged+c.flying, c.most.requests),
		limit("window", c.flying, c.most.window),
		limit("window of the host", c.hostFlying[req.GetHost()], c.most.hostWindow),
		limit("requests of the host", c.hostCount[req.GetHost()], hostCap),
	)
}

// window is the most requests that may be in flight by the control record.
func (c *auditCrawl) window() uint64 {
	if w := uint64(c.ctl.GetWindow()); w > 0 {
		return w
	}
	budget := c.ctl.GetBudget().GetPages()
	if budget == 0 {
		budget = c.ctl.GetBudget().GetRequests()
	}
	return max(1, uint64(c.ctl.GetShards()), budget/20)
}

// answered takes a verdict or a page of seeds; only the first of an id counts.
func (c *auditCrawl) answered(rec *schemas.LinkFound, trail string) error {
	id := string(rec.GetId())
	if c.applied[id] {
		c.seen["verdicts that came twice"]++
		return nil
	}
	outcome := rec.GetOutcome()
	switch outcome {
	case schemas.Outcome_OUTCOME_REPLAY:
		c.replay(rec)
	case schemas.Outcome_OUTCOME_RETRY_FAILED:
		c.retry(rec.GetShard())
	}
	if schemas.Virtual(outcome) {
		c.over = false
	} else {
		req := c.requests[id]
		if req == nil {
			c.seen["verdicts of no valid request"]++
			return nil // it does not count
		}
		req.verdict = rec
		c.came(rec, trail)
		c.flying--
		c.hostFlying[req.GetHost()]--
		if outcome == schemas.Outcome_OUTCOME_REDIRECTED {
			c.seen["redirects"]++
		}
		if schemas.Deferred(outcome) {
			c.seen["deferrals"]++
			c.hostCount[req.GetHost()]--
		}
		consequence := schemas.Outcomes[outcome]
		if consequence.Page {
			c.pages++
			c.raw += rec.GetJudgement().GetRaw()
			c.tempered += rec.GetJudgement().GetTempered()
		}
		if consequence.Request {
			c.charged++
		}
		switch schemas.Outcomes[outcome].Unreachable {
		case schemas.UnreachableNetwork:
			c.seen["network outages"]++
		case schemas.UnreachableHost:
			c.seen["hosts that are down"]++
			c.silent[req.GetHost()] = true
		}
		if rec.GetStatus() > 0 {
			c.silent[req.GetHost()] = false
		}
		c.outcomes[schemas.OutcomeName(outcome)]++
	}
	c.applied[id] = true
	c.order = append(c.order, rec)
	c.ticks[rec.GetShard()] = append(c.ticks[rec.GetShard()], rec)
	return nil
}

// replay takes a replay, which has an effect if the request that it names is the last one for its
// URL and has failed.
func (c *auditCrawl) replay(rec *schemas.LinkFound) {
	id := string(rec.GetReplay())
	if q := c.requests[id]; q != nil && q.verdict != nil && schemas.Failed(q.verdict.GetOutcome()) {
		c.asked[id] = true
	}
}

// retry takes a record to try again what has failed.
func (c *auditCrawl) retry(shard uint32) {
	for host := range c.silent {
		c.silent[host] = c.silent[host] && schemas.ShardOf(host, c.ctl.GetShards()) != shard
	}
	for _, f := range c.fates() {
		last := f.requests[len(f.requests)-1]
		if last.GetShard() == shard && f.final && last.verdict != nil && schemas.Repeatable(last.verdict.GetOutcome()) {
			c.asked[string(last.GetId())], c.renewed[string(last.GetId())] = true, true
			c.seen["tries of what had failed"]++
		}
	}
}

// came notes the records of page.* that led to a verdict.
func (c *auditCrawl) came(rec *schemas.LinkFound, trail string) {
	for _, place := range strings.Fields(trail) {
		var p uint32
		var at int64
		topic, numbers, _ := strings.Cut(place, "/")
		if _, err := fmt.Sscanf(numbers, "%d/%d", &p, &at); err != nil {
			panic(err)
		}
		s := c.through[topic]
		if s == nil {
			s = &schemas.TopicSpan{First: make(map[uint32]int64), Last: make(map[uint32]int64), Xor: make([]byte, 16)}
			c.through[topic] = s
		}
		if first, ok := s.First[p]; !ok || at < first {
			s.First[p] = at
		}
		s.Last[p] = max(s.Last[p], at)
		s.Count++
		for i := range s.Xor {
			s.Xor[i] ^= rec.GetId()[i]
		}
	}
}

// settled takes a leap; a second one of the same id must be the same.
func (c *auditCrawl) settled(l *schemas.LeapSettled) error {
	id := string(l.GetId())
	if was, ok := c.leaps[id]; ok {
		if !proto.Equal(was, l) {
			return fmt.Errorf("a leap was settled in two ways: %v and %v", was, l)
		}
		c.seen["leaps that came twice"]++
		return nil
	}
	if l.GetBoundary() {
		c.seen["boundaries"]++
	}
	c.leaps[id] = l
	c.leapOrder = append(c.leapOrder, l)
	return nil
}

// ended reports whether all owners wait and nothing is left to wait for.
func (a *audit) ended() (bool, error) {
	if a.err != nil {
		return false, a.err
	}
	s := a.s
	if len(s.down.pending) > 0 || s.down.unread() || len(s.train.queue) > 0 {
		return false, nil
	}
	for k := range s.train.read {
		if s.train.read[k] < int64(len(s.Records(schemas.TopicLeapSettled, k))) {
			return false, nil
		}
	}
	for p := range s.dirs {
		if s.newest(p).Done() {
			return false, nil
		}
	}
	for _, o := range s.alive() {
		if !s.waits(o) || !o.wake.IsZero() || s.rest.IsZero() || o.stepped.Before(s.rest) {
			return false, nil
		}
	}
	for name, c := range a.crawls {
		if c.whole().GetState() != schemas.ShardState_SHARD_STATE_FINISHED {
			return false, fmt.Errorf("everybody waits, and crawl %s has not ended: %v", name, c.statuses)
		}
	}
	return true, nil
}

// requests counts the valid requests.
func (a *audit) requests() (n int) {
	for _, c := range a.crawls {
		n += len(c.requests)
	}
	return n
}

func (a *audit) state() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(a.crawls)) {
		c := a.crawls[name]
		fmt.Fprintf(&b, "%s: %d in flight, status %v; ", name, c.flying, c.statuses)
	}
	for _, o := range a.s.alive() {
		fmt.Fprintf(&b, "%s at %s, idle %v, next %d of %d, wake %v; ", o.Name, o.Point(), o.idle, o.next, len(a.s.Records(schemas.TopicLinkFound, o.partition)), o.wake.Sub(a.s.Now))
	}
	return b.String()
}

// check compares the last status of every crawl with the audit's state.
func (a *audit) check() error {
	if a.err != nil {
		return a.err
	}
	for _, name := range slices.Sorted(maps.Keys(a.crawls)) {
		if err := a.crawls[name].check(); err != nil {
			return fmt.Errorf("crawl %s: %w", name, err)
		}
	}
	return nil
}

func (c *auditCrawl) check() error {
	st := c.whole()
	inForce := proto.CloneOf(c.newest)
	inForce.Revision, inForce.Restored = c.ctl.GetRevision(), nil
	if !proto.Equal(inForce, c.ctl) {
		return fmt.Errorf("compaction keeps the control record %v, in force is %v", c.newest, c.ctl)
	}
	if c.deleted() {
		c.seen["ended: deleted"]++
		for k := range schemas.ShardsOf(c.ctl) {
			if st := c.statuses[k]; st.GetEndReason() != endDeleted || len(st.GetSpans()) > 0 {
				return fmt.Errorf("it was deleted, and the status of shard %d is %v", k, st)
			}
		}
		return nil
	}
	var errs []error
	equal := func(what string, got, want any) {
		if got != want {
			errs = append(errs, fmt.Errorf("%s is %v in the status, %v by the records", what, got, want))
		}
	}
	for k := range schemas.ShardsOf(c.ctl) {
		equal(fmt.Sprintf("epoch of the last status of shard %d", k), c.last[k].GetEpoch(), c.statuses[k].GetEpoch())
		equal(fmt.Sprintf("end of shard %d", k), c.statuses[k].GetEndReason(), st.GetEndReason())
	}
	equal("dispatched", st.GetDispatched(), uint64(len(c.requests)))
	equal("in flight", st.GetInFlight(), c.flying)
	equal("pages", st.GetPages(), c.pages)
	equal("requests", st.GetRequests(), c.charged)
	equal("relevance", st.GetRelevanceRaw(), c.raw)
	equal("tempered relevance", st.GetRelevanceTempered(), c.tempered)
	for _, name := range slices.Sorted(maps.Keys(c.outcomes)) {
		equal("outcome "+name, st.GetOutcomes()[name], c.outcomes[name])
	}
	equal("outcomes", len(st.GetOutcomes()), len(c.outcomes))
	var trained, leaps uint64
	for _, l := range c.leapOrder {
		if l.GetBoundary() {
			continue
		}
		leaps++
		if l.GetTrains() {
			trained++
		}
	}
	equal("leaps", st.GetLeaps(), leaps)
	equal("trained", st.GetTrained(), trained)
	span := func(topic string, ids [][]byte) {
		want := make([]byte, 16)
		for _, id := range ids {
			for i := range want {
				want[i] ^= id[i]
			}
		}
		got := st.GetSpans()[topic]
		equal("count of "+topic, got.GetCount(), uint64(len(ids)))
		if len(ids) > 0 && !bytes.Equal(got.GetXor(), want) {
			errs = append(errs, fmt.Errorf("XOR of %s differs", topic))
		}
		if len(ids) > 0 && len(got.GetFirst()) == 0 {
			errs = append(errs, fmt.Errorf("%s has no offsets", topic))
		}
	}
	var requests, verdicts, settled [][]byte
	for id := range c.requests {
		requests = append(requests, []byte(id))
	}
	for _, v := range c.order {
		verdicts = append(verdicts, v.GetId())
	}
	for _, l := range c.leapOrder {
		settled = append(settled, l.GetId())
	}
	span(schemas.TopicFetchRequested, requests)
	span(schemas.TopicLinkFound, verdicts)
	span(schemas.TopicLeapSettled, settled)
	for _, topic := range pageTopics {
		if got, want := st.GetSpans()[topic], c.through[topic]; !proto.Equal(got, want) {
			errs = append(errs, fmt.Errorf("span of %s is %v in the status, %v by the records", topic, got, want))
		}
	}
	if c.flying != 0 {
		errs = append(errs, fmt.Errorf("%d requests have no verdict", c.flying))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return errors.Join(c.checkEnd(), c.checkLeaps(), c.checkClocks())
}

// checkClocks recounts what was in flight at each dispatch from the clocks and ordinals of the dispatches,
// as forager verify does: also through crashes and changes of owners ordinals have no gaps,
// clocks do not decrease, and no window is exceeded.
func (c *auditCrawl) checkClocks() error {
	for k := range schemas.ShardsOf(c.ctl) {
		if err := c.checkClock(k, c.ticks[k]); err != nil {
			return fmt.Errorf("shard %d: %w", k, err)
		}
	}
	return nil
}

// checkClock is checkClocks for a shard; order are the records that it has applied.
func (c *auditCrawl) checkClock(shard uint32, order []*schemas.LinkFound) error {
	var requests []*auditRequest
	for _, r := range c.requests {
		if r.GetShard() == shard {
			requests = append(requests, r)
		}
	}
	slices.SortFunc(requests, func(a, b *auditRequest) int { return cmp.Compare(a.GetOrdinal(), b.GetOrdinal()) })
	flying := make(map[string]bool)
	clock := 0
	for i, r := range requests {
		if i > 0 && r.GetOrdinal() == requests[i-1].GetOrdinal() {
			return fmt.Errorf("%s and %s are both dispatch %d", r.GetUrl(), requests[i-1].GetUrl(), r.GetOrdinal())
		}
		if int(r.GetClock()) < clock || int(r.GetClock()) > len(order) {
			return fmt.Errorf("dispatch %d has the clock %d, after %d, of %d", r.GetOrdinal(), r.GetClock(), clock, len(order))
		}
		for ; clock < int(r.GetClock()); clock++ {
			id := string(order[clock].GetId())
			if c.requests[id] != nil && !flying[id] {
				return fmt.Errorf("the verdict on %s came before its dispatch", order[clock].GetUrl())
			}
			delete(flying, id)
		}
		flying[string(r.GetId())] = true
		if uint64(len(flying)) > c.most.window {
			return fmt.Errorf("%d requests were in flight at dispatch %d, the window is %d", len(flying), r.GetOrdinal(), c.most.window)
		}
	}
	return nil
}

// inScope repeats the little of scope that the simulation uses.
func (c *auditCrawl) inScope(url string) bool {
	sc := c.ctl.GetScope()
	if len(sc.GetPrefixes()) > 0 && !strings.HasPrefix(url, "http://h") {
		return false
	}
	return sc.GetUrlList() == "" || c.web.pages[url] != nil
}

// fate is what follows from the records about one URL.
type fate struct {
	requests []*auditRequest // by attempt
	final    bool
	again    bool               // it was requested again when its links were settled
	verdict  *schemas.LinkFound // the last one
	alias    string             // target, where it redirected to a URL that could be fetched
}

// fates computes the fate of every URL that was requested.
func (c *auditCrawl) fates() map[string]*fate {
	all := make(map[string]*fate)
	for _, req := range c.requests {
		f := all[req.GetUrl()]
		if f == nil {
			f = new(fate)
			all[req.GetUrl()] = f
		}
		f.requests = append(f.requests, req)
	}
	attempts := int(c.ctl.GetMaxAttempts())
	if attempts == 0 {
		attempts = 3
	}
	for _, f := range all {
		slices.SortFunc(f.requests, func(a, b *auditRequest) int { return int(a.GetAttempt()) - int(b.GetAttempt()) })
		tries := 0
		for _, r := range f.requests {
			if r.verdict == nil {
				continue
			}
			f.verdict = r.verdict
			consequence := schemas.Outcomes[r.verdict.GetOutcome()]
			if consequence.Retry && consequence.Request {
				tries++
			}
			f.final = consequence.Final || consequence.Retry && consequence.Request && tries >= attempts
			if f.final && c.asked[string(r.GetId())] {
				f.again = true
			}
			if f.final && c.renewed[string(r.GetId())] {
				tries = 0
			}
			if r.verdict.GetOutcome() == schemas.Outcome_OUTCOME_REDIRECTED {
				f.alias = r.verdict.GetRedirect()
				f.final = false
			}
		}
	}
	return all
}

// checkEnd compares the reason why the crawl ended with what was fetched: if the frontier is
// reported as empty, everything that could be fetched was.
func (c *auditCrawl) checkEnd() error {
	st, b := c.whole(), c.ctl.GetBudget()
	c.seen["ended: "+st.GetEndReason()]++
	if c.ctl.GetShards() > 1 {
		c.seen["several shards ended: "+st.GetEndReason()]++
	}
	switch st.GetEndReason() {
	case "stopped":
		if c.ctl.GetState() != schemas.CrawlState_CRAWL_STATE_STOPPED {
			return errors.New("it reports that it was stopped")
		}
		return nil
	case "pages budget spent":
		if c.pages != b.GetPages() {
			return fmt.Errorf("it reports that the budget of %d pages is spent after %d", b.GetPages(), c.pages)
		}
		return nil
	case "requests budget spent":
		if c.charged != b.GetRequests() {
			return fmt.Errorf("it reports that the budget of %d requests is spent after %d", b.GetRequests(), c.charged)
		}
		return nil
	case "frontier empty", "stagnated: the gate let no link through", frontier.EndUnreachable:
	default:
		return fmt.Errorf("it ended for the reason %q", st.GetEndReason())
	}
	unreached := func(host string) bool { return c.silent[host] && st.GetEndReason() == frontier.EndUnreachable }
	fates := c.fates()
	leading := c.ctl.GetPolicies()
	if c.ctl.GetMixture() == nil {
		leading = leading[:1]
	}
	passes := func(rec *schemas.LinkFound) bool {
		return rec.GetOutcome() == schemas.Outcome_OUTCOME_SEEDS || slices.ContainsFunc(leading, func(p *schemas.Policy) bool {
			return p.GetGate().GetAction() != schemas.GateAction_GATE_ACTION_DROP || rec.GetJudgement().GetRaw() >= p.GetGate().GetThreshold()
		})
	}
	admitted := make(map[string]bool) // through the gate
	var admit func(url string)
	admit = func(url string) {
		if admitted[url] || !c.inScope(url) {
			return
		}
		admitted[url] = true
		if f := fates[url]; f != nil && f.alias != "" && !f.again {
			admit(f.alias)
		}
	}
	for _, rec := range c.order {
		if rec.GetOutcome() != schemas.Outcome_OUTCOME_SEEDS && rec.GetOutcome() != schemas.Outcome_OUTCOME_DELIVERED || !passes(rec) {
			continue
		}
		for _, l := range rec.GetLinks() {
			if l.GetUrl() != rec.GetUrl() {
				admit(l.GetUrl())
			}
		}
	}
	excludes, err := scope.NewExcludes(c.ctl.GetExcludes())
	if err != nil {
		return err
	}
	for id := range c.asked {
		q := c.requests[id]
		if c.requests[string(schemas.RequestID(q.GetCrawl(), q.GetUrl(), q.GetAttempt()+1).Bytes())] == nil && c.ctl.GetScope().GetHostCap() == 0 && !unreached(q.GetHost()) && excludes.URL(q.GetUrl()) == "" {
			return fmt.Errorf("it reports that the frontier is empty, and %s, attempt %d, was to be replayed", q.GetUrl(), q.GetAttempt())
		}
	}
	for url := range admitted {
		f := fates[url]
		host := strings.Split(url, "/")[2]
		if cap := uint64(c.ctl.GetScope().GetHostCap()); cap > 0 && c.hostAll[host] >= cap {
			continue // full, or it was while a request was in flight that came back deferred
		}
		if unreached(host) || excludes.URL(url) != "" {
			continue
		}
		if f == nil || !f.final && f.alias == "" {
			return fmt.Errorf("it reports that the frontier is empty, and %s was not fetched to its end: %+v", url, f)
		}
	}
	return nil
}

// checkLeaps compares the settled leaps with the links of the pages delivered.
func (c *auditCrawl) checkLeaps() error {
	fates := c.fates()
	// resolve follows redirects to the URL whose verdict counts.
	resolve := func(url string) (string, *fate) {
		f := fates[url]
		for hops := 0; f != nil && f.alias != "" && hops < 50; hops++ {
			next := fates[f.alias]
			if !c.inScope(f.alias) || next == nil {
				return url, f
			}
			url, f = f.alias, next
		}
		return url, f
	}
	pages := make(map[string]*schemas.LinkFound)
	for _, rec := range c.order {
		if rec.GetOutcome() == schemas.Outcome_OUTCOME_DELIVERED {
			pages[rec.GetUrl()] = rec
		}
	}
	trained := make(map[string]uint32)
	for _, l := range c.leapOrder {
		if l.GetBoundary() {
			continue
		}
		if !bytes.Equal(l.GetId(), schemas.LeapID(l.GetCrawl(), l.GetU(), l.GetV()).Bytes()) {
			return fmt.Errorf("leap %s → %s has another id", l.GetU(), l.GetV())
		}
		u := pages[l.GetU()]
		if u == nil || !slices.ContainsFunc(u.GetLinks(), func(k *schemas.Link) bool { return k.GetUrl() == l.GetV() }) {
			return fmt.Errorf("leap %s → %s is no link of a page that was delivered", l.GetU(), l.GetV())
		}
		if l.GetSourceRaw() != u.GetJudgement().GetRaw() {
			return fmt.Errorf("leap %s → %s has R(u) %v", l.GetU(), l.GetV(), l.GetSourceRaw())
		}
		target, f := resolve(l.GetV())
		if f == nil {
			return fmt.Errorf("leap %s → %s is settled, and its target was never fetched", l.GetU(), l.GetV())
		}
		if by := c.requests[string(l.GetRequest())]; by != nil && c.asked[string(l.GetRequest())] && by.verdict.GetOutcome() == l.GetOutcome() {
			continue // settled before its target was replayed
		}
		if delivered := pages[target]; (l.GetOutcome() == schemas.Outcome_OUTCOME_DELIVERED) != (delivered != nil && f.final) ||
			delivered != nil && l.GetTargetRaw() != delivered.GetJudgement().GetRaw() {
			return fmt.Errorf("leap %s → %s has %v for %s: %v", l.GetU(), l.GetV(), l.GetOutcome(), target, l)
		}
		if l.GetTrains() {
			if !schemas.Outcomes[l.GetOutcome()].Trains || c.ctl.GetLearning().GetPairs() == schemas.Pairs_PAIRS_FORWARD && !l.GetForward() {
				return fmt.Errorf("leap %s → %s trains", l.GetU(), l.GetV())
			}
			if trained[target]++; trained[target] > 5 {
				return fmt.Errorf("more than five leaps into %s train", target)
			}
		}
		if l.GetPolicy() == "" || len(u.GetLinks()) > 0 && (len(l.GetFeatures()) == 0) != l.GetNoApprentice() {
			return fmt.Errorf("leap %s → %s has policy %q and %d features", l.GetU(), l.GetV(), l.GetPolicy(), len(l.GetFeatures()))
		}
	}
	if c.ctl.GetScope().GetHostCap() > 0 || c.ctl.GetLearning().GetPairs() == schemas.Pairs_PAIRS_FORWARD {
		return nil // links to a host that is full are refused; late links are not leaps
	}
	// waiting are URLs that were to be replayed and were not, as the crawl had ended.
	waiting := make(map[string]bool)
	for id := range c.asked {
		q := c.requests[id]
		waiting[q.GetUrl()] = c.requests[string(schemas.RequestID(q.GetCrawl(), q.GetUrl(), q.GetAttempt()+1).Bytes())] == nil || waiting[q.GetUrl()]
	}
	for url, rec := range pages {
		for _, k := range rec.GetLinks() {
			target, f := resolve(k.GetUrl())
			if k.GetUrl() == url || target == url || !c.inScope(k.GetUrl()) || f == nil || !f.final || waiting[target] {
				continue
			}
			if c.leaps[string(schemas.LeapID(rec.GetCrawl(), url, k.GetUrl()).Bytes())] == nil {
				return fmt.Errorf("link %s → %s is not settled, and its target ended with %v", url, k.GetUrl(), f.verdict.GetOutcome())
			}
		}
	}
	return nil
}
