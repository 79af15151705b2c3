package main

import (
	"context"
	"errors"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"forager/internal/monitor/notify"
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
	sent := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "forager", Subsystem: "monitor", Name: "webhook_events_total",
		Help: "Events at the webhook of a number, by what became of them: delivered, failed (a request; tried again) or dropped."}, []string{"webhook", "outcome"})
	for i := range env.Config.Stages.Monitor.Webhooks {
		for _, outcome := range []string{"delivered", "failed", "dropped"} {
			sent.WithLabelValues(strconv.Itoa(i+1), outcome)
		}
	}
	n := &notify.Notifier{
		Source: s, Settings: &env.Config.Stages.Monitor, Link: link(server, env.Config), Store: env.Objects, Kafka: env.Kafka, Log: env.Log, Sends: env.Replica == 0,
		Count: func(webhook int, outcome string) { sent.WithLabelValues(strconv.Itoa(webhook), outcome).Inc() },
	}
	follow := make(map[string]func(stream.Record) error)
	for _, topic := range operate.Followed {
		follow[topic] = s.Read
	}
	return &stagemain.Logic{Follow: follow, Run: serve(server, n), Metrics: []prometheus.Collector{sent}, Close: func() { _ = db.Close() }}, nil
}
