package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/platform/disk"
	"forager/internal/rank/distill"
	"forager/internal/stream"
	"forager/schemas"
)

// operation is a change of a crawl of a simulation while owners work on it: by its operator, by the distiller or
// by the machine. The audit counts how often each was done.
type operation struct {
	name string
	// weight is how often it is drawn in proportion to the others.
	weight int
	// do applies it to the crawl of a control record, which it may change, if possible; then it returns true.
	// The simulation sends the next revision of a record that was changed.
	do func(s *simulation, ctl *schemas.CrawlControl) bool
}

var operations = []operation{
	{"state", 5, changeState},
	{"ranker", 3, func(s *simulation, ctl *schemas.CrawlControl) bool {
		raised := schemas.Raises(ctl)
		ctl.Policies, ctl.Mixture, ctl.RankerShadows = drawRanking(s.Rand)
		if schemas.Raises(ctl) && !raised { // as the operator's command does
			ctl.Distiller = &schemas.Distiller{Every: ctl.GetDistiller().GetEvery(), Late: true}
		}
		return true
	}},
	{"budget", 2, func(s *simulation, ctl *schemas.CrawlControl) bool {
		b := proto.CloneOf(ctl.GetBudget())
		if b.Pages > 0 {
			b.Pages += uint64(s.Rand.IntN(30))
		}
		if b.Requests > 0 {
			b.Requests += uint64(s.Rand.IntN(30))
		}
		ctl.Budget = b
		return true
	}},
	{"window", 1, func(s *simulation, ctl *schemas.CrawlControl) bool {
		ctl.HostWindow = uint32(s.Rand.IntN(3))
		if ctl.Window = uint32(s.Rand.IntN(6)); ctl.Window > 0 {
			ctl.Window = max(ctl.Window, ctl.Shards)
		}
		return true
	}},
	{"focus", 1, func(s *simulation, ctl *schemas.CrawlControl) bool {
		ctl.Focus, ctl.Critic = []string{fmt.Sprint("/focus/", s.Rand.IntN(9))}, fmt.Sprint("c/", s.Rand.IntN(9))
		return true
	}},
	{"fixed field", 2, (*simulation).changeFixed},
	{"pin", 1, func(s *simulation, ctl *schemas.CrawlControl) bool {
		ctl.Learning = proto.CloneOf(ctl.GetLearning())
		if ctl.Learning.Pinned != "" {
			ctl.Learning.Pinned = ""
		} else {
			ctl.Learning.Pinned = "earlier/7-def"
		}
		return true
	}},
	{"excludes", 1, func(s *simulation, ctl *schemas.CrawlControl) bool {
		if ctl.Excludes != nil {
			ctl.Excludes = nil
		} else {
			ctl.Excludes = &schemas.Excludes{Urls: []string{fmt.Sprintf("[%d%d]", s.Rand.IntN(10), s.Rand.IntN(10))}}
		}
		return true
	}},
	{"priority", 1, func(s *simulation, ctl *schemas.CrawlControl) bool {
		web := s.down.web[ctl.GetCrawl()]
		host := web.pages[web.urls[s.Rand.IntN(len(web.urls))]].host
		switch {
		case ctl.Priority != nil:
			ctl.Priority = nil
		case s.Rand.IntN(2) == 0:
			ctl.Priority = &schemas.HostPriority{First: []string{host}}
		default:
			ctl.Priority = &schemas.HostPriority{Last: []string{host}}
		}
		return true
	}},
	{"seeds", 1, func(s *simulation, ctl *schemas.CrawlControl) bool {
		s.Append(s.drawSeedPage(s.down.web[ctl.GetCrawl()], ctl.GetCrawl()))
		s.audit.crawls[ctl.GetCrawl()].revised = true
		return true
	}},
	{"replay", 6, (*simulation).replay},
	{"network", 2, func(s *simulation, _ *schemas.CrawlControl) bool {
		s.down.away = !s.down.away
		return true
	}},
	{"host", 2, func(s *simulation, ctl *schemas.CrawlControl) bool {
		url := s.down.web[ctl.GetCrawl()].urls[0]
		host := s.down.web[ctl.GetCrawl()].pages[url].host
		s.down.down[host] = !s.down.down[host]
		return true
	}},
	{"retry failed", 2, (*simulation).retryFailed},
	{"hubs", 2, func(s *simulation, ctl *schemas.CrawlControl) bool {
		s.rankHubs(ctl, s.Rand.Uint32N(schemas.ShardsOf(ctl)))
		return true
	}},
	{"low disk", 2, func(s *simulation, _ *schemas.CrawlControl) bool {
		s.lowDisk = !s.lowDisk
		return true
	}},
	{"deletion", 1, func(s *simulation, ctl *schemas.CrawlControl) bool {
		if s.Rand.IntN(6) > 0 {
			return false
		}
		ctl.State = schemas.CrawlState_CRAWL_STATE_DELETED
		return true
	}},
}

// operate sends seeds or the first control record of a crawl, or does an operation to one that has begun.
func (s *simulation) operate() {
	r := s.Rand
	if len(s.seeds) > 0 && r.IntN(3) == 0 { // also before the control record
		i := r.IntN(len(s.seeds))
		s.Append(s.seeds[i])
		s.seeds = slices.Delete(s.seeds, i, i+1)
		return
	}
	ctl := s.controls[r.IntN(len(s.controls))]
	c := s.audit.crawls[ctl.GetCrawl()]
	if !c.began {
		s.control(ctl)
		return
	}
	if ctl.GetState() == schemas.CrawlState_CRAWL_STATE_DELETED {
		return
	}
	all := 0
	for _, o := range operations {
		all += o.weight
	}
	roll := r.IntN(all)
	for _, o := range operations {
		if roll -= o.weight; roll >= 0 {
			continue
		}
		was := proto.CloneOf(ctl)
		if o.do(s, ctl) {
			s.audit.seen["operation: "+o.name]++
		}
		if !proto.Equal(was, ctl) {
			c.revised = c.revised || was.GetState() == ctl.GetState()
			ctl.Revision++
			s.control(ctl)
		}
		return
	}
}

// changeState pauses a crawl, lets it go on or, rarely, stops it; one that was stopped goes on when it has ended.
func changeState(s *simulation, ctl *schemas.CrawlControl) bool {
	switch roll := s.Rand.IntN(10); {
	case ctl.GetState() == schemas.CrawlState_CRAWL_STATE_STOPPED:
		if !s.audit.crawls[ctl.GetCrawl()].over || roll > 4 {
			return false
		}
		ctl.State = schemas.CrawlState_CRAWL_STATE_RUNNING
		s.audit.seen["resumed after: stopped"]++
	case roll == 0:
		ctl.State = schemas.CrawlState_CRAWL_STATE_STOPPED
	case ctl.GetState() == schemas.CrawlState_CRAWL_STATE_PAUSED:
		ctl.State = schemas.CrawlState_CRAWL_STATE_RUNNING
	case roll < 4:
		ctl.State = schemas.CrawlState_CRAWL_STATE_PAUSED
	default:
		return false
	}
	return true
}

// changeFixed writes a control record that is refused: it has another value of a field that never changes.
func (s *simulation) changeFixed(ctl *schemas.CrawlControl) bool {
	other := proto.CloneOf(ctl)
	switch s.Rand.IntN(4) {
	case 0:
		other.MaxAttempts++
	case 1:
		other.Scope.HostCap++
	case 2:
		other.Learning.DMax++
	case 3:
		other.Shards = schemas.ShardsOf(ctl) + 1
	}
	if s.Rand.IntN(2) == 0 {
		other.State = schemas.CrawlState_CRAWL_STATE_STOPPED
	}
	other.Revision++
	s.control(other)
	return true
}

// retryFailed requests of each shard to try again what has failed, as the operator's command does.
func (s *simulation) retryFailed(ctl *schemas.CrawlControl) bool {
	if ctl.GetState() == schemas.CrawlState_CRAWL_STATE_STOPPED {
		return false
	}
	ctl.Revision++
	s.control(ctl)
	for shard := range schemas.ShardsOf(ctl) {
		value, err := proto.Marshal(schemas.RetryFailed(ctl.GetCrawl(), shard, ctl.GetRevision()))
		if err != nil {
			panic(err)
		}
		s.Append(stream.Out{
			Topic: schemas.TopicLinkFound, Partition: -1, Key: []byte(schemas.ShardKey(ctl.GetCrawl(), shard)), Value: value,
			Headers: map[string]string{schemas.HeaderVersion: "1", schemas.HeaderCrawl: ctl.GetCrawl(), schemas.HeaderShard: fmt.Sprint(shard)},
		})
	}
	s.audit.crawls[ctl.GetCrawl()].revised = true
	return true
}

// resume lets crawls that have ended go on with a larger budget, further seeds and another try of what has failed, while
// operations and crashes go on. It returns false if none can.
func (s *simulation) resume() (resumed bool) {
	for _, ctl := range s.controls {
		c := s.audit.crawls[ctl.GetCrawl()]
		if state := ctl.GetState(); state == schemas.CrawlState_CRAWL_STATE_PAUSED || state == schemas.CrawlState_CRAWL_STATE_DELETED || s.Rand.IntN(4) == 0 {
			continue
		}
		ctl.State = schemas.CrawlState_CRAWL_STATE_RUNNING
		budget := proto.CloneOf(ctl.GetBudget())
		if budget.Pages > 0 {
			budget.Pages += uint64(s.Rand.IntN(10))
		}
		if budget.Requests > 0 {
			budget.Requests += uint64(s.Rand.IntN(10))
		}
		ctl.Budget = budget
		if s.Rand.IntN(2) == 0 {
			s.Append(s.drawSeedPage(c.web, ctl.GetCrawl()))
		}
		s.retryFailed(ctl)
		s.audit.seen["resumed after: "+c.whole().GetEndReason()]++
		resumed = true
	}
	s.rest = time.Time{}
	return resumed
}

// drawRanking draws what orders a frontier.
func drawRanking(r *rand.Rand) (policies []*schemas.Policy, mixture *schemas.Mixture, shadows []*schemas.Policy) {
	names := []string{"p", "q", "r", "s"}
	r.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
	draw := func() *schemas.Policy {
		p := &schemas.Policy{Name: names[0], Ranker: schemas.Ranker(1 + r.IntN(4)), Combine: schemas.Combine(r.IntN(5)), Raise: r.IntN(4) == 0}
		names = names[1:]
		if r.IntN(3) == 0 {
			p.Gate = &schemas.Gate{Condition: schemas.GateCondition_GATE_CONDITION_RELEVANCE, Threshold: .4, Action: schemas.GateAction(1 + r.IntN(2))}
		}
		return p
	}
	for range 1 + r.IntN(2) {
		policies = append(policies, draw())
	}
	if r.IntN(2) == 0 {
		mixture = &schemas.Mixture{}
	}
	for range max(0, r.IntN(4)-2) {
		shadows = append(shadows, draw())
	}
	return policies, mixture, shadows
}

// simDisk is the disk of all owners of a simulation.
type simDisk struct{ *simulation }

func (d simDisk) Check(time.Time) disk.State {
	return disk.State{Dir: "/data", Free: 1, Need: 2, Low: d.lowDisk}
}

// rankHubs is the distiller: it ranks the hubs among the pages that a shard has delivered.
func (s *simulation) rankHubs(ctl *schemas.CrawlControl, shard uint32) {
	c := s.audit.crawls[ctl.GetCrawl()]
	pages := c.delivered(shard)
	if pages <= c.ranked[shard] {
		return
	}
	c.ranked[shard] = pages
	var raised []byte
	for _, url := range c.web.urls {
		if s.Rand.IntN(4) == 0 {
			raised = append(raised, schemas.URLID(url).Bytes()...)
		}
	}
	value, err := proto.Marshal(&schemas.HubRanked{Crawl: c.ctl.GetCrawl(), Shard: shard, Pages: pages, Raised: raised})
	if err != nil {
		panic(err)
	}
	s.Append(stream.Out{
		Topic: schemas.TopicHubRanked, Key: []byte(schemas.ShardKey(c.ctl.GetCrawl(), shard)), Value: value,
		Headers: map[string]string{schemas.HeaderVersion: "1", schemas.HeaderCrawl: c.ctl.GetCrawl()},
	})
}

// rankDue ranks the hubs of all shards for which that is due.
func (s *simulation) rankDue() {
	for _, ctl := range s.controls {
		c := s.audit.crawls[ctl.GetCrawl()]
		for shard := range schemas.ShardsOf(ctl) {
			if schemas.Raises(ctl) && distill.Boundary(c.delivered(shard), distill.Every(ctl)) > c.ranked[shard] {
				s.rankHubs(ctl, shard)
			}
		}
	}
}
