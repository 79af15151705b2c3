package main

import (
	"context"
	"fmt"

	"forager/internal/crawl/controls"
	"forager/internal/platform/analytics"
	"forager/internal/platform/boot"
	"forager/internal/stream"
	"forager/schemas"
)

const stage = "load-clickhouse"

func main() { boot.Main(stage, run) }

func run(ctx context.Context, env *boot.Env) error {
	db, err := analytics.Open(env.Config.ClickHouse)
	if err != nil {
		return err
	}
	defer db.Close()
	client, err := stream.Dial(env.Config.Kafka, env.Config.Topics, env.Log, env.Metrics)
	if err != nil {
		return err
	}
	defer client.Close()
	l := &loader{db: db, crawls: controls.New()}
	take := func(r stream.Record) error { return l.crawls.Take(r.Key, r.Value) }
	if _, err := client.Follow(ctx, schemas.TopicCrawlControl, take); err != nil {
		return err
	}
	if err := env.Metrics.Register(l.metrics()); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	settings := env.Config.Stages.LoadClickHouse
	return client.RunBatched(ctx, stream.Batched{
		Stage: stage, Inputs: inputs, MaxRecords: settings.BatchRows, Flush: settings.Flush, Handle: l.load,
	})
}
