package simweb

// Truth is what is true of a URL. Outcomes are those of schemas.OutcomeName.
type Truth struct {
	URL string `json:"url"`
	// Kind is what stands there: "page", "redirect", "trap" (one of the endless pages),
	// "robots.txt", "missing" (404), "no host".
	Kind string `json:"kind"`
	// Exists: the URL is a page of the web. Alias: it redirects.
	Exists bool `json:"exists"`
	Alias  bool `json:"alias"`
	// Topic that the page, or the one behind the redirects, is about: one of Web.Topics, or
	// Other. Empty for everything else.
	Topic string `json:"topic,omitempty"`
	// Hub: a page of links, about nothing itself.
	Hub bool `json:"hub,omitempty"`
	// Host's and page's hazards; "" = none.
	HostHazard string `json:"host_hazard,omitempty"`
	Hazard     string `json:"hazard,omitempty"`
	// Outcome that a correct crawler must come to, its tries used up. Before is the outcome of the
	// first try where the server asks for another.
	Outcome string `json:"outcome"`
	Before  string `json:"before,omitempty"`
	// End is what becomes of the URL when its redirects, ten at most, are followed.
	End string `json:"end"`
	// Redirect is where the server sends to, as in the header Location. Target is the page behind
	// all redirects, empty where they lead nowhere, and Hops is their number.
	Redirect string `json:"redirect,omitempty"`
	Target   string `json:"target,omitempty"`
	Hops     int    `json:"hops,omitempty"`
	// Charset by which a page must be read, a WHATWG name.
	Charset string `json:"charset,omitempty"`
	// Size of the body at least, bytes, where the page is larger than crawlers like to read.
	Size int `json:"size,omitempty"`
	// CrawlDelay in seconds that the host's robots.txt asks for.
	CrawlDelay int `json:"crawl_delay,omitempty"`
}

// Outcomes of truths, as schemas.OutcomeName says them.
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

// Truth tells what is true of a canonical URL.
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

// truth is all of it but the end.
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
		return t // nobody asks the host
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
