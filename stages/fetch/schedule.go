package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"forager/internal/crawl/turns"
)

// job is a request for the scheduler. Exactly one of its methods settles it: deferred,
// cancelled, calledOff, or a visit whose report is not to try again.
type job interface {
	// visit makes the request, or finds that it is not necessary; pause is the one kept before it. Where the task has limits it
	// makes one request at most, to the address of its turn; without one ("") none.
	visit(pause time.Duration, address string) report
	// deferred settles the request with a date: the host cannot be requested in time, but at until.
	deferred(until time.Time, why string)
	// cancelled: its crawl was stopped.
	cancelled()
	// calledOff: its partition was revoked.
	calledOff()
}

// report is the result of a visit for its host.
type report struct {
	// asked: a request was made; the host's pause begins now.
	asked bool
	// again: the job is not settled and comes next.
	again bool
	// crawlDelay of robots.txt for this crawl.
	crawlDelay time.Duration
	// address of the next request, where the task has limits and comes again; "" = it is not known.
	address string
}

// task is a job with the data that decide when its turn comes.
type task struct {
	job   job
	ctx   context.Context // ends when its partition is revoked
	crawl string
	host  string
	// delay is the crawl's own pause between two requests to a host; 0 = none is kept.
	delay time.Duration
	// limits of the addresses and networks that its requests go to.
	limits turns.Limits
	// notBefore: not to be visited earlier.
	notBefore time.Time
	// since is when the partition was assigned, if another process may have made requests before;
	// the first pause is counted from it. The host is not requested before quiet at all, if a pause
	// is kept.
	since, quiet time.Time

	state    taskState
	lane     *lane
	deadline time.Time
	stop     func() bool // of watching ctx
	// address of its next request, "" = not known; turn is that in use.
	address string
	turn    *place
}

type taskState int

const (
	sleeping taskState = iota // its notBefore is in the future
	parked                    // in its lane
	underWay
	settled
)

// host is the politeness state of one host.
type host struct {
	name     string
	lanes    map[string]*lane // by crawl
	waiting  int              // tasks that sleep or are parked
	underWay int
	alone    bool // the request in progress keeps a pause
	// known: a visit has reported the crawl delay of its robots.txt. Until then one visit at a
	// time.
	known bool
	ended time.Time     // of the last request
	delay time.Duration // pause kept by the crawl that made it
	used  time.Time     // last used
	// wait: not to be requested before (429, 503, Retry-After).
	wait time.Time
	pace pace
	// wakeAt is when the host is checked next; zero = no task waits for it.
	wakeAt time.Time
}

// lane holds the tasks of one crawl for one host.
type lane struct {
	crawl      *crawl
	host       *host
	tasks      []*task // may hold settled ones
	live       int     // tasks that are parked
	crawlDelay time.Duration
	queued     bool // in crawl.ready
	// place whose turn it waits for, or has without a slot.
	place *place
}

// crawl is the state of one crawl in the round-robin over crawls.
type crawl struct {
	name     string
	ready    []*lane
	queued   bool               // in scheduler.ring
	waiting  map[*task]struct{} // sleeping and parked
	underWay int
	// delay is the longest pause of its requests so far.
	delay time.Duration
}

// scheduler decides which request is made next. At most slots are in progress. It goes round over
// crawls, and within a crawl over its hosts; a host that must wait is skipped.
//
// No crawl takes all slots, or all places for waiting requests: if all its hosts are slow a turn
// would not help the others. The share of a crawl is bounded by the free ones (Choudhury and Hahne,
// Dynamic queue length thresholds, 1998, §II): a single crawl leaves a ninth of the slots free, and
// crawls that need more than there is get equal shares.
//
// A host with a pause gets one request at a time, and the next not before the pause has passed
// since the end of the last one. Of several crawls on a host the longest pause counts. If no crawl
// keeps a pause, requests to a host are made in parallel; their number is bounded by prioritize.
type scheduler struct {
	slots int
	// capacity is the number of requests that may wait.
	capacity int
	hold     time.Duration
	// idle is called when the last request of a crawl in progress has ended and none could begin.
	idle func()

	mu    sync.Mutex
	free  int
	hosts map[string]*host
	// places are addresses for which requests wait or that they are made to.
	places *places
	// sweepAt is the number of hosts at which the next sweep begins.
	sweepAt int
	crawls  map[string]*crawl
	ring    []*crawl // those with ready lanes
	events  events
	timer   *time.Timer
	after   []func() // to be called after the unlock
	parked  int
	closed  bool
}

func newScheduler(slots, capacity int, hold time.Duration, idle func(), places *places) *scheduler {
	s := &scheduler{slots: slots, capacity: capacity, free: slots, hold: hold, idle: idle, hosts: map[string]*host{}, crawls: map[string]*crawl{}, places: places}
	s.timer = time.AfterFunc(time.Hour, s.wake)
	s.sweepRegularly()
	return s
}

// close stops the timer. All tasks must be settled.
func (s *scheduler) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endTurns()
	s.closed = true
	s.timer.Stop()
}

// unlock dispatches requests, releases the lock and makes the postponed calls.
func (s *scheduler) unlock() {
	s.dispatch()
	s.setTimer()
	after := s.after
	s.after = nil
	s.mu.Unlock()
	for _, f := range after {
		f()
	}
}

// add adds a task. It is visited, or settled otherwise, within hold.
func (s *scheduler) add(t *task) {
	s.mu.Lock()
	defer s.unlock()
	now := time.Now()
	t.deadline = now.Add(s.hold)
	if t.limited() {
		t.deadline = now.Add(max(s.hold, holdForTurn))
	}
	h := s.hosts[t.host]
	if h == nil {
		if len(s.hosts) >= max(s.sweepAt, s.capacity+s.slots) {
			s.sweep()
		}
		h = &host{name: t.host, lanes: map[string]*lane{}}
		s.hosts[t.host] = h
	}
	h.used = now
	h.ended = latest(h.ended, t.since)
	if t.delay > 0 {
		h.wait = latest(h.wait, t.quiet)
	}
	c := s.crawls[t.crawl]
	if c == nil {
		c = &crawl{name: t.crawl, waiting: map[*task]struct{}{}}
		s.crawls[t.crawl] = c
	}
	c.delay = max(c.delay, t.delay)
	t.lane = h.lanes[t.crawl]
	if t.lane == nil {
		t.lane = &lane{crawl: c, host: h}
		h.lanes[t.crawl] = t.lane
	}
	if t.notBefore.After(t.deadline) {
		t.state = settled
		s.later(func() { t.job.deferred(t.notBefore, "not to be fetched before") })
		return
	}
	if n := len(c.waiting); n >= max(mostParked, s.capacity-s.parked) {
		t.state = settled
		until := now.Add(max(s.hold, time.Second))
		s.later(func() { t.job.deferred(until, fmt.Sprintf("%d requests of its crawl wait here", n)) })
		return
	}
	s.await(t)
	s.at(t.deadline, func() { s.expire(t) })
	if t.notBefore.After(now) {
		t.state = sleeping
		s.at(t.notBefore, func() {
			if t.state == sleeping {
				s.park(t, false)
			}
		})
		return
	}
	s.park(t, false)
}

// later postpones a call until the lock is released.
func (s *scheduler) later(f func()) { s.after = append(s.after, f) }

// park puts a task into its lane, at the front or at the end.
func (s *scheduler) park(t *task, front bool) {
	l := t.lane
	t.state = parked
	if front {
		l.tasks = append([]*task{t}, l.tasks...)
	} else {
		l.tasks = append(l.tasks, t)
	}
	l.live++
	s.offer(l.host)
}

// leave removes a waiting task.
func (s *scheduler) leave(t *task) {
	if t.state == parked {
		t.lane.live--
	}
	t.state = settled
	s.forget(t)
}

// await counts a task as waiting.
func (s *scheduler) await(t *task) {
	t.lane.crawl.waiting[t] = struct{}{}
	t.lane.host.waiting++
	s.parked++
	t.stop = context.AfterFunc(t.ctx, func() { s.callOff(t) })
}

func (s *scheduler) forget(t *task) {
	delete(t.lane.crawl.waiting, t)
	t.lane.host.waiting--
	s.parked--
	t.stop()
}

func (s *scheduler) callOff(t *task) {
	s.mu.Lock()
	defer s.unlock()
	if t.state == sleeping || t.state == parked {
		s.leave(t)
		s.later(t.job.calledOff)
	}
}

// expire defers a task that has waited as long as it may.
func (s *scheduler) expire(t *task) {
	if t.state != sleeping && t.state != parked {
		return
	}
	now := time.Now()
	until := s.earliest(t.lane.host, now)
	if p := s.turnPlace(t); p != nil {
		until = latest(until, p.turnAt(now))
	}
	s.leave(t)
	s.later(func() { t.job.deferred(until, fmt.Sprintf("its host was not free within %v", s.hold)) })
	s.offer(t.lane.host)
}

// cancel settles the waiting tasks of a crawl.
func (s *scheduler) cancel(name string) {
	s.mu.Lock()
	defer s.unlock()
	c := s.crawls[name]
	if c == nil {
		return
	}
	for t := range c.waiting {
		s.leave(t)
		s.later(t.job.cancelled)
	}
}

// refused notes that a host has refused a request. It returns until when the host is not requested
// and how often it has refused in a row.
func (s *scheduler) refused(name string, retryAfter time.Duration) (until time.Time, times int) {
	s.mu.Lock()
	defer s.unlock()
	now := time.Now()
	h := s.hosts[name]
	if h == nil {
		return now.Add(max(retryAfter, firstWait)), 1
	}
	h.pace = h.pace.refused()
	wait := min(firstWait<<min(h.pace.refusals-1, 16), lastWait)
	if retryAfter > 0 {
		wait = min(max(retryAfter, time.Second), mostRetryAfter)
	}
	h.wait = latest(h.wait, now.Add(wait))
	return h.wait, h.pace.refusals
}

const (
	firstWait      = 10 * time.Second // after the first refusal without Retry-After; doubles with each
	lastWait       = time.Hour
	mostRetryAfter = 24 * time.Hour
)

// answered notes a normal response of a host that took so long.
func (s *scheduler) answered(name string, took time.Duration) {
	s.mu.Lock()
	defer s.unlock()
	if h := s.hosts[name]; h != nil {
		h.pace = h.pace.responded(took)
	}
}

// timedOut notes a request to a host without a response.
func (s *scheduler) timedOut(name string) {
	s.mu.Lock()
	defer s.unlock()
	if h := s.hosts[name]; h != nil {
		h.pace = h.pace.timedOut()
	}
}

// pause returns the pause before the host's next request: the longest of those of the crawls that
// may be next and of the crawl of the last request, or what the host's pace makes of it.
func (h *host) pause() time.Duration {
	longest := h.delay
	for _, l := range h.lanes {
		if l.live > 0 {
			longest = max(longest, l.pause())
		}
	}
	return h.pace.of(longest)
}

// pause returns that of the lane's crawl.
func (l *lane) pause() time.Duration {
	if t := l.front(); t != nil {
		return max(l.crawlDelay, t.delay)
	}
	return l.crawlDelay
}

// front returns the lane's next task; nil if there is none.
func (l *lane) front() *task {
	for len(l.tasks) > 0 && l.tasks[0].state != parked {
		l.tasks[0] = nil
		l.tasks = l.tasks[1:]
	}
	if len(l.tasks) == 0 {
		l.tasks = nil
		return nil
	}
	return l.tasks[0]
}

// earliest returns when the host may be requested next, as far as time decides it.
func (s *scheduler) earliest(h *host, now time.Time) time.Time {
	at := latest(h.wait, now)
	if pause := h.pause(); pause > 0 && !h.ended.IsZero() {
		at = latest(at, h.ended.Add(pause))
	}
	return at
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// free reports whether the requests in progress permit another one.
func (h *host) free() bool {
	return h.underWay == 0 || h.known && !h.alone && h.pause() == 0
}

// offer puts the lanes of a host into the queues of their crawls if it may be requested, or sets
// the time of the next check. Tasks that cannot wait that long are deferred.
func (s *scheduler) offer(h *host) {
	if !h.free() {
		return // the end of the request in progress offers it again
	}
	now := time.Now()
	at := s.earliest(h, now)
	if !at.After(now) {
		for _, l := range h.lanes {
			if l.live > 0 {
				s.admit(l, now)
			}
		}
		return
	}
	waited := false
	for _, l := range h.lanes {
		for t := l.front(); t != nil && at.After(t.deadline); t = l.front() {
			s.leave(t)
			s.later(func() { t.job.deferred(at, "its host must be left alone until then") })
		}
		waited = waited || l.live > 0
	}
	if waited && (h.wakeAt.IsZero() || at.Before(h.wakeAt)) {
		h.wakeAt = at
		s.at(at, func() {
			if h.wakeAt.Equal(at) {
				h.wakeAt = time.Time{}
				s.offer(h)
			}
		})
	}
}

// queue appends the lane to those of its crawl.
func (s *scheduler) queue(l *lane) {
	if l.queued {
		return
	}
	l.queued = true
	l.crawl.ready = append(l.crawl.ready, l)
	if !l.crawl.queued {
		l.crawl.queued = true
		s.ring = append(s.ring, l.crawl)
	}
}

const (
	// slotsPerFree bounds the slots of a crawl, in multiples of the free ones.
	slotsPerFree = 8
	// mostParked requests of a crawl may wait, however few places the others leave.
	mostParked = 64
)

// may reports whether the crawl may take another slot. If there are fewer than nine slots, none is
// kept free.
func (s *scheduler) may(c *crawl) bool {
	spare := s.free
	if s.slots > slotsPerFree {
		spare--
	}
	return c.underWay == 0 || c.underWay < slotsPerFree*spare
}

// dispatch begins requests while there are slots.
func (s *scheduler) dispatch() {
	for refused := 0; s.free > 0 && len(s.ring) > refused; {
		c := s.ring[0]
		s.ring[0], s.ring = nil, s.ring[1:]
		if !s.may(c) {
			s.ring = append(s.ring, c)
			refused++
			continue
		}
		refused = 0
		l := c.ready[0]
		c.ready[0], c.ready = nil, c.ready[1:]
		l.queued = false
		if c.queued = len(c.ready) > 0; c.queued {
			s.ring = append(s.ring, c)
		}
		h, now := l.host, time.Now()
		t := l.front()
		if t == nil {
			s.quit(l)
			continue
		}
		p := s.turnPlace(t)
		if !h.free() || s.earliest(h, now).After(now) || p != nil && (p.holder != l || !p.valid(now)) {
			s.quit(l)
			s.offer(h)
			continue
		}
		s.begin(t, p)
	}
}

// begin begins the visit of a task, in the turn of the place if it is not nil.
func (s *scheduler) begin(t *task, p *place) {
	h, l := t.lane.host, t.lane
	pause := l.pause()
	if t.turn = p; p == nil {
		s.quit(l)
	} else {
		l.place, p.inUse = nil, true
	}
	address := ""
	if p != nil {
		address = p.address
	}
	s.forget(t)
	t.state = underWay
	l.live--
	l.front()
	h.underWay++
	h.alone = pause > 0
	l.crawl.underWay++
	s.free--
	s.offer(h)
	go func() {
		r := t.job.visit(pause, address)
		s.end(t, pause, r)
	}()
}

// end processes the report of a visit.
func (s *scheduler) end(t *task, pause time.Duration, r report) {
	s.mu.Lock()
	defer s.unlock()
	h, c, now := t.lane.host, t.lane.crawl, time.Now()
	h.underWay--
	c.underWay--
	h.known = h.known || !t.limited() || t.turn != nil
	h.used = now
	s.free++
	if r.asked {
		h.ended, h.delay = now, pause
	}
	t.lane.crawlDelay = max(t.lane.crawlDelay, r.crawlDelay)
	t.address = r.address
	if p := t.turn; p != nil {
		t.turn, p.rest = nil, h.pace.least
		s.endTurn(p, !r.asked, now)
	}
	if r.again {
		s.back(t)
	} else {
		t.state = settled
	}
	s.offer(h)
	if c.underWay == 0 {
		s.later(func() {
			s.mu.Lock()
			none := c.underWay == 0
			s.mu.Unlock()
			if none {
				s.idle()
			}
		})
	}
}

// back parks a task again that its visit did not settle.
func (s *scheduler) back(t *task) {
	s.await(t)
	s.park(t, true)
	if !t.deadline.After(time.Now()) {
		s.expire(t)
	}
}

// A host that is slowed down is dropped when no request was made to it or waited for it for forgetHost.
const (
	sweepEvery = time.Minute
	forgetHost = 10 * time.Minute
)

// sweep drops the hosts whose state is not needed any more. It runs each minute, and when there are twice as many hosts
// as after the last sweep, but not before there are as many as requests that may wait or be in progress. So the hosts
// kept are, within a factor of two, those with requests and those that must not be requested yet.
func (s *scheduler) sweep() {
	now, longest := time.Now(), time.Duration(0)
	for _, c := range s.crawls {
		if len(c.waiting) > 0 || c.underWay > 0 {
			longest = max(longest, c.delay)
		}
	}
	for name, h := range s.hosts {
		if h.waiting == 0 && h.underWay == 0 && now.After(h.until(longest)) {
			delete(s.hosts, name)
		}
	}
	s.sweepAt = 2 * len(s.hosts)
}

// until returns how long the state of a host without requests is needed, if crawls keep a pause of at most longest.
func (h *host) until(longest time.Duration) time.Time {
	pause := max(h.delay, longest)
	for _, l := range h.lanes {
		pause = max(pause, l.crawlDelay)
	}
	pause = h.pace.of(pause)
	until := h.wait
	if !h.ended.IsZero() {
		until = latest(until, h.ended.Add(pause))
	}
	if h.pace.slowed() {
		until = latest(until, h.used).Add(forgetHost)
	}
	return until
}

// sweepRegularly sweeps now and each minute.
func (s *scheduler) sweepRegularly() {
	s.sweep()
	s.at(time.Now().Add(sweepEvery), s.sweepRegularly)
}

// counts returns the numbers of hosts known, tasks that wait and visits in progress.
func (s *scheduler) counts() (hosts, waiting, underWay int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.hosts), s.parked, s.slots - s.free
}

// unslotted returns the number of requests that wait for nothing but a slot: their hosts may be requested now.
func (s *scheduler) unslotted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, now := 0, time.Now()
	for _, c := range s.ring {
		for _, l := range c.ready {
			switch h := l.host; {
			case l.live == 0 || !h.free() || s.earliest(h, now).After(now):
			case !h.known || l.pause() > 0: // one at a time
				n++
			default:
				n += l.live
			}
		}
	}
	return n
}
