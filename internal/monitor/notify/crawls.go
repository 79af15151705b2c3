package notify

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"forager/internal/monitor/view"
	"forager/internal/operate"
	"forager/internal/platform/analytics"
	"forager/internal/platform/pipeline"
	"forager/schemas"
)

// crawl is what is stored of a crawl.
type crawl struct {
	// Finished and Stalled are the IDs of its last events; Stalled is empty once nothing hinders the crawl.
	Finished string `json:"finished,omitempty"`
	Stalled  string `json:"stalled,omitempty"`
	// Below are the pages at the last event of a bound of the harvest, by the bound; removed once the harvest is above it again.
	Below map[string]uint64 `json:"below,omitempty"`
	// Marks are earlier states, the first 1,000 pages ago or more.
	Marks []analytics.CrawlPoint `json:"marks,omitempty"`

	// requests were charged since a time; looked is when the causes were asked for.
	requests      uint64
	since, looked time.Time
}

const (
	window  = 1000 // pages of harvest-below
	spacing = 50   // pages between two marks
)

// crawls derives the events of all crawls from their statuses.
func (n *Notifier) crawls(now time.Time) {
	known := n.Source.Topics.Known()
	for name := range n.state.Crawls {
		if !slices.Contains(known, name) {
			delete(n.state.Crawls, name)
		}
	}
	for _, name := range known {
		c := n.state.Crawls[name]
		if c == nil {
			c = new(crawl)
			n.state.Crawls[name] = c
		}
		switch st := n.Source.Topics.Status(name); {
		case st == nil:
		case operate.Ended(st):
			n.finished(name, c, st, now)
		default:
			n.stalled(name, c, st, now)
			n.harvest(name, c, st, now)
		}
	}
}

// finished has the number of requests and the first word of the reason as the cause: a crawl that is resumed and ends in the same way without
// a request has not finished again.
func (n *Notifier) finished(name string, c *crawl, st *schemas.CrawlStatus, now time.Time) {
	word, _, _ := strings.Cut(strings.ReplaceAll(st.GetEndReason(), ":", " "), " ")
	e := n.event(pipeline.EventFinished, name, fmt.Sprintf("%d-%s", st.GetDispatched(), word), time.UnixMilli(st.GetAt()))
	if c.Finished == e.ID {
		return
	}
	c.Finished, c.Stalled = e.ID, ""
	x := n.Source.Topics.Summarize(name, st, nil)
	e.Figures = map[string]float64{"pages": float64(x.Pages), "requests": float64(x.Requests), "harvest": x.Harvest}
	n.emit(e, now, "crawl %s has finished: %s; %d pages of %d requests, harvest %.3f", name, x.Reason, x.Pages, x.Requests, x.Harvest)
}

// deliberate are the causes that are no stall: the operator, or the budget, holds the crawl.
var deliberate = []string{
	schemas.WaitName(schemas.WaitCause_WAIT_CAUSE_PAUSED), schemas.WaitName(schemas.WaitCause_WAIT_CAUSE_STOPPED), schemas.WaitName(schemas.WaitCause_WAIT_CAUSE_BUDGET),
}

// stalled finds a crawl that something hinders and that had no request charged for a time. It has another event only after a time at which
// nothing hindered it. The stages are asked about crawls without progress, and seldom.
func (n *Notifier) stalled(name string, c *crawl, st *schemas.CrawlStatus, now time.Time) {
	if c.since.IsZero() || c.requests != st.GetRequests() {
		c.requests, c.since = st.GetRequests(), now
	}
	after := n.Settings.StalledAfter
	e := n.event(pipeline.EventStalled, name, strconv.FormatUint(c.requests, 10), now)
	if c.Stalled == e.ID || c.Stalled == "" && now.Sub(c.since) < after || now.Sub(c.looked) < after/4 {
		return
	}
	c.looked = now
	x, err := n.Source.Crawl(name)
	if err != nil { // deleted meanwhile
		return
	}
	hindered := x.Main != nil && !slices.Contains(deliberate, x.Main.Cause)
	switch {
	case !hindered && c.Stalled != "":
		c.Stalled, n.saveBy = "", now
	case hindered && c.Stalled == "":
		c.Stalled = e.ID
		e.Figures = map[string]float64{"pages": float64(x.Pages), "requests": float64(x.Requests), "waiting": float64(x.Main.URLs), "share": x.Main.Share}
		n.emit(e, now, "crawl %s has stalled: %s", name, x.Why())
	}
}

// harvest compares the mean R of the last 1,000 pages with the bounds of the receivers.
func (n *Notifier) harvest(name string, c *crawl, st *schemas.CrawlStatus, now time.Time) {
	ctl, err := n.Source.Topics.Control(name)
	accepting := func(h *hook) bool { return h.HarvestBelow > 0 && h.Accepts(pipeline.EventHarvestBelow, name) }
	if err != nil || ctl.GetCritic() == "" || !slices.ContainsFunc(n.hooks, accepting) {
		return
	}
	if c.Below == nil {
		c.Below = make(map[string]uint64)
	}
	pages := st.GetPages()
	mean, known := c.lately(analytics.CrawlPoint{Pages: pages, Relevance: st.GetRelevanceRaw()})
	if n.saveBy.IsZero() {
		n.saveBy = now.Add(saveWithin)
	}
	for _, h := range n.hooks {
		bound := strconv.FormatFloat(h.HarvestBelow, 'g', -1, 64)
		at, was := c.Below[bound]
		switch {
		case !known || !accepting(h):
		case was && mean >= h.HarvestBelow && pages >= at+window:
			delete(c.Below, bound)
		case !was && mean < h.HarvestBelow:
			c.Below[bound] = pages
			e := n.event(pipeline.EventHarvestBelow, name, fmt.Sprintf("%s-%d", bound, pages), time.UnixMilli(st.GetAt()))
			e.Figures = map[string]float64{"harvest": mean, "bound": h.HarvestBelow, "pages": float64(pages)}
			n.emit(e, now, "crawl %s: the harvest of the last 1,000 of %d pages is %.3f, below %s", name, pages, mean, bound)
		}
	}
}

// lately adds a mark and returns the mean R of the last 1,000 pages. It is not known of the first pages, and while the marks between which
// these pages begin are more than 1,000 pages apart, as after a time without the monitor.
func (c *crawl) lately(now analytics.CrawlPoint) (mean float64, known bool) {
	c.Marks = slices.DeleteFunc(c.Marks, func(m analytics.CrawlPoint) bool { return m.Pages > now.Pages }) // a shard was restored
	if len(c.Marks) == 0 && now.Pages <= window {
		c.Marks = append(c.Marks, analytics.CrawlPoint{})
	}
	if len(c.Marks) == 0 || now.Pages >= c.Marks[len(c.Marks)-1].Pages+spacing {
		c.Marks = append(c.Marks, now)
	}
	for len(c.Marks) > 1 && c.Marks[1].Pages+window <= now.Pages {
		c.Marks = c.Marks[1:]
	}
	points := append(slices.Clip(c.Marks), now)
	if points[0].Pages+window > now.Pages || points[1].Pages > points[0].Pages+window {
		return 0, false
	}
	return view.Lately(points, len(points)-1, window), true
}
