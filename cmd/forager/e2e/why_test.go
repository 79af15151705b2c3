package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/cmd/forager/demo"
	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/internal/frontier/why"
	"forager/internal/operate"
	"forager/internal/platform/analytics"
	"forager/internal/stream"
	"forager/internal/web/scope"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// excludedEnd is the end of the URLs that the crawl excludes.
const excludedEnd = "7.html"

// history is what the topics contain of a crawl of one shard, by brute force.
type history struct {
	ctl *schemas.CrawlControl
	// links by page, "" for seeds, to the URLs that it links to; linkers the other way round.
	links, linkers map[string]map[string]bool
	// depth of the URLs that were taken up, or could have been had their host not been full.
	depth map[string]uint32
	// final are outcomes and redirects of URLs by their last verdicts, relevance that of delivered ones.
	final     map[string]*schemas.LinkFound
	requested map[string]int    // by URL
	asked     map[string]uint32 // least depth of the requests by URL
	hosts     map[string]int    // requests that count for the cap
	within    map[string]bool   // URLs that a link or a redirect brought through the gate
}

// historyOf reads the topics.
func (r *rig) historyOf(t *testing.T, ctl *schemas.CrawlControl) *history {
	t.Helper()
	h := &history{
		ctl: ctl, links: make(map[string]map[string]bool), linkers: make(map[string]map[string]bool), depth: make(map[string]uint32),
		final: make(map[string]*schemas.LinkFound), requested: make(map[string]int), hosts: make(map[string]int),
		asked: make(map[string]uint32), within: make(map[string]bool),
	}
	sc, err := scope.New(ctl.GetScope(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.all(t, schemas.TopicFetchRequested, func(rec stream.Record) {
		m := new(schemas.FetchRequest)
		if rec.Headers[schemas.HeaderCrawl] == ctl.GetCrawl() && proto.Unmarshal(rec.Value, m) == nil && !m.GetMarker() {
			h.requested[m.GetUrl()]++
			if d, ok := h.asked[m.GetUrl()]; !ok || m.GetDepth() < d {
				h.asked[m.GetUrl()] = m.GetDepth()
			}
			h.hosts[m.GetHost()]++
		}
	})
	r.all(t, schemas.TopicLinkFound, func(rec stream.Record) {
		m := new(schemas.LinkFound)
		if rec.Headers[schemas.HeaderCrawl] != ctl.GetCrawl() || proto.Unmarshal(rec.Value, m) != nil {
			return
		}
		u, depth := m.GetUrl(), uint32(0)
		if m.GetOutcome() == schemas.Outcome_OUTCOME_SEEDS {
			u = ""
		} else {
			h.final[u] = m
			if schemas.Deferred(m.GetOutcome()) {
				h.hosts[weburl.Host(u)]--
			}
			depth = h.depth[u] + 1
		}
		if m.GetOutcome() == schemas.Outcome_OUTCOME_REDIRECTED {
			if to := m.GetRedirect(); sc.Check(to, h.depth[u]) == "" {
				h.reach(to, h.depth[u])
				h.within[to] = true
			}
		}
		for _, l := range m.GetLinks() {
			v := l.GetUrl()
			if v == u {
				continue
			}
			for _, x := range []struct {
				of       map[string]map[string]bool
				from, to string
			}{{h.links, u, v}, {h.linkers, v, u}} {
				if x.of[x.from] == nil {
					x.of[x.from] = make(map[string]bool)
				}
				x.of[x.from][x.to] = true
			}
			if sc.Check(v, depth) == "" {
				h.reach(h.resolved(v), depth)
				if u == "" || m.GetJudgement().GetRaw() >= ctl.GetPolicies()[0].GetGate().GetThreshold() {
					h.within[h.resolved(v)] = true
				}
			}
		}
	})
	return h
}

// reach notes that a URL was found at a depth.
func (h *history) reach(url string, depth uint32) {
	if now, known := h.depth[url]; (!known || depth < now) && h.final[url] == nil {
		h.depth[url] = depth
	}
}

// resolved follows the redirects so far.
func (h *history) resolved(url string) string {
	for range 10 {
		if m := h.final[url]; m.GetOutcome() == schemas.Outcome_OUTCOME_REDIRECTED {
			url = m.GetRedirect()
		}
	}
	return url
}

// check compares an explanation with the history, and returns what the URL is.
func (h *history) check(e *operate.Explanation) (kind string, err error) {
	rule := ""
	if d := e.Deciding(); d != nil {
		rule = d.Rule
	}
	url := e.URL
	for range e.Redirects {
		m := h.final[url]
		if m.GetOutcome() != schemas.Outcome_OUTCOME_REDIRECTED {
			return "", errors.New("it does not redirect")
		}
		url = m.GetRedirect()
	}
	if n := len(e.Redirects); n > 0 && e.Redirects[n-1] != url {
		return "", fmt.Errorf("it redirects to %s", url)
	}
	excluded := strings.HasSuffix(url, excludedEnd)
	_, known := h.depth[url]
	m := h.final[url]
	kind = string(e.State)
	switch {
	case m != nil && !schemas.Deferred(m.GetOutcome()):
		if e.State != why.Final || e.Outcome != schemas.OutcomeName(m.GetOutcome()) || e.Attempts != uint32(h.requested[url]) {
			return kind, fmt.Errorf("it has the outcome %s after %d requests", m.GetOutcome(), h.requested[url])
		}
		if d := m.GetOutcome() == schemas.Outcome_OUTCOME_DELIVERED; d != (e.Relevance != nil) || d && *e.Relevance != m.GetJudgement().GetRaw() {
			return kind, fmt.Errorf("its relevance is %v", m.GetJudgement().GetRaw())
		}
	case known && e.State == why.Unknown:
		if limit := int(h.ctl.GetScope().GetHostCap()); rule != "host-cap" && (!excluded || rule != "exclude") || h.hosts[weburl.Host(url)] < limit {
			return kind, fmt.Errorf("it was linked to and its host had %d requests", h.hosts[weburl.Host(url)])
		}
		kind = "refused: " + rule
	case known && excluded:
		if e.State != why.Excluded || rule != "exclude" {
			return kind, errors.New("it is excluded")
		}
	case known && rule == "gate":
		if kind = "gated"; e.State != why.Queued || h.within[url] {
			return kind, errors.New("a page of enough relevance links to it")
		}
	case known:
		if e.State != why.Queued || e.Depth != h.depth[url] || rule != "host-cap" && rule != why.RuleCrawl {
			return kind, fmt.Errorf("it is queued, at depth %d", h.depth[url])
		}
		if rule == "host-cap" != (h.hosts[weburl.Host(url)] >= int(h.ctl.GetScope().GetHostCap())) {
			return kind, fmt.Errorf("its host had %d requests", h.hosts[weburl.Host(url)])
		}
		if len(e.Places) != 1 || e.Places[0].In != h.within[url] || len(e.Links) == 0 {
			return kind, fmt.Errorf("it has a place: %t", h.within[url])
		}
		for _, l := range e.Links {
			if named := l.Named; named == "" && !h.links[l.From][url] || named != "" && !h.links[l.From][named] {
				return kind, fmt.Errorf("%s does not link to it", l.From)
			}
		}
	case e.State != why.Unknown:
		return kind, errors.New("it is not known")
	case h.linkers[url] != nil:
		if e.Missing != "" { // the depth at which it was found is not known
			return kind, nil
		}
		if rule == why.RuleCrawl || rule == "" || excluded != (rule == "exclude") {
			return kind, errors.New("a rule refused it")
		}
		kind = "refused: " + rule
	}
	return kind, nil
}

// checkPath checks that a path leads from a seed along links.
func (h *history) checkPath(e *operate.Explanation) error {
	if e.Missing != "" {
		return fmt.Errorf("missing: %s", e.Missing)
	}
	if e.State == why.Unknown {
		if found := h.linkers[e.URL]; len(e.FoundOn) != min(len(found), 20) {
			return fmt.Errorf("%d pages link to it, found on %q", len(found), e.FoundOn)
		}
		for _, u := range e.FoundOn {
			if !h.linkers[e.URL][u] {
				return fmt.Errorf("%s does not link to it", u)
			}
		}
		if len(e.FoundOn) == 0 {
			return nil
		}
	}
	if len(e.Path) == 0 || !h.links[""][e.Path[0].URL] && !h.redirected("", e.Path[0].URL) {
		return errors.New("the path does not begin with a seed")
	}
	for i := range e.Path[1:] {
		if u, v := e.Path[i].URL, e.Path[i+1].URL; !h.links[u][v] && !h.redirected(u, v) {
			return fmt.Errorf("%s does not link to %s", u, v)
		}
	}
	return nil
}

// redirected reports whether a page links to a URL that redirects to v.
func (h *history) redirected(u, v string) bool {
	for w := range h.links[u] {
		for range 10 {
			m := h.final[w]
			if m.GetOutcome() != schemas.Outcome_OUTCOME_REDIRECTED {
				break
			}
			if w = m.GetRedirect(); w == v {
				return true
			}
		}
	}
	return false
}

// explained asks about URLs of a crawl, and compares the answers with the contents of the topics.
func (r *rig) explained(t *testing.T, g *demo.Environment) {
	web := &crowded{next: r.web.handler, links: 1}
	for i := range 100 {
		web.urls = append(web.urls, fmt.Sprintf("%s/%s%d", g.Seeds[0], strings.Repeat("a/", 6), i))
	}
	r.web.serve(web)
	defer r.web.serve(web.next)
	c := r.crawl(g, "why", "soft-focus", 250, func(c *schemas.CrawlControl) {
		c.Scope = &schemas.Scope{MaxDepth: 3, HostCap: 25}
		for name := range strings.SplitSeq("013456789abcdefghijklmnopqrstuvwxyz", "") { // without http://h2…
			c.Scope.Prefixes = append(c.Scope.Prefixes, "http://h"+name)
		}
		c.Excludes = &schemas.Excludes{Urls: []string{excludedEnd + "$"}}
		c.Policies[0].Gate = &schemas.Gate{Condition: schemas.GateCondition_GATE_CONDITION_RELEVANCE, Action: schemas.GateAction_GATE_ACTION_DROP, Threshold: .01}
	})
	r.begin(c)
	r.until("why", "under way", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > 20 })
	ask := operate.Explainer{Topics: r.books, Config: r.cfg}
	for _, u := range g.Seeds {
		if e, err := ask.Why(r.s, "why", u); err != nil || e.State == why.Unknown {
			t.Errorf("while it runs: %+v, %v", e, err)
		}
	}
	r.until("why", "finished", time.Minute, finished)
	if err := crawls.Settle(r.s, r.books, time.Minute); err != nil {
		t.Fatal(err)
	}
	h := r.historyOf(t, c.Control)
	db, err := analytics.Open(r.cfg.ClickHouse)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	urls := slices.Sorted(maps.Keys(h.linkers))
	for u := range h.final {
		urls = append(urls, u)
	}
	for i := range 100 {
		urls = append(urls, fmt.Sprintf("%snone/%d", g.Seeds[i%len(g.Seeds)], i))
	}
	sc, err := scope.New(c.Control.GetScope(), nil)
	if err != nil {
		t.Fatal(err)
	}
	refused, asked := h.refusals(sc), make(map[string]int)
	step, n := max(1, len(urls)/1000), 0
	kinds := make(map[string]int)
	began := time.Now()
	for i, url := range urls {
		// Few are excluded, and without ClickHouse an answer cannot name the rule for a URL that never had a place.
		if i%step > 0 && !strings.HasSuffix(url, excludedEnd) {
			continue
		}
		rule := refused[url].Rule
		asked[rule]++
		withPath := n%16 == 0 || rule != "" && asked[rule] <= 4
		n++
		if ask.DB = nil; withPath {
			ask.DB = db
		}
		e, err := ask.Why(r.s, "why", url)
		kind := ""
		if err == nil {
			kind, err = h.check(e)
			kinds[kind]++
		}
		if err == nil && withPath {
			err = h.checkPath(e)
		}
		if err != nil {
			t.Errorf("%s: %v; explained: %+v", url, err, e)
		}
	}
	t.Logf("%d of %d URLs in %s: %v", n, len(urls), time.Since(began), kinds)
	for _, kind := range []string{"final", "queued", "excluded", "unknown", "gated", "refused: depth", "refused: host-cap", "refused: scope", "refused: trap"} {
		if kinds[kind] == 0 {
			t.Errorf("no URL is %s", kind)
		}
	}
	r.exportedRefusals(t, c.Control.GetCrawl(), refused)
	out := r.mustRun("why", strings.ToUpper(g.Seeds[0][:7])+g.Seeds[0][7:], "--crawl", "why")
	for _, want := range []string{g.Seeds[0], "PATH FROM A SEED (depth 0)", "requested", "judgement"} {
		if !strings.Contains(out, want) {
			t.Errorf("why lacks %q:\n%s", want, out)
		}
	}
	var e operate.Explanation
	if err := json.Unmarshal([]byte(r.mustRun("--json", "why", "http://none.test/", "--crawl", "why")), &e); err != nil || e.State != why.Unknown || !strings.Contains(e.Sentence, "no page that was fetched so far links to it") {
		t.Errorf("%v: %+v", err, e)
	}
	r.fails(t, cli.ExitFailure, []string{"why", g.Seeds[0], "--crawl", "none"}, `no crawl "none"`)
	r.fails(t, cli.ExitFailure, []string{"why", "mailto:a@b", "--crawl", "why"}, "no URL that can be crawled")
	r.fails(t, cli.ExitFailure, []string{"why", g.Seeds[0], "--crawl", "why", "--at", "127.0.0.1:1"}, "does not answer", "forager up")
}
