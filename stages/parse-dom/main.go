package main

import (
	"context"

	"forager/internal/crawl/controls"
	"forager/internal/platform/boot"
	"forager/internal/platform/objects"
	"forager/internal/platform/segment"
	"forager/internal/stream"
	"forager/schemas"
)

func main() { boot.Main("parse-dom", run) }

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
	settings := env.Config.Stages.ParseDOM
	p := &parser{crawls: controls.New(), store: segment.NewAhead(store, settings.CacheBytes)}
	follow := func(r stream.Record) error { return p.crawls.Take(r.Key, r.Value) }
	if _, err := client.Follow(ctx, schemas.TopicCrawlControl, follow); err != nil {
		return err
	}
	return client.RunStateless(ctx, p.stage(settings.Workers))
}
