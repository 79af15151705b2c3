package deploy

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/cmd/internal/cli"
	"forager/internal/platform/pipeline"
	"forager/internal/stream"
	"forager/internal/stream/kafka"
	"forager/internal/stream/streamtest"
	"forager/schemas"
)

// TestUnreadableRecordsAreNamedAndRepaired: records of other programs in the compacted topics stop no command,
// are reported by doctor, and are replaced by the previous value of the key, or removed.
func TestUnreadableRecordsAreNamedAndRepaired(t *testing.T) {
	broker := streamtest.Embedded(t)
	cfg := &pipeline.Config{Kafka: broker.Config(), Topics: make(map[string]pipeline.Topic)}
	for _, topic := range followedTopics {
		cfg.Topics[topic] = pipeline.Topic{Partitions: 1, Compact: true, MaxMessageBytes: 1 << 20}
	}
	log := slog.New(slog.DiscardHandler)
	client, err := kafka.Dial(cfg.Kafka, cfg.Topics, log, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := client.Setup(ctx); err != nil {
		t.Fatal(err)
	}
	put := func(topic, key string, value []byte, version string) {
		t.Helper()
		out := stream.Out{Topic: topic, Partition: -1, Key: []byte(key), Value: value, Headers: map[string]string{schemas.HeaderVersion: version}}
		if _, err := client.Produce(ctx, []stream.Out{out}); err != nil {
			t.Fatal(err)
		}
	}
	control := func(crawl string) []byte {
		b, err := proto.Marshal(&schemas.CrawlControl{Crawl: crawl, Revision: 3})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	put(schemas.TopicCrawlControl, "good", control("good"), "1")
	put(schemas.TopicCrawlControl, "hurt", control("hurt"), "1")
	put(schemas.TopicCrawlControl, "hurt", []byte{0xff}, "1")
	put(schemas.TopicCrawlControl, "alien", control("other"), "1")
	put(schemas.TopicModelPublished, "x", []byte("text"), "1.0-beta")
	put(schemas.TopicCrawlStatus, "healed/0", []byte{0xff}, "1")
	put(schemas.TopicCrawlStatus, "healed/0", nil, "1")

	s := &cli.Session{Context: ctx, Log: log, Within: 10 * time.Second}
	b, err := cli.OpenTopics(ctx, s, cfg)
	if err != nil {
		t.Fatalf("a command stops at a record that is not its own: %v", err)
	}
	if ctl, err := b.Control("good"); err != nil || ctl.GetRevision() != 3 {
		t.Errorf("the control record of another crawl is %v, %v", ctl, err)
	}
	b.Close()
	_, err = checkRecords(ctx, cfg, log, false)
	if err == nil {
		t.Fatal("doctor finds nothing")
	}
	for _, want := range []string{`crawl.control offset 2 (key "hurt")`, `crawl.control offset 3 (key "alien"): it is about crawl "other"`, `model.published offset 0 (key "x")`, "1.0-beta"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("doctor does not report %s: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "healed") {
		t.Errorf("doctor reports a record that was replaced: %v", err)
	}
	if detail, err := checkRecords(ctx, cfg, log, true); err != nil || !strings.Contains(detail, "3 records") {
		t.Fatalf("repaired: %q, %v", detail, err)
	}
	if _, err := checkRecords(ctx, cfg, log, false); err != nil {
		t.Errorf("after the repair: %v", err)
	}
	if b, err = cli.OpenTopics(ctx, s, cfg); err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if ctl, err := b.Control("hurt"); err != nil || ctl.GetRevision() != 3 {
		t.Errorf("the control record is %v, %v", ctl, err)
	}
}
