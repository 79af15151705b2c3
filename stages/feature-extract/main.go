package main

import (
	"context"

	"forager/internal/crawl/controls"
	"forager/internal/platform/boot"
	"forager/internal/stream"
	"forager/schemas"
)

func main() { boot.Main("feature-extract", run) }

func run(ctx context.Context, env *boot.Env) error {
	client, err := stream.Dial(env.Config.Kafka, env.Config.Topics, env.Log, env.Metrics)
	if err != nil {
		return err
	}
	defer client.Close()
	x := &extractor{crawls: controls.New()}
	follow := func(r stream.Record) error { return x.crawls.Take(r.Key, r.Value) }
	if _, err := client.Follow(ctx, schemas.TopicCrawlControl, follow); err != nil {
		return err
	}
	return client.RunStateless(ctx, x.stage(env.Config.Stages.FeatureExtract.Workers))
}
