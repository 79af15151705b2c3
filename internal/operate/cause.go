package operate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"forager/schemas"
)

// Cause is what some of the URLs of a crawl wait for that are known and not fetched; the shares of all causes sum to 1.
type Cause struct {
	Cause  string    `json:"cause" doc:"One of the names of WaitCause: gate, host-cap, stopped, budget, paused, disk, outage, missing, stage, rescoring, host-unreachable, retry, host-refused, robots, host-pause, rank, window."`
	Object string    `json:"object,omitempty" doc:"The stage, the missing object, or one of the hosts."`
	URLs   uint64    `json:"urls"`
	Share  float64   `json:"share"`
	Since  time.Time `json:"since,omitzero"`
	// Text describes it, Remedy is what an operator can do.
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"`

	kind schemas.WaitCause
}

// A stage is behind if its oldest record is older than latePeriods of the median latencies of the crawl, and leastLate. A stall changes the
// median little, unlike the higher percentiles.
const (
	leastLate   = 5 * time.Second
	latePeriods = 4
)

// causes lists what the URLs of a crawl wait for, and finds the one that hinders it; nil if none does, or the crawl has ended. p may be
// nil, if only the crawl's own status is known.
func causes(crawl string, st *schemas.CrawlStatus, p *Pipeline, now time.Time) (list []Cause, main *Cause) {
	waits, late := st.GetWaits(), ""
	if !Ended(st) {
		waits, late = outside(crawl, st, p, now)
	}
	total := uint64(0)
	for _, w := range waits {
		total += w.GetUrls()
	}
	for _, w := range waits {
		c := Cause{Cause: schemas.WaitName(w.GetCause()), Object: w.GetObject(), URLs: w.GetUrls(), Share: 1, kind: w.GetCause()}
		if total > 0 {
			c.Share = float64(w.GetUrls()) / float64(total)
		}
		if w.GetSince() > 0 {
			c.Since = time.UnixMilli(w.GetSince()).UTC()
		}
		c.describe(st, late)
		list = append(list, c)
	}
	if Ended(st) {
		return list, nil
	}
	return list, mainCause(list, st)
}

// mainCause is what hinders a crawl most: what holds all of it, or else, if the window is not half full and no URL may be requested
// now, what most URLs wait for.
func mainCause(list []Cause, st *schemas.CrawlStatus) (main *Cause) {
	starved := st.GetState() == schemas.ShardState_SHARD_STATE_RUNNING && 2*st.GetInFlight() < uint64(st.GetWindow())
	for i := range list {
		c := &list[i]
		switch {
		case schemas.Holds(c.kind):
			return c
		case c.kind >= schemas.WaitCause_WAIT_CAUSE_RANK:
			starved = false
		}
	}
	if !starved || len(list) == 0 {
		return nil
	}
	most := slices.MaxFunc(list, func(a, b Cause) int { return cmp.Compare(a.URLs, b.URLs) })
	return &most
}

// outside adds the causes that prioritize does not know: the crawl is parked in a stage, or a stage with its requests is behind.
func outside(crawl string, st *schemas.CrawlStatus, p *Pipeline, now time.Time) (waits []*schemas.Wait, late string) {
	waits = st.GetWaits()
	if p == nil {
		return waits, ""
	}
	if i := slices.IndexFunc(waits, func(w *schemas.Wait) bool { return w.GetCause() == schemas.WaitCause_WAIT_CAUSE_BUDGET }); i >= 0 && st.GetInFlight() > 0 {
		waits = slices.Clone(waits)
		waits[i] = &schemas.Wait{Cause: schemas.WaitCause_WAIT_CAUSE_WINDOW, Urls: waits[i].GetUrls()}
		if held, late := outside(crawl, &schemas.CrawlStatus{Waits: waits, InFlight: st.GetInFlight(), LatencyP50Ms: st.GetLatencyP50Ms(), At: st.GetAt()}, p, now); late != "" {
			return held, late
		}
		return st.GetWaits(), ""
	}
	for _, x := range p.Parked {
		if x.Unit == crawl && x.Object != "" {
			return schemas.Hold(waits, schemas.WaitCause_WAIT_CAUSE_MISSING, x.Object), x.String()
		}
		if x.Unit == crawl {
			return schemas.Hold(waits, schemas.WaitCause_WAIT_CAUSE_STAGE, x.Stage), x.String()
		}
	}
	if st.GetInFlight() == 0 {
		return waits, ""
	}
	limit := max(leastLate, latePeriods*time.Duration(st.GetLatencyP50Ms())*time.Millisecond).Seconds()
	worst := StageLag{}
	for _, s := range p.Stages[:min(loop, len(p.Stages))] {
		age := s.Seconds
		if s.Stage == "fetch" { // requests wait there for their hosts: it is behind if nothing at all happens to the crawl's
			age = min(s.crawls[crawl], now.Sub(time.UnixMilli(st.GetAt())).Seconds())
		}
		if age > limit && age > worst.Seconds {
			worst = StageLag{Stage: s.Stage, Seconds: age}
		}
	}
	if worst.Stage == "" {
		return waits, ""
	}
	return schemas.Hold(waits, schemas.WaitCause_WAIT_CAUSE_STAGE, worst.Stage),
		fmt.Sprintf("the stage %s is behind: its oldest record is %.0f s old", worst.Stage, worst.Seconds)
}

// texts describe causes, and what can be done. An object is put in for %s.
var texts = map[schemas.WaitCause][2]string{
	schemas.WaitCause_WAIT_CAUSE_GATE:             {"the gate of the ranker lets no link to them through", "mark further topics (forager crawl focus), or change the ranker (forager crawl ranker)"},
	schemas.WaitCause_WAIT_CAUSE_HOST_CAP:         {"their hosts have had as many requests as scope.host_cap allows", "give seeds on other hosts (forager crawl seeds), or start another crawl with a larger scope.host_cap"},
	schemas.WaitCause_WAIT_CAUSE_STOPPED:          {"the crawl was stopped", "forager crawl resume"},
	schemas.WaitCause_WAIT_CAUSE_BUDGET:           {"the budget is spent, or reserved for requests in flight", "forager crawl resume with a larger budget (--pages, --requests)"},
	schemas.WaitCause_WAIT_CAUSE_PAUSED:           {"the crawl is paused", "forager crawl resume"},
	schemas.WaitCause_WAIT_CAUSE_DISK:             {"the disk is low", "free space on the disk, or lower disk.pause_below"},
	schemas.WaitCause_WAIT_CAUSE_OUTAGE:           {"the network cannot be used", "forager doctor finds the fault; the crawl goes on by itself"},
	schemas.WaitCause_WAIT_CAUSE_MISSING:          {"%s is missing", "put it back (forager critic or guide publishes it again); the crawl goes on by itself"},
	schemas.WaitCause_WAIT_CAUSE_STAGE:            {"the stage %s is waited for", "forager up starts stages that have ended; forager doctor finds other faults"},
	schemas.WaitCause_WAIT_CAUSE_RESCORING:        {"they are still to be placed under the rankers in force", "time alone"},
	schemas.WaitCause_WAIT_CAUSE_HOST_UNREACHABLE: {"their hosts do not answer", "time alone; forager crawl resume --retry-failed tries them at once"},
	schemas.WaitCause_WAIT_CAUSE_RETRY:            {"their last try failed and the next one is not due", "time alone; forager report shows the outcomes"},
	schemas.WaitCause_WAIT_CAUSE_HOST_REFUSED:     {"their hosts have responded with 429 or 503 (%s)", "a longer politeness.delay (forager crawl change), or time alone"},
	schemas.WaitCause_WAIT_CAUSE_ROBOTS:           {"robots.txt of their hosts cannot be read (%s)", "time alone: it is asked for again"},
	schemas.WaitCause_WAIT_CAUSE_HOST_PAUSE:       {"their hosts have as many requests as their pauses allow (%s)", "seeds on other hosts (forager crawl seeds); a shorter politeness.delay where the hosts permit it"},
	schemas.WaitCause_WAIT_CAUSE_RANK:             {"more URLs come before them than the budget has left", "forager crawl resume with a larger budget (--pages, --requests)"},
	schemas.WaitCause_WAIT_CAUSE_WINDOW:           {"others come first", ""},
}

// CauseText describes a cause of one URL by its name; empty for another text than that of a cause.
func CauseText(name string) string {
	for c, text := range texts {
		if schemas.WaitName(c) == name {
			return strings.ReplaceAll(strings.TrimSuffix(text[0], " (%s)"), "%s", "something")
		}
	}
	return ""
}

// describe sets text and remedy; late describes the stage or the parked crawl.
func (c *Cause) describe(st *schemas.CrawlStatus, late string) {
	text := texts[c.kind]
	c.Text, c.Remedy = strings.ReplaceAll(text[0], "%s", c.Object), text[1]
	if c.Object == "" {
		c.Text = strings.TrimSuffix(text[0], " (%s)")
	}
	switch c.kind {
	case schemas.WaitCause_WAIT_CAUSE_DISK:
		c.Text, _, _ = strings.Cut(cmp.Or(st.GetActivity(), c.Text), "; ") // without the remedy
	case schemas.WaitCause_WAIT_CAUSE_OUTAGE, schemas.WaitCause_WAIT_CAUSE_HOST_UNREACHABLE:
		c.Text = cmp.Or(WaitingFor(st), c.Text)
	case schemas.WaitCause_WAIT_CAUSE_MISSING, schemas.WaitCause_WAIT_CAUSE_STAGE:
		c.Text = cmp.Or(late, c.Text)
	}
}

// String describes the cause with its share, if any URL waits, and the remedy.
func (c *Cause) String() string {
	if c.URLs == 0 {
		return fmt.Sprintf("%s (%s)", c.Text, c.Remedy)
	}
	return fmt.Sprintf("%.0f %% of the URLs wait: %s (%s)", 100*c.Share, c.Text, c.Remedy)
}
