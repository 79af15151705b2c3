package main

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"forager/internal/crawl/controls"
	"forager/internal/platform/analytics"
	"forager/internal/platform/stagemain"
	"forager/internal/stream"
	"forager/internal/stream/runner"
	"forager/schemas"
)

var stage = stagemain.Stage{
	Name:    "load-clickhouse",
	Inputs:  inputs,
	Follows: []string{schemas.TopicCrawlControl},
	New:     newLogic,
}

func main() { stagemain.Main(stage) }

func newLogic(_ context.Context, env *stagemain.Env) (*stagemain.Logic, error) {
	db, err := analytics.Open(env.Config.ClickHouse)
	if err != nil {
		return nil, err
	}
	settings := env.Config.Stages.LoadClickHouse
	l := &loader{db: db, crawls: controls.New()}
	load := stagemain.Batched(runner.Batched{MaxRecords: settings.BatchRows, Flush: settings.Flush, Handle: l.load})
	return &stagemain.Logic{
		Follow:  map[string]func(stream.Record) error{schemas.TopicCrawlControl: stagemain.KeyValue(l.crawls.Take)},
		Metrics: []prometheus.Collector{l.metrics()},
		Run: func(ctx context.Context, s *stagemain.Stage, env *stagemain.Env) error {
			var sums sync.WaitGroup
			ctx, stop := context.WithCancel(ctx)
			sums.Go(func() { l.keepSums(ctx, settings.Flush, env.Log) })
			err := load(ctx, s, env)
			stop()
			sums.Wait()
			return err
		},
		Close: func() { _ = db.Close() },
	}, nil
}
