package simweb

// Truth is the ground truth of a URL. Outcomes are those of schemas.OutcomeName.
type Truth struct {
	URL string `json:"url"`
	// Kind of the URL: "page", "redirect", "trap" (one of the endless pages), "robots.txt", "missing" (404), "no host".
	Kind string `json:"kind"`
	// Exists: the URL is a page of the web. Alias: it redirects.
	Exists bool `json:"exists"`
	Alias  bool `json:"alias"`
	// Topic of the page, or of the one after the redirects: one of Web.Topics, or Other. Empty for everything else.
	Topic string `json:"topic,omitempty"`
	// Hub: a page of links, without a topic of its own.
	Hub bool `json:"hub,omitempty"`
	// Hazards of the host and of the page; "" = none.
	HostHazard string `json:"host_hazard,omitempty"`
	Hazard     string `json:"hazard,omitempty"`
	// Outcome that a correct crawler must reach after all attempts. Before is the outcome of the first attempt,
	// if the server asks for another.
	Outcome string `json:"outcome"`
	Before  string `json:"before,omitempty"`
	// End is the outcome of the URL when its redirects, ten at most, are followed.
	End string `json:"end"`
	// Redirect is the header Location. Target is the page after all redirects, empty if there is none, and Hops is their number.
	Redirect string `json:"redirect,omitempty"`
	Target   string `json:"target,omitempty"`
	Hops     int    `json:"hops,omitempty"`
	// Charset in which a page must be read, a WHATWG name.
	Charset string `json:"charset,omitempty"`
	// Size of the body at least, bytes, if the page is larger than crawlers accept.
	Size int `json:"size,omitempty"`
	// CrawlDelay in seconds, from the host's robots.txt.
	CrawlDelay int `json:"crawl_delay,omitempty"`
}

// Outcomes of truths, by their names in schemas.OutcomeName.
const (
	delivered   = "delivered"
	notHTML     = "not-html"
	clientError = "client-error"
	serverError = "server-error"
	timedOut    = "timeout"
	failed      = "connection-failed"
	redirected  = "redirected"
	badRedirect = "bad-redirect"
	deferred    = "deferred"
	notAllowed  = "robots-disallowed"
)

// mostRedirects is the number of redirects that a crawler follows in a row.
const mostRedirects = 10

// Truth returns the ground truth of a canonical URL.
func (w *Web) Truth(url string) Truth {
	t := w.truth(url)
	t.End = t.Outcome
	next := t
	for range mostRedirects {
		if next.Outcome != redirected {
			break
		}
		next = w.truth(next.Redirect)
		t.End = next.Outcome
	}
	if t.End == redirected {
		t.End = badRedirect
	}
	return t
}

// truth returns all of it except End.
func (w *Web) truth(url string) Truth {
	t := Truth{URL: url, Kind: "no host", Outcome: serverError}
	s, ok := w.locate(url)
	if !ok {
		return t
	}
	if w.robotsOf(s.host) == robotsDelay {
		t.CrawlDelay = 1
	}
	t.HostHazard = w.hostHazard(s.host)
	switch s.kind {
	case isPage:
		w.truthOfPage(&t, &s.page)
	case isAlias, isFar, isLoop, isNowhere:
		w.truthOfRedirect(&t, &s)
	case isCalendar, isFilter, isPile:
		t.Kind, t.Outcome = "trap", delivered
	case isRobots, isMovedRobots:
		t.Kind, t.Outcome = "robots.txt", notHTML
		t.HostHazard = ""
	default:
		t.Kind, t.Outcome = "missing", clientError
	}
	if t.Outcome == notAllowed {
		return t // the host is not contacted
	}
	switch t.HostHazard {
	case HazardStalled:
		t.Outcome, t.Before, t.Redirect, t.Target = timedOut, "", "", ""
	case HazardThrottled:
		t.Before = deferred
	}
	return t
}

func (w *Web) truthOfPage(t *Truth, p *page) {
	t.Kind, t.Exists, t.Hub, t.Topic = "page", true, p.hub, w.topicName(p.topic)
	if w.disallowed(p) {
		t.Hazard, t.Outcome = HazardPrivate, notAllowed
		return
	}
	t.Outcome, t.Charset = delivered, "utf-8"
	t.Hazard = w.pageHazard(p.id)
	switch t.Hazard {
	case HazardError:
		t.Outcome = serverError
	case HazardFlaky:
		t.Before = serverError
	case HazardFile:
		if !w.file(p.id).html {
			t.Outcome = notHTML
		}
	case HazardCharset:
		t.Charset = w.charset(p.id).read
	case HazardHuge:
		t.Size = hugeBody
	case HazardCut:
		t.Outcome = failed
	}
	if t.Outcome != delivered {
		t.Charset = ""
	}
}

func (w *Web) truthOfRedirect(t *Truth, s *spot) {
	t.Kind, t.Alias, t.Topic, t.Hops = "redirect", true, w.topicName(s.page.topic), s.hops
	t.Redirect, t.Outcome = w.location(s), redirected
	switch s.kind {
	case isAlias, isFar:
		t.Target = w.url(s.page.id)
	case isLoop:
		t.Hops = 0
	case isNowhere:
		t.Outcome, t.Hops = badRedirect, 0
	}
}
