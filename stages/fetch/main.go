package main

import (
	"context"
	"fmt"

	"forager/internal/platform/stagemain"
	"forager/internal/stream"
	"forager/internal/stream/runner"
	"forager/internal/web/webclient"
	"forager/schemas"
)

const name = "fetch"

var declared = stagemain.Stage{
	Name:    name,
	Inputs:  []string{schemas.TopicFetchRequested},
	Follows: []string{schemas.TopicCrawlControl, schemas.TopicFetchTurn},
	Outputs: []string{schemas.TopicPageFetched, schemas.TopicFetchTurn},
	Objects: true,
	New:     open,
}

func main() { stagemain.Main(declared) }

// open returns the logic of the stage with a client of the web.
func open(ctx context.Context, env *stagemain.Env) (*stagemain.Logic, error) {
	var own []webclient.Service
	for _, s := range env.Config.Services() {
		own = append(own, webclient.Service(s))
	}
	set, outages := env.Config.Stages.Fetch, newOutages()
	client, err := webclient.New(webclient.Settings{
		HeaderTimeout: set.HeaderTimeout, BodyTimeout: set.BodyTimeout,
		Proxy: set.Proxy, Resolver: set.Resolver, AllowPrivate: set.AllowPrivate, Own: own, Connections: set.Concurrency, DialObserver: outages,
	})
	if err != nil {
		return nil, err
	}
	return newLogic(ctx, env, &watched{client, outages}, client.Close)
}

func newLogic(ctx context.Context, env *stagemain.Env, client getter, closeClient func()) (*stagemain.Logic, error) {
	set := settings{
		Fetch: env.Config.Stages.Fetch, SessionTimeout: env.Config.Kafka.SessionTimeout, Instance: fmt.Sprintf("%s-%d", name, env.Replica),
	}
	// Uploads in progress when ctx ends may still finish: runner.Unordered drains first.
	storing, abandon := context.WithCancel(context.WithoutCancel(ctx))
	s := newStage(storing, set, env.Objects, client, env.Kafka.Produce, env.Log, env.Metrics)
	t := &takeover{log: env.Kafka, stage: s}
	return &stagemain.Logic{
		Follow: map[string]func(stream.Record) error{schemas.TopicCrawlControl: s.control, schemas.TopicFetchTurn: s.turn},
		Run: stagemain.Unordered(runner.Unordered{
			MaxInFlight: maxInFlight, Linger: set.Linger, Handle: s.handle, Poison: poison, OnAssign: t.assigned, OnRevoke: s.revoked,
		}),
		Close: func() {
			s.schedule.close()
			s.turns.close()
			abandon()
			closeClient()
		},
	}, nil
}
