package main

import (
	"context"

	"forager/internal/boot"
	"forager/internal/controls"
	"forager/internal/stream"
	"forager/schemas"
)

const stage = "distill"

func main() { boot.Main(stage, run) }

func run(ctx context.Context, env *boot.Env) error {
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
		Stage: stage, Input: schemas.TopicLinkFound, CacheBytes: env.Config.Stages.Distill.CacheBytes,
		Notify: func(int) (<-chan struct{}, func()) { return book.Subscribe() },
		Open: func(_ int, _ uint64, s *stream.Store) (stream.Processor, error) {
			return newDistiller(s, book, env.Log)
		},
	}, env.StateDir)
}
