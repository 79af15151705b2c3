package main

import (
	"context"

	"forager/internal/crawl/controls"
	"forager/internal/platform/segment"
	"forager/internal/platform/stagemain"
	"forager/internal/stream"
	"forager/schemas"
)

const name = "parse-dom"

var stage = stagemain.Stage{
	Name:    name,
	Inputs:  []string{schemas.TopicPageFetched},
	Follows: []string{schemas.TopicCrawlControl},
	Outputs: []string{schemas.TopicPageParsed},
	Objects: true,
	New:     newLogic,
}

func main() { stagemain.Main(stage) }

func newLogic(_ context.Context, env *stagemain.Env) (*stagemain.Logic, error) {
	settings := env.Config.Stages.ParseDOM
	p := &parser{crawls: controls.New(), store: segment.NewAhead(env.Objects, settings.CacheBytes)}
	return &stagemain.Logic{
		Follow: map[string]func(stream.Record) error{schemas.TopicCrawlControl: stagemain.KeyValue(p.crawls.Take)},
		Run:    stagemain.Stateless(p.stage(settings.Workers)),
	}, nil
}
