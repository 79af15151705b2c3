package main

import (
	"container/heap"
	"context"
	"fmt"
	"sync"
	"time"
)

// job is a request as the scheduler sees it. Exactly one of its methods settles it: deferred,
// cancelled, calledOff, or a visit whose report does not say again.
type job interface {
	// visit asks the host, or finds that it need not; pause is the one kept before it.
	visit(pause time.Duration) report
	// deferred gives the request back: the host cannot be asked in time, but at until.
	deferred(until time.Time, why string)
	// cancelled: its crawl was stopped.
	cancelled()
	// calledOff: its partition was given up.
	calledOff()
}

// report is what a visit tells of the host.
type report struct {
	// asked: the host was asked; its pause begins now.
	asked bool
	// again: the job is not settled and comes next.
	again bool
	// crawlDelay that robots.txt asks this crawl for.
	crawlDelay time.Duration
}

// task is a job with what decides when its turn comes.
type task struct {
	job   job
	ctx   context.Context // ends when its partition is given up
	crawl string
	host  string
	// delay is the crawl's own pause between two requests to a host; 0 = none is kept.
	delay time.Duration
	// notBefore: not to be visited earlier.
	notBefore time.Time
	// since is when the partition came here, if another process may have asked its hosts before;
	// the first pause is counted from it. The host is not asked before quiet at all, if a pause
	// is kept.
	since, quiet time.Time

	state    taskState
	lane     *lane
	deadline time.Time
	stop     func() bool // of watching ctx
}

type taskState int

const (
	sleeping taskState = iota // its notBefore is to come
	parked                    // in its lane
	underWay
	settled
)

// host is what politeness needs to know of one host.
type host struct {
	name     string
	lanes    map[string]*lane // by crawl
	waiting  int              // tasks that sleep or are parked
	underWay int
	alone    bool // the request under way keeps a pause
	// known: a visit has told what its robots.txt asks for. Until then one visit at a time.
	known bool
	ended time.Time     // of the last request
	delay time.Duration // pause kept by the crawl that made it
	used  time.Time     // last sign of life
	// wait: not to be asked before (429, 503, Retry-After).
	wait time.Time
	// refusals in a row, and the pause that they added.
	refusals int
	slower   time.Duration
	// wakeAt is when the host is looked at next; zero = nobody waits for it.
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
}

// crawl has its turn among crawls.
type crawl struct {
	name     string
	ready    []*lane
	queued   bool               // in scheduler.ring
	waiting  map[*task]struct{} // sleeping and parked
	underWay int
	// delay is the longest that one of its requests has asked for.
	delay time.Duration
}

// scheduler decides which request is made next. At most slots are under way. The turn goes
// round over crawls, and within a crawl over its hosts; a host that must wait is passed over.
//
// No crawl takes all slots, nor all the room for requests that wait: its hosts may all be slow,
// and then a turn would not help the others. What a crawl may take is bounded by what is free
// (Choudhury and Hahne, Dynamic queue length thresholds, 1998, §II): one alone leaves a ninth of
// the slots, and of many that want more than there is, each gets the same.
//
// A host with a pause is asked one request at a time, and the next not before the pause has
// passed since the end of the last one. Of several crawls on a host the longest pause counts.
// Where no crawl wants a pause, requests to a host run side by side; their number is bounded
// by prioritize.
type scheduler struct {
	slots int
	// room is for requests that wait.
	room int
	hold time.Duration
	// idle is called when the last request of a crawl that was under way has ended and none
	// could begin.
	idle func()

	mu    sync.Mutex
	free  int
	hosts map[string]*host
	// sweepAt is how many hosts are known when those that are of no use any more are looked for.
	sweepAt int
	crawls  map[string]*crawl
	ring    []*crawl // those with ready lanes
	events  events
	timer   *time.Timer
	after   []func() // to be called behind the lock
	parked  int
	closed  bool
}

func newScheduler(slots, room int, hold time.Duration, idle func()) *scheduler {
	s := &scheduler{slots: slots, room: room, free: slots, hold: hold, idle: idle, hosts: map[string]*host{}, crawls: map[string]*crawl{}}
	s.timer = time.AfterFunc(time.Hour, s.wake)
	s.sweepRegularly()
	return s
}

// close stops the clock. Tasks must be settled by then.
func (s *scheduler) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.timer.Stop()
}

// unlock gives the lock back, calls what was put off, and lets requests begin.
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

// add takes a task. It is visited, or settled otherwise, within the time of holding.
func (s *scheduler) add(t *task) {
	s.mu.Lock()
	defer s.unlock()
	now := time.Now()
	t.deadline = now.Add(s.hold)
	h := s.hosts[t.host]
	if h == nil {
		if len(s.hosts) >= max(s.sweepAt, s.room+s.slots) {
			s.sweep()
		}
		h = &host{name: t.host, lanes: map[string]*lane{}}
		s.hosts[t.host] = h
	}
	h.used = now
	if t.since.After(h.ended) {
		h.ended = t.since
	}
	if t.delay > 0 && t.quiet.After(h.wait) {
		h.wait = t.quiet
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
	if n := len(c.waiting); n >= max(mostParked, s.room-s.parked) {
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

// later puts a call off until the lock is given back.
func (s *scheduler) later(f func()) { s.after = append(s.after, f) }

// park puts a task into its lane, in front or at the end.
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

// leave takes a waiting task out, for good.
func (s *scheduler) leave(t *task) {
	if t.state == parked {
		t.lane.live--
	}
	t.state = settled
	s.forget(t)
}

// await counts a task among those that wait.
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

// expire gives back a task that was held for as long as it may be.
func (s *scheduler) expire(t *task) {
	if t.state != sleeping && t.state != parked {
		return
	}
	until := s.earliest(t.lane.host, time.Now())
	s.leave(t)
	s.later(func() { t.job.deferred(until, fmt.Sprintf("its host was not free within %v", s.hold)) })
	s.offer(t.lane.host)
}

// cancel settles what a crawl has waiting.
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

// refused notes that a host asked for fewer requests. It says until when the host is left
// alone and how often it has refused in a row.
func (s *scheduler) refused(name string, retryAfter time.Duration) (until time.Time, times int) {
	s.mu.Lock()
	defer s.unlock()
	now := time.Now()
	h := s.hosts[name]
	if h == nil {
		return now.Add(max(retryAfter, firstWait)), 1
	}
	h.refusals++
	h.slower = min(max(2*h.slower, time.Second), mostSlower)
	wait := min(firstWait<<min(h.refusals-1, 16), lastWait)
	if retryAfter > 0 {
		wait = min(max(retryAfter, time.Second), mostRetryAfter)
	}
	if until = now.Add(wait); until.After(h.wait) {
		h.wait = until
	}
	return h.wait, h.refusals
}

const (
	firstWait      = 10 * time.Second // after the first refusal without Retry-After; doubles with each
	lastWait       = time.Hour
	mostRetryAfter = 24 * time.Hour
	mostSlower     = time.Minute // added to the pause of a host that refuses
)

// answered notes that a host answered as hosts do.
func (s *scheduler) answered(name string) {
	s.mu.Lock()
	defer s.unlock()
	if h := s.hosts[name]; h != nil {
		h.refusals = 0
		if h.slower /= 2; h.slower < 100*time.Millisecond {
			h.slower = 0
		}
	}
}

// pause is the pause that the host's next request has to keep: the longest of those whose turn
// it may be, of the crawl that asked last, and of the host's own refusals.
func (h *host) pause() time.Duration {
	longest := max(h.delay, h.slower)
	for _, l := range h.lanes {
		if l.live > 0 {
			longest = max(longest, l.pause())
		}
	}
	return longest
}

// pause is the one that the lane's crawl wants.
func (l *lane) pause() time.Duration {
	if t := l.front(); t != nil {
		return max(l.crawlDelay, t.delay)
	}
	return l.crawlDelay
}

// front is the lane's next task; nil where there is none.
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

// earliest is when the host may be asked next, as far as time decides it.
func (s *scheduler) earliest(h *host, now time.Time) time.Time {
	at := h.wait
	if pause := h.pause(); pause > 0 && !h.ended.IsZero() {
		if end := h.ended.Add(pause); end.After(at) {
			at = end
		}
	}
	if at.Before(now) {
		return now
	}
	return at
}

// free says whether the requests under way let another begin.
func (h *host) free() bool {
	return h.underWay == 0 || h.known && !h.alone && h.pause() == 0
}

// offer puts the lanes of a host whose turn may come into the queues of their crawls, or sets
// the time when to look again. Tasks that cannot be held that long are given back.
func (s *scheduler) offer(h *host) {
	if !h.free() {
		return // the end of what is under way offers it again
	}
	now := time.Now()
	at := s.earliest(h, now)
	if !at.After(now) {
		for _, l := range h.lanes {
			if l.live > 0 {
				s.queue(l)
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

// queue gives the lane its place among those of its crawl.
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
	// slotsPerFree bounds the slots of a crawl, in multiples of those that are free.
	slotsPerFree = 8
	// mostParked requests of a crawl may wait, however little room the others leave.
	mostParked = 64
)

// may says whether the crawl may take another slot. Where slots are so few that one would be a
// larger share than a ninth, none is kept free.
func (s *scheduler) may(c *crawl) bool {
	spare := s.free
	if s.slots > slotsPerFree {
		spare--
	}
	return c.underWay == 0 || c.underWay < slotsPerFree*spare
}

// dispatch begins requests while there is room.
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
			continue
		}
		if !h.free() || s.earliest(h, now).After(now) {
			s.offer(h)
			continue
		}
		s.begin(t)
	}
}

func (s *scheduler) begin(t *task) {
	h, l := t.lane.host, t.lane
	pause := l.pause()
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
		r := t.job.visit(pause)
		s.end(t, pause, r)
	}()
}

// end takes the report of a visit.
func (s *scheduler) end(t *task, pause time.Duration, r report) {
	s.mu.Lock()
	defer s.unlock()
	h, c, now := t.lane.host, t.lane.crawl, time.Now()
	h.underWay--
	c.underWay--
	h.known = true
	h.used = now
	s.free++
	if r.asked {
		h.ended, h.delay = now, pause
	}
	t.lane.crawlDelay = max(t.lane.crawlDelay, r.crawlDelay)
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

// back parks a task again whose visit did not settle it.
func (s *scheduler) back(t *task) {
	s.await(t)
	s.park(t, true)
	if !t.deadline.After(time.Now()) {
		s.expire(t)
	}
}

// A host that has refused, and has not been asked or waited for since, is forgotten after forgetHost.
const (
	sweepEvery = time.Minute
	forgetHost = 10 * time.Minute
)

// sweep forgets the hosts of which nothing needs to be known any more. It is made each minute, and when there are twice as many
// hosts as it left last, but not before there are as many as requests that may wait or be under way. So the hosts that are kept are, within
// a factor of two, those with requests and those that must still be left alone.
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

// until is how long something must be known of a host without requests, for crawls that keep a pause of at most longest.
func (h *host) until(longest time.Duration) time.Time {
	pause := max(h.delay, h.slower, longest)
	for _, l := range h.lanes {
		pause = max(pause, l.crawlDelay)
	}
	until := h.wait
	if end := h.ended.Add(pause); !h.ended.IsZero() && end.After(until) {
		until = end
	}
	if since := h.used.Add(forgetHost); h.refusals > 0 || h.slower > 0 {
		if until = until.Add(forgetHost); since.After(until) {
			until = since
		}
	}
	return until
}

// sweepRegularly forgets hosts now and each minute.
func (s *scheduler) sweepRegularly() {
	s.sweep()
	s.at(time.Now().Add(sweepEvery), s.sweepRegularly)
}

// counts are those of hosts known, tasks that wait and visits under way.
func (s *scheduler) counts() (hosts, waiting, underWay int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.hosts), s.parked, s.slots - s.free
}

// event is something to do at a time, under the lock.
type event struct {
	at time.Time
	do func()
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	old[len(old)-1] = event{}
	*e = old[:len(old)-1]
	return last
}

func (s *scheduler) at(at time.Time, do func()) { heap.Push(&s.events, event{at, do}) }

// setTimer sets the clock to the next event.
func (s *scheduler) setTimer() {
	if len(s.events) > 0 && !s.closed {
		s.timer.Reset(time.Until(s.events[0].at))
	}
}

// wake does what is due.
func (s *scheduler) wake() {
	s.mu.Lock()
	defer s.unlock()
	for now := time.Now(); len(s.events) > 0 && !s.events[0].at.After(now); {
		heap.Pop(&s.events).(event).do()
	}
}
