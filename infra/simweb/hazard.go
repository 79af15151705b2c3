package simweb

import (
	"fmt"
	"strconv"
	"strings"
)

// Names of hazards in ground truths.
const (
	HazardThrottled = "throttled"
	HazardSlow      = "slow"
	HazardStalled   = "stalled"
	HazardError     = "error"
	HazardFlaky     = "flaky"
	HazardFile      = "file"
	HazardCharset   = "charset"
	HazardHuge      = "huge"
	HazardCut       = "cut"
	HazardPrivate   = "private"
)

type choice struct {
	name  string
	share float64
}

// choose returns the name whose share contains u, "" if none does.
func choose(u float64, choices ...choice) string {
	for _, c := range choices {
		if u < c.share {
			return c.name
		}
		u -= c.share
	}
	return ""
}

// hostHazard returns the hazard of a host.
func (w *space) hostHazard(h host) string {
	z := &w.c.Hazards
	if z.Throttled+z.Slow+z.Stalled == 0 {
		return ""
	}
	return choose(w.unit(h.lo, ofHostHazard), choice{HazardThrottled, z.Throttled}, choice{HazardSlow, z.Slow}, choice{HazardStalled, z.Stalled})
}

// pageHazard returns the hazard of a page.
func (w *space) pageHazard(id uint64) string {
	z := &w.c.Hazards
	if z.Errors+z.Flaky+z.Files+z.Charsets+z.Huge+z.Cut == 0 {
		return ""
	}
	return choose(w.unit(id, ofPageHazard), choice{HazardError, z.Errors}, choice{HazardFlaky, z.Flaky}, choice{HazardFile, z.Files},
		choice{HazardCharset, z.Charsets}, choice{HazardHuge, z.Huge}, choice{HazardCut, z.Cut})
}

// safe reports whether the page and its host have no hazards.
func (w *space) safe(p page) bool {
	return w.hostHazard(p.host) == "" && w.pageHazard(p.id) == "" && !w.private(&p)
}

// robots is the kind of a host's robots.txt.
type robots int

const (
	robotsNone robots = iota
	// robotsPlain: one group for all, in odd case, with a byte order mark, CR LF and comments.
	robotsPlain
	// robotsGroups: one other crawler is excluded, all others as in plain.
	robotsGroups
	// robotsOpened: an Allow that is longer than the Disallow.
	robotsOpened
	// robotsPattern: "*" and "$".
	robotsPattern
	// robotsDelay: plain, with Crawl-delay: 1.
	robotsDelay
	// robotsMoved: a redirect to the file.
	robotsMoved
	// robotsForbidden: 403, which allows everything (RFC 9309 §2.3.1.3).
	robotsForbidden
	robotsKinds
)

func (w *space) robotsOf(h host) robots {
	if w.c.Hazards.Robots == 0 || w.unit(h.lo, ofRobots) >= w.c.Hazards.Robots {
		return robotsNone
	}
	return 1 + robots(w.hash(h.lo, ofRobots)&0xff)%(robotsKinds-1)
}

// privateShare is the share of a host's pages to which its robots.txt applies.
const privateShare = 0.3

// private reports whether the page is in the folder to which robots.txt applies.
func (w *space) private(p *page) bool {
	return w.c.Hazards.Robots > 0 && !p.heads() && w.unit(p.id, ofPrivate) < privateShare && w.robotsOf(p.host) != robotsNone
}

// opened reports whether the page is allowed although its folder is not.
func (w *space) opened(p *page) bool {
	return w.robotsOf(p.host) == robotsOpened && w.hash(p.id, ofPrivate)&1 == 1
}

// disallowed reports whether robots.txt excludes crawlers from the page.
func (w *space) disallowed(p *page) bool {
	return w.private(p) && w.robotsOf(p.host) != robotsForbidden && !w.opened(p)
}

// robotsText returns the robots.txt of a host.
func robotsText(r robots) string {
	switch r {
	case robotsPlain:
		return "\ufeff# rules\r\nUSER-AGENT : *\r\ndisallow: /private/ # keep out\r\nSitemap: http://localhost/none.xml\r\n"
	case robotsGroups:
		return "User-agent: otherbot\nDisallow: /\n\nUser-agent: *\nDisallow: /private/\n"
	case robotsOpened:
		return "User-agent: *\nDisallow: /private/\nAllow: /private/open-\n"
	case robotsPattern:
		return "User-agent: *\nDisallow: /pri*e/*.html$\n"
	case robotsDelay:
		return "User-agent: *\nCrawl-delay: 1\nDisallow: /private/\n"
	}
	return "User-agent: *\nDisallow: /private/\n"
}

// trapKind returns the kind of a host's endless pages; isPage = none.
func (w *space) trapKind(h host) kind {
	if w.c.Hazards.Calendars == 0 || w.unit(h.lo, ofCalendar) >= w.c.Hazards.Calendars {
		return isPage
	}
	return []kind{isCalendar, isFilter, isPile}[w.hash(h.lo, ofCalendar)&0xff%3]
}

// trapEntry is the path of a host's first endless page.
var trapEntry = map[kind]string{isCalendar: "calendar/2026/11", isFilter: "browse?sort=new", isPile: "list/more"}

// trapAt reports whether the path is one of the endless pages, and sets their kind.
func (w *space) trapAt(s *spot) bool {
	k := w.trapKind(s.host)
	ok := false
	switch k {
	case isCalendar:
		y, m, cut := strings.Cut(strings.TrimPrefix(s.path, "calendar/"), "/")
		year, err := strconv.Atoi(y)
		month, err2 := strconv.Atoi(m)
		ok = cut && err == nil && err2 == nil && month >= 1 && month <= 12 && s.path == fmt.Sprintf("calendar/%d/%02d", year, month)
	case isFilter:
		ok = strings.HasPrefix(s.path, trapEntry[isFilter])
	case isPile:
		rest, had := strings.CutPrefix(s.path, "list")
		ok = had && rest != "" && strings.ReplaceAll(rest, "/more", "") == ""
	}
	if ok {
		s.kind = k
	}
	return ok
}

// trapLinks returns the paths that an endless page links to, all of them new.
func trapLinks(k kind, path string) []string {
	switch k {
	case isCalendar:
		year, _ := strconv.Atoi(path[len("calendar/") : len(path)-3])
		month, _ := strconv.Atoi(path[len(path)-2:])
		months := year*12 + month - 1
		var out []string
		for _, by := range []int{1, -1, 12} {
			if m := months + by; m >= 12 {
				out = append(out, fmt.Sprintf("calendar/%d/%02d", m/12, m%12+1))
			}
		}
		return out
	case isFilter:
		n := strings.Count(path, "&")
		return []string{fmt.Sprintf("%s&f%d=a", path, n), fmt.Sprintf("%s&f%d=b", path, n)}
	}
	return []string{path + "/more"}
}
