package simweb

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// FirstJudge is the first of the seeds reserved for measuring rankers; simweb was designed with lower ones (docs/decisions/0530).
const FirstJudge = 401

// Cues selects where around a link the words about its target are.
type Cues int

const (
	// CuesPeaked: most in the anchor (DOM offset 0), fewer next to it, few two leaves away: as in frozen webs.
	CuesPeaked Cues = iota
	// CuesUniform: within two leaves, about as much at each offset; anchors have no more than the text next to them.
	CuesUniform
	// CuesNone: nowhere.
	CuesNone
)

// CuesByName are the settings by their names in commands.
var CuesByName = map[string]Cues{"peaked": CuesPeaked, "uniform": CuesUniform, "absent": CuesNone}

// Config describes a web.
type Config struct {
	// Seed makes the graph, Language the vocabularies.
	Seed, Language uint64
	// Pages of the web, 1,000 to 10¹².
	Pages uint64
	// Branches of the topic tree and leaves of each, 2 to 2,000 topics in all.
	Branches, Leaves int
	// Locality is the probability that a link of a page's own (not of its navigation) is drawn for the page's topic.
	Locality float64
	// HubShare is the share of pages, besides the heads of directories, that are lists of links without a topic of their own.
	HubShare float64
	// Dead and Alias are the shares of links to 404s and redirects.
	Dead, Alias float64
	Cues        Cues
	// TopicURLs puts the topic's name into the URLs of its pages, so that labels follow from URLs: only for
	// tests of rankers that read URLs.
	TopicURLs bool
	// Hazards; the zero value has none.
	Hazards Hazards
}

// Default returns the web of the demo: 10⁵ pages, 24 topics, no hazards.
func Default(seed uint64) Config {
	return Config{
		Seed: seed, Language: 1, Pages: 100_000, Branches: 6, Leaves: 4,
		Locality: 0.33, HubShare: 0.07, Dead: 0.02, Alias: 0.02, Cues: CuesPeaked,
	}
}

// Hazards make a web hostile; they are shares in [0,1] of hosts, of pages or of links.
type Hazards struct {
	// Of hosts: rules in robots.txt that exclude a part of the pages (some with a Crawl-delay); 429 with
	// Retry-After to the first request and to one that comes too early; responses after SlowFor; no responses.
	Robots, Throttled, Slow, Stalled float64
	// Of hosts: endless pages (months of a calendar, accumulating filters, accumulating relative links).
	Calendars float64
	// Of pages: always 500; 503 the first time; not HTML; a character encoding other than declared, or an
	// unusual one; larger than 5 MB; cut short by a broken connection.
	Errors, Flaky, Files, Charsets, Huge, Cut float64
	// Of links: chains of 2 to 9 redirects, chains that are too long, loops, redirects to nowhere.
	Chains, Endless, Loops, Nowhere float64
	// SlowFor is the delay of a slow response, StallFor how long a stalled one is held open at most, RetryAfter
	// the value of Retry-After for 429 and 503, in whole seconds; 0 = half a second, two minutes, 1 s.
	SlowFor, StallFor, RetryAfter time.Duration
}

// AllHazards returns every hazard, each frequent enough to occur in a crawl of some hundred pages.
func AllHazards() Hazards {
	return Hazards{
		Robots: 0.3, Throttled: 0.06, Slow: 0.04, Stalled: 0.015, Calendars: 0.2,
		Errors: 0.02, Flaky: 0.02, Files: 0.04, Charsets: 0.06, Huge: 0.004, Cut: 0.01,
		Chains: 0.02, Endless: 0.005, Loops: 0.01, Nowhere: 0.005,
	}
}

// shares returns the hazards by their names in commands.
func (h *Hazards) shares() map[string]*float64 {
	return map[string]*float64{
		"robots": &h.Robots, "throttled": &h.Throttled, "slow": &h.Slow, "stalled": &h.Stalled, "calendars": &h.Calendars,
		"errors": &h.Errors, "flaky": &h.Flaky, "files": &h.Files, "charsets": &h.Charsets, "huge": &h.Huge, "cut": &h.Cut,
		"chains": &h.Chains, "endless": &h.Endless, "loops": &h.Loops, "nowhere": &h.Nowhere,
	}
}

// Set enables a hazard by its name, with its share in [0,1].
func (h *Hazards) Set(name string, share float64) error {
	shares := h.shares()
	x, ok := shares[name]
	if !ok {
		return fmt.Errorf("simweb: no hazard %q; there are: %s", name, strings.Join(slices.Sorted(maps.Keys(shares)), ", "))
	}
	*x = share
	return nil
}

// check refuses invalid configurations, and fills in times.
func (c *Config) check() error {
	topics := c.Branches * c.Leaves
	switch {
	case c.Pages < 1000 || c.Pages > 1e12:
		return fmt.Errorf("simweb: %d pages, want 1,000 to 10¹²", c.Pages)
	case c.Branches < 1 || c.Leaves < 1 || topics < 2 || topics > 2000:
		return fmt.Errorf("simweb: %d branches of %d leaves, want 2 to 2,000 topics", c.Branches, c.Leaves)
	case c.Cues < CuesPeaked || c.Cues > CuesNone:
		return fmt.Errorf("simweb: cues %d are none", c.Cues)
	}
	h := &c.Hazards
	shares := h.shares()
	shares["locality"], shares["hub share"], shares["dead"], shares["alias"] = &c.Locality, &c.HubShare, &c.Dead, &c.Alias
	for name, x := range shares {
		if !(*x >= 0 && *x <= 1) {
			return fmt.Errorf("simweb: %s is %g, want a share in [0,1]", name, *x)
		}
	}
	for what, sum := range map[string]float64{
		"links": c.Dead + c.Alias + h.Chains + h.Endless + h.Loops + h.Nowhere,
		"pages": h.Errors + h.Flaky + h.Files + h.Charsets + h.Huge + h.Cut,
		"hosts": h.Throttled + h.Slow + h.Stalled,
	} {
		if sum > 1 {
			return fmt.Errorf("simweb: the hazards of %s add up to %g of them", what, sum)
		}
	}
	for _, t := range []struct {
		at     *time.Duration
		preset time.Duration
	}{{&h.SlowFor, 500 * time.Millisecond}, {&h.StallFor, 2 * time.Minute}, {&h.RetryAfter, time.Second}} {
		if *t.at == 0 {
			*t.at = t.preset
		}
		if *t.at < 0 {
			return fmt.Errorf("simweb: a time of %s", *t.at)
		}
	}
	if h.RetryAfter%time.Second != 0 {
		return fmt.Errorf("simweb: Retry-After of %s, want whole seconds", h.RetryAfter)
	}
	return nil
}
