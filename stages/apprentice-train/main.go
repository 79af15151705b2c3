package main

import (
	"context"
	"strconv"
	"time"

	"forager/internal/crawl/controls"
	"forager/internal/platform/stagemain"
	"forager/internal/stream/stateful"
	"forager/schemas"
)

const name = "apprentice-train"

var stage = stagemain.Stage{
	Name:    name,
	Inputs:  []string{schemas.TopicLeapSettled},
	Follows: []string{schemas.TopicCrawlControl},
	Outputs: []string{schemas.TopicModelPublished},
	Objects: true,
	New:     newLogic,
}

func main() { stagemain.Main(stage) }

// linger is how long leaps gather while no crawl waits for its models: a fetch, a step and a commit for
// every few leaps would cost more than the leaps.
const linger = 100 * time.Millisecond

func newLogic(_ context.Context, env *stagemain.Env) (*stagemain.Logic, error) {
	cache := controls.New()
	return stagemain.ByControls(stateful.Stage{
		CacheBytes: env.Config.Stages.ApprenticeTrain.CacheBytes, MaxBatch: slice, Layout: strconv.Itoa(stateVersion),
		Open: func(_ int, _ uint64, s *stateful.Store) (stateful.Processor, error) {
			x, err := newTrainer(s, cache, env.Objects, env.Log)
			if err == nil {
				x.parked = s.Parked()
			}
			return x, err
		},
	}, cache, func(ctl *schemas.CrawlControl) bool { return ctl.GetLearning().GetSync() }, linger), nil
}
