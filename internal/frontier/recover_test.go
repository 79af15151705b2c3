package frontier

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"forager/internal/frontier/storage"
	"forager/internal/web/scope"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// world has a verdict for every attempt at every URL, drawn once.
type world struct {
	urls    []string
	answers map[string][]*schemas.LinkFound // by URL: the verdict on attempt n is [min(n, len) − 1]
}

func drawWorld(t *rapid.T) *world {
	w := &world{answers: map[string][]*schemas.LinkFound{}}
	for h := range 3 {
		for p := range 6 {
			w.urls = append(w.urls, fmt.Sprintf("http://h%d.example/%d", h, p))
		}
	}
	for _, u := range w.urls {
		r := &schemas.FetchRequest{Crawl: "c", Url: u}
		for range rapid.IntRange(0, 2).Draw(t, "troubles") {
			rec := &schemas.LinkFound{Crawl: "c", Url: u, Outcome: rapid.SampledFrom([]schemas.Outcome{
				schemas.Outcome_OUTCOME_DEFERRED, schemas.Outcome_OUTCOME_TIMEOUT,
				schemas.Outcome_OUTCOME_NETWORK_UNREACHABLE, schemas.Outcome_OUTCOME_HOST_UNREACHABLE,
			}).Draw(t, "trouble")}
			w.answers[u] = append(w.answers[u], rec)
		}
		last := drawDice(t).verdict(r, w.urls, 0)
		// Nothing is deferred for ever, and only six URLs redirect, so that no chain is too long.
		if o := last.GetOutcome(); schemas.Deferred(o) ||
			(o == schemas.Outcome_OUTCOME_REDIRECTED && !strings.HasPrefix(u, "http://h0.")) {
			last.Outcome = schemas.Outcome_OUTCOME_NOT_HTML
		}
		w.answers[u] = append(w.answers[u], last)
	}
	return w
}

func (w *world) answer(r *schemas.FetchRequest) *schemas.LinkFound {
	as := w.answers[r.GetUrl()]
	a := as[min(int(r.GetAttempt()), len(as))-1]
	status := uint32(200) // a web server has responded
	if schemas.Deferred(a.GetOutcome()) || a.GetOutcome() == schemas.Outcome_OUTCOME_TIMEOUT {
		status = 0
	}
	return &schemas.LinkFound{
		Id: r.GetId(), Crawl: "c", Url: r.GetUrl(), Request: encoded(r), Status: status, Outcome: a.GetOutcome(), Redirect: a.GetRedirect(),
		NotBefore: a.GetNotBefore(), Judgement: a.GetJudgement(), Links: a.GetLinks(), Table: a.GetTable(),
	}
}

// owner is a small prioritize: it commits its store with the offsets of its input and of
// its decision log, and may crash in between.
type owner struct {
	ctl       *schemas.CrawlControl
	shard     *Shard
	live      *lagging
	input     []*schemas.LinkFound    // link.found
	log       []*schemas.FetchRequest // fetch.requested
	next      int                     // input read by the running owner
	committed struct {
		store     *storage.Memory
		next, log int
	}
	models  []nModel
	settled map[schemas.ID]*schemas.LeapSettled
	now     int64
}

func (o *owner) start(t *rapid.T) {
	o.live = &lagging{Memory: o.committed.store.Clone(), last: o.committed.store}
	o.next = o.committed.next
	o.shard = must[*Shard](t, "open")(Open(o.live, "c", 0))
	o.configure(t)
	if len(o.models) > 0 {
		m := o.models[len(o.models)-1]
		if err := o.shard.SetModel(m.version, m.model, m.pages); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range o.log[max(0, o.committed.log-rapid.IntRange(0, 3).Draw(t, "overlap")):] {
		for range 2 { // the log may be read twice
			if err := o.shard.Recover(r); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (o *owner) configure(t *rapid.T) {
	sc := must[*scope.Scope](t, "scope")(scope.New(o.ctl.GetScope(), nil))
	o.shard.rescorer.RerankFirst = rapid.IntRange(0, 3).Draw(t, "placed at once")
	if err := o.shard.Configure(o.ctl, sc, Options{Epoch: 1, RetryDelay: time.Second, Memory: rapid.SampledFrom([]int{0, 1, 32 << 10}).Draw(t, "memory")}); err != nil {
		t.Fatal(err)
	}
}

func (o *owner) commit() {
	o.live.commit(nil)
	o.committed.store = o.live.last
	o.committed.next, o.committed.log = o.next, len(o.log)
}

// lose deletes everything but the topics.
func (o *owner) lose() {
	o.committed.store, o.committed.next, o.committed.log = storage.NewMemory(), 0, 0
}

func (o *owner) apply(t *rapid.T, most int) {
	for ; most > 0 && o.next < len(o.input); most-- {
		effects := must[Effects](t, "apply")(o.shard.Apply(o.input[o.next], time.UnixMilli(o.now)))
		o.next++
		for _, l := range effects.Settled {
			id := schemas.ID(l.GetId())
			if before, twice := o.settled[id]; twice {
				if d := cmp.Diff(before, l, protocmp.Transform()); d != "" {
					t.Fatalf("leap %s → %s was settled twice, differently:\n%s", l.GetU(), l.GetV(), d)
				}
			}
			o.settled[id] = l
		}
	}
}

func (o *owner) dispatch(t *rapid.T, most int) {
	before := o.shard.Status(time.UnixMilli(o.now)).GetInFlight()
	rs := must[[]*schemas.FetchRequest](t, "dispatch")(o.shard.Dispatch(time.UnixMilli(o.now), most))
	if after := before + uint64(len(rs)); len(rs) > 0 && after > uint64(o.ctl.GetWindow()) {
		t.Fatalf("%d requests in flight, the window is %d", after, o.ctl.GetWindow())
	}
	o.log = append(o.log, rs...)
}

// flying lists the requests of the log that have no verdict in the input.
func (o *owner) flying() (rs []*schemas.FetchRequest) {
	answered := map[string]bool{}
	for _, rec := range o.input {
		answered[string(rec.GetId())] = true
	}
	for _, r := range o.log {
		if !answered[string(r.GetId())] {
			rs = append(rs, r)
		}
	}
	return rs
}

func (o *owner) publish(t *rapid.T) {
	pages := o.shard.Status(time.UnixMilli(o.now)).GetPages()
	version := fmt.Sprintf("m%d", len(o.models))
	o.models = append(o.models, nModel{version, fakeModel(version), pages})
	if err := o.shard.SetModel(version, fakeModel(version), pages); err != nil {
		t.Fatal(err)
	}
}

// raise draws URLs that hubs link to.
func (o *owner) raise(t *rapid.T, w *world) {
	var ids []schemas.ID
	for _, u := range rapid.SliceOfN(rapid.SampledFrom(w.urls), 0, 4).Draw(t, "raised") {
		ids = append(ids, schemas.URLID(u))
	}
	must[bool](t, "raise")(o.shard.Raise(o.shard.Status(time.UnixMilli(o.now)).GetPages(), ids))
}

// check compares the shard with the records.
func (o *owner) check(t *rapid.T, ended bool) {
	seen, ordinals := map[string]bool{}, map[uint64]bool{}
	hosts, hostCount := map[string]int{}, map[string]int{}
	for _, r := range o.log {
		if seen[string(r.GetId())] {
			t.Fatalf("attempt %d of %s was dispatched twice", r.GetAttempt(), r.GetUrl())
		}
		if ordinals[r.GetOrdinal()] {
			t.Fatalf("two dispatches have ordinal %d", r.GetOrdinal())
		}
		seen[string(r.GetId())], ordinals[r.GetOrdinal()] = true, true
		hostCount[r.GetHost()]++
	}
	for _, r := range o.flying() {
		hosts[r.GetHost()]++
		if hosts[r.GetHost()] > int(o.ctl.GetHostWindow()) {
			t.Fatalf("%d requests in flight to %s", hosts[r.GetHost()], r.GetHost())
		}
	}
	var pages, requests uint64
	answered := map[string]bool{}
	for _, rec := range o.input {
		if answered[string(rec.GetId())] {
			continue
		}
		answered[string(rec.GetId())] = true
		row := schemas.Outcomes[rec.GetOutcome()]
		if row.Page {
			pages++
		}
		if row.Request {
			requests++
		}
		if schemas.Deferred(rec.GetOutcome()) {
			hostCount[weburl.Host(rec.GetUrl())]--
		}
	}
	b := o.ctl.GetBudget()
	if pages > b.GetPages() || (b.GetRequests() > 0 && requests > b.GetRequests()) {
		t.Fatalf("%d pages and %d requests were charged, the budget is %v", pages, requests, b)
	}
	for h, n := range hostCount {
		if c := int(o.ctl.GetScope().GetHostCap()); c > 0 && n > c {
			t.Fatalf("%d requests to %s, its cap is %d", n, h, c)
		}
	}
	if !ended {
		return
	}
	st := o.shard.Status(time.UnixMilli(o.now))
	if st.GetDispatched() != uint64(len(o.log)) || st.GetPages() != pages || st.GetRequests() != requests {
		t.Fatalf("status has %d dispatched, %d pages, %d requests; the ledger has %d, %d, %d",
			st.GetDispatched(), st.GetPages(), st.GetRequests(), len(o.log), pages, requests)
	}
	if want := nSpan(keysOf(o.settled)); !cmp.Equal(want, st.GetSpans()["leap.settled"], protocmp.Transform()) {
		t.Fatalf("span of leap.settled: %v, want %v", st.GetSpans()["leap.settled"], want)
	}
}

func keysOf[K comparable, V any](m map[K]V) (ks []K) {
	for k := range m {
		ks = append(ks, k)
	}
	return ks
}

// reachable walks the world from the seeds: every URL that is requested when nothing is
// limited.
func (w *world) reachable(seeds []*schemas.Link, attempts uint32) map[string]bool {
	all := map[string]bool{}
	var visit func(u string)
	visit = func(u string) {
		if all[u] || weburl.Host(u) == "" {
			return
		}
		all[u] = true
		tries := uint32(0)
		for _, a := range w.answers[u] {
			switch {
			case a.GetOutcome() == schemas.Outcome_OUTCOME_REDIRECTED:
				if a.GetRedirect() != u {
					visit(a.GetRedirect())
				}
			case a.GetOutcome() == schemas.Outcome_OUTCOME_DELIVERED:
				for _, l := range a.GetLinks() {
					visit(l.GetUrl())
				}
			case schemas.Outcomes[a.GetOutcome()].Retry && schemas.Outcomes[a.GetOutcome()].Request:
				if tries++; tries >= attempts {
					return
				}
			}
		}
	}
	for _, l := range seeds {
		visit(l.GetUrl())
	}
	return all
}

// TestRecovery runs an owner that crashes repeatedly, before it commits what it did, and sometimes loses all that it
// committed, while the control record changes. From
// outside, every attempt is dispatched at most once, budgets, windows and caps are kept,
// leaps that are settled twice are equal, the crawl ends, and no entry is lost.
func TestRecovery(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		ctl := drawControl(t, "c")
		ctl.HostPatienceS = 0 // no host is given up
		ctl.Window, ctl.HostWindow = rapid.Uint32Range(1, 6).Draw(t, "window"), rapid.Uint32Range(1, 2).Draw(t, "host window")
		ctl.Budget = &schemas.Budget{Pages: rapid.SampledFrom([]uint64{3, 8, 1000}).Draw(t, "pages"), Requests: rapid.SampledFrom([]uint64{0, 0, 6}).Draw(t, "requests")}
		o := &owner{ctl: ctl, settled: map[schemas.ID]*schemas.LeapSettled{}, now: 1_000}
		o.committed.store = storage.NewMemory()
		seeds := rapid.SliceOfNDistinct(rapid.SampledFrom(w.urls), 1, 4, rapid.ID).Draw(t, "seeds")
		var links []*schemas.Link
		for _, u := range seeds {
			links = append(links, &schemas.Link{Url: u})
		}
		o.input = append(o.input, seedPage("c", 0, links))
		o.start(t)
		o.commit()
		crashes, retries := rapid.IntRange(0, 8).Draw(t, "crashes"), uint64(0)
		for steps := 0; ; steps++ {
			if steps > 5_000 {
				t.Fatalf("the crawl does not end: %v", o.shard.Status(time.UnixMilli(o.now)))
			}
			op := "go on"
			if steps < 300 {
				op = rapid.SampledFrom([]string{"apply", "apply", "dispatch", "dispatch", "fetch", "fetch", "again", "commit", "crash", "model", "hubs", "rescore", "policies", "excludes", "budget", "retry failed"}).Draw(t, "op")
			} else if o.ctl.GetExcludes() != nil { // what was excluded is asked for in the end
				o.exclude(t, nil)
			}
			switch op {
			case "apply":
				o.apply(t, rapid.IntRange(1, 4).Draw(t, "records"))
			case "dispatch":
				o.dispatch(t, rapid.IntRange(1, 4).Draw(t, "most"))
			case "fetch":
				if rs := o.flying(); len(rs) > 0 {
					o.input = append(o.input, w.answer(rapid.SampledFrom(rs).Draw(t, "request")))
				}
			case "again":
				o.input = append(o.input, rapid.SampledFrom(o.input).Draw(t, "record"))
			case "commit":
				o.commit()
			case "crash":
				if crashes--; crashes >= 0 {
					if rapid.IntRange(0, 3).Draw(t, "its state is lost") == 0 {
						o.lose()
					}
					o.start(t)
				}
			case "model":
				o.publish(t)
			case "hubs":
				o.raise(t, w)
			case "policies":
				other := proto.CloneOf(o.ctl)
				other.Revision++
				other.Policies, other.Mixture, other.RankerShadows = drawPolicies(t), drawMixture(t), drawShadows(t)
				o.ctl = other
				o.configure(t)
			case "excludes":
				o.exclude(t, drawExcludes(t))
			case "budget": // the times at which models are due follow from it, too
				o.ctl = proto.CloneOf(o.ctl)
				o.ctl.Revision++
				o.ctl.Budget.Pages += rapid.Uint64Range(0, 400).Draw(t, "more")
				o.ctl.Learning.RefitPages = rapid.Uint64Range(0, 4).Draw(t, "refit")
				o.ctl.Window = rapid.Uint32Range(max(1, uint32(len(o.flying()))), 6).Draw(t, "window")
				o.configure(t)
			case "retry failed":
				retries++
				o.input = append(o.input, schemas.RetryFailed("c", 0, retries))
			case "rescore":
				must[bool](t, "rescore")(o.shard.Rescore(rapid.IntRange(1, 5).Draw(t, "n")))
			default:
				for _, r := range o.flying() {
					o.input = append(o.input, w.answer(r))
				}
				o.apply(t, len(o.input))
				if o.shard.dispatcher.modelDue() {
					o.publish(t)
				}
				if o.shard.hubs.hubsDue() {
					o.raise(t, w)
				}
				must[bool](t, "rescore")(o.shard.Rescore(100))
				o.now += 1_000
				if at, ok := o.shard.Wake(time.UnixMilli(o.now)); ok {
					o.now = max(o.now, at.UnixMilli())
				}
				o.dispatch(t, 100)
				o.commit()
			}
			o.check(t, false)
			if reason, ended := o.shard.Finished(); ended && o.next == len(o.input) && len(o.flying()) == 0 {
				o.check(t, true)
				whole := o.ctl.GetExcludes() == nil && ctl.GetBudget().GetPages() == 1000 && ctl.GetBudget().GetRequests() == 0 && reason == EndEmpty &&
					ctl.GetScope().GetMaxDepth() == 0 && ctl.GetScope().GetHostCap() == 0 && retries == 0
				if whole {
					o.checkWhole(t, w, links)
				}
				return
			}
		}
	})
}

// exclude changes the rules of the crawl.
func (o *owner) exclude(t *rapid.T, rules *schemas.Excludes) {
	o.ctl = proto.CloneOf(o.ctl)
	o.ctl.Revision++
	o.ctl.Excludes = rules
	o.configure(t)
}

// checkWhole checks that every reachable URL was requested.
func (o *owner) checkWhole(t *rapid.T, w *world, seeds []*schemas.Link) {
	attempts := o.ctl.GetMaxAttempts()
	if attempts == 0 {
		attempts = 3
	}
	asked := map[string]bool{}
	for _, r := range o.log {
		asked[r.GetUrl()] = true
	}
	if d := cmp.Diff(w.reachable(seeds, attempts), asked); d != "" {
		t.Fatalf("URLs asked for (− reachable, + asked):\n%s", d)
	}
}
