package main

import (
	"context"
	"errors"

	"forager/internal/monitor/view"
	"forager/internal/operate"
	"forager/internal/platform/analytics"
	"forager/internal/platform/stagemain"
	"forager/internal/stream"
	"forager/schemas"
)

var stage = stagemain.Stage{
	Name:    "monitor",
	Follows: []string{schemas.TopicCrawlControl, schemas.TopicCrawlStatus, schemas.TopicModelPublished},
	Outputs: []string{schemas.TopicCrawlControl, schemas.TopicLinkFound},
	Objects: true,
	New:     newLogic,
}

func main() { stagemain.Main(stage) }

func newLogic(_ context.Context, env *stagemain.Env) (*stagemain.Logic, error) {
	db, err := analytics.Open(env.Config.ClickHouse)
	if err != nil {
		return nil, err
	}
	s := view.New(env.Config, operate.New(env.Kafka), db, env.Objects)
	server, err := newServer(s, env.Config)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	follow := make(map[string]func(stream.Record) error)
	for _, topic := range operate.Followed {
		follow[topic] = s.Read
	}
	return &stagemain.Logic{Follow: follow, Run: serve(server), Close: func() { _ = db.Close() }}, nil
}
