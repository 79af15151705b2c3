package main

import (
	"context"
	"os"

	"forager/internal/classify/httpmodel"
	"forager/internal/platform/stagemain"
	"forager/internal/stream"
	"forager/schemas"
)

const name = "critic-score"

var stage = stagemain.Stage{
	Name:    name,
	Inputs:  []string{schemas.TopicPageParsed},
	Follows: []string{schemas.TopicCrawlControl, schemas.TopicModelPublished},
	Outputs: []string{schemas.TopicPageJudged},
	Objects: true,
	New:     newLogic,
}

func main() { stagemain.Main(stage) }

func newLogic(_ context.Context, env *stagemain.Env) (*stagemain.Logic, error) {
	models := newLibrary(env.Objects.Get, env.Config.Data, httpmodel.Options{Getenv: os.Getenv, Log: env.Log})
	s := newScorer(models, env.Config.Stages.CriticScore.Workers, env.Metrics)
	return &stagemain.Logic{
		Follow: map[string]func(stream.Record) error{
			schemas.TopicCrawlControl: stagemain.KeyValue(s.crawls.Take), schemas.TopicModelPublished: stagemain.KeyValue(models.published),
		},
		Run: stagemain.Stateless(s.stage()),
	}, nil
}
