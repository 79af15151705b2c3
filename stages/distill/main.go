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

const stage = "distill"

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
		Stage: stage, Input: schemas.TopicLinkFound, CacheBytes: env.Config.Stages.Distill.CacheBytes,
		Rest: func(int) time.Duration {
			if wanted(book) {
				return 0
			}
			return unwantedRest
		},
		Revision: func(crawl string) uint64 { return book.Look(crawl).GetRevision() },
		Notify:   func(int) (<-chan struct{}, func()) { return book.Subscribe() },
		Open: func(_ int, _ uint64, s *stream.Store) (stream.Processor, error) {
			d, err := newDistiller(s, book, store, env.Log)
			if err == nil {
				d.parked = s.Parked()
			}
			return d, err
		},
	}, env.StateDir)
}

// unwantedRest is how long records gather while no crawl has a distiller: no stage waits for the result
// then, and single records would cost more.
const unwantedRest = 500 * time.Millisecond

// wanted reports whether a crawl has a distiller, or a guide that is trained on its pages.
func wanted(book *controls.Book) bool {
	return slices.ContainsFunc(book.Crawls(), func(crawl string) bool {
		return chooses(book.Look(crawl)) && !book.Deleted(crawl)
	})
}
