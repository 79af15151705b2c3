package main

import (
	"context"
	"slices"
	"time"

	"forager/internal/crawl/controls"
	"forager/internal/platform/boot"
	"forager/internal/platform/objects"
	"forager/internal/stream"
	"forager/schemas"
)

const stage = "apprentice-train"

func main() { boot.Main(stage, run) }

func run(ctx context.Context, env *boot.Env) error {
	store, err := objects.Open(env.Config.S3)
	if err != nil {
		return err
	}
	client, err := stream.Dial(env.Config.Kafka, env.Config.Topics, env.Log, env.Metrics)
	if err != nil {
		return err
	}
	defer client.Close()
	book := controls.New()
	take := func(r stream.Record) error { return book.Take(r.Key, r.Value) }
	if _, err := client.Follow(ctx, schemas.TopicCrawlControl, take); err != nil {
		return err
	}
	return client.RunStateful(ctx, stream.Stateful{
		Stage: stage, Input: schemas.TopicLeapSettled, CacheBytes: env.Config.Stages.ApprenticeTrain.CacheBytes, MaxBatch: slice,
		Rest: func(int) time.Duration {
			if awaited(book) {
				return 0
			}
			return unawaitedRest
		},
		Revision: func(crawl string) uint64 { return book.Look(crawl).GetRevision() },
		Notify:   func(int) (<-chan struct{}, func()) { return book.Subscribe() },
		Open: func(_ int, _ uint64, s *stream.Store) (stream.Processor, error) {
			t, err := newTrainer(s, book, store, env.Log)
			if err == nil {
				t.parked = s.Parked()
			}
			return t, err
		},
	}, env.StateDir)
}

// unawaitedRest is how long leaps gather while no crawl waits for its models: a fetch, a step and a commit for
// every few leaps would cost more than the leaps.
const unawaitedRest = 100 * time.Millisecond

// awaited reports whether a crawl waits for its models.
func awaited(book *controls.Book) bool {
	return slices.ContainsFunc(book.Crawls(), func(crawl string) bool {
		return book.Look(crawl).GetLearning().GetSync() && !book.Deleted(crawl)
	})
}
