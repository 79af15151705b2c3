package experiment

import (
	"container/heap"
	"time"

	"forager/schemas"
)

// Network lets requests of a crawl overlap, as they do in a pipeline, in a time of its own: a crawl over
// it comes out the same every time, too. A verdict comes back when its host has answered and the machine
// that all pages share has worked on it.
type Network struct {
	// Window and HostWindow are those of a crawl's control record; 0 = their defaults.
	Window, HostWindow uint32
	// Pause that every host is left alone between two requests; 0 = it answers all at once.
	Pause time.Duration
	// Loop is what a request takes from its dispatch to its verdict where it waits for nothing.
	Loop time.Duration
	// Work is what the machine needs for a page, one after the other.
	Work time.Duration
}

// overlap makes a crawl whose requests are under way side by side.
func (c *crawling) overlap(n *Network) (*Crawl, error) {
	w := wire{Network: n, began: c.now, free: make(map[string]time.Time)}
	for {
		requests, err := c.shard.Dispatch(c.now, 1024)
		if err != nil {
			return nil, err
		}
		for _, r := range requests {
			w.send(c.now, r)
		}
		if len(w.events) == 0 {
			c.crawl.Took = c.now.Sub(w.began)
			return c.finish()
		}
		e := heap.Pop(&w.events).(event)
		c.now = e.at
		if !e.done {
			w.work(e)
			continue
		}
		if err := c.fetch(e.request); err != nil {
			return nil, err
		}
	}
}

// wire is what is under way.
type wire struct {
	*Network
	began   time.Time
	free    map[string]time.Time // when a host may be asked next
	machine time.Time            // when the machine is free
	events  events
	sent    int
}

// send puts a request on its way; it arrives at the machine once its host has answered.
func (w *wire) send(now time.Time, r *schemas.FetchRequest) {
	begin := now
	if free := w.free[r.GetHost()]; w.Pause > 0 && free.After(now) {
		begin = free
	}
	end := begin.Add(w.Loop)
	w.free[r.GetHost()] = end.Add(w.Pause)
	w.push(event{at: end, request: r})
}

// work puts an answer into the machine's queue.
func (w *wire) work(e event) {
	if w.machine.Before(e.at) {
		w.machine = e.at
	}
	w.machine = w.machine.Add(w.Work)
	w.push(event{at: w.machine, request: e.request, done: true})
}

func (w *wire) push(e event) {
	w.sent++
	e.number = w.sent
	heap.Push(&w.events, e)
}

// event: at that time the machine gets an answer, or is done with it.
type event struct {
	at      time.Time
	number  int // what was sent first comes first
	request *schemas.FetchRequest
	done    bool
}

// events is a heap.
type events []event

func (e events) Len() int      { return len(e) }
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e events) Less(i, j int) bool {
	if !e[i].at.Equal(e[j].at) {
		return e[i].at.Before(e[j].at)
	}
	return e[i].number < e[j].number
}
func (e *events) Push(x any) { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	x := old[len(old)-1]
	*e = old[:len(old)-1]
	return x
}
