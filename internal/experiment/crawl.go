package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/apprentice"
	"forager/internal/frontier"
	"forager/internal/rank"
	"forager/internal/scope"
	"forager/schemas"
)

// Step is one page delivered, in the order of the crawl.
type Step struct {
	URL string
	// Raw and Tempered are R of the page.
	Raw, Tempered float64
	// Target: the page is one of the task's. Counted: it takes part in the measures.
	Target, Counted bool
	// Score it was chosen with, and the model used (empty = none).
	Score float64
	Model string
}

// Crawl is a finished crawl of a ground.
type Crawl struct {
	Steps []Step
	// Requests that were charged; the end reason as crawl.status gives it.
	Requests  uint64
	EndReason string
	// Trained leaps, and what was learnt of them.
	Trained uint64
	Learnt  *apprentice.Counts
	// Settled are all leaps and boundaries in their order, kept where Run.Keep asks for it.
	Settled []*schemas.LeapSettled
}

// Run is one crawl to be made.
type Run struct {
	Ground *Ground
	Seeds  []string
	// Policy and Learning are those of a crawl's control record; the rest of it follows from the
	// ground. Learning nil is all defaults; sync is always set.
	Policy   *schemas.Policy
	Learning *schemas.Learning
	// Rankers override policies by name (oracles).
	Rankers map[string]rank.Ranker
	// Observe is called after each verdict, for oracles; nil = nobody looks.
	Observe func(s *frontier.Shard, u string) error
	// Prior is the file of a model to begin with; empty = none.
	Prior []byte
	// RandomSeed of the crawl (ranker random).
	RandomSeed uint64
	Keep       bool
}

// begin is the time at which every experiment takes place: order never depends on it.
var begin = time.Unix(0, 0).UTC()

// control is the record that a pipeline would be given for the same crawl.
func (r *Run) control() *schemas.CrawlControl {
	learning := &schemas.Learning{}
	if r.Learning != nil {
		learning = proto.Clone(r.Learning).(*schemas.Learning)
	}
	learning.Sync = true
	return &schemas.CrawlControl{
		Crawl: "experiment", Revision: 1, State: schemas.CrawlState_CRAWL_STATE_RUNNING,
		Focus: []string{r.Ground.task.FocusClass}, Critic: r.Ground.task.Critic,
		Budget:   &schemas.Budget{Pages: r.Ground.task.Budget},
		Policies: []*schemas.Policy{r.Policy}, Scope: &schemas.Scope{UrlList: "web"},
		Window: 1, HostWindow: 1, Learning: learning, Politeness: &schemas.Politeness{},
		RandomSeed: r.RandomSeed,
	}
}

// Crawl makes the crawl.
func (r *Run) Crawl() (*Crawl, error) {
	ctl := r.control()
	if have := r.Ground.settings.DMax; int(ctl.Learning.GetDMax()) > have {
		return nil, fmt.Errorf("learning.d_max is %d, the ground was prepared for %d", ctl.Learning.GetDMax(), have)
	}
	shard, err := frontier.Open(frontier.NewMemory(), ctl.Crawl, 0)
	if err != nil {
		return nil, err
	}
	sc, err := scope.New(ctl.Scope, r.Ground.list)
	if err != nil {
		return nil, err
	}
	if err := shard.Configure(ctl, sc, frontier.Options{Epoch: 1, Rankers: r.Rankers}); err != nil {
		return nil, err
	}
	c := &Crawl{}
	learner, err := newLearner(r.Prior)
	if err != nil {
		return nil, err
	}
	if len(r.Prior) > 0 {
		if err := setModel(shard, "prior", learner.publish(), 0); err != nil {
			return nil, err
		}
	}
	now := begin
	apply := func(rec *schemas.LinkFound) error {
		effects, err := shard.Apply(rec, now)
		if err != nil {
			return fmt.Errorf("verdict on %s: %w", rec.GetUrl(), err)
		}
		if effects.Duplicate {
			return fmt.Errorf("verdict on %s was taken for a duplicate", rec.GetUrl())
		}
		for _, leap := range effects.Settled {
			if r.Keep {
				c.Settled = append(c.Settled, leap)
			}
			if !leap.GetBoundary() {
				if leap.GetTrains() {
					if err := learner.add(leap); err != nil {
						return err
					}
					c.Trained++
				}
				continue
			}
			version := fmt.Sprintf("experiment/%d", leap.GetPages())
			if err := setModel(shard, version, learner.publish(), leap.GetPages()); err != nil {
				return err
			}
		}
		for more := true; more; {
			if more, err = shard.Rescore(4096); err != nil {
				return err
			}
		}
		if r.Observe != nil {
			return r.Observe(shard, rec.GetUrl())
		}
		return nil
	}
	if err := apply(seedPage(ctl.Crawl, r.Seeds)); err != nil {
		return nil, err
	}
	for {
		now = now.Add(time.Second)
		requests, err := shard.Dispatch(now, 1)
		if err != nil {
			return nil, err
		}
		if len(requests) == 0 {
			reason, ok := shard.Finished()
			if !ok {
				return nil, fmt.Errorf("the crawl stands still after %d pages: %v", len(c.Steps), shard.Status(now))
			}
			c.EndReason, c.Learnt = reason, learner.counts
			c.Requests = shard.Status(now).GetRequests()
			return c, nil
		}
		request := requests[0]
		rec, err := r.Ground.verdict(request, ctl.Learning.GetTopics())
		if err != nil {
			return nil, err
		}
		if rec.GetOutcome() == schemas.Outcome_OUTCOME_DELIVERED {
			u := request.GetUrl()
			c.Steps = append(c.Steps, Step{
				URL: u, Raw: rec.GetJudgement().GetRaw(), Tempered: rec.GetJudgement().GetTempered(),
				Target: r.Ground.targets[u], Counted: r.Ground.counted(u),
				Score: request.GetScore(), Model: request.GetModel(),
			})
		}
		if err := apply(rec); err != nil {
			return nil, err
		}
	}
}

func setModel(shard *frontier.Shard, version string, m *apprentice.Model, pages uint64) error {
	if m == nil { // a nil *Model in the interface would not be nil
		return shard.SetModel(version, nil, pages)
	}
	return shard.SetModel(version, m, pages)
}

// seedPage is the virtual page whose links are the seeds.
func seedPage(crawl string, seeds []string) *schemas.LinkFound {
	sum := sha256.Sum256([]byte(strings.Join(seeds, "\n")))
	id := schemas.RequestID(crawl, "seeds:"+hex.EncodeToString(sum[:]), 0)
	rec := &schemas.LinkFound{Id: id.Bytes(), Crawl: crawl, Outcome: schemas.Outcome_OUTCOME_SEEDS}
	for i, u := range seeds {
		rec.Links = append(rec.Links, &schemas.Link{Url: u, Position: uint32(i)})
	}
	return rec
}
