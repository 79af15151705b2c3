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

const name = "distill"

var stage = stagemain.Stage{
	Name:    name,
	Inputs:  []string{schemas.TopicLinkFound},
	Follows: []string{schemas.TopicCrawlControl},
	Outputs: []string{schemas.TopicHubRanked, schemas.TopicModelPublished, schemas.TopicCrawlControl},
	Objects: true,
	New:     newLogic,
}

func main() { stagemain.Main(stage) }

// linger is how long records gather while no crawl has a distiller, or a guide that is trained on its pages: no stage waits for
// the result then, and single records would cost more.
const linger = 500 * time.Millisecond

func newLogic(_ context.Context, env *stagemain.Env) (*stagemain.Logic, error) {
	cache := controls.New()
	return stagemain.ByControls(stateful.Stage{
		CacheBytes: env.Config.Stages.Distill.CacheBytes, Layout: strconv.Itoa(shardVersion),
		Open: func(_ int, _ uint64, s *stateful.Store) (stateful.Processor, error) {
			x, err := newDistiller(s, cache, env.Objects, env.Log)
			if err == nil {
				x.parked = s.Parked()
			}
			return x, err
		},
	}, cache, chooses, linger), nil
}
