package frontier

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
	"forager/internal/rank/linkvalue"
	"forager/internal/rank/policy"
	"forager/internal/web/scope"
	"forager/schemas"
)

// learnt is a crawl of a web of random links and redirects by policies that learn.
type learnt struct {
	t      *testing.T
	store  storage.Store
	shard  *Shard
	ctl    *schemas.CrawlControl
	random *rand.Rand
	order  []string
	now    time.Time
	// tally are the names of policies and shadows that rank by a tally.
	tally []string
}

// tally is a learner whose scores follow from all records that it observed, in their order. After every fifth record all its
// scores change.
type tally struct {
	weight int // of a link, different for each tally
	sum    float64
	score  map[string]float64
	seen   int
}

func (t *tally) Score(v string, s *policy.Source) float64 {
	if s.Seed {
		return 1e6
	}
	return t.score[v]
}

func (t *tally) Observe(rec *schemas.LinkFound) (changed []string) {
	t.seen++
	t.sum = t.sum*.9 + rec.GetJudgement().GetRaw()
	delete(t.score, rec.GetUrl())
	for i, l := range rec.GetLinks() {
		t.score[l.GetUrl()] += t.sum + float64((i*t.weight+t.seen)%7)
		changed = append(changed, l.GetUrl())
	}
	if t.seen%5 == 0 {
		changed = slices.Sorted(maps.Keys(t.score))
		for _, v := range changed {
			t.score[v] += float64(len(v)*t.weight%5) + rec.GetJudgement().GetRaw()
		}
	}
	return changed
}

func newLearnt(t *testing.T, tallies []string, policies ...*schemas.Policy) *learnt {
	c := &learnt{t: t, tally: tallies, store: storage.NewMemory(), random: rand.New(rand.NewPCG(1, 1)), now: time.Unix(0, 0)}
	c.ctl = &schemas.CrawlControl{
		Crawl: "c", Revision: 1, State: schemas.CrawlState_CRAWL_STATE_RUNNING, Policies: policies, Window: 1, HostWindow: 1,
		Budget: &schemas.Budget{Pages: 60}, Learning: &schemas.Learning{}, RandomSeed: 3,
	}
	if len(policies) > 1 {
		c.ctl.Mixture = new(schemas.Mixture)
	}
	c.open()
	c.apply(schemas.SeedPage("c", []string{"http://a.test/0", "http://b.test/1"}))
	return c
}

func (c *learnt) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// open opens the shard on what is stored.
func (c *learnt) open() {
	var err error
	c.shard, err = Open(c.store, "c", 0)
	c.must(err)
	c.shard.learners.storedEvery = 7
	c.configure()
}

func (c *learnt) configure() {
	all, err := scope.New(&schemas.Scope{}, nil)
	c.must(err)
	learners := make(map[string]func() Learner)
	for i, name := range c.tally {
		learners[name] = func() Learner { return &tally{weight: 2 + i, score: make(map[string]float64)} }
	}
	c.must(c.shard.Configure(c.ctl, all, Options{Epoch: 1, Learners: learners}))
}

func (c *learnt) apply(rec *schemas.LinkFound) {
	_, err := c.shard.Apply(rec, c.now)
	c.must(err)
}

// step fetches a page; false at the end of the crawl.
func (c *learnt) step() bool {
	c.now = c.now.Add(time.Second)
	requests, err := c.shard.Dispatch(c.now, 1)
	c.must(err)
	if len(requests) == 0 {
		return false
	}
	r := requests[0]
	c.order = append(c.order, fmt.Sprintf("%s %v", r.GetUrl(), r.GetScore()))
	b, err := proto.Marshal(r)
	c.must(err)
	rec := &schemas.LinkFound{Id: r.GetId(), Crawl: "c", Request: b, Url: r.GetUrl(), Outcome: schemas.Outcome_OUTCOME_DELIVERED}
	other := func() string { n := c.random.IntN(90); return fmt.Sprintf("http://%c.test/%d", 'a'+rune(n%3), n) }
	switch k := c.random.IntN(10); {
	case k == 0:
		rec.Outcome, rec.Redirect = schemas.Outcome_OUTCOME_REDIRECTED, other()
	case k == 1:
		rec.Outcome = schemas.Outcome_OUTCOME_CLIENT_ERROR
	default:
		raw := float64(c.random.IntN(3)) / 2
		rec.Judgement = &schemas.Judgement{Raw: raw, Tempered: raw, Calibrated: raw}
		for range 6 {
			rec.Links = append(rec.Links, &schemas.Link{Url: other()})
		}
	}
	c.apply(rec)
	return true
}

// TestLearnersComeBack: a shard that is opened again before every request chooses as one that goes on, with the same scores.
func TestLearnersComeBack(t *testing.T) {
	tallies := []string{"one", "other"}
	one, other := &schemas.Policy{Name: "one", Ranker: schemas.Ranker_RANKER_UNFOCUSED}, &schemas.Policy{Name: "other", Ranker: schemas.Ranker_RANKER_UNFOCUSED}
	value := &schemas.Policy{Name: "value", Ranker: schemas.Ranker_RANKER_LINK_VALUE}
	for name, policies := range map[string][]*schemas.Policy{"one": {one}, "other": {other}, "mixture": {one, other}, "value": {value}, "values": {one, value}} {
		one, again := newLearnt(t, tallies, policies...), newLearnt(t, tallies, policies...)
		for one.step() {
			again.open()
			if l := again.shard.learners; l.linkValue != nil && l.unstored >= l.storedEvery {
				t.Errorf("%s: %d samples were observed again", name, l.unstored)
			}
			again.step()
		}
		if !slices.Equal(one.order, again.order) {
			t.Errorf("%s: opened again it fetches\n%q, else\n%q", name, again.order, one.order)
		}
		if len(one.order) < 60 {
			t.Errorf("%s: %d requests", name, len(one.order))
		}
		samples := 0
		one.must(again.shard.state.Samples(0, func(*schemas.LinkFound) { samples++ }))
		if want := again.shard.learners.unstored; name == "value" && samples != want || name != "value" && samples < 60 {
			t.Errorf("%s: %d samples are stored", name, samples)
		}
	}
}

// TestLayoutCoversRankers: samples that were deleted cannot train a ranker of another format, so state with another one is refused as a whole.
func TestLayoutCoversRankers(t *testing.T) {
	if state.Layout != 14 || linkvalue.Format != 3 {
		t.Errorf("linkvalue.Format is %d: change Layout with it, and this test", linkvalue.Format)
	}
}

// TestLearnersMayComeLate: a policy that learns may join a crawl that runs, and leave it.
func TestLearnersMayComeLate(t *testing.T) {
	learned := &schemas.Policy{Name: "learned", Ranker: schemas.Ranker_RANKER_UNFOCUSED}
	fifo := &schemas.Policy{Name: "fifo", Ranker: schemas.Ranker_RANKER_UNFOCUSED}
	c := newLearnt(t, []string{"learned"}, fifo)
	for i := 0; c.step(); i++ {
		if i%12 == 11 {
			c.ctl = proto.CloneOf(c.ctl)
			c.ctl.Revision++
			c.ctl.Policies = []*schemas.Policy{learned}
			if i%24 == 23 {
				c.ctl.Policies = []*schemas.Policy{fifo}
			}
			c.configure()
		}
	}
	if len(c.order) < 60 || len(c.shard.learners.byPolicy) > 1 {
		t.Errorf("%d requests, %d learners", len(c.order), len(c.shard.learners.byPolicy))
	}
}

// TestShadowsLearn: the places under a shadow follow from what its ranker has learned; it chooses nothing.
func TestShadowsLearn(t *testing.T) {
	fifo := &schemas.Policy{Name: "fifo", Ranker: schemas.Ranker_RANKER_UNFOCUSED}
	c, plain := newLearnt(t, []string{"learned"}, fifo), newLearnt(t, nil, fifo)
	c.ctl = proto.CloneOf(c.ctl)
	c.ctl.Revision++
	c.ctl.RankerShadows = []*schemas.Policy{{Name: "learned", Ranker: schemas.Ranker_RANKER_UNFOCUSED}}
	c.configure()
	for range 20 {
		c.step()
		plain.step()
	}
	requests, err := c.shard.Dispatch(c.now.Add(time.Second), 1)
	c.must(err)
	if len(requests) != 1 || len(requests[0].GetShadows()) != 1 || requests[0].GetShadows()[0].GetScore() == 0 {
		t.Errorf("shadows: %v", requests)
	}
	if !slices.Equal(c.order, plain.order) {
		t.Errorf("with a shadow it fetches\n%q, else\n%q", c.order, plain.order)
	}
}

// TestLearnsFromPagesOfOtherShards: links of a page of another shard have the values that they would have as links of an own page, also
// after the shard was opened again.
func TestLearnsFromPagesOfOtherShards(t *testing.T) {
	const shards = 2
	host := func(shard uint32) string {
		for i := 0; ; i++ {
			if h := fmt.Sprintf("h%d.test", i); schemas.ShardOf(h, shards) == shard {
				return h
			}
		}
	}
	c := newLearnt(t, nil, &schemas.Policy{Name: "value", Ranker: schemas.Ranker_RANKER_LINK_VALUE})
	c.ctl = proto.CloneOf(c.ctl)
	c.ctl.Revision, c.ctl.Shards, c.ctl.HostWindow, c.ctl.Window = 2, shards, 2, 2
	c.configure()
	rec := &schemas.LinkFound{
		Id: schemas.LinksID(schemas.RequestID("c", "u", 1), 0).Bytes(), Crawl: "c", Role: schemas.LinkRole_LINK_ROLE_LINKS, From: 1, Outcome: schemas.Outcome_OUTCOME_DELIVERED,
		Url: fmt.Sprintf("http://%s/u", host(1)), Judgement: &schemas.Judgement{Raw: .9, Calibrated: .9}, Depth: 1,
	}
	for i := range 30 {
		rec.Links = append(rec.Links, &schemas.Link{Url: fmt.Sprintf("http://%s/%d", host(0), i)})
	}
	c.apply(rec)
	score := func() float64 {
		t.Helper()
		e, err := c.shard.state.Seen(rec.GetLinks()[29].GetUrl())
		c.must(err)
		if e == nil || len(e.Places) != 1 {
			t.Fatalf("the entry is %+v", e)
		}
		return e.Places[0].Score
	}
	before := score()
	c.open()
	if got := score(); got != before || got < .1 { // that of unknown URLs is .018
		t.Errorf("the score is %v, was %v before the shard was opened again", got, before)
	}
}
