package queue

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
	"forager/schemas"
)

// outage is a time during which the network cannot be used: requests have OUTCOME_NETWORK_UNREACHABLE. Nothing is charged
// then, and no try is counted. The shard dispatches nothing until the time that fetch names, and at most ProbeRequests at a time from then
// on. A response of any web server to a request later than the last one that failed ends the outage (docs/decisions/0001).
type outage struct {
	// Since is when the first request failed, last when the last one did, by the clock of fetch; Until is when a probe may
	// be sent. Unix milliseconds; Since = 0: there is no outage.
	Since, last, Until int64
	// cause is one line.
	cause string
}

// ProbeRequests are in flight at most during an outage: more than one, as the probe may meet a host that is down itself.
const ProbeRequests = 2

// NetworkFailed takes a verdict with OUTCOME_NETWORK_UNREACHABLE on a request to a host.
func (w *Waits) NetworkFailed(h *Host, rec *schemas.LinkFound, now int64) error {
	at, o := fetchedAt(rec, now), &w.Outage
	if o.Since == 0 {
		o.Since = at
	}
	until := rec.GetNotBefore()
	if until <= 0 {
		until = w.RetryAt(now, 0)
	}
	until = min(until, now+longestHostWait)
	o.last, o.Until, o.cause = max(o.last, at), max(o.Until, until), oneLine(rec.GetDetail())
	if err := w.saveOutage(); err != nil {
		return err
	}
	if h.failingSince > 0 { // the host may be the only cause of the outage: its patience continues
		if err := w.setFailing(h, h.failingSince, max(h.failedAt, at)); err != nil {
			return err
		}
	}
	if until <= now {
		return nil
	}
	if w.hosts.Backlog() > h.backlog.All() {
		until += until - now // the next probes go to other hosts
	}
	return w.Sleep(h, until, state.Resting)
}

// networkAnswered takes a verdict on a request to which a web server has responded.
func (w *Waits) networkAnswered(rec *schemas.LinkFound, now int64) error {
	if w.Outage.Since == 0 || fetchedAt(rec, now) <= w.Outage.last {
		return nil
	}
	w.Outage = outage{}
	return w.saveOutage()
}

// OutageStatus is CrawlStatus.outage; nil if there is none.
func (w *Waits) OutageStatus() *schemas.Outage {
	if w.Outage.Since == 0 {
		return nil
	}
	return &schemas.Outage{Since: w.Outage.Since, Cause: w.Outage.cause, NextProbe: w.Outage.Until}
}

// oneLine cuts a text that is stored to 300 bytes.
func oneLine(s string) string {
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "")
	}
	return s
}

const outageVersion = 1

// saveOutage stores the outage, and the host that failed last.
func (w *Waits) saveOutage() error {
	b := append(w.state.Buffer[:0], outageVersion)
	for _, t := range []int64{w.Outage.Since, w.Outage.last, w.Outage.Until} {
		b = binary.AppendUvarint(b, uint64(max(0, t)))
	}
	b = storage.AppendString(storage.AppendString(storage.AppendString(b, w.Outage.cause), w.failing.last), w.failing.cause)
	w.state.Buffer = b
	return w.state.Store.Set(w.state.Keys.Kind(state.KindOutage), b)
}

// LoadOutage reads the outage, and the host that failed last.
func (w *Waits) LoadOutage() error {
	b, ok, err := w.state.Store.Get(w.state.Keys.Kind(state.KindOutage))
	if err != nil || !ok {
		return err
	}
	r := storage.Reader{Rest: b}
	r.Version(outageVersion)
	w.Outage = outage{Since: r.I64(), last: r.I64(), Until: r.I64(), cause: r.String()}
	w.failing.last, w.failing.cause = r.String(), r.String()
	if err := r.End(); err != nil {
		return fmt.Errorf("frontier: outage: %w", err)
	}
	return nil
}

// OutageEnds is when a probe may be sent; ok is false if there is no outage, or nothing to send.
func (w *Waits) OutageEnds() (at time.Time, ok bool) {
	if w.Outage.Since == 0 || w.hosts.Backlog() == 0 {
		return time.Time{}, false
	}
	return time.UnixMilli(w.Outage.Until), true
}
