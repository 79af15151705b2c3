package frontier

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"forager/internal/frontier/storage"
	"forager/internal/web/scope"
	"forager/schemas"
)

// smallWeb has a fixed outcome for each of some URLs.
type smallWeb map[string]*schemas.LinkFound

func drawSmallWeb(t *rapid.T) (smallWeb, []string) {
	var urls []string
	for h := range 7 {
		for p := range rapid.IntRange(1, 4).Draw(t, "paths") {
			urls = append(urls, fmt.Sprintf("http://h%d.example/%d", h, p))
		}
	}
	d := drawDice(t)
	anywhere := append([]string{"http://elsewhere.test/"}, urls...)
	w := make(smallWeb)
	for i, url := range urls {
		rec := &schemas.LinkFound{Crawl: "c", Url: url, Outcome: schemas.Outcome_OUTCOME_DELIVERED}
		switch {
		case i%4 == 3 && d.IntN(2) == 0: // few enough for chains of less than maxHops
			rec.Outcome, rec.Redirect = schemas.Outcome_OUTCOME_REDIRECTED, d.url(anywhere)
		case d.IntN(8) == 0:
			rec.Outcome = schemas.Outcome_OUTCOME_CLIENT_ERROR
		default:
			rec.Judgement = &schemas.Judgement{Raw: d.eighth(), Tempered: d.eighth(), Calibrated: d.eighth()}
			rec.Table = d.table()
			rec.Links = d.links(anywhere)
			rec.Judgement.Anchors = d.anchors(len(rec.Links))
			rec.Judgement.Guidance = d.guidance(len(rec.Links))
		}
		w[url] = rec
	}
	return w, urls
}

// end follows redirects as a crawl must: it returns the URL whose outcome counts, and that outcome.
func (w smallWeb) end(url string) (string, schemas.Outcome) {
	seen := make(map[string]bool)
	for {
		rec := w[url]
		switch {
		case rec.GetOutcome() != schemas.Outcome_OUTCOME_REDIRECTED:
			return url, rec.GetOutcome()
		case w[rec.GetRedirect()] == nil:
			return url, schemas.Outcome_OUTCOME_REDIRECTED // out of scope
		case seen[url]:
			return url, schemas.Outcome_OUTCOME_BAD_REDIRECT
		}
		seen[url] = true
		url = rec.GetRedirect()
	}
}

// expected are the URLs that a crawl from the seeds requests, and the leaps that it settles, by
// u and v; links that redirect to their own page are left out, as they are settled or not by the
// order of the records.
func (w smallWeb) expected(seeds []string) (asked map[string]bool, leaps map[string]string) {
	asked, leaps = make(map[string]bool), make(map[string]string)
	var ask func(string)
	ask = func(url string) {
		rec := w[url]
		if rec == nil || asked[url] {
			return
		}
		asked[url] = true
		if rec.GetOutcome() == schemas.Outcome_OUTCOME_REDIRECTED {
			ask(rec.GetRedirect())
		}
		for _, l := range rec.GetLinks() {
			ask(l.GetUrl())
			if end, outcome := w.end(l.GetUrl()); w[l.GetUrl()] != nil && l.GetUrl() != url && end != url {
				leaps[url+" "+l.GetUrl()] = fmt.Sprint(outcome, w[end].GetJudgement().GetRaw(), rec.GetJudgement().GetRaw())
			}
		}
	}
	for _, url := range seeds {
		ask(url)
	}
	return asked, leaps
}

// checkAnchors: links that are sent to another shard have the scores of their texts.
func (w smallWeb) checkAnchors(t *rapid.T, sent *schemas.LinkFound) {
	anchors, at := sent.GetJudgement().GetAnchors(), w[sent.GetUrl()]
	for i, l := range sent.GetLinks() {
		named := l.GetUrl()
		if m := sent.GetMoved(); m != nil {
			named = m.GetNamed()
		}
		first := slices.IndexFunc(at.GetLinks(), func(l *schemas.Link) bool { return l.GetUrl() == named })
		switch all := at.GetJudgement().GetAnchors(); {
		case first < 0 || len(all) == 0: // of seeds, or there are none
			if len(anchors) > 0 {
				t.Fatalf("anchors of nothing: %v", sent)
			}
		case len(anchors) != len(sent.GetLinks()) || anchors[i] != all[first]:
			t.Fatalf("%s on %s has the anchors %v, want %d at %d", named, at.GetUrl(), anchors, all[first], i)
		}
	}
}

// crawlShards crawls the web with n shards with unlimited leases, the records among them in
// any order but that of each pair, and some twice. The ranker of a shard is switched now and then, also while the shard's store has not
// committed what it wrote.
func (w smallWeb) crawlShards(t *rapid.T, n uint32, seeds []string) (asked map[string]bool, leaps map[string]string) {
	asked, leaps = make(map[string]bool), make(map[string]string)
	sc := must[*scope.Scope](t, "scope")(scope.New(&schemas.Scope{Hosts: []string{"example"}}, nil))
	ctl := &schemas.CrawlControl{
		Crawl: "c", Revision: 1, State: schemas.CrawlState_CRAWL_STATE_RUNNING, Shards: n, Window: 300, Budget: &schemas.Budget{Pages: 10_000},
		Policies: []*schemas.Policy{{Name: "p", Ranker: schemas.Ranker_RANKER_SOFT_FOCUS}}, Learning: &schemas.Learning{DMax: 2},
	}
	if rapid.Bool().Draw(t, "guided") {
		ctl.Policies[0].Ranker, ctl.Policies[0].Guide = schemas.Ranker_RANKER_GUIDE, guideNames[0]
	}
	policies := []*schemas.Policy{ctl.Policies[0], {Name: "p", Ranker: schemas.Ranker_RANKER_UNFOCUSED}}
	d := drawDice(t)
	shards := make([]*Shard, n)
	configure := func(k int) {
		if err := shards[k].Configure(ctl, sc, Options{RetryDelay: time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	inbox := make([][]*schemas.LinkFound, n)
	stores := make([]*lagging, n)
	for k := range shards {
		stores[k] = newLagging()
		shards[k] = must[*Shard](t, "open")(Open(stores[k], "c", uint32(k)))
		configure(k)
		if err := shards[k].SetLease(&schemas.ShardLease{Pages: math.MaxUint64, Requests: math.MaxUint64, Window: 300}); err != nil {
			t.Fatal(err)
		}
	}
	inbox[0] = append(inbox[0], schemas.SeedPage("c", seeds))
	apply := func(k int, rec *schemas.LinkFound) {
		effects, err := shards[k].Apply(rec, time.UnixMilli(1000))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range effects.Settled {
			id := l.GetU() + " " + l.GetV()
			if _, twice := leaps[id]; twice {
				t.Fatalf("%s was settled twice", id)
			}
			leaps[id] = fmt.Sprint(l.GetOutcome(), l.GetTargetRaw(), l.GetSourceRaw())
		}
		for _, sent := range effects.Sent {
			if sent.GetFrom() != uint32(k) || sent.GetShard() == uint32(k) {
				t.Fatalf("shard %d sent %v", k, sent)
			}
			w.checkAnchors(t, sent)
			w.checkGuidance(t, sent)
			sent := proto.CloneOf(sent)
			to := &inbox[sent.GetShard()]
			if *to = append(*to, sent); d.IntN(5) == 0 {
				*to = append(*to, proto.CloneOf(sent))
			}
		}
	}
	waits := func(records []*schemas.LinkFound) bool { return len(records) > 0 }
	for idle := 0; idle < 50*int(n) || slices.ContainsFunc(inbox, waits); idle++ {
		k := d.IntN(int(n))
		if d.IntN(20) == 0 {
			ctl.Revision++
			ctl.Policies[0] = policies[d.IntN(len(policies))]
			configure(k)
		}
		if _, err := shards[k].Rescore(5); err != nil {
			t.Fatal(err)
		}
		for range d.IntN(4) {
			if len(inbox[k]) > 0 {
				rec := inbox[k][0]
				inbox[k] = inbox[k][1:]
				apply(k, rec)
				idle = 0
			}
		}
		for _, r := range must[[]*schemas.FetchRequest](t, "dispatch")(shards[k].Dispatch(time.UnixMilli(1000), 1+d.IntN(3))) {
			idle = 0
			if asked[r.GetUrl()] || w[r.GetUrl()] == nil {
				t.Fatalf("%s was asked for again, or is out of scope", r.GetUrl())
			}
			asked[r.GetUrl()] = true
			w.checkPath(t, r)
			rec := proto.CloneOf(w[r.GetUrl()])
			rec.Id, rec.Shard = r.GetId(), r.GetShard()
			inbox[k] = append(inbox[k], rec)
		}
		if d.IntN(4) == 0 {
			stores[k].commit(t)
		}
	}
	for k, s := range shards {
		pages := storedPages(t, s)
		if r := s.Report(); len(inbox[k]) > 0 || r.GetInFlight() > 0 || r.GetWant() > 0 || r.GetBacklog() > 0 || len(pages) > 0 {
			t.Fatalf("shard %d is not at rest: %v, %d records wait, %d pages have open links", k, r, len(inbox[k]), len(pages))
		}
	}
	return asked, leaps
}

// TestShardsComeToTheSame: however many shards a crawl has, it requests the same URLs and settles
// the same leaps: those that follow from the web.
func TestShardsComeToTheSame(t *testing.T) {
	moved := 0
	rapid.Check(t, func(t *rapid.T) {
		w, urls := drawSmallWeb(t)
		seeds := []string{urls[0], urls[len(urls)-1]}
		wantAsked, wantLeaps := w.expected(seeds)
		for _, n := range []uint32{1, 2, 5} {
			asked, leaps := w.crawlShards(t, n, seeds)
			if diff := cmp.Diff(wantAsked, asked); diff != "" {
				t.Fatalf("%d shards: URLs asked for (-want +got):\n%s", n, diff)
			}
			for id := range leaps {
				u, v, _ := strings.Cut(id, " ")
				if end, _ := w.end(v); end == u {
					delete(leaps, id)
				}
				if w[v].GetOutcome() == schemas.Outcome_OUTCOME_REDIRECTED && schemas.ShardOf(v[7:17], n) != schemas.ShardOf(w[v].GetRedirect()[7:17], n) {
					moved++
				}
			}
			if diff := cmp.Diff(wantLeaps, leaps); diff != "" {
				t.Fatalf("%d shards: leaps (-want +got):\n%s", n, diff)
			}
		}
	})
	if moved < 20 {
		t.Errorf("only %d leaps went to another shard by a redirect", moved)
	}
}

// TestALeaseIsObeyed: with several shards each dispatches up to each level, and nothing without a lease
// or after the end.
func TestALeaseIsObeyed(t *testing.T) {
	sc, err := scope.New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctl := &schemas.CrawlControl{
		Crawl: "c", Revision: 1, State: schemas.CrawlState_CRAWL_STATE_RUNNING, Shards: 2, Window: 10, HostWindow: 10, Budget: &schemas.Budget{Pages: 100},
		Policies: []*schemas.Policy{{Name: "p", Ranker: schemas.Ranker_RANKER_UNFOCUSED}},
	}
	store := storage.NewMemory()
	var s *Shard
	open := func() {
		if s, err = Open(store, "c", 1); err != nil {
			t.Fatal(err)
		}
		if err := s.Configure(ctl, sc, Options{}); err != nil {
			t.Fatal(err)
		}
	}
	open()
	apply := func(rec *schemas.LinkFound) {
		t.Helper()
		rec.Crawl, rec.Shard = "c", 1
		if _, err := s.Apply(rec, time.UnixMilli(5)); err != nil {
			t.Fatal(err)
		}
	}
	var links []*schemas.Link
	for i := 0; len(links) < 20; i++ {
		if host := fmt.Sprintf("h%d.example", i); schemas.ShardOf(host, 2) == 1 {
			links = append(links, &schemas.Link{Url: "http://" + host + "/"})
		}
	}
	id := schemas.LinksID(schemas.URLID("page"), 1)
	apply(&schemas.LinkFound{Role: schemas.LinkRole_LINK_ROLE_LINKS, Id: id.Bytes(), Outcome: schemas.Outcome_OUTCOME_SEEDS, Links: links})
	lease := func(epoch, sequence uint64, l *schemas.ShardLease) {
		apply(&schemas.LinkFound{Role: schemas.LinkRole_LINK_ROLE_NOTE, Note: &schemas.ShardNote{Epoch: epoch, Sequence: sequence, Lease: l}})
	}
	var flying []*schemas.FetchRequest
	dispatched := func(want int, expected string) {
		t.Helper()
		open() // it survives
		rs, err := s.Dispatch(time.UnixMilli(5), 100)
		if err != nil {
			t.Fatal(err)
		}
		if flying = append(flying, rs...); len(rs) != want {
			t.Errorf("%s: %d requests, want %d", expected, len(rs), want)
		}
	}
	const all = math.MaxUint64
	dispatched(0, "no lease")
	lease(5, 1, &schemas.ShardLease{Pages: 2, Requests: all, Window: 9})
	dispatched(2, "two pages")
	lease(5, 2, &schemas.ShardLease{Pages: all, Requests: 3, Window: 9})
	dispatched(1, "three requests")
	lease(5, 3, &schemas.ShardLease{Pages: all, Requests: all, Window: 5})
	dispatched(2, "a window of five")
	lease(5, 2, &schemas.ShardLease{Pages: all, Requests: all, Window: 9})
	lease(4, 7, &schemas.ShardLease{Pages: all, Requests: all, Window: 9})
	dispatched(0, "leases of the past")
	lease(6, 1, &schemas.ShardLease{Keep: true})
	dispatched(0, "to keep what it has")
	if r := s.Report(); r.GetLeaseEpoch() != 6 || r.GetLeaseSequence() != 1 || r.GetLease().GetWindow() != 5 || r.GetInFlight() != 5 || r.GetWant() != 15 {
		t.Errorf("report %v", r)
	}
	lease(5, 9, &schemas.ShardLease{Pages: all, Requests: all, Window: 9})
	dispatched(0, "a lease of the past behind the word of a new owner")
	lease(6, 2, &schemas.ShardLease{Pages: all, Requests: all, Window: 9, End: "enough"})
	dispatched(0, "the end")
	if _, ended := s.Finished(); ended {
		t.Error("it has finished with requests in flight")
	}
	for _, r := range flying {
		apply(&schemas.LinkFound{Id: r.GetId(), Url: r.GetUrl(), Outcome: schemas.Outcome_OUTCOME_NOT_HTML})
	}
	if reason, ended := s.Finished(); !ended || reason != "enough" {
		t.Errorf("finished %t: %q", ended, reason)
	}
	lease(6, 3, &schemas.ShardLease{Pages: all, Requests: all, Window: 3})
	dispatched(3, "it goes on")
}
