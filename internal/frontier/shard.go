package frontier

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"forager/internal/frontier/place"
	"forager/internal/frontier/queue"
	"forager/internal/frontier/rescore"
	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
	"forager/internal/rank/policy"
	"forager/schemas"
)

// Store holds all state of a Shard.
type Store = storage.Store

// NewMemory returns an empty Store in memory, for experiments and tests.
func NewMemory() Store { return storage.NewMemory() }

// Model predicts Pr(high | u,v) of a link from its features; *apprentice.Model is one.
type Model = place.Model

// Options are what a Shard needs in addition to the crawl's control record.
type Options struct {
	// Epoch and Owner go into every FetchRequest.
	Epoch uint64
	Owner uint32
	// Rankers override the ranker of the policy of that name.
	Rankers map[string]policy.Ranker
	// Learners make the rankers that learn from verdicts of the policies and shadows of these names.
	Learners map[string]func() Learner
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
	// FeaturesWhereLearned: where an apprentice ranked, as a policy or a shadow (LeapSettled.no_apprentice).
	FeaturesWhereLearned Features = iota
	// FeaturesOfAll leaps.
	FeaturesOfAll
	// FeaturesOfSamples are those of leaps that train.
	FeaturesOfSamples
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

// Shard is one shard of a crawl. It is not safe for concurrent use. After an error it must be
// discarded and opened again on the last state that was committed: a call that failed may
// have done half its work.
//
// It composes the parts below; each uses those before it only.
type Shard struct {
	// What is stored.
	state *state.Records
	pages *state.Pages
	// Hosts with their queues, and what waits.
	hosts  *queue.Hosts
	queues *queue.Queues
	waits  *queue.Waits
	// Places of entries, and their re-scoring.
	places   *place.Placer
	workers  *rescore.Workers
	prefetch *rescore.Prefetcher
	rescorer *rescore.Rescorer
	excluder *rescore.Excluder
	// The control record, and what follows from it and the verdicts.
	cfg      *settings
	arms     *arms
	flights  *flights
	pace     *pace
	peers    *peers
	hubs     *hubs
	learners *learners
	renewal  *retraining
	// Verdicts and requests.
	ledger     *ledger
	applier    *applier
	dispatcher *dispatcher
}

// newShard composes a shard on a store from which nothing was read yet.
func newShard(store storage.Store, name state.ShardName) *Shard {
	s := &Shard{cfg: new(settings)}
	s.state = state.NewRecords(store, name)
	s.pages = state.NewPages(s.state)
	s.hosts = queue.NewHosts(s.state)
	s.queues = queue.NewQueues(s.state, s.hosts)
	s.waits = queue.NewWaits(s.state, s.hosts)
	s.places = place.NewPlacer(s.state, s.pages, s.hosts, s.queues)
	s.workers = rescore.NewWorkers(s.state, s.pages, s.queues, s.places)
	s.excluder = rescore.NewExcluder(s.state, s.hosts, s.queues, s.waits)
	s.arms = &arms{state: s.state, queues: s.queues, places: s.places}
	s.flights = &flights{
		cfg: s.cfg, state: s.state, hosts: s.hosts, queues: s.queues, waits: s.waits, excluder: s.excluder,
		byID: make(map[schemas.ID]*flight), unplaced: make(map[string][]schemas.ID),
	}
	s.prefetch = rescore.NewPrefetcher(s.workers, s.flights.flying)
	s.rescorer = rescore.NewRescorer(s.workers)
	s.pace = &pace{cfg: s.cfg, state: s.state}
	s.peers = &peers{cfg: s.cfg, state: s.state}
	s.hubs = &hubs{cfg: s.cfg, state: s.state, places: s.places}
	s.learners = &learners{state: s.state, places: s.places, storedEvery: storedEvery}
	s.renewal = &retraining{cfg: s.cfg, state: s.state}
	s.ledger = &ledger{cfg: s.cfg, state: s.state, pages: s.pages, places: s.places, peers: s.peers}
	s.applier = &applier{
		cfg: s.cfg, state: s.state, pages: s.pages, hosts: s.hosts, queues: s.queues, waits: s.waits, places: s.places, prefetch: s.prefetch, excluder: s.excluder,
		arms: s.arms, flights: s.flights, pace: s.pace, peers: s.peers, renewal: s.renewal, ledger: s.ledger,
	}
	s.excluder.Admit = s.applier.queue
	s.dispatcher = &dispatcher{
		cfg: s.cfg, state: s.state, pages: s.pages, hosts: s.hosts, queues: s.queues, waits: s.waits, places: s.places, excluder: s.excluder,
		arms: s.arms, flights: s.flights, pace: s.pace, peers: s.peers, hubs: s.hubs, renewal: s.renewal,
	}
	return s
}

// ErrNoModel means that the stored state ranks by a model that SetModel has not set yet.
var ErrNoModel = errors.New("the shard ranks by a model that is not loaded")

// errNotConfigured is a bug in the caller.
var errNotConfigured = errors.New("frontier: the shard is not configured")

// Open reads a shard's state from the store; on an empty store the shard is new. It then
// needs Configure, and SetModel where Model names one, before anything else.
func Open(store storage.Store, crawl string, number uint32) (*Shard, error) {
	if crawl == "" || len(crawl) > 255 {
		return nil, fmt.Errorf("frontier: a crawl's name has 1–255 bytes, %q has %d", crawl, len(crawl))
	}
	s := newShard(store, state.ShardName{Crawl: crawl, Shard: number})
	s.SetMemory(DefaultMemory)
	for _, load := range []func() error{
		s.state.MarkLayout, s.state.LoadCounters, s.state.LoadNames, s.state.LoadTerms, s.hosts.LoadHosts, s.flights.loadFlights, s.flights.loadEarly,
		s.pace.loadLatency, s.waits.LoadOutage, s.peers.loadPeers, s.ledger.load, s.hubs.loadRanked, s.renewal.loadRetraining, s.excluder.Load,
	} {
		if err := load(); err != nil {
			return nil, fmt.Errorf("open shard %d of %s: %w", number, crawl, err)
		}
	}
	s.places.Using = place.VersionedModel{Number: s.state.Counters.Model, Pages: s.state.Counters.ModelPages}
	s.rescorer.Newest = s.places.Using
	return s, nil
}

// CheckLayout returns an error if the store has state of the shard that Open refuses, because it is of another layout.
func CheckLayout(store storage.Store, crawl string, number uint32) error {
	_, err := state.NewRecords(store, state.ShardName{Crawl: crawl, Shard: number}).CheckLayout()
	return err
}

// usable returns why the shard cannot work yet.
func (s *Shard) usable() error {
	if s.cfg.ctl == nil {
		return errNotConfigured
	}
	if s.places.AsksModel && s.places.Using.Number != 0 && s.places.Using.Model == nil {
		return ErrNoModel
	}
	return nil
}

// save stores the counters, and the hosts that changed.
func (s *Shard) save() error {
	if err := s.hosts.SaveHosts(); err != nil {
		return err
	}
	s.state.Buffer = s.state.Counters.Append(s.state.Buffer[:0], s.state.Generations)
	return s.state.Store.Set(s.state.Keys.Kind(state.KindCounters), s.state.Buffer)
}

// Prepare computes in advance what it can for verdicts that will be passed to Apply next, in any order or not at
// all; they must not be changed. It changes nothing but the time that Apply takes.
func (s *Shard) Prepare(recs []*schemas.LinkFound) error {
	if err := s.usable(); err != nil {
		return err
	}
	return s.prefetch.Prepare(recs)
}

// DefaultMemory is the bound of a shard's memory where Options.Memory is 0, bytes.
const DefaultMemory = 256 << 20

// SetMemory bounds what the shard keeps in memory to save reading, bytes; what does not fit is
// read from the store when it is needed. The package's documentation lists what is bounded and
// what is not.
func (s *Shard) SetMemory(bytes int) {
	if bytes <= 0 {
		bytes = DefaultMemory
	}
	s.pages.SharePages(bytes / 8)
	if bytes == s.rescorer.Memory {
		return
	}
	s.rescorer.Memory = bytes
	s.state.Entries.Limit(bytes / 4)
	s.pages.Tables.Limit(bytes * 3 / 16)
	s.hosts.Memory = bytes / 8
	s.state.Known.Filter.Limit(bytes / 8)
	s.state.Known.Ordinals.Limit(bytes / 16)
	s.hosts.FitFronts()
}

// Learned returns what rankers that learn from verdicts keep in memory, bytes: part of no bound of SetMemory. It follows from
// the records, and linkvalue.MostBytes bounds it for each such policy and shadow.
func (s *Shard) Learned() int { return s.learners.bytes() }

// Drop removes the state of all shards of a crawl from the store. No Shard of the crawl may be in use.
func Drop(store storage.Store, crawl string) error {
	prefix := state.ShardPrefix(state.ShardName{Crawl: crawl})
	prefix = prefix[:len(prefix)-binary.Size(uint32(0))]
	return store.DeleteRange(prefix, state.After(prefix))
}
