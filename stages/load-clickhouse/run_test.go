package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"forager/infra/local/clickhouse"
	"forager/internal/operate"
	"forager/internal/platform/analytics"
	"forager/internal/platform/pipeline"
	"forager/internal/platform/stagemain"
	"forager/internal/stream"
	"forager/internal/stream/kafka"
	"forager/internal/stream/streamtest"
	"forager/schemas"
)

// TestStage loads a crawl from a broker while ClickHouse is unavailable at the beginning and for a
// while in the middle.
func TestStage(t *testing.T) {
	broker := streamtest.Embedded(t)
	topics := map[string]pipeline.Topic{}
	for _, name := range inputs {
		topics[name] = pipeline.Topic{Partitions: 2, MaxMessageBytes: 4 << 20}
	}
	topics[schemas.TopicCrawlControl] = pipeline.Topic{Partitions: 1, MaxMessageBytes: 4 << 20}
	settings := broker.Config()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	client, err := kafka.Dial(settings, topics, log, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir, address := t.TempDir(), streamtest.FreeAddr(t)
	cfg := pipeline.ClickHouse{URL: "http://" + address, Database: "forager", User: "default"}
	env := &stagemain.Env{
		Config: &pipeline.Config{Kafka: settings, Topics: topics, ClickHouse: cfg,
			Stages: pipeline.Stages{LoadClickHouse: pipeline.LoadClickHouse{BatchRows: 50, Flush: 20 * time.Millisecond}}},
		Stage: stage.Name, Log: log, Metrics: prometheus.NewRegistry(),
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- stage.Run(ctx, env) }()
	defer stop()

	const pages = 300
	produce := func(from, to int) {
		var outs []stream.Out
		for i := from; i < to; i++ {
			url := fmt.Sprintf("http://h.example/%d", i)
			id := schemas.RequestID("c", url, 1)
			for topic, m := range map[string]proto.Message{
				schemas.TopicFetchRequested: &schemas.FetchRequest{Id: id.Bytes(), Crawl: "c", Url: url, Host: "h.example", Attempt: 1, Ordinal: uint64(i + 1)},
				schemas.TopicPageFetched:    &schemas.PageFetched{Id: id.Bytes(), Crawl: "c", Url: url, Outcome: schemas.Outcome_OUTCOME_DELIVERED},
				schemas.TopicLinkFound: &schemas.LinkFound{Id: id.Bytes(), Crawl: "c", Url: url, Outcome: schemas.Outcome_OUTCOME_DELIVERED,
					Judgement: &schemas.Judgement{Raw: .5}, Links: []*schemas.Link{{Url: url + "/a"}, {Url: url + "/b"}}},
			} {
				b, err := proto.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				outs = append(outs, stream.Out{Topic: topic, Partition: -1, Key: []byte("h.example"), Value: b,
					Headers: map[string]string{schemas.HeaderVersion: "1", schemas.HeaderCrawl: "c", schemas.HeaderID: id.String(), schemas.HeaderOwner: "0", schemas.HeaderEpoch: "1"}})
			}
		}
		outs = append(outs, outs[len(outs)-6:]...) // some come twice
		if _, err := client.Produce(t.Context(), outs); err != nil {
			t.Fatal(err)
		}
	}
	start := func() *clickhouse.Server {
		s, err := clickhouse.Start(t.Context(), dir, address, clickhouse.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	db, err := analytics.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	wait := func(want string) {
		t.Helper()
		deadline, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		for got := ""; got != want; {
			r, err := db.Query(deadline, "SELECT (SELECT count() FROM requests), (SELECT count() FROM fetches), (SELECT count() FROM verdicts), (SELECT count() FROM links), (SELECT countIf(relevance = .5) FROM pages), (SELECT count() FROM letters), (SELECT sum(delivered) FROM sums WHERE breakdown = 'total')", nil)
			if err == nil {
				got = fmt.Sprint(r.Rows[0])
			}
			select {
			case err := <-ended:
				t.Fatalf("the stage ended: %v", err)
			case <-deadline.Done():
				t.Fatalf("%s, want %s (%v)", got, want, err)
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	produce(0, 100)
	s := start()
	wait("[100 100 100 200 100 0 100]")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	produce(100, 200)
	bad := stream.Out{Topic: schemas.TopicPageFetched, Partition: 1, Key: []byte("bad"), Value: []byte("\xff"), Headers: map[string]string{schemas.HeaderVersion: "1", schemas.HeaderCrawl: "c"}}
	if _, err := client.Produce(t.Context(), []stream.Out{bad}); err != nil {
		t.Fatal(err)
	}
	produce(200, pages)
	s = start()
	defer s.Close()
	wait("[300 300 300 600 300 1 300]")
	r, err := db.Query(t.Context(), "SELECT stage, topic, of_partition, crawl FROM letters", nil)
	if err != nil || fmt.Sprint(r.Rows) != "[[load-clickhouse page.fetched 1 c]]" {
		t.Errorf("letters %v, %v", r, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("stopped: %v", err)
	}
	if lag, err := client.Lag(t.Context(), stage.Name, inputs...); err != nil || lag != 0 {
		t.Errorf("%d records are left (%v)", lag, err)
	}
}

// TestCommandsWaitForEveryInput: a command that reads rows of pages waits until the records that they are made of are loaded.
func TestCommandsWaitForEveryInput(t *testing.T) {
	unneeded := []string{schemas.TopicCrawlControl, schemas.TopicCrawlStatus, schemas.TopicModelPublished, schemas.TopicDeadLetter}
	for _, topic := range inputs {
		if slices.Contains(operate.StageInputs[stage.Name], topic) == slices.Contains(unneeded, topic) {
			t.Errorf("%s is among the topics that commands wait for: %t", topic, slices.Contains(unneeded, topic))
		}
	}
}
