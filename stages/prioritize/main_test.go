package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"forager/internal/platform/pipeline"
	"forager/internal/platform/stagemain"
	"forager/internal/stream"
	"forager/internal/stream/kafka"
	"forager/internal/stream/streamtest"
	"forager/schemas"
)

// TestTheStageCrawls runs the stage as it is wired, on a broker: seeds in, requests out, each
// followed by a page of two links, with a restart in the middle, until the budget is spent.
func TestTheStageCrawls(t *testing.T) {
	broker := streamtest.Embedded(t)
	config, err := pipeline.Load("../../pipeline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	config.Kafka = broker.Config()
	config.Snapshots.Every = 0 // there is no object store
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
	state := t.TempDir()
	start := func() (stop func()) {
		life, end := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() {
			done <- stage.Run(life, &stagemain.Env{Config: config, Stage: name, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), StateDir: state})
		}()
		return func() {
			end()
			if err := <-done; err != nil {
				t.Errorf("the stage ended with: %v", err)
			}
		}
	}
	const crawl, budget = "c", 40
	send := func(topic string, key string, value proto.Message, headers map[string]string) {
		t.Helper()
		b, err := proto.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		headers[schemas.HeaderVersion], headers[schemas.HeaderCrawl] = "1", crawl
		if _, err := client.Produce(ctx, []stream.Out{{Topic: topic, Partition: -1, Key: []byte(key), Value: b, Headers: headers}}); err != nil {
			t.Fatal(err)
		}
	}
	ctl := crawlOf(crawl)
	ctl.Budget.Pages = budget
	send(schemas.TopicLinkFound, schemas.ShardKey(crawl, 0), seedsOf(crawl, page+"1"), map[string]string{})
	send(schemas.TopicCrawlControl, crawl, ctl, map[string]string{})
	stop := start()
	partitions, err := client.Partitions(ctx, schemas.TopicFetchRequested)
	if err != nil {
		t.Fatal(err)
	}
	read := make([]int64, partitions)
	fences := make([]stream.Fence, partitions)
	answered := make(map[string]bool)
	restarted := false
	for len(answered) < budget {
		if len(answered) > budget/2 && !restarted {
			stop()
			stop = start()
			restarted = true
		}
		for k := range read {
			_, end, err := client.Offsets(ctx, schemas.TopicFetchRequested, k)
			if err != nil {
				t.Fatal(err)
			}
			if err := client.Read(ctx, schemas.TopicFetchRequested, k, read[k], end, func(r stream.Record) error {
				kind, err := fences[k].Read(&r)
				if err != nil || kind != stream.Decision {
					return err
				}
				req := new(schemas.FetchRequest)
				if err := proto.Unmarshal(r.Value, req); err != nil {
					return err
				}
				if answered[req.GetUrl()] {
					return fmt.Errorf("%s was requested twice", req.GetUrl())
				}
				answered[req.GetUrl()] = true
				var n int
				if _, err := fmt.Sscanf(req.GetUrl(), page+"%d", &n); err != nil {
					return err
				}
				send(schemas.TopicLinkFound, schemas.ShardKey(crawl, 0), delivered(req, fmt.Sprint(page, 2*n), fmt.Sprint(page, 2*n+1)), schemas.RequestHeaders(req))
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			read[k] = end
		}
	}
	// The last status of the crawl.
	var last *schemas.CrawlStatus
	finished := make(chan struct{})
	if _, err := client.Follow(ctx, schemas.TopicCrawlStatus, func(r stream.Record) error {
		st := new(schemas.CrawlStatus)
		if err := proto.Unmarshal(r.Value, st); err != nil {
			return err
		}
		if last == nil && st.GetState() == schemas.ShardState_SHARD_STATE_FINISHED {
			last = st
			close(finished)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-finished:
	case <-ctx.Done():
		t.Fatal("no status of a finished crawl")
	}
	stop()
	if last.GetEndReason() != "pages budget spent" || last.GetPages() != budget || last.GetDispatched() != budget || last.GetInFlight() != 0 {
		t.Errorf("status %v", last)
	}
	if urls := len(answered); urls != budget || !slices.Equal(last.GetSpans()[schemas.TopicFetchRequested].GetXor(), xorOf(crawl, answered)) {
		t.Errorf("%d URLs were requested", urls)
	}
}

func xorOf(crawl string, urls map[string]bool) []byte {
	x := make([]byte, 16)
	for url := range urls {
		for i, b := range schemas.RequestID(crawl, url, 1).Bytes() {
			x[i] ^= b
		}
	}
	return x
}
