package frontier

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
	"forager/internal/rank/linkfeature"
	"forager/internal/web/scope"
	"forager/schemas"
)

// happened is the verdict on a URL with its clock.
type happened struct {
	clock    uint64
	raw      float64
	page     *schemas.LinkFound // where one was delivered
	redirect string
}

// onlooker computes co-citation features from the definition: from the verdicts in their order and the clocks of requests.
type onlooker struct {
	dMax  int
	clock uint64
	on    map[string]happened
	asked map[string]*schemas.FetchRequest // by id
}

// relevance of a URL, through redirects, as known at a clock.
func (o *onlooker) relevance(url string, clock uint64) (float64, bool) {
	for range 100 {
		h, ok := o.on[url]
		switch {
		case !ok || h.clock > clock:
			return 0, false
		case h.page != nil:
			return h.raw, true
		case h.redirect == "":
			return 0, false
		}
		url = h.redirect
	}
	return 0, false
}

// features of the link from u to v by what was known at a clock: R(w) of every other link that has a leaf so near.
func (o *onlooker) features(u, v string, clock uint64) map[string]uint32 {
	all := make(map[string]uint32)
	links := o.on[u].page.GetLinks()
	var own *schemas.Link
	for _, l := range links {
		if own == nil && l.GetUrl() == v {
			own = l
		}
	}
	once := map[string]bool{u: true, v: true}
	for _, w := range links {
		if once[w.GetUrl()] {
			continue
		}
		once[w.GetUrl()] = true
		nearest := 1 << 30
		for leaf := int(w.GetFirstLeaf()); leaf <= int(w.GetLastLeaf()); leaf++ {
			d := 0
			if leaf < int(own.GetFirstLeaf()) {
				d = leaf - int(own.GetFirstLeaf())
			} else if leaf > int(own.GetLastLeaf()) {
				d = leaf - int(own.GetLastLeaf())
			}
			if abs(d) < abs(nearest) {
				nearest = d
			}
		}
		if r, ok := o.relevance(w.GetUrl(), clock); ok && abs(nearest) <= o.dMax {
			all[fmt.Sprintf("w:%03d@%d", int(r*256), nearest)]++
		}
	}
	return all
}

func abs(d int) int { return max(d, -d) }

func citedOf(features []*schemas.Feature) map[string]uint32 {
	all := make(map[string]uint32)
	for _, f := range features {
		if strings.HasPrefix(f.GetTerm(), "w:") {
			all[fmt.Sprintf("%s@%d", f.GetTerm(), f.GetOffset())] += f.GetCount()
		}
	}
	return all
}

// citedModel scores a link by its co-citation features alone.
type citedModel struct{}

func (citedModel) Score(features []*schemas.Feature) float64 { return scoreCited(citedOf(features)) }

func scoreCited(features map[string]uint32) float64 {
	sum := uint64(0)
	for f, n := range features {
		id := schemas.URLID(f)
		sum += uint64(n) * (uint64(id[0])<<8 | uint64(id[1]))
	}
	return 1 / (1 + float64(sum))
}

// TestCocitationIsWhatWasKnownAtTheRequest crawls small webs with redirects, failures, several requests in
// flight and restarts, and compares with an onlooker the co-citation features of every leap and the score of
// every request.
func TestCocitationIsWhatWasKnownAtTheRequest(t *testing.T) {
	onStores(t, func(t *rapid.T, store committer) {
		dMax := rapid.IntRange(0, 4).Draw(t, "d_max")
		now := time.Unix(1000, 0)
		ctl := &schemas.CrawlControl{
			Crawl: "c", Revision: 1, State: schemas.CrawlState_CRAWL_STATE_RUNNING, Budget: &schemas.Budget{Pages: 1000},
			Window: uint32(rapid.IntRange(1, 4).Draw(t, "window")), HostWindow: 100,
			Policies: []*schemas.Policy{{Name: "p", Ranker: schemas.Ranker_RANKER_APPRENTICE}},
			Learning: &schemas.Learning{DMax: uint32(dMax), Sync: true, SwitchPages: 2, RefitPages: 1000, Features: []schemas.FeatureFamily{
				schemas.FeatureFamily_FEATURE_FAMILY_OFFSETS, schemas.FeatureFamily_FEATURE_FAMILY_COCITATION,
			}},
		}
		o := &onlooker{dMax: dMax, on: make(map[string]happened), asked: make(map[string]*schemas.FetchRequest)}
		shard := opened(t, store, ctl)
		urls := make([]string, rapid.IntRange(4, 14).Draw(t, "urls"))
		for i := range urls {
			urls[i] = onA(fmt.Sprint(i))
		}
		if _, err := shard.Apply(seedPage("c", 1, linksTo(urls[0], urls[1])), now); err != nil {
			t.Fatal(err)
		}
		o.clock++
		var flying []*schemas.FetchRequest
		ranked := false
		for step := 0; step < 200; step++ {
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 6:
				store.commit(t)
			case 0:
				shard = opened(t, store, ctl)
				if ranked {
					set(t, shard)
				}
				continue
			case 1, 2:
				if err := shard.Prepare(nil); err != nil {
					t.Fatal(err)
				}
			}
			requests, err := shard.Dispatch(now, rapid.IntRange(0, 2).Draw(t, "most"))
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range requests {
				o.asked[string(r.GetId())] = r
				if want, ok := o.score(r); ok && r.GetModel() != "" && o.end(urls[0]) != r.GetUrl() && o.end(urls[1]) != r.GetUrl() && r.GetScore() != want {
					t.Fatalf("%s was asked for by score %v, want %v", r.GetUrl(), r.GetScore(), want)
				}
			}
			if flying = append(flying, requests...); len(flying) == 0 {
				if len(requests) == 0 && step > 100 {
					break
				}
				continue
			}
			at := rapid.IntRange(0, len(flying)-1).Draw(t, "answered")
			r := flying[at]
			flying = append(flying[:at:at], flying[at+1:]...)
			rec := o.answer(t, r, urls)
			effects, err := shard.Apply(rec, now)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range effects.Settled {
				if l.GetBoundary() {
					ranked = true
					set(t, shard)
					continue
				}
				asked := o.asked[string(l.GetRequest())]
				if diff := cmp.Diff(o.features(l.GetU(), l.GetV(), asked.GetClock()), citedOf(l.GetFeatures())); diff != "" {
					t.Fatalf("leap %s → %s, asked for at %d: %s", l.GetU(), l.GetV(), asked.GetClock(), diff)
				}
			}
		}
	})
}

func opened(t *rapid.T, store storage.Store, ctl *schemas.CrawlControl) *Shard {
	s, err := Open(store, "c", 0)
	if err != nil {
		t.Fatal(err)
	}
	sc, err := scope.New(ctl.GetScope(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Configure(ctl, sc, Options{RetryDelay: 10 * time.Second}); err != nil {
		t.Fatal(err)
	}
	return s
}

func set(t *rapid.T, s *Shard) {
	if err := s.SetModel("m", citedModel{}, 2); err != nil {
		t.Fatal(err)
	}
}

// answer returns a verdict on a request.
func (o *onlooker) answer(t *rapid.T, r *schemas.FetchRequest, urls []string) *schemas.LinkFound {
	o.clock++
	rec := &schemas.LinkFound{Id: r.GetId(), Crawl: "c", Url: r.GetUrl(), Outcome: schemas.Outcome_OUTCOME_DELIVERED}
	h := happened{clock: o.clock}
	switch rapid.IntRange(0, 7).Draw(t, "outcome") {
	case 0:
		rec.Outcome = schemas.Outcome_OUTCOME_CLIENT_ERROR
	case 1:
		rec.Outcome, rec.Redirect = schemas.Outcome_OUTCOME_REDIRECTED, rapid.SampledFrom(urls).Draw(t, "target")
		h.redirect = rec.Redirect
		if o.end(rec.Redirect) == r.GetUrl() || r.GetHops() >= maxHops { // a circle, or too many: it is final
			h.redirect = ""
		}
	default:
		h.raw, h.page = float64(rapid.IntRange(0, 4).Draw(t, "R"))/4, rec
		rec.Judgement = &schemas.Judgement{Raw: h.raw}
		leaf := uint32(0)
		for range rapid.IntRange(0, 8).Draw(t, "links") {
			leaf += uint32(rapid.IntRange(0, 3).Draw(t, "gap"))
			l := &schemas.Link{Url: rapid.SampledFrom(urls).Draw(t, "link"), FirstLeaf: leaf, LastLeaf: leaf + uint32(rapid.IntRange(0, 2).Draw(t, "leaves"))}
			rec.Links = append(rec.Links, l)
		}
	}
	o.on[r.GetUrl()] = h
	return rec
}

// end is where redirects from a URL lead.
func (o *onlooker) end(url string) string {
	for range 100 {
		h := o.on[url]
		if h.redirect == "" {
			return url
		}
		url = h.redirect
	}
	return url
}

// score is the largest of all links to the URL of a request, also by way of redirects, as of its clock.
func (o *onlooker) score(r *schemas.FetchRequest) (best float64, ok bool) {
	for u, h := range o.on {
		once := map[string]bool{u: true}
		for _, l := range h.page.GetLinks() {
			if once[l.GetUrl()] || o.end(l.GetUrl()) != r.GetUrl() {
				continue
			}
			once[l.GetUrl()] = true
			best, ok = max(best, scoreCited(o.features(u, l.GetUrl(), r.GetClock()))), true
		}
	}
	return best, ok
}

// TestSiblingsAreReadAsTheyWereWritten, and other bytes are refused.
func TestSiblingsAreReadAsTheyWereWritten(t *testing.T) {
	all := []state.Sibling{{First: 1, Last: 2, Ordinal: 3}, {Index: 4, First: 1 << 20, Last: 1<<20 + 1, Ordinal: 1 << 40}}
	b := state.AppendSiblings(nil, all)
	if got, err := state.DecodeSiblings(7, b); err != nil || !cmp.Equal(all, got, cmp.AllowUnexported(state.Sibling{}), protocmp.Transform()) {
		t.Errorf("%v, %v", got, err)
	}
	for i := range b {
		if _, err := state.DecodeSiblings(7, b[:i]); err == nil {
			t.Errorf("cut at %d", i)
		}
	}
}

// TestOtherCrawlsStoreNothingOfCocitation: without the family no key of its kinds is written.
func TestOtherCrawlsStoreNothingOfCocitation(t *testing.T) {
	for _, on := range []bool{false, true} {
		s := newScript(t, func(ctl *schemas.CrawlControl) {
			if on {
				ctl.Learning.Features = []schemas.FeatureFamily{schemas.FeatureFamily_FEATURE_FAMILY_COCITATION}
			}
		})
		s.seed(onA("u"))
		s.dispatch(1)
		s.deliver(onA("u"), .5, true, onA("v"), onA("w"))
		found := false
		for _, kind := range []byte{state.KindSiblings, state.KindSince} {
			from := append([]byte(nil), s.shard.state.Keys.Kind(kind)...)
			if err := s.store.Scan(from, state.After(from), func([]byte, []byte) (bool, error) { found = true; return false, nil }); err != nil {
				t.Fatal(err)
			}
		}
		if found != on {
			t.Errorf("on %v: stored %v", on, found)
		}
	}
	if linkfeature.Offsets.Cocitation() {
		t.Error("the default has co-citation features")
	}
}
