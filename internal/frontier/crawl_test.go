package frontier

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"google.golang.org/protobuf/proto"

	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
	"forager/internal/web/scope"
	"forager/schemas"
)

// script drives a shard step by step.
type script struct {
	t     *testing.T
	store storage.Store
	ctl   *schemas.CrawlControl
	shard *Shard
	now   time.Time
	last  map[string]*schemas.FetchRequest // by URL
	seeds int
}

func newScript(t *testing.T, change func(*schemas.CrawlControl)) *script {
	ctl := &schemas.CrawlControl{
		Crawl: "c", Revision: 1, State: schemas.CrawlState_CRAWL_STATE_RUNNING,
		Budget: &schemas.Budget{Pages: 100}, Window: 1, HostWindow: 100,
		Policies: []*schemas.Policy{{Name: "p", Ranker: schemas.Ranker_RANKER_SOFT_FOCUS}},
		Learning: &schemas.Learning{},
	}
	if change != nil {
		change(ctl)
	}
	s := &script{t: t, store: storage.NewMemory(), ctl: ctl, now: time.Unix(1000, 0), last: map[string]*schemas.FetchRequest{}}
	s.open()
	return s
}

func (s *script) open() {
	s.t.Helper()
	var err error
	if s.shard, err = Open(s.store, "c", 0); err != nil {
		s.t.Fatal(err)
	}
	s.configure()
}

func (s *script) configure() {
	s.t.Helper()
	sc, err := scope.New(s.ctl.GetScope(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.shard.Configure(s.ctl, sc, Options{RetryDelay: 10 * time.Second}); err != nil {
		s.t.Fatal(err)
	}
}

func linksTo(urls ...string) (links []*schemas.Link) {
	for _, u := range urls {
		links = append(links, &schemas.Link{Url: u})
	}
	return links
}

func (s *script) seed(urls ...string) {
	s.t.Helper()
	s.seeds++
	s.apply(seedPage("c", s.seeds, linksTo(urls...)))
}

func (s *script) apply(rec *schemas.LinkFound) []*schemas.LeapSettled {
	s.t.Helper()
	effects, err := s.shard.Apply(rec, s.now)
	if err != nil {
		s.t.Fatal(err)
	}
	if effects.Duplicate {
		s.t.Fatalf("verdict on %s was a duplicate", rec.GetUrl())
	}
	return effects.Settled
}

// dispatch returns the URLs chosen, best first.
func (s *script) dispatch(most int) (urls []string) {
	s.t.Helper()
	rs, err := s.shard.Dispatch(s.now, most)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range rs {
		urls = append(urls, r.GetUrl())
		s.last[r.GetUrl()] = r
	}
	return urls
}

func (s *script) answer(url string, o schemas.Outcome) *schemas.LinkFound {
	s.t.Helper()
	r, ok := s.last[url]
	if !ok {
		s.t.Fatalf("%s was not asked for", url)
	}
	return &schemas.LinkFound{Id: r.GetId(), Crawl: "c", Url: url, Request: encoded(r), Outcome: o}
}

// deliver applies a verdict with a page of relevance r; best: its best class is in the focus.
func (s *script) deliver(url string, r float64, best bool, links ...string) []*schemas.LeapSettled {
	s.t.Helper()
	rec := s.answer(url, schemas.Outcome_OUTCOME_DELIVERED)
	rec.Judgement = &schemas.Judgement{Raw: r, Tempered: r / 2, Calibrated: r / 4, BestIsFocus: best}
	rec.Links = linksTo(links...)
	return s.apply(rec)
}

func (s *script) redirect(url, target string) []*schemas.LeapSettled {
	s.t.Helper()
	rec := s.answer(url, schemas.Outcome_OUTCOME_REDIRECTED)
	rec.Redirect = target
	return s.apply(rec)
}

func (s *script) want(got []string, urls ...string) {
	s.t.Helper()
	if !slices.Equal(got, urls) {
		s.t.Fatalf("chose %q, want %q", got, urls)
	}
}

func (s *script) ended(want string) {
	s.t.Helper()
	if got, ok := s.shard.Finished(); !ok || got != want {
		s.t.Fatalf("finished: %q, %t; want %q", got, ok, want)
	}
}

// onA is the URL of a page on host a.
func onA(name string) string { return "http://a.example/" + name }

func TestSoftFocusTakesTheBestSourceAndThenTheFirstFound(t *testing.T) {
	s := newScript(t, nil)
	s.seed(onA("s1"), onA("s2"))
	s.want(s.dispatch(9), onA("s1"))
	s.deliver(onA("s1"), .5, false, onA("x"), onA("y"), onA("z"))
	s.want(s.dispatch(9), onA("s2"))
	if r := s.last[onA("s2")]; r.GetScore() != 1 || r.GetVia() != "" || r.GetDepth() != 0 {
		t.Errorf("a seed is asked for with %v", r)
	}
	s.deliver(onA("s2"), .75, false, onA("z"), onA("new"))
	s.want(s.dispatch(9), onA("z"))
	if r := s.last[onA("z")]; r.GetScore() != .75 || r.GetVia() != onA("s2") || r.GetDepth() != 1 || r.GetOrdinal() != 3 {
		t.Errorf("z is asked for with %v", r)
	}
	s.deliver(onA("z"), 0, false)
	for _, next := range []string{"new", "x", "y"} {
		s.want(s.dispatch(9), onA(next))
		s.deliver(onA(next), 0, false)
	}
	s.ended(EndEmpty)
}

func TestHardFocusReportsStagnation(t *testing.T) {
	s := newScript(t, func(c *schemas.CrawlControl) {
		c.Policies[0] = &schemas.Policy{Name: "hard", Ranker: schemas.Ranker_RANKER_UNFOCUSED, Gate: &schemas.Gate{
			Condition: schemas.GateCondition_GATE_CONDITION_BEST_TOPIC, Action: schemas.GateAction_GATE_ACTION_DROP,
		}}
	})
	s.seed(onA("off"), onA("on"))
	s.dispatch(1)
	s.deliver(onA("off"), .9, false, onA("x"), onA("y"))
	s.want(s.dispatch(1), onA("on"))
	s.deliver(onA("on"), .9, true, onA("y"))
	s.want(s.dispatch(1), onA("y")) // let through by its second source
	settled := s.deliver(onA("y"), .2, false, onA("z"))
	if len(settled) != 2 || !settled[0].GetTrains() || !settled[1].GetTrains() {
		t.Errorf("both leaps into y are settled: %v", settled)
	}
	s.want(s.dispatch(1))
	s.ended(EndStagnated)
	if got := s.shard.Status(s.now).GetRefused()["gate"]; got != 3 { // x and y of off, z of y
		t.Errorf("%d links refused by the gate", got)
	}
}

func TestHardDeferKeepsTheRestInALowerTier(t *testing.T) {
	s := newScript(t, func(c *schemas.CrawlControl) {
		c.Policies[0] = &schemas.Policy{Name: "hard-defer", Ranker: schemas.Ranker_RANKER_UNFOCUSED, Gate: &schemas.Gate{
			Condition: schemas.GateCondition_GATE_CONDITION_BEST_TOPIC, Action: schemas.GateAction_GATE_ACTION_DEFER,
		}}
	})
	s.seed(onA("off"), onA("on"))
	s.dispatch(1)
	s.deliver(onA("off"), .9, false, onA("x"), onA("y"))
	s.dispatch(1)
	s.deliver(onA("on"), .1, true, onA("z"), onA("y"))
	for _, next := range []string{"y", "z", "x"} { // first in, first out within a tier
		s.want(s.dispatch(1), onA(next))
		s.deliver(onA(next), 0, false)
	}
	if tier := s.last[onA("x")].GetTier(); tier != 1 {
		t.Errorf("x was in tier %d", tier)
	}
	s.ended(EndEmpty)
}

func TestSeveralPoliciesOrderTheSameEntries(t *testing.T) {
	s := newScript(t, func(c *schemas.CrawlControl) {
		c.Policies = append(c.Policies, &schemas.Policy{Name: "fifo", Ranker: schemas.Ranker_RANKER_UNFOCUSED})
	})
	s.seed(onA("s"))
	s.dispatch(1)
	s.deliver(onA("s"), .5, true, onA("a"), onA("b"))
	if a, b := int(s.shard.state.Generations[0].Keys[state.SlotOld]), int(s.shard.state.Generations[1].Keys[state.SlotOld]); a != 2 || b != 2 {
		t.Fatalf("%d and %d keys, want 2 each", a, b)
	}
	s.dispatch(1)
	if a, b := int(s.shard.state.Generations[0].Keys[state.SlotOld]), int(s.shard.state.Generations[1].Keys[state.SlotOld]); a != 1 || b != 1 {
		t.Fatalf("%d and %d keys, want 1 each", a, b)
	}
}

// TestMixtureSurvivesARestart: arms are credited with what they chose, dispatches that are only in the log
// count for them, too, and an arm whose gate lets nothing through does not stop a crawl.
func TestMixtureSurvivesARestart(t *testing.T) {
	s := newScript(t, func(c *schemas.CrawlControl) {
		c.Policies = []*schemas.Policy{
			{Name: "hard", Ranker: schemas.Ranker_RANKER_UNFOCUSED, Gate: &schemas.Gate{
				Condition: schemas.GateCondition_GATE_CONDITION_BEST_TOPIC, Action: schemas.GateAction_GATE_ACTION_DROP,
			}},
			{Name: "soft", Ranker: schemas.Ranker_RANKER_SOFT_FOCUS},
		}
		c.Mixture, c.Window = &schemas.Mixture{Keep: .5}, 9
	})
	s.seed(onA("s"))
	s.want(s.dispatch(9), onA("s"))
	s.deliver(onA("s"), .5, false, onA("x"), onA("y"), onA("z"))
	s.open()
	if n := s.shard.Status(s.now).GetQueued(); n != 3 {
		t.Errorf("%d entries queued after a restart, want 3", n)
	}
	s.want(s.dispatch(2), onA("x"), onA("y"))
	s.deliver(onA("x"), .5, false)
	lost := storage.NewMemory()
	if err := s.store.Scan([]byte{0}, []byte{0xff}, func(key, value []byte) (bool, error) { return true, lost.Set(key, value) }); err != nil {
		t.Fatal(err)
	}
	s.want(s.dispatch(1), onA("z"))
	s.store = lost // the state before z was dispatched; the log has it
	s.open()
	if err := s.shard.Recover(s.last[onA("z")]); err != nil {
		t.Fatal(err)
	}
	s.deliver(onA("y"), 1, false)
	s.deliver(onA("z"), 0, true)
	hard, soft := s.shard.Status(s.now).GetArms()[0], s.shard.Status(s.now).GetArms()[1]
	// Calibrated R of x, y, z is .125, .25, 0; each page halves what was there.
	if soft.GetPolicy() != "soft" || soft.GetChosen()+hard.GetChosen() != 4 || soft.GetCredited() != 3 || soft.GetReward() != .375 ||
		soft.GetAlpha() != 1+.125/4+.25/2 || soft.GetBeta() != 1+.875/4+.75/2+1 {
		t.Errorf("soft: %v", soft)
	}
	if hard.GetChosen() > 1 || hard.GetCredited() != 0 || hard.GetAlpha() != 1 || hard.GetBeta() != 1 { // 1: the seed
		t.Errorf("hard: %v", hard)
	}
	s.ended(EndEmpty)
}

// TestOtherPoliciesPlaceTheFrontierBitByBit: what is not placed yet is in no queue and counts as queued, the crawl
// does not end while there is some, and a dispatch that is only in the log takes an entry out of it.
func TestOtherPoliciesPlaceTheFrontierBitByBit(t *testing.T) {
	s := newScript(t, nil)
	s.seed(onA("u"), onA("v"), onA("w"), onA("x"), "http://b.example/")
	s.shard.rescorer.RerankFirst = 0
	s.ctl = &schemas.CrawlControl{
		Crawl: "c", Revision: 2, State: s.ctl.GetState(), Budget: s.ctl.GetBudget(), Window: 2,
		Policies: []*schemas.Policy{{Name: "all", Ranker: schemas.Ranker_RANKER_UNFOCUSED}}, Learning: s.ctl.GetLearning(),
	}
	s.configure()
	queued := func(want, unranked uint64) {
		t.Helper()
		if got := s.shard.Status(s.now).GetQueued(); got != want || s.shard.state.Counters.Unranked != unranked {
			t.Fatalf("%d entries queued and %d to be placed, want %d and %d", got, s.shard.state.Counters.Unranked, want, unranked)
		}
		if _, ended := s.shard.Finished(); ended {
			t.Fatal("the crawl has ended")
		}
	}
	queued(5, 3)
	s.want(s.dispatch(2), onA("u"), "http://b.example/") // the heads of the hosts
	for _, u := range []string{onA("u"), "http://b.example/"} {
		s.apply(s.answer(u, schemas.Outcome_OUTCOME_CLIENT_ERROR))
	}
	queued(3, 3)
	s.open() // the process crashed, and the log has one dispatch more
	queued(3, 3)
	lost := s.last[onA("u")]
	lost.Url, lost.Ordinal = onA("w"), 9
	lost.Id = schemas.RequestID("c", lost.GetUrl(), 1).Bytes()
	if err := s.shard.Recover(lost); err != nil {
		t.Fatal(err)
	}
	queued(2, 2)
	if more, err := s.shard.Rescore(1); err != nil || !more {
		t.Fatal(more, err)
	}
	queued(2, 1)
	if more, err := s.shard.Rescore(9); err != nil || more {
		t.Fatal(more, err)
	}
	queued(2, 0)
	s.want(s.dispatch(9), onA("v"))
}

func TestBudgetIsReservedAtDispatch(t *testing.T) {
	s := newScript(t, func(c *schemas.CrawlControl) { c.Budget, c.Window = &schemas.Budget{Pages: 2, Requests: 3}, 100 })
	s.seed(onA("a"), onA("b"), onA("c"), onA("d"))
	s.want(s.dispatch(9), onA("a"), onA("b"))
	s.apply(s.answer(onA("a"), schemas.Outcome_OUTCOME_CLIENT_ERROR)) // a request, no page
	s.want(s.dispatch(9), onA("c"))
	s.apply(s.answer(onA("b"), schemas.Outcome_OUTCOME_ROBOTS_DISALLOWED)) // nothing
	s.want(s.dispatch(9), onA("d"))
	s.deliver(onA("c"), 1, true)
	s.deliver(onA("d"), 1, true)
	s.ended(EndPages)
	st := s.shard.Status(s.now)
	if st.GetPages() != 2 || st.GetRequests() != 3 || st.GetPagesLeft() != 0 || st.GetRequestsLeft() != 0 {
		t.Errorf("status %v", st)
	}
	// A larger budget lets the crawl go on.
	s.ctl.Revision, s.ctl.Budget = 2, &schemas.Budget{Pages: 100}
	s.configure()
	if reason, ok := s.shard.Finished(); !ok || reason != EndEmpty {
		t.Errorf("finished: %q %t", reason, ok)
	}
	s.seed(onA("e"))
	s.want(s.dispatch(9), onA("e"))
}

func TestRedirects(t *testing.T) {
	s := newScript(t, func(c *schemas.CrawlControl) { c.Scope = &schemas.Scope{Hosts: []string{"a.example"}} })
	s.seed(onA("s"))
	s.dispatch(1)
	s.deliver(onA("s"), .5, true, onA("v"), onA("w"), onA("far"), onA("loop"), onA("gone"))

	// v leads to t, to which no link is known: it is fetched with v's score.
	s.want(s.dispatch(1), onA("v"))
	s.redirect(onA("v"), onA("t"))
	s.want(s.dispatch(1), onA("w"))
	// w leads to t, too: one request settles both leaps under the names they were found by.
	s.redirect(onA("w"), onA("t"))
	s.want(s.dispatch(1), onA("far"))
	if settled := s.redirect(onA("far"), "http://b.example/"); len(settled) != 1 ||
		settled[0].GetOutcome() != schemas.Outcome_OUTCOME_REDIRECTED || settled[0].GetTrains() {
		t.Errorf("far: %v", settled)
	}
	s.want(s.dispatch(1), onA("loop"))
	if settled := s.redirect(onA("loop"), onA("loop")); len(settled) != 1 ||
		settled[0].GetOutcome() != schemas.Outcome_OUTCOME_BAD_REDIRECT {
		t.Errorf("loop: %v", settled)
	}
	s.want(s.dispatch(1), onA("gone"))
	s.redirect(onA("gone"), onA("s")) // back to the page that links to it
	s.want(s.dispatch(1), onA("t"))
	r := s.last[onA("t")]
	if r.GetScore() != .5 || r.GetVia() != onA("s") || r.GetHops() != 1 || r.GetDepth() != 1 {
		t.Errorf("t is asked for with %v", r)
	}
	settled := s.deliver(onA("t"), .25, false, onA("v")) // links to itself by another name
	if len(settled) != 2 || settled[0].GetV() != onA("v") || settled[1].GetV() != onA("w") {
		t.Fatalf("t: %v", settled)
	}
	for _, l := range settled {
		if !l.GetTrains() || l.GetTargetRaw() != .25 || l.GetU() != onA("s") || string(l.GetRequest()) != string(r.GetId()) {
			t.Errorf("t: %v", l)
		}
	}
	s.ended(EndEmpty)
	if st := s.shard.Status(s.now); st.GetRequests() != 2 || st.GetLeaps() != 5 || st.GetTrained() != 2 {
		t.Errorf("status %v", st)
	}
}

func TestRedirectChainsAreLimited(t *testing.T) {
	s := newScript(t, nil)
	s.seed(onA("0"))
	for i := range maxHops {
		s.want(s.dispatch(1), onA(fmt.Sprint(i)))
		s.redirect(onA(fmt.Sprint(i)), onA(fmt.Sprint(i+1)))
	}
	s.want(s.dispatch(1), onA("10"))
	s.redirect(onA("10"), onA("11"))
	s.want(s.dispatch(1))
	s.ended(EndEmpty)
	e, err := s.shard.state.Resolve(&state.Entry{Ordinal: 1, State: state.Alias, Target: 1})
	if err != nil || e.Outcome != schemas.Outcome_OUTCOME_BAD_REDIRECT || e.URL != onA("10") {
		t.Errorf("the chain ends in %+v, %v", e, err)
	}
}

func TestRedirectRing(t *testing.T) {
	s := newScript(t, nil)
	s.seed(onA("x"))
	s.dispatch(1)
	s.redirect(onA("x"), onA("y"))
	s.want(s.dispatch(1), onA("y"))
	s.redirect(onA("y"), onA("x"))
	s.want(s.dispatch(1))
	s.ended(EndEmpty)
}

func TestDeferralMakesTheHostWaitAndAFailureItsURL(t *testing.T) {
	s := newScript(t, func(c *schemas.CrawlControl) { c.MaxAttempts, c.Scope = 2, &schemas.Scope{HostCap: 3} })
	s.seed(onA("a"), onA("b"))
	s.dispatch(1)
	rec := s.answer(onA("a"), schemas.Outcome_OUTCOME_DEFERRED)
	rec.NotBefore = s.now.Add(time.Minute).UnixMilli()
	s.apply(rec)
	s.want(s.dispatch(1))
	if at, ok := s.shard.Wake(s.now); !ok || !at.Equal(s.now.Add(time.Minute)) {
		t.Errorf("wake at %v, %t", at, ok)
	}
	s.now = s.now.Add(time.Minute)
	s.want(s.dispatch(1), onA("a"))
	if r := s.last[onA("a")]; r.GetAttempt() != 2 {
		t.Errorf("attempt %d", r.GetAttempt())
	}
	s.apply(s.answer(onA("a"), schemas.Outcome_OUTCOME_TIMEOUT))
	s.want(s.dispatch(1), onA("b")) // a waits alone
	s.deliver(onA("b"), 0, false)
	s.now = s.now.Add(9 * time.Second)
	s.want(s.dispatch(1))
	s.now = s.now.Add(time.Second)
	s.want(s.dispatch(1), onA("a"))
	s.apply(s.answer(onA("a"), schemas.Outcome_OUTCOME_SERVER_ERROR))
	s.ended(EndEmpty)
	if st := s.shard.Status(s.now); st.GetRequests() != 3 || st.GetDispatched() != 4 {
		t.Errorf("status %v", st)
	}
}

func TestHostCapLeavesTheRestOut(t *testing.T) {
	s := newScript(t, func(c *schemas.CrawlControl) { c.Scope = &schemas.Scope{HostCap: 2} })
	s.seed(onA("a"), onA("b"), onA("c"))
	s.dispatch(1)
	s.deliver(onA("a"), 0, false)
	s.dispatch(1)
	if q := s.shard.Status(s.now).GetQueued(); q != 0 { // c is known and will not be fetched
		t.Errorf("%d queued", q)
	}
	s.deliver(onA("b"), 0, false, onA("d"), "http://other.example/")
	s.want(s.dispatch(9), "http://other.example/")
	s.deliver("http://other.example/", 0, false)
	s.ended(EndEmpty)
	if n := s.shard.Status(s.now).GetRefused()["host-cap"]; n != 1 {
		t.Errorf("%d refused", n)
	}
}

func TestPauseAndStop(t *testing.T) {
	s := newScript(t, nil)
	s.seed(onA("a"), onA("b"), onA("c"))
	s.want(s.dispatch(1), onA("a"))
	s.ctl.Revision, s.ctl.State = 2, schemas.CrawlState_CRAWL_STATE_PAUSED
	s.configure()
	s.deliver(onA("a"), 0, false)
	s.want(s.dispatch(1))
	if st := s.shard.Status(s.now).GetState(); st != schemas.ShardState_SHARD_STATE_PAUSED {
		t.Errorf("state %v", st)
	}
	s.ctl.Revision, s.ctl.State = 3, schemas.CrawlState_CRAWL_STATE_RUNNING
	s.configure()
	s.want(s.dispatch(1), onA("b"))
	s.ctl.Revision, s.ctl.State = 4, schemas.CrawlState_CRAWL_STATE_STOPPED
	s.configure()
	s.want(s.dispatch(1))
	if st := s.shard.Status(s.now).GetState(); st != schemas.ShardState_SHARD_STATE_STOPPING {
		t.Errorf("state %v", st)
	}
	s.apply(s.answer(onA("b"), schemas.Outcome_OUTCOME_CANCELLED))
	s.ended(EndStopped)
	s.ctl.Revision, s.ctl.State = 5, schemas.CrawlState_CRAWL_STATE_RUNNING
	s.open()
	s.want(s.dispatch(1))
	s.now = s.now.Add(time.Hour)
	s.want(s.dispatch(1), onA("b")) // resumed, with what was cancelled, after the pause of a deferral
	s.deliver(onA("b"), 0, false)
	s.want(s.dispatch(1), onA("c"))
}

func TestSyncWaitsForTheModelOfEachBoundary(t *testing.T) {
	s := newScript(t, func(c *schemas.CrawlControl) {
		c.Policies[0].Ranker = schemas.Ranker_RANKER_APPRENTICE
		c.Learning = &schemas.Learning{Sync: true, SwitchPages: 2, RefitPages: 3}
	})
	s.seed(onA("a"), onA("b"), onA("c"), onA("d"), onA("e"), onA("f"))
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		s.want(s.dispatch(1), onA(name))
		settled := s.deliver(onA(name), .5, true)
		boundary := len(settled) == 1 && settled[0].GetBoundary()
		if due := i == 1 || i == 4; boundary != due {
			t.Fatalf("after %d pages: %v", i+1, settled)
		}
		if boundary {
			s.want(s.dispatch(1))
			if a := s.shard.Status(s.now).GetActivity(); a != "model wait" {
				t.Errorf("activity %q", a)
			}
			if err := s.shard.SetModel("", nil, uint64(i+1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.want(s.dispatch(1), onA("f"))
}

// TestModelsBecomeRareInLongCrawls: up to 20,000 pages they come every refit_pages, of 200,000 there are 35.
func TestModelsBecomeRareInLongCrawls(t *testing.T) {
	s := newScript(t, func(c *schemas.CrawlControl) {
		c.Policies[0].Ranker = schemas.Ranker_RANKER_APPRENTICE
		c.Budget.Pages = 200_000
	})
	var at []uint64
	for s.shard.state.Counters.Pages < 200_000 {
		s.shard.state.Counters.Pages++
		for _, b := range s.shard.ledger.boundaries(nil) {
			at = append(at, b.GetPages())
		}
	}
	if len(at) != 35 || at[0] != 10_000 || at[1] != 11_000 || at[10] != 20_000 || at[11] != 22_000 || at[12] != 24_200 {
		t.Errorf("%d models, at %d pages", len(at), at)
	}
}

// TestRebuiltBelowAHostCap: a URL was admitted before its host reached its cap; it is admitted again when the verdicts are
// applied again, although all dispatches are known from the log by then.
func TestRebuiltBelowAHostCap(t *testing.T) {
	s := newScript(t, func(c *schemas.CrawlControl) { c.Scope = &schemas.Scope{HostCap: 2} })
	crawl := func(again bool) (settled []*schemas.LeapSettled) {
		if s.seed(onA("a")); !again {
			s.want(s.dispatch(1), onA("a"))
		}
		settled = s.deliver(onA("a"), .5, true, onA("b"), onA("c"))
		if !again {
			s.want(s.dispatch(1), onA("b"))
		}
		return append(settled, s.redirect(onA("b"), onA("c"))...)
	}
	first := crawl(false)
	before := s.shard.Status(s.now)

	s.store, s.seeds = storage.NewMemory(), 0
	s.open()
	for _, url := range []string{onA("a"), onA("b")} {
		if err := s.shard.Recover(s.last[url]); err != nil {
			t.Fatal(err)
		}
	}
	s.open() // over what is stored
	again := crawl(true)
	if diff := cmp.Diff(first, again, protocmp.Transform()); diff != "" || len(first) > 0 {
		t.Errorf("settled (-first +again): %s", diff)
	}
	if diff := cmp.Diff(before, s.shard.Status(s.now), protocmp.Transform()); diff != "" {
		t.Errorf("status (-first +again): %s", diff)
	}
	s.seed(onA("d")) // the host is full
	if refused := s.shard.Status(s.now).GetRefused()["host-cap"]; refused != 1 {
		t.Errorf("%d links were refused", refused)
	}
}

// TestVerdictOnAForgottenRequest: the scope was narrowed while there was no owner, so that the
// replay does not discover what had been dispatched.
func TestVerdictOnAForgottenRequest(t *testing.T) {
	s := newScript(t, nil)
	s.seed(onA("a"))
	s.dispatch(1)
	s.deliver(onA("a"), .5, true, onA("b"))
	s.want(s.dispatch(1), onA("b"))
	log := []*schemas.FetchRequest{s.last[onA("a")], s.last[onA("b")]}

	s.store, s.seeds = storage.NewMemory(), 0
	s.ctl.Scope = &schemas.Scope{Prefixes: []string{onA("a")}}
	s.open()
	for _, r := range log {
		if err := s.shard.Recover(r); err != nil {
			t.Fatal(err)
		}
	}
	if st := s.shard.Status(s.now); st.GetInFlight() != 2 || st.GetDispatched() != 2 {
		t.Fatalf("status %v", st)
	}
	s.seed(onA("a"))
	s.want(s.dispatch(9))
	s.deliver(onA("a"), .5, true, onA("b")) // b is out of scope now
	deferred := s.answer(onA("b"), schemas.Outcome_OUTCOME_DEFERRED)
	s.apply(deferred)
	s.open() // over what is stored
	s.now = s.now.Add(time.Hour)
	s.want(s.dispatch(9), onA("b"))
	if r := s.last[onA("b")]; r.GetAttempt() != 2 || r.GetScore() != log[1].GetScore() || r.GetOrdinal() != 3 {
		t.Errorf("b is asked for again with %v", r)
	}
	s.deliver(onA("b"), .5, true, onA("a"))
	s.ended(EndEmpty)
	if st := s.shard.Status(s.now); st.GetPages() != 2 {
		t.Errorf("status %v", st)
	}
}

// TestVerdictsOutOfOrder: the verdict on a later attempt comes although the one before is
// still in flight here; the earlier one then only counts.
func TestVerdictsOutOfOrder(t *testing.T) {
	s := newScript(t, nil)
	s.seed(onA("a"))
	s.dispatch(1)
	first := s.answer(onA("a"), schemas.Outcome_OUTCOME_TIMEOUT)
	second := &schemas.FetchRequest{
		Crawl: "c", Url: onA("a"), Host: "a.example", Attempt: 2, Ordinal: 2, Clock: 2,
	}
	id := schemas.RequestID("c", onA("a"), 2)
	second.Id = id.Bytes()
	if err := s.shard.Recover(second); err != nil {
		t.Fatal(err)
	}
	s.last[onA("a")] = second
	s.deliver(onA("a"), .5, true, onA("b"))
	s.apply(first)
	s.want(s.dispatch(9), onA("b"))
	s.deliver(onA("b"), .5, true)
	s.ended(EndEmpty)
	if st := s.shard.Status(s.now); st.GetRequests() != 3 || st.GetPages() != 2 || st.GetDispatched() != 3 {
		t.Errorf("status %v", st)
	}
}

func TestCrawlsInOneStoreAreSeparate(t *testing.T) {
	a := newScript(t, nil)
	b, err := Open(a.store, "cc", 0)
	if err != nil {
		t.Fatal(err)
	}
	sc, err := scope.New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	other := &schemas.CrawlControl{Crawl: "cc", State: 1, Budget: &schemas.Budget{Pages: 5}, Policies: a.ctl.Policies}
	if err := b.Configure(other, sc, Options{}); err != nil {
		t.Fatal(err)
	}
	a.seed(onA("a"))
	if rs, err := b.Dispatch(a.now, 9); err != nil || len(rs) > 0 {
		t.Errorf("the other crawl chose %v, %v", rs, err)
	}
}

func TestErrors(t *testing.T) {
	fail := func(what string, err error, expected string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("%s: error %v, want one with %q", what, err, expected)
		}
	}
	s := newScript(t, func(c *schemas.CrawlControl) { c.Policies[0].Ranker = schemas.Ranker_RANKER_APPRENTICE })
	s.seed(onA("a"), onA("b"))
	s.dispatch(1)

	_, err := s.shard.Apply(&schemas.LinkFound{Crawl: "d"}, s.now)
	fail("other crawl", err, "came to shard 0 of c")
	_, err = s.shard.Apply(&schemas.LinkFound{Crawl: "c", Id: []byte{1}}, s.now)
	fail("short id", err, "id of 1 bytes")
	_, err = s.shard.Apply(s.answer(onA("a"), schemas.Outcome_OUTCOME_DELIVERED), s.now)
	fail("no judgement", err, "needs a judgement")
	_, err = s.shard.Apply(s.answer(onA("a"), 99), s.now)
	fail("outcome", err, "unknown outcome")
	fail("foreign request", s.shard.Recover(&schemas.FetchRequest{Id: make([]byte, 16), Crawl: "c", Url: onA("a"), Attempt: 1}), "does not belong")

	unready, err := Open(storage.NewMemory(), "c", 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = unready.Dispatch(s.now, 1)
	fail("unconfigured", err, "not configured")
	_, err = Open(storage.NewMemory(), "", 0)
	fail("no name", err, "1–255 bytes")

	if err := s.shard.SetModel("m1", fakeModel("m1"), 5); err != nil {
		t.Fatal(err)
	}
	s.open()
	if v, pages := s.shard.Model(); v != "m1" || pages != 5 {
		t.Errorf("model %q through %d pages", v, pages)
	}
	if _, err := s.shard.Dispatch(s.now, 1); !errors.Is(err, ErrNoModel) {
		t.Errorf("dispatch without the model: %v", err)
	}

	if err := s.store.Set(s.shard.state.Keys.Kind(state.KindLayout), []byte{state.Layout + 1}); err != nil {
		t.Fatal(err)
	}
	_, err = Open(s.store, "c", 0)
	fail("layout", err, "this program reads 14")

	sc, err := scope.New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for expected, change := range map[string]func(*schemas.CrawlControl){
		"neither pages nor requests": func(c *schemas.CrawlControl) { c.Budget = nil },
		"belongs to crawl c":         func(c *schemas.CrawlControl) { c.Crawl = "x" },
		"0 policies":                 func(c *schemas.CrawlControl) { c.Policies = nil },
		"unknown ranker":             func(c *schemas.CrawlControl) { c.Policies[0].Ranker = 77 },
		"a policy \"p\" is there":    func(c *schemas.CrawlControl) { c.RankerShadows = append(c.RankerShadows, c.Policies[0]) },
		"5 shadows":                  func(c *schemas.CrawlControl) { c.RankerShadows = make([]*schemas.Policy, 5) },
		"shadow: policy":             func(c *schemas.CrawlControl) { c.RankerShadows = []*schemas.Policy{{Name: "q"}} },
		"two policies are called":    func(c *schemas.CrawlControl) { c.Policies = append(c.Policies, c.Policies[0]) },
		"below the number of shards": func(c *schemas.CrawlControl) { c.Shards = 20 },
		"shards 257":                 func(c *schemas.CrawlControl) { c.Shards = 257 },
		"learning.sync with 2":       func(c *schemas.CrawlControl) { c.Shards, c.Window, c.Learning.Sync = 2, 2, true },
		"features":                   func(c *schemas.CrawlControl) { c.Learning.Features = []schemas.FeatureFamily{99} },
		"active":                     func(c *schemas.CrawlControl) { c.Learning.Active = 1.5 },
		"d_max":                      func(c *schemas.CrawlControl) { c.Learning.DMax = 101 },
		"learning.pairs":             func(c *schemas.CrawlControl) { c.Learning.Pairs = 9 },
		"window 100001":              func(c *schemas.CrawlControl) { c.Window = 100_001 },
		"host_window":                func(c *schemas.CrawlControl) { c.HostWindow = 101 },
		"max_attempts":               func(c *schemas.CrawlControl) { c.MaxAttempts = 1001 },
	} {
		fresh := newScript(t, nil)
		shard, err := Open(storage.NewMemory(), "c", 0)
		if err != nil {
			t.Fatal(err)
		}
		change(fresh.ctl)
		fail(expected, shard.Configure(fresh.ctl, sc, Options{}), expected)
	}
}

// exclude changes the rules of the crawl.
func (s *script) exclude(rules ...string) {
	s.ctl = proto.CloneOf(s.ctl)
	s.ctl.Revision++
	s.ctl.Excludes = nil
	if len(rules) > 0 {
		s.ctl.Excludes = &schemas.Excludes{Urls: rules}
	}
	s.configure()
}

// TestExcludes: queued, waiting and new URLs are kept out, the crawl ends without them, and goes on with all of them once the rule
// is gone, each in the place that the links to it give it.
func TestExcludes(t *testing.T) {
	s := newScript(t, func(ctl *schemas.CrawlControl) { ctl.Window = 9 })
	s.seed(onA("1"))
	s.want(s.dispatch(9), onA("1"))
	s.deliver(onA("1"), .25, true, onA("x1"), onA("x2"), onA("2"))
	s.want(s.dispatch(1), onA("x1"))
	s.exclude("/x")
	s.apply(s.answer(onA("x1"), schemas.Outcome_OUTCOME_TIMEOUT)) // its next try is excluded, too
	s.want(s.dispatch(9), onA("2"))
	s.deliver(onA("2"), .75, true, onA("x3"), onA("x2"))
	if _, err := s.shard.Rescore(10); err != nil {
		t.Fatal(err)
	}
	s.want(s.dispatch(9))
	s.ended(EndEmpty)
	if st := s.shard.Status(s.now); st.GetRefused()["excluded"] != 3 || st.GetQueued() != 0 {
		t.Errorf("%v", st)
	}
	s.open()
	s.ended(EndEmpty)
	s.exclude("3$")
	if reason, ended := s.shard.Finished(); ended {
		t.Error("it ended, and rules have changed:", reason)
	}
	if _, err := s.shard.Rescore(10); err != nil {
		t.Fatal(err)
	}
	s.want(s.dispatch(9), onA("x2"), onA("x1")) // fewer failed tries come first
	s.exclude()
	s.want(s.dispatch(9))
	if _, err := s.shard.Rescore(10); err != nil {
		t.Fatal(err)
	}
	s.want(s.dispatch(9), onA("x3"))
	if n := len(s.shard.Status(s.now).GetRefused()); n > 0 {
		t.Errorf("%d reasons of refusals", n)
	}
}

// TestDroppingIsBounded: a call of Dispatch drops some excluded URLs only, and the pass comes to its end.
func TestDroppingIsBounded(t *testing.T) {
	s := newScript(t, func(*schemas.CrawlControl) {})
	var urls []string
	for i := range 3 * mostDropped {
		urls = append(urls, onA(fmt.Sprint(i)))
	}
	s.seed(append(urls, onA("last"))...)
	s.exclude("[0-9]$")
	s.want(s.dispatch(1))
	if n := s.shard.Status(s.now).GetRefused()["excluded"]; n != mostDropped {
		t.Errorf("%d were dropped in one call, want %d", n, mostDropped)
	}
	for calls := 1; ; calls++ {
		more, err := s.shard.Rescore(100)
		if err != nil || calls > len(urls)/100 {
			t.Fatal(calls, err)
		}
		if !more {
			break
		}
	}
	if n := s.shard.Status(s.now).GetRefused()["excluded"]; n != uint64(len(urls)) {
		t.Errorf("%d are excluded, want %d", n, len(urls))
	}
	s.want(s.dispatch(1), onA("last"))
}

// TestPriorityOfHosts: rules that change while the crawl runs move the URLs of a host before or after all others, seeds among them, and
// without rules the order and the tiers are as before.
func TestPriorityOfHosts(t *testing.T) {
	s := newScript(t, func(ctl *schemas.CrawlControl) { ctl.Window = 9 })
	onB := func(name string) string { return "http://x.b.example/" + name }
	s.seed(onA("1"))
	s.want(s.dispatch(1), onA("1"))
	s.deliver(onA("1"), .75, true, onA("2"), onB("1"), onA("3"), onB("2"), onA("4"), onA("5"))
	change := func(x *schemas.HostPriority) {
		s.ctl = proto.CloneOf(s.ctl)
		s.ctl.Revision++
		s.ctl.Priority = x
		s.configure()
		if _, err := s.shard.Rescore(10); err != nil {
			t.Fatal(err)
		}
	}
	tier := func(url string, want uint32) {
		t.Helper()
		if got := s.last[url].GetTier(); got != want {
			t.Errorf("%s is in tier %d, want %d", url, got, want)
		}
	}
	s.want(s.dispatch(1), onA("2"))
	tier(onA("2"), 0)
	change(&schemas.HostPriority{First: []string{"b.example"}})
	s.want(s.dispatch(1), onB("1"))
	tier(onB("1"), 0)
	s.open()
	change(&schemas.HostPriority{Last: []string{"b.example"}})
	s.seed(onB("seed"))
	s.want(s.dispatch(2), onA("3"), onA("4"))
	tier(onA("3"), 4)
	change(nil)
	s.want(s.dispatch(1), onB("seed"))
	change(&schemas.HostPriority{Last: []string{"b.example"}})
	s.want(s.dispatch(9), onA("5"), onB("2"))
	tier(onB("2"), 8)
}

// TestVerdictOnARequestThatCannotBeRead: a stage could not read the request, and its verdict, which settles no leap, has the bytes as they came.
func TestVerdictOnARequestThatCannotBeRead(t *testing.T) {
	s := newScript(t, nil)
	s.seed(onA("a"), onA("b"))
	s.want(s.dispatch(1), onA("a"))
	rec := s.answer(onA("a"), schemas.Outcome_OUTCOME_FAILED_PARSE_DOM)
	rec.Request = []byte{0xff}
	s.apply(rec)
	s.want(s.dispatch(1), onA("b"))
}
