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

func newLogic(_ context.Context, env *stagemain.Env) (*stagemain.Logic, error) {
	cache := controls.New()
	return &stagemain.Logic{
		Follow: map[string]func(stream.Record) error{schemas.TopicCrawlControl: stagemain.KeyValue(cache.Take)},
		Run: stagemain.Stateful(stateful.Stage{
			CacheBytes: env.Config.Stages.Distill.CacheBytes, Layout: strconv.Itoa(shardVersion),
			Rest: func(int) time.Duration {
				if wanted(cache) {
					return 0
				}
				return unwantedRest
			},
			Revision: func(crawl string) uint64 { return cache.Look(crawl).GetRevision() },
			Notify:   func(int) (<-chan struct{}, func()) { return cache.Subscribe() },
			Open: func(_ int, _ uint64, s *stateful.Store) (stateful.Processor, error) {
				x, err := newDistiller(s, cache, env.Objects, env.Log)
				if err == nil {
					x.parked = s.Parked()
				}
				return x, err
			},
		}),
	}, nil
}

// unwantedRest is how long records gather while no crawl has a distiller: no stage waits for the result
// then, and single records would cost more.
const unwantedRest = 500 * time.Millisecond

// wanted reports whether a crawl has a distiller, or a guide that is trained on its pages.
func wanted(cache *controls.Cache) bool {
	return slices.ContainsFunc(cache.Crawls(), func(crawl string) bool {
		return chooses(cache.Look(crawl)) && !cache.Deleted(crawl)
	})
}
