package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	experimentcmd "forager/cmd/forager-lab/experiment"
	reportcmd "forager/cmd/forager/report"
	"forager/cmd/internal/cli"
	"forager/infra/simweb"
	"forager/internal/crawl/crawlfile"
	"forager/internal/lab/experiment"
	"forager/internal/rank/policy"
	"forager/internal/stream"
	"forager/schemas"
)

// TestEveryRankerCrawlsAsInExperiment crawls a synthetic web with every ranker of the crawl file through all
// stages, one page at a time and waiting for models, and again in this process: pages, order, judgements,
// scores and models are the same. Killing distill while it retrains a guide on a crawl's pages changes nothing.
func TestEveryRankerCrawlsAsInExperiment(t *testing.T) {
	t.Parallel()
	g, w := simulated(t)
	const budget = 45
	learning := &schemas.Learning{DMax: 5, SwitchPages: 15, RefitPages: 10, Sync: true}
	distiller := &schemas.Distiller{ByHost: true} // the web is one domain
	command := experimentcmd.SimwebCommand{Pages: w.Size()}
	_, env, err := command.Environment(w.Config().Seed, cuesOf(t, w), g.Topic, budget, g.Critic)
	if err != nil {
		t.Fatal(err)
	}
	g.URLList = env.URLs()
	// With one page in flight each waits for the end of its own segment.
	r := newRig(t, g.Handler, "segment_age: 250ms", "segment_age: 1ms")
	r.parts()
	r.start(slices.DeleteFunc(slices.Clone(cli.StageNames), func(stage string) bool { return stage == "distill" }))
	r.start([]string{"distill"}, "FORAGER_FAILPOINT=guide-kept-before-announced")
	guides, named := r.guides()
	rankings := make(map[string]*crawlfile.Ranking)
	for _, ranker := range crawlfile.Rankers {
		if rankings[ranker], err = crawlfile.Rank(ranker); err != nil {
			t.Fatal(err)
		}
	}
	rankings["guided"] = ranked(t, "link-predicate", named)
	rankings["distilled-mixture"] = ranked(t, "soft-focus-distilled+tiered-soft-focus+apprentice", nil)
	rankings["memm"] = ranked(t, "memm-marginal", named)
	rankings["guided-mixture"] = ranked(t, "link-predicate+memm-marginal+tiered-soft-focus", named)
	layers := r.layers(w, g.Topic)
	for _, name := range layers.crawls {
		rankings[name] = ranked(t, "context-graph", layers.named)
	}
	maps.Copy(guides, layers.guides)
	for _, p := range rankings["layers-pages"].Policies {
		p.Expand = schemas.Expand_EXPAND_PAGE
	}
	renewals := map[string]*schemas.Renewal{"layers-renewed": {Every: 10}, "layers-bootstrapped": {Every: 15, Bootstrap: 3}}
	for name, renewal := range renewals {
		rankings[name] = ranked(t, "context-graph", layers.named)
		policy := rankings[name].Policies[0]
		if renewal.Then = proto.CloneOf(policy); renewal.Bootstrap > 0 {
			policy.Ranker, policy.Guide = schemas.Ranker_RANKER_UNFOCUSED, ""
		}
		renewal.Then.Guide = ""
	}
	rankings[shadowed] = rankings["soft-focus"]
	shadows, err := crawlfile.Shadows([]string{"apprentice-gated", "memm-marginal", "in-links"}, named, rankings[shadowed].Policies)
	if err != nil {
		t.Fatal(err)
	}
	for ranker, ranking := range rankings { // concurrently: each waits only for itself
		r.begin(r.crawl(g, ranker, crawlfile.Rankers[0], budget, func(ctl *schemas.CrawlControl) {
			ctl.Policies, ctl.Mixture = ranking.Policies, ranking.Mixture
			ctl.Window, ctl.HostWindow, ctl.Learning, ctl.Distiller = 1, 1, proto.CloneOf(learning), distiller
			ctl.Renewal = renewals[ranker]
			if layers.asks(ranker) {
				ctl.Backlinks = &schemas.BacklinkSource{Source: "parents", Ration: layersRation}
			}
			if ranker == shadowed {
				ctl.RankerShadows = shadows
			}
		}))
	}
	if err := r.gone("distill-0", 3*time.Minute); err != nil {
		t.Fatalf("its failpoint was never reached: %v", err)
	}
	r.start([]string{"distill"})
	for _, ranker := range slices.Sorted(maps.Keys(rankings)) {
		ranking := rankings[ranker] // with versions in place of names
		run := &experiment.Run{
			Environment: env, Seeds: g.Seeds, Policies: ranking.Policies, Mixture: ranking.Mixture, Guides: guides,
			Learning: learning, Distiller: distiller, Renewal: renewals[ranker], Keep: true,
		}
		if layers.asks(ranker) {
			run.Backlinks, run.Ration = layers.parents, layersRation
		}
		if ranker == shadowed {
			run.Shadows = shadows
		}
		want, err := run.Crawl(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		st := r.until(ranker, "finished", 2*time.Minute, finished)
		if st.GetEndReason() != want.EndReason {
			t.Errorf("%s ended with %q, in experiment with %q", ranker, st.GetEndReason(), want.EndReason)
		}
		if st.GetRequests() != want.Requests {
			t.Errorf("%s was charged %d requests, in experiment %d", ranker, st.GetRequests(), want.Requests)
		}
		r.samePages(ranker, want)
		if renewals[ranker] != nil {
			r.renewsGuide(ranker, want)
		}
		r.untilSettled(ranker, len(want.Settled()))
		r.sameLeaps(ranker, want)
	}
	r.shadowsRecorded(shadowed)
	r.followsPaths("guided")
	r.followsPaths("memm")
	r.followsPaths("guided-mixture")
	r.raisesHubs("soft-focus-distilled")
	r.raisesHubs("distilled-mixture")
	r.verified("guided-mixture")
	r.verified("layers-renewed")
	for _, crawl := range layers.crawls {
		if layers.asks(crawl) {
			r.asksForParents(crawl)
			r.verified(crawl)
		}
	}
	r.refusesGuides()
	r.deletesGuides("layers-renewed")
}

// raisesHubs fails if no page of a crawl was fetched because of a hub, or if reports do not show it.
func (r *rig) raisesHubs(crawl string) {
	r.t.Helper()
	r.verified(crawl) // ClickHouse has all rows
	first := len(slices.DeleteFunc(r.pages(crawl), func(p *answered) bool { return p.request.GetScore() != policy.RaisedScore }))
	var report struct{ Hubs reportcmd.HubsReport }
	if err := json.Unmarshal([]byte(r.mustRun("--json", "report", crawl)), &report); err != nil {
		r.t.Fatal(err)
	}
	h := report.Hubs
	// The last ranking is due after 44 pages; distill, which was killed, may have ranked again after the last page.
	if first < 3 || h.Fetched != uint64(first) || h.Rankings < 5 || h.Pages < 44 || h.Raised == 0 || len(h.Authorities) == 0 || !h.Hubs[0].Marked {
		r.t.Errorf("%s: %d pages came first for their hubs; the report has %+v", crawl, first, h)
	}
	if out := r.mustRun("report", crawl); !strings.Contains(out, fmt.Sprintf("at last behind %d pages", h.Pages)) {
		r.t.Errorf("report:\n%s", out)
	}
	if out := r.mustRun("query", "--example", "revisit", "--crawl", crawl); !strings.Contains(out, h.Hubs[0].URL) {
		r.t.Errorf("revisit:\n%s", out)
	}
}

// renewsGuide fails if a crawl made other guides of its pages than the experiment, or if none of its pages were scored by the last one.
func (r *rig) renewsGuide(crawl string, want *experiment.Crawl) {
	r.t.Helper()
	ctl, err := r.books.Control(crawl)
	if err != nil {
		r.t.Fatal(err)
	}
	last := ctl.GetPolicies()[0].GetGuide()
	made := make(map[string]bool)
	for _, p := range r.pages(crawl) {
		for _, g := range p.GetJudgement().GetGuidance() {
			made[g.GetGuide()] = true
		}
	}
	if begins := crawl == "layers-renewed"; !made[last] || len(want.Renewed) < 2 || begins && len(made) != len(want.Renewed)+1 || !begins && len(made) != len(want.Renewed) {
		r.t.Errorf("%s: guides %v, at last %q; in experiment they were made behind %v pages", crawl, made, last, want.Renewed)
	}
}

// shadowed is a crawl by soft focus with an apprentice, a guide and a count of links as shadows.
const shadowed = "soft-focus-shadowed"

// shadowsRecorded: a crawl with shadows fetches the same pages as without; the shadows learn, query and count,
// ClickHouse has their positions, and the report compares them.
func (r *rig) shadowsRecorded(crawl string) {
	r.t.Helper()
	urls := func(of string) (list []string) {
		for _, p := range r.pages(of) {
			list = append(list, p.GetUrl())
		}
		return list
	}
	if !slices.Equal(urls(crawl), urls("soft-focus")) {
		r.t.Errorf("shadows changed the pages of %s", crawl)
	}
	shadows := make(map[string]int)
	for _, leap := range records[*schemas.LeapSettled](r, schemas.TopicLeapSettled, crawl) {
		for _, s := range leap.GetShadows() {
			if s.GetModel() != "" || s.GetTier() == 1 && s.GetPolicy() == "memm-marginal" || s.GetPolicy() == "in-links" && s.GetScore() > .5 {
				shadows[s.GetPolicy()]++
			}
		}
	}
	if len(shadows) != 3 {
		r.t.Errorf("shadows by model, by guide and by links: %v", shadows)
	}
	r.verified(crawl)
	var x reportcmd.CrawlReport
	if err := json.Unmarshal([]byte(r.mustRun("--json", "report", crawl)), &x); err != nil || len(x.Rankers) != 3 || x.Rankers[0].Ranker != "apprentice-gated" || x.Rankers[0].Pages < 20 {
		r.t.Errorf("report of shadows: %v, %+v", err, x.Rankers)
	}
	if out := r.mustRun("report", crawl); !strings.Contains(out, "RANKER, NOT USED") || !strings.Contains(out, "were not fetched") {
		r.t.Errorf("report of shadows:\n%s", out)
	}
}

// followsPaths fails if no request of a crawl has a guide's path state.
func (r *rig) followsPaths(crawl string) {
	r.t.Helper()
	told := func(p *answered) bool { return len(p.request.GetPathState()) > 0 }
	if n := len(slices.DeleteFunc(r.pages(crawl), func(p *answered) bool { return !told(p) })); n < 10 {
		r.t.Errorf("%s: %d requests have a state of the path", crawl, n)
	}
}

// untilSettled waits for that number of leaps: the last ones may follow the status of the finished crawl.
func (r *rig) untilSettled(crawl string, leaps int) {
	r.t.Helper()
	for have, end := -1, time.Now(); have < leaps; {
		switch n := len(records[*schemas.LeapSettled](r, schemas.TopicLeapSettled, crawl)); {
		case n > have:
			have, end = n, time.Now().Add(time.Minute)
		case time.Now().After(end):
			return // sameLeaps reports what is missing
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// cuesOf returns the name of a web's cues.
func cuesOf(t *testing.T, w *simweb.Web) string {
	t.Helper()
	for name, cues := range simweb.CuesByName {
		if cues == w.Config().Cues {
			return name
		}
	}
	t.Fatalf("the web's cues have no name: %v", w.Config().Cues)
	return ""
}

// records reads all records of a crawl in a topic, in the order of their partition.
func records[M proto.Message](r *rig, topic, crawl string) []M {
	r.t.Helper()
	var out []M
	n, err := r.books.Client.Partitions(r.s, topic)
	if err != nil {
		r.t.Fatal(err)
	}
	for p := range n {
		first, end, err := r.books.Client.Offsets(r.s, topic, p)
		if err != nil {
			r.t.Fatal(err)
		}
		err = r.books.Client.Read(r.s, topic, p, first, end, func(rec stream.Record) error {
			if rec.Headers[schemas.HeaderCrawl] != crawl {
				return nil
			}
			m := schemas.Record(rec.Topic)
			if err := proto.Unmarshal(rec.Value, m); err != nil {
				return err
			}
			out = append(out, m.(M))
			return nil
		})
		if err != nil {
			r.t.Fatalf("read %s/%d: %v", topic, p, err)
		}
	}
	return out
}

// answered is a delivered page of a crawl in the pipeline: its link.found and its request.
type answered struct {
	*schemas.LinkFound
	request schemas.FetchRequest
}

// pages returns the delivered pages of a crawl in the order of its verdicts.
func (r *rig) pages(crawl string) []*answered {
	r.t.Helper()
	var out []*answered
	for _, rec := range records[*schemas.LinkFound](r, schemas.TopicLinkFound, crawl) {
		if rec.GetOutcome() != schemas.Outcome_OUTCOME_DELIVERED {
			continue
		}
		d := &answered{LinkFound: rec}
		if err := proto.Unmarshal(rec.GetRequest(), &d.request); err != nil {
			r.t.Fatal(err)
		}
		out = append(out, d)
	}
	return out
}

// samePages compares the pages, their order, their judgements and how they were chosen.
func (r *rig) samePages(crawl string, want *experiment.Crawl) {
	r.t.Helper()
	type page struct {
		url                  string
		raw, tempered, score float64
		modelPages           string // number of pages when the model was trained; empty = no model
	}
	var got, wanted []page
	for _, p := range r.pages(crawl) {
		got = append(got, page{p.GetUrl(), p.GetJudgement().GetRaw(), p.GetJudgement().GetTempered(), p.request.GetScore(), pagesThrough(p.request.GetModel())})
	}
	for _, s := range want.Steps {
		wanted = append(wanted, page{s.URL, s.Raw, s.Tempered, s.Score, pagesThrough(s.Model)})
	}
	if len(wanted) == 0 {
		r.t.Fatalf("%s: the experiment delivered no page", crawl)
	}
	for i := range min(len(got), len(wanted)) {
		if got[i] != wanted[i] {
			r.t.Errorf("%s: page %d of %d is\n%+v, in experiment\n%+v", crawl, i+1, len(wanted), got[i], wanted[i])
			return // later differences follow from this one
		}
	}
	if len(got) != len(wanted) {
		r.t.Errorf("%s: %d pages, experiment has %d", crawl, len(got), len(wanted))
	}
	r.t.Logf("%s: %d pages equal in order, judgement, score and model", crawl, len(got))
}

// nameless is a copy of a leap without the name of the crawl.
func nameless(l *schemas.LeapSettled) *schemas.LeapSettled {
	l = proto.CloneOf(l)
	l.Id, l.Request, l.Crawl = nil, nil, ""
	l.Model = pagesThrough(l.Model)
	for _, s := range l.Shadows {
		s.Model = pagesThrough(s.Model)
	}
	return l
}

// pagesThrough returns the number of pages in a model's version, CRAWL/PAGES-DIGEST or experiment/PAGES.
func pagesThrough(model string) string {
	_, pages, _ := strings.Cut(model, "/")
	pages, _, _ = strings.Cut(pages, "-")
	return pages
}

// sameLeaps compares all leaps and boundaries, their order and all fields: features, relevance of both ends,
// score, whether they train. Those of a crawl that no apprentice ranks have no features.
func (r *rig) sameLeaps(crawl string, want *experiment.Crawl) {
	r.t.Helper()
	ctl, err := r.books.Control(crawl)
	if err != nil {
		r.t.Fatal(err)
	}
	got, settled := records[*schemas.LeapSettled](r, schemas.TopicLeapSettled, crawl), want.Settled()
	features := 0
	for i := range min(len(got), len(settled)) {
		a, b := nameless(got[i]), nameless(settled[i])
		if !schemas.Learns(ctl) && !b.GetBoundary() {
			b.Features, b.NoApprentice = nil, true
		}
		features += len(a.GetFeatures())
		if !proto.Equal(a, b) {
			r.t.Errorf("%s: leap %d of %d, from %s to %s (experiment: from %s to %s), differs in %s", crawl, i+1, len(settled),
				a.GetU(), a.GetV(), b.GetU(), b.GetV(), strings.Join(differing(a, b), ", "))
			return
		}
	}
	if len(got) != len(settled) {
		r.t.Errorf("%s: %d leaps, experiment has %d", crawl, len(got), len(settled))
	}
	if schemas.Learns(ctl) != (features > 0) {
		r.t.Errorf("%s: %d features", crawl, features)
	}
	r.t.Logf("%s: %d leaps equal, %d features", crawl, len(got), features)
}

// differing names the fields in which two records differ, and of lists the first differing element.
func differing(a, b proto.Message) []string {
	var names []string
	fields := a.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		x, y := a.ProtoReflect().Get(f), b.ProtoReflect().Get(f)
		switch {
		case x.Equal(y):
		case f.IsList():
			i, n, m := 0, x.List().Len(), y.List().Len()
			for i < min(n, m) && x.List().Get(i).Equal(y.List().Get(i)) {
				i++
			}
			what := fmt.Sprintf("%s (%d ≠ %d) from element %d", f.Name(), n, m, i)
			if i < min(n, m) && f.Message() != nil {
				what += fmt.Sprintf(": %v ≠ %v", x.List().Get(i).Message().Interface(), y.List().Get(i).Message().Interface())
			}
			names = append(names, what)
		default:
			names = append(names, fmt.Sprintf("%s: %v ≠ %v", f.Name(), x, y))
		}
	}
	return names
}
