package frontier

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"forager/internal/rank/linkfeature"
	"forager/internal/rank/rank"
	"forager/internal/web/scope"
	"forager/schemas"
)

// Model predicts Pr(high | u,v) of a link from its features; *apprentice.Model is one.
type Model interface {
	Score(features []*schemas.Feature) float64
}

// Options are what a Shard needs in addition to the crawl's control record.
type Options struct {
	// Epoch and Owner go into every FetchRequest.
	Epoch uint64
	Owner uint32
	// Rankers override the ranker of the policy of that name.
	Rankers map[string]rank.Ranker
	// Features selects the leaps that are settled with their features.
	Features Features
	// RetryDelay is the pause before the second try of a URL; it doubles with every try.
	RetryDelay time.Duration
	// Memory bounds what the shard keeps in memory to save reading, bytes (SetMemory); 0 = DefaultMemory.
	Memory int
}

// Features selects the leaps that are settled with their features.
type Features byte

const (
	// FeaturesOfAll leaps.
	FeaturesOfAll Features = iota
	// FeaturesOfLessons are those of leaps that train.
	FeaturesOfLessons
	// NoFeatures: no leap has features, as nothing is trained.
	NoFeatures
)

// Effects is what follows from an applied record.
type Effects struct {
	// Settled are leaps and boundaries in the order in which they must be sent.
	Settled []*schemas.LeapSettled
	// Sent are records for other shards of the crawl.
	Sent []*schemas.LinkFound
	// Duplicate: the record belongs to no request in flight and changed nothing but a counter.
	Duplicate bool
}

// ShardName names a shard in a store.
type ShardName struct {
	Crawl string
	// Shard is 0-based.
	Shard uint32
}

// Shard is one shard of a crawl. It is not safe for concurrent use. After an error it must be
// discarded and opened again on the last state that was committed: a call that failed may
// have done half its work.
type Shard struct {
	name  ShardName
	store Store
	keys  keys
	// value and from are scratch for encoded values and keys.
	value, from []byte
	before      []placed
	targets     []uint64 // entries that the links of the page being applied lead to
	// memory is its bound, hostMemory that of hosts; frontSize the keys that a front reads at a time, for fittedHosts hosts.
	memory, hostMemory, frontSize, fittedHosts int
	leafRange                                  schemas.Link

	// What is kept in memory as well as in the store; Open reads it from there.
	c           counters
	generations []generations // by policy
	names       names
	// hosts in memory, by number; changed are those to be stored at the end of the call; index has the heads of the
	// index of the others.
	hosts      *lru[uint32, *host]
	hostByName map[string]*host
	changed    []*host
	index      hostIndex
	fronts     []storedFront // scratch
	flights    map[schemas.ID]*flight
	// asking is the number of flights that may query the source of backlinks.
	asking uint64
	// unplaced are recovered requests that no entry has taken over yet, by URL.
	unplaced map[string][]schemas.ID
	// early are, by host, the clocks of dispatches in the log whose causes are not applied yet, ascending; used if hosts have a cap.
	early   map[uint32][]uint64
	known   known
	entries *lru[uint64, *entry]             // by ordinal
	pages   *lru[uint64, *page]              // with pending links, by number
	tables  *lru[uint64, *linkfeature.Table] // by page
	// siblings are the links of pages, by number (cocitation.go); touched are unvisited entries whose co-citation
	// features have changed.
	siblings *lru[uint64, []sibling]
	touched  []uint64
	// applying is the page whose links are being applied.
	applying *page
	// waiting are entries that wait, sleeping hosts that do; latestFailing are unreachable hosts, by the time since when.
	waiting, sleeping, sleepingUnreached, latestFailing rangeHead[timed]
	latency                                             latency
	scored                                              scored
	// prepared is what preparing made of verdicts in advance (prepare.go), settling that of the one being applied; since
	// what was stored meanwhile.
	prepared  map[*schemas.LinkFound]*prepared
	preparing *preparing
	settling  *prepared
	since     since
	// stale are scores made in advance of links to entries that a pass has yet to score.
	stale highs
	// rerankFirst is the constant, except in tests.
	rerankFirst int
	// stretch is what the pass under way has scored in advance.
	stretch *stretch
	// aheads are those not in use.
	aheads sync.Pool

	// ranked is the state of the last ranking of hubs.
	ranked ranked

	// onTopic is the number of delivered pages that are targets of guides (renew.go).
	onTopic uint64

	// learners are rankers that learn from verdicts (learner.go).
	learners map[schemas.Ranker]Learner

	// lease and peers are what other shards reported, see lease.go; sends is what this call sends them.
	lease *schemas.ShardNote
	peers map[uint32]uint64
	sends []*schemas.LinkFound

	// What Configure and SetModel set.
	ctl         *schemas.CrawlControl
	scope       *scope.Scope
	options     Options
	policies    []*rank.Policy
	policyNames []uint32 // name numbers
	// mixture chooses among the policies, which are its arms; nil = the first one leads.
	mixture *rank.Mixture
	arms    []rank.Arm
	// learns: a policy ranks by the apprentice's model. asksModel: a policy or a shadow does.
	learns, asksModel bool
	shadows           []*rank.Policy
	models            *schemas.ModelSchedule // when they are due; not to be changed
	limits            limits
	using, newest     model
	expands           bool // a policy orders pages

	// What follows from both; built by Configure.
	ready, old []*heap[*host] // by policy

	// outage of the network (outage.go) and unreachable hosts (unreachable.go).
	outage  outage
	failing failing
}

// model is an apprentice's model as the frontier ranks by it.
type model struct {
	// number of its version's name; 0 = no model.
	number uint32
	// model is nil for no model, and after Open until SetModel gives it.
	model Model
	pages uint64
}

// ErrNoModel: the stored state ranks by a model that SetModel has not set yet.
var ErrNoModel = errors.New("the shard ranks by a model that is not loaded")

// errNotConfigured is a bug in the caller.
var errNotConfigured = errors.New("frontier: the shard is not configured")

// Open reads a shard's state from the store; on an empty store the shard is new. It then
// needs Configure, and SetModel where Model names one, before anything else.
func Open(store Store, crawl string, number uint32) (*Shard, error) {
	if crawl == "" || len(crawl) > 255 {
		return nil, fmt.Errorf("frontier: a crawl's name has 1–255 bytes, %q has %d", crawl, len(crawl))
	}
	name := ShardName{Crawl: crawl, Shard: number}
	s := &Shard{
		name: name, store: store, keys: newKeys(shardPrefix(name)),
		hostByName: make(map[string]*host), flights: make(map[schemas.ID]*flight),
		unplaced: make(map[string][]schemas.ID),
		entries:  newLRU[uint64, *entry](0), pages: newLRU[uint64, *page](0), tables: newLRU[uint64, *linkfeature.Table](0), siblings: newLRU[uint64, []sibling](0),
		hosts: newLRU[uint32, *host](math.MaxInt), rerankFirst: rerankFirst,
	}
	s.waiting, s.sleeping, s.sleepingUnreached, s.latestFailing = s.newWaiting(), s.newSleeping(false), s.newSleeping(true), s.newFailing()
	s.SetMemory(DefaultMemory)
	for _, load := range []func() error{
		s.checkLayout, s.loadCounters, s.loadNames, s.loadHosts, s.loadFlights, s.loadEarly,
		s.loadLatency, s.loadOutage, s.loadSeen, s.loadPeers, s.loadRanked, s.loadRenewal,
	} {
		if err := load(); err != nil {
			return nil, fmt.Errorf("open shard %d of %s: %w", number, crawl, err)
		}
	}
	s.using = model{number: s.c.model, pages: s.c.modelPages}
	s.newest = s.using
	return s, nil
}

// checkLayout refuses state of another layout and marks new state.
func (s *Shard) checkLayout() error {
	key := s.keys.kind(kindLayout)
	v, ok, err := s.store.Get(key)
	switch {
	case err != nil:
		return err
	case !ok:
		return s.store.Set(key, []byte{layout})
	case len(v) != 1 || v[0] != layout:
		return fmt.Errorf("state has layout %x, this program reads %d: delete the state directory to build it anew from the topics", v, layout)
	}
	return nil
}

// usable returns why the shard cannot work yet.
func (s *Shard) usable() error {
	if s.ctl == nil {
		return errNotConfigured
	}
	if s.asksModel && s.using.number != 0 && s.using.model == nil {
		return ErrNoModel
	}
	return nil
}

// entry reads an entry. A caller that changes it stores it with saveEntry before the call ends.
func (s *Shard) entry(ordinal uint64) (*entry, error) {
	if e, ok := s.entries.get(ordinal); ok {
		return e, nil
	}
	e, err := readEntry(s.store.Get, &s.keys, ordinal, s.c.hosts)
	if err == nil {
		s.keep(e)
	}
	return e, err
}

// readEntry reads an entry of one of so many hosts from the store.
func readEntry(get func(key []byte) ([]byte, bool, error), keys *keys, ordinal uint64, hosts uint32) (*entry, error) {
	b, ok, err := get(keys.u64(kindEntry, ordinal))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("frontier: entry %d is missing", ordinal)
	}
	e, err := decodeEntry(ordinal, b)
	if err != nil {
		return nil, err
	}
	if e.host >= hosts {
		return nil, fmt.Errorf("frontier: entry %d has the unknown host %d", ordinal, e.host)
	}
	return e, nil
}

func (s *Shard) saveEntry(e *entry) error {
	s.keep(e)
	return s.storeEntry(e)
}

// storeEntry is saveEntry for an entry that need not be in memory afterwards.
func (s *Shard) storeEntry(e *entry) error {
	s.value = e.append(s.value[:0])
	return s.setEntry(e.ordinal, s.value)
}

// setEntry stores an entry's value.
func (s *Shard) setEntry(ordinal uint64, value []byte) error {
	if s.awaited() {
		s.since.entries[ordinal] = true
	}
	return s.store.Set(s.keys.u64(kindEntry, ordinal), value)
}

// keep holds an entry in memory, with its links if they are loaded.
func (s *Shard) keep(e *entry) {
	cost := entryCost + len(e.url) + 96*len(e.places) + linkCost*cap(e.links)
	if e.held() {
		s.entries.renew(e.place, cost)
	} else {
		e.place = s.entries.put(e.ordinal, e, cost)
	}
}
