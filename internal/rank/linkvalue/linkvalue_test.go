package linkvalue

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forager/internal/rank/policy"
	"forager/schemas"
)

// crawl draws so many records or more of a crawl of a web of so many pages, with redirects, failures, repeated records and pages that link to
// themselves and to pages fetched before.
func crawl(t *rapid.T, records, most int) []*schemas.LinkFound {
	url := rapid.Custom(func(t *rapid.T) string {
		n := rapid.IntRange(0, most).Draw(t, "url")
		return fmt.Sprintf("http://%d/%d/%c%d", n%3, n%5, 'a'+n%7, n)
	})
	odds := rapid.Float64Range(-200, 200)
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *schemas.LinkFound {
		rec := &schemas.LinkFound{Url: url.Draw(t, "u")}
		switch rapid.IntRange(0, 9).Draw(t, "outcome") {
		case 0:
			rec.Outcome = schemas.Outcome_OUTCOME_CLIENT_ERROR
		case 1:
			rec.Outcome, rec.Redirect = schemas.Outcome_OUTCOME_REDIRECTED, rapid.OneOf(url, rapid.Just("")).Draw(t, "to")
		default:
			rec.Outcome = schemas.Outcome_OUTCOME_DELIVERED
			all, topics := odds.Draw(t, "odds"), odds.Draw(t, "topic odds")
			rec.Judgement = &schemas.Judgement{Raw: rapid.Float64Range(0, 1).Draw(t, "raw"), Calibrated: rapid.Float64Range(0, 1).Draw(t, "R")}
			if rapid.Bool().Draw(t, "with odds") {
				rec.Judgement.LogOdds, rec.Judgement.TopicLogOdds = &all, &topics
			}
			judged := rapid.Bool().Draw(t, "anchors")
			for range rapid.IntRange(0, 12).Draw(t, "links") {
				rec.Links = append(rec.Links, &schemas.Link{Url: url.Draw(t, "v")})
				if judged {
					rec.Judgement.Anchors = append(rec.Judgement.Anchors, rapid.Uint32Range(0, schemas.AnchorSteps).Draw(t, "anchor"))
				}
			}
		}
		return rec
	}), records, 120).Draw(t, "records")
}

// link is one of a page by its place among the records.
type link struct {
	page, index int
	anchor      float64
}

// naive is what follows from all records of a crawl at once.
type naive struct {
	pages   []*schemas.LinkFound // delivered
	at      map[string]int       // of these
	sources map[string][]link    // of URLs that wait
	sum     []float64            // by page
	credits []map[int][]float64  // by page and index
	behind  []behind             // by page, without yields
}

// countBehind counts what became of the URLs that were first found on each page, of records without redirects.
func (n *naive) countBehind(records []*schemas.LinkFound) {
	n.behind = make([]behind, len(n.pages))
	fetched, finder := make(map[string]bool), make(map[string]*behind)
	for _, rec := range records {
		if fetched[rec.GetUrl()] {
			continue
		}
		fetched[rec.GetUrl()] = true
		if b := finder[rec.GetUrl()]; b != nil {
			if rec.GetJudgement() == nil {
				b.Found--
			} else {
				b.Fetched++
				b.Sum += rec.GetJudgement().GetCalibrated()
			}
		}
		for _, l := range rec.GetLinks() {
			if v := l.GetUrl(); !fetched[v] && finder[v] == nil {
				finder[v] = &n.behind[n.at[rec.GetUrl()]]
				finder[v].Found++
			}
		}
	}
}

// recompute takes the records that a crawl has counted, each URL once.
func recompute(records []*schemas.LinkFound) *naive {
	n := &naive{at: make(map[string]int), sources: make(map[string][]link)}
	became := make(map[string]*schemas.LinkFound)
	for _, rec := range records {
		if became[rec.GetUrl()] != nil {
			continue
		}
		became[rec.GetUrl()] = rec
		if rec.GetJudgement() != nil {
			n.at[rec.GetUrl()] = len(n.pages)
			n.pages = append(n.pages, rec)
		}
	}
	end := func(url string) string {
		for range mostHops {
			rec := became[url]
			if rec == nil || rec.GetJudgement() != nil || rec.GetRedirect() == "" {
				return url
			}
			url = rec.GetRedirect()
		}
		return "?"
	}
	n.sum, n.credits = make([]float64, len(n.pages)), make([]map[int][]float64, len(n.pages))
	for i, p := range n.pages {
		n.credits[i] = make(map[int][]float64)
		for k, l := range p.GetLinks() {
			v := end(l.GetUrl())
			rec := became[v]
			switch {
			case v == "?":
			case rec == nil:
				of := n.sources[v]
				if !slices.ContainsFunc(of, func(o link) bool { return o.page == i }) {
					e := link{page: i, index: k}
					if a := p.GetJudgement().GetAnchors(); len(a) > 0 {
						e.anchor = anchorOdds(a[k])
					}
					n.sources[v] = append(of, e)
				}
			case rec.GetJudgement() != nil:
				n.credits[i][k] = append(n.credits[i][k], rec.GetJudgement().GetCalibrated())
			}
		}
	}
	return n
}

// TestLearnsAsFromAllRecords: the sources of every URL that waits, without redirects that go on to several links of a page,
// have the sums that follow from all records; every change of a score is announced; and a ranker that observes the records
// again has the same scores.
func TestLearnsAsFromAllRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := crawl(t, 0, 60)
		records = slices.DeleteFunc(records, func(rec *schemas.LinkFound) bool { return rec.GetRedirect() != "" })
		r, scores := New(true), make(map[string]float64)
		for i, rec := range records {
			for _, v := range r.Observe(rec) {
				scores[v] = r.Score(v, new(policy.Source))
			}
			for v, w := range r.waiting {
				if scores[v] != w.published {
					t.Fatalf("record %d: the score of %s is %v, announced was %v", i, v, w.published, scores[v])
				}
			}
			n := recompute(records[:i+1])
			n.countBehind(records[:i+1])
			checkSums(t, r, n)
		}
		again := New(true)
		for _, rec := range records {
			again.Observe(rec)
		}
		for v, w := range r.waiting {
			if got := again.Score(v, new(policy.Source)); got != w.published || got <= 0 || got >= seedScore {
				t.Fatalf("%s has the score %v, and %v the second time", v, w.published, got)
			}
		}
	})
}

// checkSums compares what sources have learned with what follows from all records. A page may link to a URL several times, of
// which only the first counts if the page was there before its target.
func checkSums(t *rapid.T, r *Ranker, n *naive) {
	if got, want := slices.Sorted(maps.Keys(r.waiting)), slices.Sorted(maps.Keys(n.sources)); !slices.Equal(got, want) {
		t.Fatalf("%v wait, want %v", got, want)
	}
	for v, w := range r.waiting {
		want := n.sources[v]
		if len(w.edges) != min(len(want), mostSources) {
			t.Fatalf("%s has %d sources, want %d", v, len(w.edges), len(want))
		}
		var yields []float64
		for i, e := range w.edges {
			o, page := want[i], n.pages[want[i].page]
			if e.index != o.index || e.anchor != o.anchor || e.from.relevance != page.GetJudgement().GetCalibrated() {
				t.Fatalf("source %d of %s is %v, want %v", i, v, e, o)
			}
			for index, credits := range n.credits[o.page] {
				if got := countAt(e.from, index); got > len(credits) {
					t.Fatalf("link %d of a source of %s is credited %d times, want at most %d", index, v, got, len(credits))
				}
			}
			once := make(map[string]bool)
			targets := 0
			for _, l := range page.GetLinks() {
				if at, fetched := n.at[l.GetUrl()]; fetched && !once[l.GetUrl()] && at != o.page {
					once[l.GetUrl()] = true
					targets++
				}
			}
			if len(e.from.outcomes) < targets {
				t.Fatalf("a source of %s has %d outcomes, its links led to %d pages", v, len(e.from.outcomes), targets)
			}
			got, expected := *e.from.behind, n.behind[o.page]
			if got.Found != expected.Found || got.Fetched != expected.Fetched || math.Abs(got.Sum-expected.Sum) > 1e-9 {
				t.Fatalf("behind a source of %s is %+v, want %+v", v, got, expected)
			}
			var sum float64
			for _, c := range e.from.outcomes {
				sum += c.R
			}
			if math.Abs(sum-e.from.sum) > 1e-9 {
				t.Fatalf("a source of %s has the sum %v, its outcomes %v", v, e.from.sum, sum)
			}
			yields = append(yields, (priorPages*e.from.prior+sum)/float64(priorPages+len(e.from.outcomes)))
		}
		x := r.features(w)
		if math.Abs(x[bestYield]-slices.Max(yields)) > 1e-9 {
			t.Fatalf("the best yield of %s is %v, want that of %v", v, x[bestYield], yields)
		}
		for i, y := range x {
			if math.IsNaN(y) || math.IsInf(y, 0) {
				t.Fatalf("feature %d of %s is %v", i, v, y)
			}
		}
	}
}

func countAt(s *source, index int) (n int) {
	for _, o := range s.outcomes {
		if o.Index == index {
			n++
		}
	}
	return n
}

// TestDropsURLsOfLeastValue: with redirects and few URLs that may wait, every change is announced, and what nothing needs is dropped.
func TestDropsURLsOfLeastValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, scores := New(true), make(map[string]float64)
		r.most = 8 << 10
		for _, rec := range crawl(t, 40, 300) {
			for _, v := range r.Observe(rec) {
				scores[v] = r.Score(v, new(policy.Source))
			}
			for v, x := range scores {
				if _, waits := r.waiting[v]; waits && x != r.Score(v, new(policy.Source)) {
					t.Fatalf("%s was announced with %v, and has %v", v, x, r.Score(v, new(policy.Source)))
				}
			}
		}
		for v, w := range r.waiting {
			if w.url != v || len(w.edges) == 0 {
				t.Fatalf("%s waits as %+v", v, w)
			}
			for _, e := range w.edges {
				if !slices.Contains(e.from.waiting, w) {
					t.Fatalf("a source of %s does not know that it waits", v)
				}
			}
		}
	})
}

// TestFollowsWhatLinksLeadTo: of two pages that look the same, the links of the one that led to relevant pages come first,
// and those close to such links before the others of the page.
func TestFollowsWhatLinksLeadTo(t *testing.T) {
	r := New(true)
	list := func(name string) *schemas.LinkFound {
		rec := &schemas.LinkFound{Url: name, Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: &schemas.Judgement{Raw: .1, Calibrated: .1}}
		for i := range 80 {
			rec.Links = append(rec.Links, &schemas.Link{Url: fmt.Sprint(name, i)})
		}
		return rec
	}
	r.Observe(list("a"))
	r.Observe(list("b"))
	for i := range 40 {
		of, relevance := "a", float64(0)
		if i%2 > 0 {
			of, relevance = "b", 1
		}
		r.Observe(&schemas.LinkFound{Url: fmt.Sprint(of, i), Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: &schemas.Judgement{Raw: relevance, Calibrated: relevance}})
	}
	score := func(v string) float64 { return r.Score(v, new(policy.Source)) }
	if !(score("b2") > score("b79") && score("b79") > score("a78")) {
		t.Errorf("the scores are %v, %v and %v", score("b2"), score("b79"), score("a78"))
	}
	if got := r.Score("b2", &policy.Source{Seed: true}); got != seedScore {
		t.Errorf("a seed has the score %v", got)
	}
	if got := r.Score("unknown", &policy.Source{Calibrated: 1}); got != unknownShare {
		t.Errorf("an unknown URL has the score %v", got)
	}
}

// TestFollowsWhatIsBehind: pages whose links have a text unlike the focus, and that are irrelevant, but lead to relevant pages, come
// before those whose links are like the focus and lead nowhere.
func TestFollowsWhatIsBehind(t *testing.T) {
	r := New(true)
	home := &schemas.LinkFound{Url: "home", Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: &schemas.Judgement{Raw: .1, Calibrated: .1}}
	for i := range 60 {
		home.Links = append(home.Links, &schemas.Link{Url: fmt.Sprint("like", i)}, &schemas.Link{Url: fmt.Sprint("list", i)})
		home.Judgement.Anchors = append(home.Judgement.Anchors, schemas.AnchorSteps/2, schemas.AnchorSteps/50)
	}
	r.Observe(home)
	for i := range 30 {
		like := &schemas.LinkFound{Url: fmt.Sprint("like", i), Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: &schemas.Judgement{Raw: .1, Calibrated: .1}}
		list := &schemas.LinkFound{Url: fmt.Sprint("list", i), Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: &schemas.Judgement{Raw: .1, Calibrated: .1}}
		for k := range 5 {
			list.Links = append(list.Links, &schemas.Link{Url: fmt.Sprint("target", i, ".", k)})
		}
		r.Observe(like)
		r.Observe(list)
		for k := range 5 {
			r.Observe(&schemas.LinkFound{Url: fmt.Sprint("target", i, ".", k), Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: &schemas.Judgement{Raw: 1, Calibrated: 1}})
		}
	}
	like, list := r.Score("like45", new(policy.Source)), r.Score("list45", new(policy.Source))
	if list <= like {
		t.Errorf("a page that leads to relevant ones has the score %v, another %v", list, like)
	}
}

// TestPublishesTheBestOfEachHost: after a fit the scores of the best URLs of a host are those that they have now, though more than are
// published of another one are better and never fetched.
func TestPublishesTheBestOfEachHost(t *testing.T) {
	r := New(true)
	observe := func(url string, relevance float64, links ...string) {
		rec := &schemas.LinkFound{Url: url, Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: &schemas.Judgement{Raw: relevance, Calibrated: relevance}}
		for _, v := range links {
			rec.Links = append(rec.Links, &schemas.Link{Url: v})
		}
		r.Observe(rec)
	}
	var excluded []string
	for i := range 2 * best {
		excluded = append(excluded, fmt.Sprintf("http://excluded.test/%d", i))
	}
	observe("http://seed.test/", .9, excluded...)
	for i := range 10 {
		observe(excluded[i], 1)
	}
	for i := range 400 {
		observe(fmt.Sprintf("http://a.test/%d", i), 0, fmt.Sprintf("http://a.test/%d", i+1), fmt.Sprintf("http://a.test/not/%d", i))
		if r.next-r.pages != fitEvery {
			continue
		}
		n := 0
		for _, v := range r.byValue() {
			if strings.HasPrefix(v.url, "http://a.test/") {
				if n++; n <= bestOfHost && v.published != v.value {
					t.Fatalf("after page %d URL %d of its host is %s with the score %v, want %v", i, n, v.url, v.published, v.value)
				}
			}
		}
		if all := r.byValue(); n < bestOfHost || strings.HasPrefix(all[best].url, "http://a.test/") {
			continue
		}
		return
	}
	t.Fatal("no fit while the best URLs are of another host")
}

// TestRanks compares with a count.
func TestRanks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s sample
		all := rapid.SliceOfN(rapid.SampledFrom([]float64{-2, -1, 0, 1, 2}), 0, 50).Draw(t, "numbers")
		for _, x := range all {
			s.add(x)
		}
		for x := -3.; x <= 3; x += .5 {
			below := .5
			for _, y := range all {
				if y < x {
					below++
				} else if y == x {
					below += .5
				}
			}
			if got, want := s.rank(x), below/float64(len(all)+1); math.Abs(got-want) > 1e-12 {
				t.Fatalf("%v has the rank %v, want %v", x, got, want)
			}
		}
	})
	s, n := sample{}, 3*mostRanked
	for i := range n {
		s.add(float64(i))
	}
	if len(s.sorted) != mostRanked || !slices.IsSorted(s.sorted) || s.sorted[0] != float64(n-mostRanked) {
		t.Errorf("%d numbers from %v on are kept", len(s.sorted), s.sorted[0])
	}
}

// TestFitIsTheBest: no weights near those fitted have a smaller loss.
func TestFitIsTheBest(t *testing.T) {
	for name, model := range map[string]struct {
		regression
		most float64 // of an observation
		loss func(z, y float64) float64
	}{
		"logistic": {logistic(valueStart), 1, func(z, y float64) float64 { return math.Log1p(math.Exp(z)) - y*z }},
		"exponential": {exponential(behindStart), mostGain, func(z, y float64) float64 {
			return math.Exp(min(z, 3))*(1+max(0, z-3)) - y*z
		}},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				var xs []vector
				var ys []float64
				for range rapid.IntRange(0, 60).Draw(t, "examples") {
					x := vector{constant: 1}
					for i := range constant {
						x[i] = rapid.Float64Range(-1, 1).Draw(t, "x")
					}
					xs, ys = append(xs, x), append(ys, rapid.Float64Range(0, model.most).Draw(t, "y"))
				}
				fitsBest(t, model.regression, xs, ys, model.loss)
			})
			// Whole steps of Newton's method go back and forth between these.
			xs := make([]vector, 4)
			for n := range xs {
				for i := range xs[n] {
					xs[n][i] = 1
				}
			}
			xs[0][15], xs[1][13], xs[1][15], xs[3][14] = .5, .5, .5, -1
			fitsBest(t, model.regression, xs, []float64{1, 1, model.most, model.most}, model.loss)
		})
	}
}

// fitsBest fails if weights near those that g is fitted to have a smaller loss.
func fitsBest(t rapid.TB, g regression, xs []vector, ys []float64, ofOne func(z, y float64) float64) {
	for range 20 {
		g.fit(xs, ys)
	}
	loss := func(w vector) (sum float64) {
		for i := range w {
			sum += ridge(i) / 2 * (w[i] - g.start[i]) * (w[i] - g.start[i])
		}
		for n := range xs {
			sum += ofOne(dot(&w, &xs[n]), ys[n])
		}
		return sum
	}
	least := loss(g.weights)
	for i := range features {
		for _, d := range []float64{-.05, .05} {
			w := g.weights
			w[i] += d
			if loss(w) < least {
				t.Fatalf("the loss is %v, and %v with %v more of weight %d", least, loss(w), d, i)
			}
		}
	}
}

// BenchmarkObserve is what a page with 50 links costs while about so many URLs wait as may.
func BenchmarkObserve(b *testing.B) {
	r := New(true)
	n := 0
	url := func(n int) string {
		return fmt.Sprintf("http://h%d.example/wiki/Page_of_%d/Item-%d.html", n%50, n%1000, n)
	}
	page := func() *schemas.LinkFound {
		n++
		rec := &schemas.LinkFound{Url: url(n), Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: &schemas.Judgement{Raw: .5, Calibrated: float64(n%7) / 7}}
		for i := range 50 {
			rec.Links = append(rec.Links, &schemas.Link{Url: url(n + 1 + (i*i*i*n)%(40*n+50))})
		}
		return rec
	}
	for r.held < r.most*9/10 {
		r.Observe(page())
	}
	b.ReportAllocs()
	for b.Loop() {
		r.Observe(page())
	}
}
