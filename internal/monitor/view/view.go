package view

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"forager/internal/crawl/crawlfile"
	"forager/internal/operate"
	"forager/internal/platform/analytics"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/stream"
	"forager/schemas"
)

// Source is where the monitor reads. It is safe for concurrent use.
type Source struct {
	Config *pipeline.Config
	Topics *operate.Topics
	DB     *analytics.DB
	Store  *objects.Store

	mu sync.Mutex
	// paces are the delivered pages of crawls at the times of their last statuses.
	paces map[string][]pace
	// looking is held during a look at the state of the stages.
	looking sync.Mutex
	// seen is that of the last look; nil if it was not known. former are the last ones that were, the oldest first.
	seen     *operate.Pipeline
	former   []*operate.Pipeline
	looked   time.Time
	events   []Event
	deleting singleflight.Group // by crawl
	reading  sync.Mutex         // a model is read
	// changed is closed, and replaced, when a record was read or an event announced.
	changed chan struct{}
}

// New returns a source without crawls; every record of operate.Followed is to be given to Read.
func New(cfg *pipeline.Config, topics *operate.Topics, db *analytics.DB, store *objects.Store) *Source {
	return &Source{Config: cfg, Topics: topics, DB: db, Store: store, paces: make(map[string][]pace), changed: make(chan struct{})}
}

// pace is the number of pages that a crawl had delivered at a time, Unix milliseconds.
type pace struct {
	at    int64
	pages uint64
}

// Rates are means over at most the last minute, of at most so many statuses.
const (
	paceSpan = int64(time.Minute / time.Millisecond)
	maxPaces = 128
)

// Read takes a record of a followed topic.
func (s *Source) Read(r stream.Record) error {
	if err := s.Topics.Read(r); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Topic == schemas.TopicCrawlStatus && r.Value != nil {
		m, err := operate.ReadFollowed(r)
		if err != nil {
			return err
		}
		crawl := m.(*schemas.CrawlStatus).GetCrawl()
		st := s.Topics.Status(crawl)
		list := append(s.paces[crawl], pace{st.GetAt(), st.GetPages()})
		for len(list) > maxPaces || len(list) > 2 && list[0].at < st.GetAt()-paceSpan {
			list = list[1:]
		}
		s.paces[crawl] = slices.Clip(list)
	}
	s.notify()
	return nil
}

// Changed returns a channel that is closed at the next record or event.
func (s *Source) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// The stages are looked at, at most, once in lookEvery, for lookWithin.
const lookEvery, lookWithin = 2 * time.Second, time.Second

// maxFormer is the number of looks over which rates of stages are means.
const maxFormer = 15

// pipeline returns the state of the stages; nil if it is not known.
func (s *Source) pipeline() *operate.Pipeline {
	s.looking.Lock()
	defer s.looking.Unlock()
	if now := time.Now(); now.Sub(s.looked) >= lookEvery && s.Topics.Client != nil {
		ctx, cancel := context.WithTimeout(context.Background(), lookWithin)
		defer cancel()
		p, err := operate.LookAt(ctx, s.Topics.Client)
		if err != nil {
			p = nil
		} else {
			s.former = append(s.former, p)
			if len(s.former) > maxFormer {
				s.former = slices.Clone(s.former[1:])
			}
			p.RatesSince(s.former[0])
		}
		s.seen, s.looked = p, time.Now()
	}
	return s.seen
}

// Stages returns how far the stages are behind, in the order of a page's journey; none if it is not known.
func (s *Source) Stages() []operate.StageLag {
	if p := s.pipeline(); p != nil {
		return p.Stages
	}
	return []operate.StageLag{}
}

// Arm is a policy of a mixture.
type Arm struct {
	Policy   string  `json:"policy"`
	Chosen   uint64  `json:"chosen" doc:"Requests that it chose."`
	Credited uint64  `json:"credited" doc:"Pages credited to it."`
	Share    float64 `json:"share" doc:"What it is expected to bring, by what it brought lately."`
}

// Crawl is the state of a crawl.
type Crawl struct {
	operate.Summary
	Revision uint64             `json:"revision" doc:"Of the control record; also the ETag."`
	Wanted   string             `json:"wanted" doc:"The state that the operator has set: running, paused, stopped."`
	Ranker   string             `json:"ranker"`
	Rankers  []string           `json:"ranker_shadows" doc:"Rankers for comparison."`
	Critic   string             `json:"critic"`
	Shadows  []string           `json:"critic_shadows" doc:"Critics for comparison."`
	Focus    []string           `json:"focus"`
	Weights  map[string]float64 `json:"weights"`
	Bad      []string           `json:"bad"`
	Budget   Budget             `json:"budget"`
	Rate     float64            `json:"pages_per_second" doc:"Over the last minute."`
	Started  time.Time          `json:"started"`
	// Ends is the estimated end by the budget of pages; zero if it cannot be estimated.
	Ends time.Time `json:"ends,omitzero"`
	Arms []Arm     `json:"arms"`
}

// Budget is what a crawl may use; 0 = unlimited.
type Budget struct {
	Pages    uint64 `json:"pages"`
	Requests uint64 `json:"requests"`
}

// Used is the share of the budget that was used, 0 without one.
func (c *Crawl) Used() float64 {
	used := 0.0
	for _, x := range [][2]uint64{{c.Pages, c.Budget.Pages}, {c.Requests, c.Budget.Requests}} {
		if x[1] > 0 {
			used = max(used, float64(x[0])/float64(x[1]))
		}
	}
	return min(used, 1)
}

// Crawls returns the states of all crawls that were not deleted, by name.
func (s *Source) Crawls() []*Crawl {
	list := []*Crawl{}
	for _, name := range s.Topics.Known() {
		if c, err := s.Crawl(name); err == nil { // deleted meanwhile
			list = append(list, c)
		}
	}
	return list
}

// Crawl returns the state of a crawl; the error is that of operate.Topics.Control.
func (s *Source) Crawl(name string) (*Crawl, error) {
	ctl, err := s.Topics.Control(name)
	if err != nil {
		return nil, err
	}
	st := s.Topics.Status(name)
	c := &Crawl{
		Summary: s.Topics.Summarize(name, st, s.pipeline()), Revision: ctl.GetRevision(), Wanted: operate.StateName(ctl), Ranker: crawlfile.NameOf(ctl),
		Rankers: operate.PolicyNames(ctl.GetRankerShadows()), Critic: ctl.GetCritic(), Shadows: ctl.GetShadows(), Focus: ctl.GetFocus(),
		Weights: object(ctl.GetWeights()), Bad: ctl.GetBad(), Budget: Budget{ctl.GetBudget().GetPages(), ctl.GetBudget().GetRequests()},
		Started: time.UnixMilli(ctl.GetCreatedAt()).UTC(), Arms: []Arm{},
	}
	c.Outcomes, c.Refused = object(c.Outcomes), object(c.Refused)
	for _, a := range st.GetArms() {
		c.Arms = append(c.Arms, Arm{a.GetPolicy(), a.GetChosen(), a.GetCredited(), a.GetAlpha() / max(a.GetAlpha()+a.GetBeta(), math.SmallestNonzeroFloat64)})
	}
	if st.GetState() == schemas.ShardState_SHARD_STATE_RUNNING {
		c.Rate = s.rate(name, time.Now())
		if left := float64(c.Budget.Pages) - float64(c.Pages); c.Rate > 0 && c.Budget.Pages > 0 && left > 0 {
			if wait := left / c.Rate; wait < 1e9 {
				c.Ends = time.Now().Add(time.Duration(wait * float64(time.Second))).UTC().Truncate(time.Second)
			}
		}
	}
	c.setSentence()
	return c, nil
}

// object returns a map that is an object in JSON, not null.
func object[V any](m map[string]V) map[string]V {
	if m == nil {
		m = make(map[string]V)
	}
	return m
}

// rate returns the pages a second over the last minute, 0 while it is not known.
func (s *Source) rate(crawl string, now time.Time) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.paces[crawl]
	if len(list) < 2 {
		return 0
	}
	first, last := list[0], list[len(list)-1]
	span := max(last.at, now.UnixMilli()-paceSpan/10) - first.at
	if span <= 0 || last.pages < first.pages {
		return 0
	}
	return float64(last.pages-first.pages) / (float64(span) / 1000)
}

// setSentence makes the sentence, with the rate and the state that the operator has set.
func (c *Crawl) setSentence() {
	if c.State != c.Wanted && c.Wanted != "running" && c.State == "running" {
		c.Sentence = fmt.Sprintf("is to be %s; %d requests are in flight", c.Wanted, c.InFlight)
		return
	}
	c.SetSentence(fmt.Sprintf("%.1f pages/s", c.Rate))
}
