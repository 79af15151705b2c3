package main

import (
	"bytes"
	"context"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"forager/internal/platform/objects/objectstest"
	"forager/internal/platform/pipeline"
	"forager/internal/platform/stagemain"
	"forager/internal/stream"
	"forager/internal/stream/kafka"
	"forager/internal/stream/streamtest"
	"forager/schemas"
)

func TestMain(m *testing.M) { objectstest.Main(m) }

// TestTheStageTrains runs the stage as it is wired, on a broker and an S3 server, over a
// restart: the models are those of a plain training.
func TestTheStageTrains(t *testing.T) {
	s3 := objectstest.Start(t)
	config, err := pipeline.Load("../../pipeline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	config.Kafka, config.S3 = streamtest.Embedded(t).Config(), s3.Config
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client, err := kafka.Dial(config.Kafka, config.Topics, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Setup(ctx); err != nil {
		t.Fatal(err)
	}
	leaps := drawLeaps(rand.New(rand.NewPCG(3, 4)), "c", 60)
	versions, models := retrain(nil, leaps)
	outs := []stream.Out{{
		Topic: schemas.TopicCrawlControl, Partition: -1, Key: []byte("c"), Value: control("c", ""), Headers: map[string]string{schemas.HeaderVersion: "1"},
	}}
	for _, l := range leaps {
		outs = append(outs, leapOut(l))
	}
	published := make(chan *schemas.ModelPublished, 1000)
	if _, err := client.Follow(ctx, schemas.TopicModelPublished, func(r stream.Record) error {
		m := new(schemas.ModelPublished)
		if err := proto.Unmarshal(r.Value, m); err != nil {
			return err
		}
		published <- m
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	next := 0 // of versions
	for _, part := range [][]stream.Out{outs[:len(outs)/2], outs[len(outs)/2:]} {
		if _, err := client.Produce(ctx, part); err != nil {
			t.Fatal(err)
		}
		until := versions[len(versions)-1]
		if next == 0 {
			for _, l := range leaps[:len(outs)/2-1] {
				if l.GetBoundary() {
					until = versions[next]
					next++
				}
			}
			next = 0
		}
		life, end := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() {
			done <- stage.Run(life, &stagemain.Env{Config: config, Stage: name, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), StateDir: state})
		}()
		for last := ""; last != until; {
			select {
			case m := <-published:
				if m.GetVersion() != versions[next] {
					t.Fatalf("model %s, want %s", m.GetVersion(), versions[next])
				}
				b, err := s3.Store(t).Get(ctx, m.GetObject())
				if err != nil || !bytes.Equal(b, models[m.GetVersion()]) {
					t.Errorf("object of %s: %d bytes, %v", m.GetVersion(), len(b), err)
				}
				last = m.GetVersion()
				next++
			case err := <-done:
				t.Fatalf("the stage ended: %v", err)
			case <-ctx.Done():
				t.Fatalf("%d of %d models came", next, len(versions))
			}
		}
		end()
		if err := <-done; err != nil {
			t.Errorf("the stage ended with: %v", err)
		}
	}
}
