package main

import (
	"context"

	"forager/internal/boot"
	"forager/internal/controls"
	"forager/internal/objects"
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
	take := func(r stream.Record) error { return stream.Broken(book.Take(r.Key, r.Value)) }
	if _, err := client.Follow(ctx, schemas.TopicCrawlControl, take); err != nil {
		return err
	}
	return client.RunStateful(ctx, stream.Stateful{
		Stage: stage, Input: schemas.TopicLeapSettled, CacheBytes: env.Config.Stages.ApprenticeTrain.CacheBytes, MaxBatch: slice,
		Notify: func(int) (<-chan struct{}, func()) { return book.Subscribe() },
		Open: func(_ int, _ uint64, s *stream.Store) (stream.Processor, error) {
			return newTrainer(s, book, store, env.Log)
		},
	}, env.StateDir)
}
