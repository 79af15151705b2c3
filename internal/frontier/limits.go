package frontier

import (
	"errors"
	"fmt"

	"forager/internal/rank/distill"
	"forager/internal/rank/linkfeature"
	"forager/internal/rank/policy"
	"forager/internal/web/scope"
	"forager/schemas"
)

// settings are what Configure has set.
type settings struct {
	ctl     *schemas.CrawlControl
	scope   *scope.Scope
	options Options
	limits  limits
	models  *schemas.ModelSchedule // when they are due; not to be changed
}

// limits are the numbers of a control record, with defaults filled in.
type limits struct {
	pages, requests uint64 // 0 = no limit
	window          uint64 // 0 = found by trying (window.go)
	windowCap       uint64 // of a window that is found
	hostWindow      uint32
	hostCap         uint64 // 0 = no limit
	attempts        uint32
	dMax            int
	families        linkfeature.Families
	active          float64 // leaps train from so large a |R(u) − R(v)| on
	switchPages     uint64
	refitPages      uint64
	sync, forward   bool
	pairs           uint32
	distillEvery    uint64
	shards          uint32 // ≥ 1
	queries         uint64 // of backlinks, by this crawl
	hostPatience    int64  // milliseconds
}

func newLimits(ctl *schemas.CrawlControl) (limits, error) {
	b, learning := ctl.GetBudget(), ctl.GetLearning()
	l := limits{
		pages: b.GetPages(), requests: b.GetRequests(), window: uint64(ctl.GetWindow()),
		hostWindow: ctl.GetHostWindow(), hostCap: uint64(ctl.GetScope().GetHostCap()),
		attempts: ctl.GetMaxAttempts(), dMax: int(learning.GetDMax()),
		switchPages: learning.GetSwitchPages(), refitPages: learning.GetRefitPages(),
		sync: learning.GetSync() && learning.GetPinned() == "", pairs: learning.GetMaxPairsPerTarget(),
		shards: schemas.ShardsOf(ctl), queries: ctl.GetBacklinks().GetRation(),
	}
	l.hostPatience = schemas.HostPatience(ctl).Milliseconds()
	var err error
	if l.families, err = linkfeature.FamiliesOf(learning.GetFeatures()); err != nil {
		return l, err
	}
	if l.active = learning.GetActive(); !(l.active >= 0 && l.active <= 1) {
		return l, fmt.Errorf("learning.active %v is not between 0 and 1", l.active)
	}
	if _, err := distill.SettingsOf(ctl); err != nil {
		return l, err
	}
	l.distillEvery = distill.Every(ctl)
	budget := l.pages
	if budget == 0 {
		budget = l.requests
	}
	switch learning.GetPairs() {
	case schemas.Pairs_PAIRS_UNSPECIFIED, schemas.Pairs_PAIRS_BOTH:
	case schemas.Pairs_PAIRS_FORWARD:
		l.forward = true
	default:
		return l, fmt.Errorf("learning.pairs: unknown value %v", learning.GetPairs())
	}
	switch {
	case budget == 0:
		return l, errors.New("budget: neither pages nor requests are limited")
	case ctl.GetWindow() > 100_000:
		return l, fmt.Errorf("window %d is above 100,000", ctl.GetWindow())
	case ctl.GetHostWindow() > schemas.MaxHostWindow:
		return l, fmt.Errorf("host_window %d is above %d", ctl.GetHostWindow(), schemas.MaxHostWindow)
	case ctl.GetShards() > MaxShards:
		return l, fmt.Errorf("shards %d is above %d", ctl.GetShards(), MaxShards)
	case l.shards > 1 && l.window > 0 && l.window < uint64(l.shards):
		return l, fmt.Errorf("window %d is below the number of shards, %d: each of them needs one", ctl.GetWindow(), l.shards)
	case l.shards > 1 && learning.GetSync():
		return l, fmt.Errorf("learning.sync with %d shards: the order of a crawl whose shards run side by side is not fixed anyway; use one shard, or no sync", l.shards)
	case l.shards > 1 && ctl.GetRenewal() != nil:
		return l, fmt.Errorf("renewal with %d shards: a guide is made of all pages of a crawl, and each shard has some; use one shard", l.shards)
	case l.hostPatience > schemas.MaxHostPatience.Milliseconds():
		return l, fmt.Errorf("host_patience_s %d is above %d", ctl.GetHostPatienceS(), int64(schemas.MaxHostPatience.Seconds()))
	case ctl.GetMaxAttempts() > 1000:
		return l, fmt.Errorf("max_attempts %d is above 1,000", ctl.GetMaxAttempts())
	case l.dMax > 100:
		return l, fmt.Errorf("learning.d_max %d is above 100", l.dMax)
	}
	l.windowCap = max(uint64(l.shards), budget/20)
	orDefault(&l.hostWindow, schemas.HostWindow(ctl))
	orDefault(&l.attempts, 3)
	orDefault(&l.pairs, 5)
	orDefault(&l.switchPages, max(30, budget/20))
	orDefault(&l.refitPages, min(max(budget/40, 10), max(100, budget/200)))
	return l, nil
}

// Check is an error that Configure would return for a control record, whatever its shard is.
func Check(ctl *schemas.CrawlControl) error {
	if _, err := newLimits(ctl); err != nil {
		return err
	}
	policies, _, err := newPolicies(ctl, nil)
	if err != nil {
		return err
	}
	if _, err := newShadows(ctl, policies); err != nil {
		return err
	}
	if _, err := policy.NewMixture(ctl.GetMixture(), ctl.GetRandomSeed()); err != nil {
		return err
	}
	if _, err := scope.NewExcludes(ctl.GetExcludes()); err != nil {
		return err
	}
	_, err = scope.NewPriority(ctl.GetPriority())
	return err
}

// MaxShards is the largest number of shards of a crawl: shard 0 reads all of their reports for every decision.
const MaxShards = 256

func orDefault[N uint32 | uint64](n *N, value N) {
	if *n == 0 {
		*n = value
	}
}

// mayDispatch reports whether one more request may be dispatched: both budgets are reduced by what is charged and by
// what is in flight, as any request in flight may be charged to both. With several shards the lease is the
// budget.
func (ds *dispatcher) mayDispatch() bool {
	inFlight := uint64(len(ds.flights.byID))
	if ds.cfg.limits.shards > 1 {
		l := ds.peers.lease.GetLease()
		return l.GetEnd() == "" && inFlight < ds.windowInForce() && ds.state.Counters.Pages+inFlight < l.GetPages() && ds.roomFor(1)
	}
	return inFlight < ds.pace.window() && (ds.cfg.limits.pages == 0 || ds.state.Counters.Pages+inFlight < ds.cfg.limits.pages) && ds.roomFor(1)
}
