package notify

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"forager/internal/monitor/view"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/stream/kafka"
)

const (
	maxRecent  = 100  // events that are kept for the stream
	maxWaiting = 100  // events that wait for a receiver
	maxText    = 1000 // bytes of the text of an event, or of an error
	keepFor    = 24 * time.Hour
	// settle is the least time between two looks at the statuses of crawls, every the longest, and the time between two looks at dead.letter.
	settle, every = time.Second, 15 * time.Second
	// saveWithin is the time within which changes are stored that can be derived again.
	saveWithin = 30 * time.Second
	callWithin = 5 * time.Second // calls of the broker and the store
	// standby is the time that a process leaves to another one that sends, too: pods all have the number 0.
	standby = 2 * time.Minute
)

// Notifier derives and sends events. Its fields are not changed while Run runs.
type Notifier struct {
	Source   *view.Source
	Settings *pipeline.Monitor
	Link     string // address of the monitor's page
	Store    *objects.Store
	Kafka    *kafka.Client
	Log      *slog.Logger
	// Count counts what became of events at a webhook, by its number from 1: delivered, failed (a request) or dropped.
	Count func(webhook int, outcome string)
	// Sends: this process keeps the state in the store and sends events.
	Sends bool

	state  *state    // nil until it is loaded
	number uint64    // of its object; 0 = none
	after  time.Time // before which it is not loaded
	saveBy time.Time
	looked time.Time // at dead.letter
	quiet  bool      // what is derived is no event
	hooks  []*hook
	sent   chan result
	wg     sync.WaitGroup
}

// Run derives and sends events until ctx ends.
func (n *Notifier) Run(ctx context.Context) {
	n.prepare()
	for ctx.Err() == nil {
		changed := n.Source.Changed()
		n.step(ctx, time.Now())
		select {
		case r := <-n.sent:
			n.take(r, time.Now())
			continue
		case <-changed:
		case <-time.After(every):
		case <-ctx.Done():
		}
		select {
		case <-time.After(settle):
		case <-ctx.Done():
		}
	}
	n.wg.Wait()
	for len(n.sent) > 0 {
		n.take(<-n.sent, time.Now())
	}
	n.save(context.WithoutCancel(ctx), time.Now().Add(saveWithin))
}

func (n *Notifier) prepare() {
	n.hooks = hooksOf(n.Settings.Webhooks)
	n.sent = make(chan result, len(n.hooks))
}

// step derives, stores and sends what is due.
func (n *Notifier) step(ctx context.Context, now time.Time) {
	if n.state == nil {
		if now.Before(n.after) {
			return
		}
		if err := n.begin(ctx, now); err != nil {
			n.warn("the state of events cannot be read", err)
			return
		}
	}
	n.crawls(now)
	if now.Sub(n.looked) >= every {
		n.looked = now
		if err := n.letters(ctx, now); err != nil {
			n.warn("dead letters cannot be read", err)
		}
	}
	n.save(ctx, now)
	for _, h := range n.hooks {
		n.send(ctx, h, now)
	}
}

func (n *Notifier) warn(what string, err error) { n.Log.Warn(what, "error", short(err.Error())) }

// event returns an event without text and figures.
func (n *Notifier) event(kind, crawl, cause string, at time.Time) *view.Event {
	link := n.Link + "/crawls/" + crawl
	if kind == pipeline.EventDeadLetters {
		link = n.Link + "/letters"
	}
	return &view.Event{ID: fmt.Sprintf("%s/%s/%s", cmp.Or(crawl, "-"), kind, cause), Kind: kind, Crawl: crawl, Time: at.UTC(), Link: link}
}

// emit keeps an event, and lets it wait for the receivers that want it.
func (n *Notifier) emit(e *view.Event, now time.Time, text string, args ...any) {
	if n.quiet {
		return
	}
	e.Text = short(fmt.Sprintf(text, args...))
	n.state.Recent = append(n.state.Recent, *e)
	n.state.Recent = n.state.Recent[max(0, len(n.state.Recent)-maxRecent):]
	n.Source.Announce(n.state.Recent)
	for _, h := range n.hooks {
		if h.Accepts(e.Kind, e.Crawl) && (e.Kind != pipeline.EventHarvestBelow || h.HarvestBelow == e.Figures["bound"]) {
			n.state.Waiting[h.key] = append(n.state.Waiting[h.key], waiting{*e, now})
			n.drop(h, now)
		}
	}
	n.saveBy = now
}

// drop gives up the oldest events that wait for a receiver, if they are too many or too old.
func (n *Notifier) drop(h *hook, now time.Time) {
	list := n.state.Waiting[h.key]
	for len(list) > maxWaiting || len(list) > 0 && now.Sub(list[0].Since) > keepFor {
		n.Log.Error("event given up", "webhook", h.number, "host", h.Host(), "event", list[0].Event.ID)
		n.Count(h.number, "dropped")
		list, n.saveBy = list[1:], now
	}
	n.state.Waiting[h.key] = slices.Clip(list)
}

// short returns a text in one line, as it may be shown, cut.
func short(text string) string {
	if len(text) > maxText {
		text = text[:maxText] + " …"
	}
	return view.Plain(text)
}
