package main

import (
	"context"
	"fmt"
	"math"

	"forager/internal/platform/archive"
	"forager/internal/platform/boot"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/stream"
)

const stage = "archive-parquet"

func main() { boot.Main(stage, run) }

func run(ctx context.Context, env *boot.Env) error {
	settings := env.Config.Stages.ArchiveParquet
	store, err := objects.Open(env.Config.S3)
	if err != nil {
		return err
	}
	client, err := stream.Dial(env.Config.Kafka, env.Config.Topics, env.Log, env.Metrics)
	if err != nil {
		return err
	}
	defer client.Close()
	a := newArchiver(store, env.StateDir, env.Log)
	for _, c := range a.collectors() {
		if err := env.Metrics.Register(c); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
	}
	return client.RunBatched(ctx, batches(&settings, a))
}

// batches returns the stage for stream.RunBatched; only bytes and age end a batch.
func batches(settings *pipeline.ArchiveParquet, a *archiver) stream.Batched {
	return stream.Batched{
		Stage: stage, Inputs: archive.Topics, MaxRecords: math.MaxInt, MaxBytes: settings.FileBytes, Flush: settings.FileAge,
		Handle: a.keep, Unversioned: true,
	}
}
