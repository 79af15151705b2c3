package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/stream"
	"forager/internal/stream/crashtest"
	"forager/internal/stream/stateful"
	"forager/schemas"
)

// simulation is one schedule: crawls over simulated webs, owners of each partition of link.found
// that crash, stall, come back with their directory, an old one or none, and everything around
// them, under virtual time.
type simulation struct {
	*crashtest.World
	rule     string // what is broken on purpose; "" = nothing
	down     *downstream
	train    *trainer
	controls []*schemas.CrawlControl
	owners   []*simOwner
	dirs     [][]*crashtest.Dir // by partition
	spawned  int
	chaos    bool
	seeds    []stream.Out // that were not sent yet
	sown     int          // pages of seeds that were drawn
	lowDisk  bool
	rest     time.Time // when everybody had nothing to do for so long that all look around
	audit    *audit
}

// simOwner is one stage process from start to crash, for one partition.
type simOwner struct {
	*crashtest.Process
	partition int
	// idle: it waits for records, for wake or for the cache.
	idle    bool
	wake    time.Time
	next    int64
	stalled int // turns for which it does nothing
	book    *cache
	// followed is how many records of the topics in follows it has read.
	followed [len(follows)]int
	// stepped is when it took its last step.
	stepped time.Time
}

// follows are the topics that an owner follows.
var follows = [...]struct {
	topic string
	take  func(b *cache, r stream.Record) error
}{
	{schemas.TopicCrawlControl, (*cache).control}, {schemas.TopicModelPublished, (*cache).model}, {schemas.TopicHubRanked, (*cache).hub},
	{schemas.TopicCrawlStatus, (*cache).status},
}

// restEvery is the longest pause of an owner (package stateful).
const restEvery = 10 * time.Minute

const identity = "prioritize link.found"

// body runs the stage's process on the world's broker.
func (s *simulation) body(o *simOwner) func(*crashtest.Process) error {
	return func(p *crashtest.Process) error {
		store, err := p.OpenStore(fmt.Sprintf("%s/%d", identity, o.partition))
		if err != nil {
			return err
		}
		o.book = newCache()
		follow := func() error { // what Client.Follow does
			for i, f := range follows {
				for _, r := range s.Records(f.topic, 0)[o.followed[i]:] {
					o.followed[i]++
					if f.topic == schemas.TopicCrawlStatus && s.rule == "old statuses stay" {
						continue
					}
					if err := f.take(o.book, r); err != nil && !strings.Contains(err.Error(), "never changes during a crawl") {
						return err
					}
				}
			}
			return nil
		}
		lib := newLibrary(func(_ context.Context, key string) ([]byte, error) {
			if s.chaos && s.Chance(.3) {
				return nil, errAway
			}
			if crawl, ok := strings.CutPrefix(key, "lists/"); ok {
				return []byte(strings.Join(s.down.web[crawl].urls, "\n")), nil
			}
			return []byte(key), nil
		}, readSimModel, func() {}, slog.New(slog.DiscardHandler))
		lib.begin = func(f func()) { f() }
		conf := settings{
			book: o.book, library: lib, partitions: s.Partitions(schemas.TopicLinkFound),
			retryDelay: 30 * time.Second, rescoreBatch: 3, disk: simDisk{s}, memory: newMemory(20_000), log: slog.New(slog.DiscardHandler),
		}
		m := &mutant{Process: p, rule: s.rule}
		owner := stateful.NewOwner(stateful.OwnerOptions{
			Stage: name, Input: schemas.TopicLinkFound, Partition: o.partition, Log: schemas.TopicFetchRequested,
			Broker: m, Store: store, Failpoint: p.Pass,
			Open: func(epoch uint64) (stateful.Processor, error) {
				processor, err := conf.open(o.partition, epoch, store)
				switch {
				case err != nil:
				case s.rule == "recover nothing":
					return forgetful{processor}, nil
				case peerRules[s.rule] != nil:
					return meddler{processor, peerRules[s.rule]}, nil
				}
				return processor, err
			},
		})
		if err := follow(); err != nil {
			return err
		}
		if err := owner.Start(context.Background(), s.Now); err != nil {
			return err
		}
		m.started = true
		var version uint64 // of no cache: the first step needs no record
		for {
			if err := m.flush(); err != nil {
				return err
			}
			o.next = owner.Next()
			o.idle = true
			p.Pass("idle")
			o.idle = false
			if err := follow(); err != nil {
				return err
			}
			records := s.Records(schemas.TopicLinkFound, o.partition)[owner.Next():]
			records = records[:min(len(records), s.Rand.IntN(5))]
			if len(records) == 0 && version == o.book.version()+1 && (o.wake.IsZero() || s.Now.Before(o.wake)) && s.Now.Before(o.stepped.Add(restEvery)) {
				continue
			}
			o.stepped = s.Now
			version = o.book.version() + 1
			if o.wake, err = owner.Step(context.Background(), records, s.Now); err != nil {
				return err
			}
		}
	}
}

// forgetful breaks recovery from inside.
type forgetful struct{ *prioritizer }

func (forgetful) Recover(stream.Record) error { return nil }

// mutant breaks one rule of the owner from outside, in its broker.
type mutant struct {
	*crashtest.Process
	rule    string
	started bool
	pending []stream.Out
}

func (m *mutant) Produce(ctx context.Context, outs []stream.Out) ([]stream.Position, error) {
	marks := outs[0].Topic == schemas.TopicFetchRequested && outs[0].Headers[schemas.HeaderID] == ""
	switch {
	case m.rule == "commit before ack" && m.started:
		// Sent by flush, after the commit; positions are made up.
		m.pending = append(m.pending, outs...)
		at := make([]stream.Position, len(outs))
		for i := range outs {
			at[i].Partition = stream.PartitionOf(outs[i].Key, m.World.Partitions(outs[i].Topic))
			at[i].Offset = int64(len(m.World.Records(outs[i].Topic, at[i].Partition))) - 1
		}
		return at, nil
	case m.rule == "no markers" && len(outs) > 1 && marks:
		at := make([]stream.Position, len(outs))
		for k := range outs {
			at[k] = stream.Position{Partition: k, Offset: int64(len(m.World.Records(schemas.TopicFetchRequested, k))) - 1}
		}
		return at, nil
	}
	return m.Process.Produce(ctx, outs)
}

// flush sends what was reported as acknowledged.
func (m *mutant) flush() error {
	outs := m.pending
	m.pending = nil
	if len(outs) == 0 {
		return nil
	}
	m.Process.Pass("committed-before-ack") // here a crash loses them
	_, err := m.Process.Produce(context.Background(), outs)
	return err
}

func (m *mutant) Read(ctx context.Context, topic string, partition int, from, to int64, f func(stream.Record) error) error {
	if topic == schemas.TopicFetchRequested && (m.rule == "log ignored" && !m.started || m.rule == "no look" && m.started) {
		return nil
	}
	return m.Process.Read(ctx, topic, partition, from, to, f)
}

func newSimulation(seed uint64, rule string, several bool) *simulation {
	const log = 3
	found := 2
	if several {
		found += int(seed % 3)
	}
	s := &simulation{
		World: crashtest.New(seed, map[string]int{
			schemas.TopicLinkFound: found, schemas.TopicFetchRequested: log, schemas.TopicLeapSettled: 2,
			schemas.TopicCrawlStatus: 1, schemas.TopicCrawlControl: 1, schemas.TopicModelPublished: 1, schemas.TopicHubRanked: 1, schemas.TopicDeadLetter: 1,
		}, crashtest.Faults{Double: .03, Late: .03, Sync: .3}),
		rule: rule, chaos: true, dirs: make([][]*crashtest.Dir, found),
	}
	web := make(map[string]*simWeb)
	for i := range 1 + s.Rand.IntN(2) {
		name := fmt.Sprintf("crawl-%d", i+s.Rand.IntN(2)*10)
		web[name] = newSimWeb(s.Rand)
		ctl := drawControl(s.Rand, name)
		if several && (i == 0 || s.Rand.IntN(2) == 0) {
			drawShards(s.Rand, ctl)
		}
		s.controls = append(s.controls, ctl)
		s.seeds = append(s.seeds, s.drawSeeds(web[name], name)...)
	}
	s.down = newDownstream(s.World, web)
	s.down.noFence = rule == "no fence"
	s.train = &trainer{world: s.World}
	s.audit = newAudit(s)
	return s
}

// drawControl draws a crawl.
func drawControl(r *rand.Rand, name string) *schemas.CrawlControl {
	ctl := &schemas.CrawlControl{
		Crawl: name, Revision: 1, State: schemas.CrawlState_CRAWL_STATE_RUNNING, Focus: []string{"/focus"}, Critic: "c/1",
		Budget: &schemas.Budget{}, Scope: &schemas.Scope{}, Learning: &schemas.Learning{DMax: 3},
		Window: uint32(r.IntN(6)), HostWindow: uint32(r.IntN(3)), MaxAttempts: uint32(r.IntN(4)), RandomSeed: r.Uint64(),
		Politeness: &schemas.Politeness{UserAgent: "sim"}, HostPatienceS: uint32(r.IntN(3)) * 1800,
	}
	if r.IntN(3) > 0 {
		ctl.Budget.Pages = 1 + uint64(r.IntN(16))
	}
	if ctl.Budget.Pages == 0 || r.IntN(3) == 0 {
		ctl.Budget.Requests = 1 + uint64(r.IntN(20))
	}
	if r.IntN(2) == 0 {
		ctl.Scope.Prefixes = []string{"http://h"}
	}
	if r.IntN(4) == 0 {
		ctl.Scope.UrlList = "lists/" + name
	}
	if r.IntN(5) == 0 {
		ctl.Scope.HostCap = 1 + uint32(r.IntN(6))
	}
	ctl.Policies, ctl.Mixture, ctl.RankerShadows = drawRanking(r)
	ctl.Distiller = &schemas.Distiller{Every: 1 + uint64(r.IntN(4))}
	ctl.Learning.SwitchPages, ctl.Learning.RefitPages = 1+uint64(r.IntN(4)), 1+uint64(r.IntN(3))
	ctl.Learning.Sync = r.IntN(2) == 0
	ctl.Learning.Pairs = schemas.Pairs(r.IntN(3))
	if r.IntN(6) == 0 {
		ctl.Learning.Prior = "earlier/9-abc"
	}
	return ctl
}

// drawShards makes the crawl one of several shards.
func drawShards(r *rand.Rand, ctl *schemas.CrawlControl) {
	ctl.Shards = 2 + uint32(r.IntN(3))
	ctl.Learning.Sync = false
	if ctl.Window > 0 {
		ctl.Window = max(ctl.Window, ctl.Shards)
	}
}

// drawSeeds makes one or two virtual pages of seeds.
func (s *simulation) drawSeeds(w *simWeb, crawl string) (outs []stream.Out) {
	for range 1 + s.Rand.IntN(2) {
		outs = append(outs, s.drawSeedPage(w, crawl))
	}
	return outs
}

func (s *simulation) drawSeedPage(w *simWeb, crawl string) stream.Out {
	s.sown++
	rec := &schemas.LinkFound{
		Id: schemas.RequestID(crawl, fmt.Sprint("seeds:", s.sown), 0).Bytes(), Crawl: crawl, Outcome: schemas.Outcome_OUTCOME_SEEDS,
	}
	for range 1 + s.Rand.IntN(3) {
		rec.Links = append(rec.Links, &schemas.Link{Url: w.urls[s.Rand.IntN(len(w.urls))]})
	}
	value, err := proto.Marshal(rec)
	if err != nil {
		panic(err)
	}
	return stream.Out{
		Topic: schemas.TopicLinkFound, Partition: -1, Key: []byte(schemas.ShardKey(crawl, 0)), Value: value,
		Headers: map[string]string{schemas.HeaderVersion: "1", schemas.HeaderCrawl: crawl},
	}
}

// control writes a crawl's control record, with a revision above those of other records of the crawl.
func (s *simulation) control(ctl *schemas.CrawlControl) {
	for _, r := range s.Records(schemas.TopicCrawlControl, 0) {
		if other := controlOf(r); other.GetCrawl() == ctl.GetCrawl() && other.GetRevision() >= ctl.GetRevision() && !proto.Equal(other, ctl) {
			ctl.Revision = other.GetRevision() + 1
		}
	}
	s.down.stopped[ctl.GetCrawl()] = ctl.GetState() == schemas.CrawlState_CRAWL_STATE_STOPPED
	value, err := proto.Marshal(ctl)
	if err != nil {
		panic(err)
	}
	s.Append(stream.Out{Topic: schemas.TopicCrawlControl, Key: []byte(ctl.GetCrawl()), Value: value, Headers: map[string]string{schemas.HeaderVersion: "1"}})
}

func controlOf(r stream.Record) *schemas.CrawlControl {
	ctl := new(schemas.CrawlControl)
	if err := proto.Unmarshal(r.Value, ctl); err != nil {
		panic(err)
	}
	return ctl
}

// replay requests another attempt at some request, nearly always one that failed.
func (s *simulation) replay(ctl *schemas.CrawlControl) bool {
	c := s.audit.crawls[ctl.GetCrawl()]
	var some []*auditRequest
	any := s.Chance(.1)
	for _, id := range slices.Sorted(maps.Keys(c.requests)) {
		if q := c.requests[id]; any || q.verdict != nil && schemas.Failed(q.verdict.GetOutcome()) {
			some = append(some, q)
		}
	}
	if len(some) == 0 {
		return false
	}
	q := some[s.Rand.IntN(len(some))]
	id := schemas.RequestID(q.GetCrawl(), "replay:"+schemas.ID(q.GetId()).String(), 0)
	value, err := proto.Marshal(&schemas.LinkFound{
		Id: id.Bytes(), Crawl: q.GetCrawl(), Shard: q.GetShard(), Url: q.GetUrl(), Outcome: schemas.Outcome_OUTCOME_REPLAY, Replay: q.GetId(),
	})
	if err != nil {
		panic(err)
	}
	s.Append(stream.Out{
		Topic: schemas.TopicLinkFound, Partition: -1, Key: []byte(schemas.ShardKey(q.GetCrawl(), q.GetShard())), Value: value,
		Headers: map[string]string{schemas.HeaderVersion: "1", schemas.HeaderCrawl: q.GetCrawl()},
	})
	return true
}

func (s *simulation) alive() []*simOwner {
	return slices.DeleteFunc(slices.Clone(s.owners), func(o *simOwner) bool { return o.Done() })
}

// waits reports whether the owner has read all records and waits for time or records.
func (s *simulation) waits(o *simOwner) bool {
	for i, f := range follows {
		if o.followed[i] < len(s.Records(f.topic, 0)) {
			return false
		}
	}
	return !o.Done() && o.idle && o.next == int64(len(s.Records(schemas.TopicLinkFound, o.partition)))
}

// newest is the owner of a partition that was started last.
func (s *simulation) newest(partition int) *simOwner {
	for _, o := range slices.Backward(s.owners) {
		if o.partition == partition {
			return o
		}
	}
	return nil
}

// spawn starts an owner of a partition: in a directory left by another, or in a new one.
func (s *simulation) spawn(partition int) {
	dirs := s.dirs[partition]
	free := slices.DeleteFunc(slices.Clone(dirs), func(d *crashtest.Dir) bool { return !d.Free() })
	var dir *crashtest.Dir
	if len(free) == 0 || s.Rand.IntN(6) == 0 {
		dir = crashtest.NewDir(fmt.Sprintf("p%d-%d", partition, len(dirs)))
		s.dirs[partition] = append(dirs, dir)
		s.audit.seen["owners that began with nothing"]++
	} else {
		dir = free[s.Rand.IntN(len(free))]
	}
	s.spawned++
	o := &simOwner{partition: partition}
	o.Process = s.Spawn(fmt.Sprintf("owner %d of partition %d in %s", s.spawned, partition, dir.Name), dir, s.body(o))
	s.owners = append(s.owners, o)
}

// turn is one choice of the schedule.
func (s *simulation) turn() error {
	alive := s.alive()
	for p := range s.dirs {
		// The group assigns a partition to another owner when its newest owner is gone, or seems to be.
		if o := s.newest(p); o == nil || o.Done() || o.stalled > 0 && s.Chance(.1) {
			s.spawn(p)
			return nil
		}
	}
	switch roll := s.Rand.IntN(100); {
	case roll < 12:
		return s.down.fetch()
	case roll < 30:
		return s.down.answer()
	case roll < 34:
		if err := s.train.learn(); err != nil {
			return err
		}
	case roll < 37:
		return s.train.publish()
	case roll < 39:
		s.Deliver()
	case roll < 44:
		s.Now = s.Now.Add(time.Duration(s.Rand.IntN(2000)) * time.Millisecond)
	case roll < 49 && s.chaos:
		s.operate()
	case roll < 51 && s.chaos:
		o := alive[s.Rand.IntN(len(alive))]
		if s.Rand.IntN(2) == 0 {
			o.Kill()
			s.audit.seen["owners that crashed"]++
		} else {
			o.stalled = s.Rand.IntN(400)
		}
	case roll < 52 && s.chaos && len(alive) < 5:
		s.spawn(s.Rand.IntN(len(s.dirs)))
	default:
		o := alive[s.Rand.IntN(len(alive))]
		if o.stalled > 0 {
			o.stalled--
			return nil
		}
		for n := 1 + s.Rand.IntN(12); n > 0 && o.Run(); n-- {
		}
		if o.Done() && o.Err != nil {
			if !errors.Is(o.Err, stateful.ErrSuperseded) {
				return fmt.Errorf("%s: %w", o.Name, o.Err)
			}
			s.audit.seen["owners that were superseded"]++
		}
	}
	return nil
}

// settle ends all faults: everything arrives, every crawl goes on.
func (s *simulation) settle() {
	s.chaos, s.lowDisk, s.down.away = false, false, false
	for _, host := range slices.Sorted(maps.Keys(s.down.down)) {
		s.down.down[host] = s.down.down[host] && s.Rand.IntN(3) == 0
	}
	for s.Late() > 0 {
		s.Deliver()
	}
	for _, o := range s.owners {
		o.stalled = 0
	}
	for _, out := range s.seeds {
		s.Append(out)
	}
	s.seeds = nil
	for _, ctl := range s.controls {
		if ctl.GetState() == schemas.CrawlState_CRAWL_STATE_PAUSED {
			ctl.State = schemas.CrawlState_CRAWL_STATE_RUNNING
			ctl.Revision++
		}
		s.control(ctl)
	}
}

// jump advances the time to the next event, once all owners wait.
func (s *simulation) jump() {
	s.rankDue()
	if len(s.down.pending) > 0 || s.down.unread() || len(s.train.queue) > 0 {
		return
	}
	var next time.Time
	for _, o := range s.alive() {
		if !s.waits(o) {
			return
		}
		if !o.wake.IsZero() && (next.IsZero() || o.wake.Before(next)) {
			next = o.wake
		}
	}
	if next.IsZero() && s.rest.IsZero() {
		s.rest = s.Now.Add(restEvery)
		next = s.rest
	}
	if next.After(s.Now) {
		s.Now = next
	}
}

// simulate runs one seed, of crawls with one shard, or with several.
func simulate(seed uint64, rule string, several bool) (*simulation, error) {
	s := newSimulation(seed, rule, several)
	defer func() {
		for _, o := range s.owners {
			o.Kill()
		}
	}()
	chaos, resumes := 100+s.Rand.IntN(700), s.Rand.IntN(3)
	if rule == "" {
		resumes /= 2 // a longer crawl finds little more, but for what is broken on purpose
	}
	for turn := 0; ; turn++ {
		if err := s.turn(); err != nil {
			return s, fmt.Errorf("turn %d: %w", turn, err)
		}
		if turn == chaos {
			s.settle()
		}
		if turn > chaos && turn%20 == 0 {
			s.jump()
			if done, err := s.audit.ended(); err != nil {
				return s, err
			} else if done && (resumes == 0 || !s.resume()) {
				break
			} else if done {
				resumes--
				s.chaos, chaos = true, turn+1+s.Rand.IntN(200)
			}
		}
		if turn > 60_000 {
			return s, fmt.Errorf("the crawls do not end: %v", s.audit.state())
		}
	}
	if err := s.audit.check(); err != nil {
		return s, err
	}
	return s, s.rebuild()
}

// rebuild starts an owner of each partition with an empty state: it must rebuild the same state and
// dispatch nothing more.
func (s *simulation) rebuild() error {
	before := s.audit.requests()
	for _, o := range s.owners {
		o.Kill()
	}
	for p := range s.dirs {
		s.dirs[p] = nil
		s.spawn(p)
	}
	fresh := s.owners[len(s.owners)-len(s.dirs):]
	for turn := 0; ; turn++ {
		if turn > 60_000 {
			return errors.New("the rebuilt owners do not come to rest")
		}
		busy := false
		var wake time.Time
		for _, o := range fresh {
			if !o.Run() {
				return fmt.Errorf("%s: %w", o.Name, o.Err)
			}
			busy = busy || !s.waits(o)
			if !o.wake.IsZero() && (wake.IsZero() || o.wake.Before(wake)) {
				wake = o.wake
			}
		}
		if !busy && wake.IsZero() {
			break
		}
		if !busy && wake.After(s.Now) {
			s.Now = wake
		}
	}
	if after := s.audit.requests(); after != before {
		return fmt.Errorf("rebuilt from nothing, owners sent %d requests more", after-before)
	}
	if err := s.audit.check(); err != nil {
		return fmt.Errorf("rebuilt from nothing: %w", err)
	}
	return nil
}

// seen counts, over all seeds of a test, what a simulation of recovery has to have met.
type seen struct {
	mu     sync.Mutex
	counts map[string]int
}

func (s *seen) add(counts map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for what, n := range counts {
		s.counts[what] += n
	}
}

// runSimulations simulates seeds, fewer where tests are to be short, and demands that all of them
// together have met each of these at least so often.
func runSimulations(t *testing.T, seeds, short uint64, shards bool, least int, met ...string) {
	all := seen{counts: make(map[string]int)}
	if testing.Short() {
		seeds = short
	}
	crashtest.Seeds(t, seeds, func(seed uint64) error {
		s, err := simulate(seed, "", shards)
		all.add(s.audit.seen)
		return err
	})
	for _, what := range slices.Sorted(maps.Keys(all.counts)) {
		t.Logf("%7d %s", all.counts[what], what)
	}
	if testing.Short() || flag.Lookup("crash.seed").Value.String() != "-1" || flag.Lookup("crash.seeds").Value.String() != "0" {
		return
	}
	for _, what := range met {
		if all.counts[what] < least {
			t.Errorf("the simulation has met %q %d times only", what, all.counts[what])
		}
	}
}

func TestSimulation(t *testing.T) {
	runSimulations(t, 1000, 100, false, 20,
		"owners that crashed", "owners that were superseded", "owners that began with nothing", "requests that are void",
		"requests that came twice", "verdicts that came twice", "leaps that came twice",
		"verdicts that cannot be decoded", "boundaries", "redirects", "deferrals", "second attempts", "replays", "models in use",
		"network outages", "hosts that are down", "tries of what had failed", "resumed after: frontier empty", "resumed after: stopped",
		"ended: unreachable: only hosts that do not answer are left",
		"ended: pages budget spent", "ended: requests budget spent", "ended: frontier empty",
		"ended: stagnated: the gate let no link through", "ended: stopped", "operation: fixed field", "control records restored")
}

// TestSimulationFindsBrokenOwners checks that the simulation detects broken owners.
func TestSimulationFindsBrokenOwners(t *testing.T) {
	rules := []string{"commit before ack", "log ignored", "no markers", "no look", "no fence", "recover nothing", "old statuses stay"}
	if testing.Short() {
		rules = rules[:1] // the race detector needs no more, and takes ten times as long
	}
	for _, rule := range rules {
		seed, err := crashtest.First(600, func(seed uint64) error {
			_, err := simulate(seed, rule, false)
			return err
		})
		if err == nil {
			t.Errorf("%s: 600 seeds saw nothing", rule)
			continue
		}
		t.Logf("%s: seed %d: %s", rule, seed, strconv.Quote(err.Error()))
	}
}
