package main

import (
	"context"
	"slices"
	"strconv"
	"time"

	"forager/internal/crawl/controls"
	"forager/internal/platform/stagemain"
	"forager/internal/stream"
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

func newLogic(_ context.Context, env *stagemain.Env) (*stagemain.Logic, error) {
	cache := controls.New()
	return &stagemain.Logic{
		Follow: map[string]func(stream.Record) error{schemas.TopicCrawlControl: stagemain.KeyValue(cache.Take)},
		Run: stagemain.Stateful(stateful.Stage{
			CacheBytes: env.Config.Stages.ApprenticeTrain.CacheBytes, MaxBatch: slice, Layout: strconv.Itoa(stateVersion),
			Rest: func(int) time.Duration {
				if awaited(cache) {
					return 0
				}
				return unawaitedRest
			},
			Revision: func(crawl string) uint64 { return cache.Look(crawl).GetRevision() },
			Notify:   func(int) (<-chan struct{}, func()) { return cache.Subscribe() },
			Open: func(_ int, _ uint64, s *stateful.Store) (stateful.Processor, error) {
				x, err := newTrainer(s, cache, env.Objects, env.Log)
				if err == nil {
					x.parked = s.Parked()
				}
				return x, err
			},
		}),
	}, nil
}

// unawaitedRest is how long leaps gather while no crawl waits for its models: a fetch, a step and a commit for
// every few leaps would cost more than the leaps.
const unawaitedRest = 100 * time.Millisecond

// awaited reports whether a crawl waits for its models.
func awaited(cache *controls.Cache) bool {
	return slices.ContainsFunc(cache.Crawls(), func(crawl string) bool {
		return cache.Look(crawl).GetLearning().GetSync() && !cache.Deleted(crawl)
	})
}
