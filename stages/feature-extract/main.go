package main

import (
	"context"

	"forager/internal/crawl/controls"
	"forager/internal/platform/stagemain"
	"forager/internal/stream"
	"forager/schemas"
)

const name = "feature-extract"

var stage = stagemain.Stage{
	Name:    name,
	Inputs:  []string{schemas.TopicPageJudged},
	Follows: []string{schemas.TopicCrawlControl},
	Outputs: []string{schemas.TopicLinkFound},
	New:     newLogic,
}

func main() { stagemain.Main(stage) }

func newLogic(_ context.Context, env *stagemain.Env) (*stagemain.Logic, error) {
	x := &extractor{crawls: controls.New()}
	return &stagemain.Logic{
		Follow: map[string]func(stream.Record) error{schemas.TopicCrawlControl: stagemain.KeyValue(x.crawls.Take)},
		Run:    stagemain.Stateless(x.stage(env.Config.Stages.FeatureExtract.Workers)),
	}, nil
}
