package main

import (
	"context"
	"os"
	"path/filepath"

	"forager/internal/classify/predicate"
	"forager/internal/platform/boot"
	"forager/internal/platform/objects"
	"forager/internal/stream"
	"forager/schemas"
)

func main() { boot.Main("critic-score", run) }

func run(ctx context.Context, env *boot.Env) error {
	store, err := objects.Open(env.Config.S3)
	if err != nil {
		return err
	}
	client, err := stream.Dial(env.Config.Kafka, env.Config.Topics, env.Log, env.Metrics)
	if err != nil {
		return err
	}
	defer client.Close()
	ask := predicate.Options{Getenv: os.Getenv, Log: env.Log}
	s, err := newScorer(
		newCritics(store.Get, filepath.Join(env.Config.Data, "critics"), ask),
		newGuides(store.Get, filepath.Join(env.Config.Data, "guides"), ask),
		newBacklinks(store.Get, filepath.Join(env.Config.Data, "backlinks"), ask), env.Config.Stages.CriticScore.Workers, env.Metrics,
	)
	if err != nil {
		return err
	}
	for topic, take := range map[string]func(key, value []byte) error{
		schemas.TopicCrawlControl:   s.crawls.Take,
		schemas.TopicModelPublished: s.published,
	} {
		follow := func(r stream.Record) error { return take(r.Key, r.Value) }
		if _, err := client.Follow(ctx, topic, follow); err != nil {
			return err
		}
	}
	return client.RunStateless(ctx, s.stage())
}
