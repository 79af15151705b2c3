package frontier

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"forager/schemas"
)

// outage is a time during which the network cannot be used: requests have OUTCOME_NETWORK_UNREACHABLE. Nothing is charged
// then, and no try is counted. The shard dispatches nothing until the time that fetch names, and at most probeRequests at a time from then
// on. A response of any web server to a request later than the last one that failed ends the outage (docs/decisions/0001).
type outage struct {
	// since is when the first request failed, last when the last one did, by the clock of fetch; until is when a probe may
	// be sent. Unix milliseconds; since = 0: there is no outage.
	since, last, until int64
	// cause is one line.
	cause string
}

// probeRequests are in flight at most during an outage: more than one, as the probe may meet a host that is down itself.
const probeRequests = 2

// networkFailed takes a verdict with OUTCOME_NETWORK_UNREACHABLE on a request to a host.
func (s *Shard) networkFailed(h *host, rec *schemas.LinkFound, now int64) error {
	at, o := fetchedAt(rec, now), &s.outage
	if o.since == 0 {
		o.since = at
	}
	until := rec.GetNotBefore()
	if until <= 0 {
		until = later(now, s.options.RetryDelay.Milliseconds(), 0)
	}
	until = min(until, now+longestHostWait)
	o.last, o.until, o.cause = max(o.last, at), max(o.until, until), oneLine(rec.GetDetail())
	if err := s.saveOutage(); err != nil {
		return err
	}
	if h.failingSince > 0 { // the host may be the only cause of the outage: its patience continues
		if err := s.setFailing(h, h.failingSince, max(h.failedAt, at)); err != nil {
			return err
		}
	}
	if until <= now {
		return nil
	}
	if s.backlog() > h.backlog.all() {
		until += until - now // the next probes go to other hosts
	}
	return s.sleep(h, until)
}

// networkAnswered takes a verdict on a request to which a web server has responded.
func (s *Shard) networkAnswered(rec *schemas.LinkFound, now int64) error {
	if s.outage.since == 0 || fetchedAt(rec, now) <= s.outage.last {
		return nil
	}
	s.outage = outage{}
	return s.saveOutage()
}

// reachable reports whether the outage, if there is one, lets another request be dispatched.
func (s *Shard) reachable(now int64) bool {
	if s.outage.since == 0 {
		return true
	}
	if now < s.outage.until {
		return false
	}
	probes := 0
	for _, f := range s.flights {
		if f.at >= s.outage.until {
			probes++
		}
	}
	return probes < probeRequests
}

// outageStatus is CrawlStatus.outage; nil if there is none.
func (s *Shard) outageStatus() *schemas.Outage {
	if s.outage.since == 0 {
		return nil
	}
	return &schemas.Outage{Since: s.outage.since, Cause: s.outage.cause, NextProbe: s.outage.until}
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
func (s *Shard) saveOutage() error {
	b := append(s.value[:0], outageVersion)
	for _, t := range []int64{s.outage.since, s.outage.last, s.outage.until} {
		b = binary.AppendUvarint(b, uint64(max(0, t)))
	}
	b = appendString(appendString(appendString(b, s.outage.cause), s.failing.last), s.failing.cause)
	s.value = b
	return s.store.Set(s.keys.kind(kindOutage), b)
}

func (s *Shard) loadOutage() error {
	b, ok, err := s.store.Get(s.keys.kind(kindOutage))
	if err != nil || !ok {
		return err
	}
	r := reader{b: b}
	r.version(outageVersion)
	s.outage = outage{since: r.i64(), last: r.i64(), until: r.i64(), cause: r.string()}
	s.failing.last, s.failing.cause = r.string(), r.string()
	if err := r.end(); err != nil {
		return fmt.Errorf("frontier: outage: %w", err)
	}
	return nil
}

// outageEnds is when a probe may be sent; ok is false if there is no outage, or nothing to send.
func (s *Shard) outageEnds() (at time.Time, ok bool) {
	if s.outage.since == 0 || s.backlog() == 0 {
		return time.Time{}, false
	}
	return time.UnixMilli(s.outage.until), true
}
