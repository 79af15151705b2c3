package main

import (
	"context"
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"forager/internal/platform/archive"
	"forager/internal/platform/pipeline"
	"forager/internal/platform/stagemain"
	"forager/internal/stream/runner"
)

var stage = stagemain.Stage{
	Name:    "archive-parquet",
	Inputs:  archive.Topics,
	Objects: true,
	New:     newLogic,
}

func main() { stagemain.Main(stage) }

func newLogic(_ context.Context, env *stagemain.Env) (*stagemain.Logic, error) {
	a := newArchiver(env.Objects, env.StateDir, env.Log)
	return &stagemain.Logic{Metrics: []prometheus.Collector{a.files, a.rows, a.bytes, a.torn}, Run: stagemain.Batched(batches(&env.Config.Stages.ArchiveParquet, a))}, nil
}

// batches returns the settings of the batches; only bytes and age end one.
func batches(settings *pipeline.ArchiveParquet, a *archiver) runner.Batched {
	return runner.Batched{MaxRecords: math.MaxInt, MaxBytes: settings.FileBytes, Flush: settings.FileAge, Handle: a.keep, Unversioned: true}
}
