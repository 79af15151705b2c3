package experiment

import (
	"context"
	"time"

	"github.com/tidwall/btree"

	"forager/schemas"
)

// Network simulates overlapping requests of a crawl, as in a pipeline, in virtual time, so that the crawl is deterministic,
// too. A verdict is returned when its host has responded and the machine that all pages share has processed it.
type Network struct {
	// Window and HostWindow are those of a crawl's control record; 0 = their defaults.
	Window, HostWindow uint32
	// Pause between two requests to a host; 0 = requests to a host are not spaced.
	Pause time.Duration
	// Loop is the time of a request from its dispatch to its verdict if it does not wait.
	Loop time.Duration
	// Work is the processing time of a page on the machine, which processes one at a time.
	Work time.Duration
}

// overlap runs a crawl with overlapping requests.
func (c *crawling) overlap(ctx context.Context, n *Network) (*Crawl, error) {
	w := wire{Network: n, began: c.now, free: make(map[string]time.Time), events: btree.NewBTreeG(event.before)}
	for {
		requests, err := c.shard.Dispatch(c.now, 1024)
		if err != nil {
			return nil, err
		}
		for _, r := range requests {
			w.send(c.now, r)
		}
		e, ok := w.events.PopMin()
		if !ok {
			c.crawl.Took = c.now.Sub(w.began)
			return c.finish()
		}
		c.now = e.at
		if !e.done {
			w.work(e)
			continue
		}
		if err := c.fetch(ctx, e.request); err != nil {
			return nil, err
		}
	}
}

// wire holds the requests in flight.
type wire struct {
	*Network
	began   time.Time
	free    map[string]time.Time // earliest time of the next request to a host
	machine time.Time            // time at which the machine is idle
	events  *btree.BTreeG[event]
	sent    int
}

// send sends a request; it arrives at the machine once its host has responded.
func (w *wire) send(now time.Time, r *schemas.FetchRequest) {
	begin := now
	if free := w.free[r.GetHost()]; w.Pause > 0 && free.After(now) {
		begin = free
	}
	end := begin.Add(w.Loop)
	w.free[r.GetHost()] = end.Add(w.Pause)
	w.push(event{at: end, request: r})
}

// work adds a response to the machine's queue.
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
	w.events.Set(e)
}

// event: at that time the machine receives a response, or has processed it.
type event struct {
	at      time.Time
	number  int // order of sending, for ties
	request *schemas.FetchRequest
	done    bool
}

func (e event) before(o event) bool {
	return e.at.Before(o.at) || e.at.Equal(o.at) && e.number < o.number
}
