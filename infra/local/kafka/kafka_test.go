package kafka_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bufio"

	kafkago "github.com/segmentio/kafka-go"

	"forager/infra/local/kafka"
)

// TestMain also serves as the broker process of TestKilledBrokerLosesNothing.
func TestMain(m *testing.M) {
	if dir := os.Getenv("FORAGER_TEST_BROKER"); dir != "" {
		b, err := kafka.Start(context.Background(), dir, []string{"127.0.0.1:0"}, kafka.Settings{})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(b.Addresses()[0])
		select {}
	}
	os.Exit(m.Run())
}

func createTopic(t *testing.T, address string, configs ...kafkago.ConfigEntry) {
	t.Helper()
	c := &kafkago.Client{Addr: kafkago.TCP(address)}
	r, err := c.CreateTopics(t.Context(), &kafkago.CreateTopicsRequest{Topics: []kafkago.TopicConfig{
		{Topic: "t", NumPartitions: 1, ReplicationFactor: 1, ConfigEntries: configs}}})
	if err == nil {
		err = r.Errors["t"]
	}
	if err != nil {
		t.Fatal(err)
	}
}

func produce(ctx context.Context, address string, records ...kafkago.Record) error {
	c := &kafkago.Client{Addr: kafkago.TCP(address)}
	r, err := c.Produce(ctx, &kafkago.ProduceRequest{Topic: "t", RequiredAcks: kafkago.RequireAll, Records: kafkago.NewRecordReader(records...)})
	if err != nil {
		return err
	}
	return r.Error
}

func record(key, value string) kafkago.Record {
	return kafkago.Record{Key: kafkago.NewBytes([]byte(key)), Value: kafkago.NewBytes([]byte(value))}
}

// offsets returns the first offset and the offset after the last record.
func offsets(t *testing.T, address string) (first, end int64) {
	t.Helper()
	c := &kafkago.Client{Addr: kafkago.TCP(address)}
	r, err := c.ListOffsets(t.Context(), &kafkago.ListOffsetsRequest{Topics: map[string][]kafkago.OffsetRequest{
		"t": {kafkago.FirstOffsetOf(0), kafkago.LastOffsetOf(0)}}})
	if err != nil {
		t.Fatal(err)
	}
	p := r.Topics["t"][0]
	if p.Error != nil {
		t.Fatal(p.Error)
	}
	return p.FirstOffset, p.LastOffset
}

func TestKilledBrokerLosesNothing(t *testing.T) {
	dir := t.TempDir()
	start := func() (*exec.Cmd, string) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "FORAGER_TEST_BROKER="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		address, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return cmd, strings.TrimSpace(address)
	}
	cmd, address := start()
	createTopic(t, address)
	acknowledged := make(chan int64)
	go func() { // writes until the broker has ended
		var n int64
		for {
			if err := produce(context.Background(), address, record("k", strconv.FormatInt(n, 10))); err != nil {
				acknowledged <- n
				return
			}
			if n++; n == 200 {
				cmd.Process.Kill()
			}
		}
	}()
	n := <-acknowledged
	_, address = start()
	first, end := offsets(t, address)
	if first != 0 || end < n {
		t.Errorf("%d records were acknowledged, offsets [%d,%d) are left", n, first, end)
	}
	r := kafkago.NewReader(kafkago.ReaderConfig{Brokers: []string{address}, Topic: "t", MaxWait: 10 * time.Millisecond})
	defer r.Close()
	for i := range n {
		m, err := r.ReadMessage(t.Context())
		if err != nil || m.Offset != i || string(m.Value) != strconv.FormatInt(i, 10) {
			t.Fatalf("record %d reads as offset %d, %q, %v", i, m.Offset, m.Value, err)
		}
	}
}

func TestRetentionAndCompactionRun(t *testing.T) {
	for _, policy := range []string{"delete", "compact"} {
		b, err := kafka.Start(t.Context(), t.TempDir(), []string{"127.0.0.1:0"}, kafka.Settings{CleanerMillis: 20, SegmentBytes: 1000})
		if err != nil {
			t.Fatal(err)
		}
		address := b.Addresses()[0]
		config := []kafkago.ConfigEntry{{ConfigName: "cleanup.policy", ConfigValue: policy}}
		if policy == "delete" {
			config = append(config, kafkago.ConfigEntry{ConfigName: "retention.ms", ConfigValue: "1"})
		}
		createTopic(t, address, config...)
		for i := range 50 {
			if err := produce(t.Context(), address, record("k", fmt.Sprintf("%0100d", i))); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		for done := false; !done; {
			first, end := offsets(t, address)
			if policy == "delete" {
				done = first > 0
			} else {
				// The first retained record is no longer the first that was written.
				c := &kafkago.Client{Addr: kafkago.TCP(address)}
				r, err := c.Fetch(ctx, &kafkago.FetchRequest{Topic: "t", Offset: first, MinBytes: 1, MaxBytes: 1 << 20, MaxWait: 10 * time.Millisecond})
				if err != nil {
					t.Fatalf("policy %s: [%d,%d): %v", policy, first, end, err)
				}
				rec, err := r.Records.ReadRecord()
				done = err == nil && rec.Offset > 0
			}
			if ctx.Err() != nil {
				t.Fatalf("policy %s: nothing was cleaned, offsets [%d,%d)", policy, first, end)
			}
		}
		cancel()
		b.Close()
	}
}

func TestNoTopicIsMadeByAsking(t *testing.T) {
	b, err := kafka.Start(t.Context(), t.TempDir(), []string{"127.0.0.1:0"}, kafka.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	c := &kafkago.Client{Addr: kafkago.TCP(b.Addresses()[0])}
	m, err := c.Metadata(t.Context(), &kafkago.MetadataRequest{Topics: []string{"t"}})
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(m.Topics[0].Error, kafkago.UnknownTopicOrPartition) {
		t.Errorf("asking for an unknown topic: %v", m.Topics[0].Error)
	}
}

func TestStartRefusesForeignAddresses(t *testing.T) {
	for _, a := range []string{"192.0.2.1:9092", "kafka.example:9092", "127.0.0.1", "127.0.0.1:port"} {
		if _, err := kafka.Start(t.Context(), t.TempDir(), []string{a}, kafka.Settings{}); err == nil || !strings.Contains(err.Error(), a) {
			t.Errorf("%s: %v", a, err)
		}
	}
	if _, err := kafka.Start(t.Context(), t.TempDir(), nil, kafka.Settings{}); err == nil {
		t.Error("started without an address")
	}
	b, err := kafka.Start(t.Context(), t.TempDir(), []string{"127.0.0.1:0"}, kafka.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := kafka.Start(t.Context(), t.TempDir(), b.Addresses(), kafka.Settings{}); err == nil || !strings.Contains(err.Error(), "another program") {
		t.Errorf("a taken address: %v", err)
	}
}

// TestFullDisk: records and offsets are refused while there is no space, so that a real client retries, and accepted when there is.
func TestFullDisk(t *testing.T) {
	var free atomic.Uint64
	free.Store(1 << 30)
	var log bytes.Buffer
	b, err := kafka.Start(t.Context(), t.TempDir(), []string{"127.0.0.1:0"}, kafka.Settings{
		Free: func() (uint64, error) { return free.Load(), nil }, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	address := b.Addresses()[0]
	createTopic(t, address)
	group, err := kafkago.NewConsumerGroup(kafkago.ConsumerGroupConfig{ID: "g", Brokers: []string{address}, Topics: []string{"t"}, JoinGroupBackoff: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer group.Close()
	gen, err := group.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	commit := func(offset int64) error { return gen.CommitOffsets(map[string]map[int]int64{"t": {0: offset}}) }
	for _, full := range []bool{false, true, false} {
		if full {
			free.Store(80<<20 - 1)
		} else {
			free.Store(80 << 20)
		}
		_, end := offsets(t, address)
		err := produce(t.Context(), address, record("k", "v"))
		if full != errors.Is(err, kafkago.KafkaStorageError) || !full && err != nil {
			t.Errorf("full %t: produce: %v", full, err)
		}
		want := end + 1
		if full {
			want = end
		}
		if _, got := offsets(t, address); got != want {
			t.Errorf("full %t: the partition ends at %d, want %d", full, got, want)
		}
		if err := commit(end); full != errors.Is(err, kafkago.GroupCoordinatorNotAvailable) || !full && err != nil {
			t.Errorf("full %t: commit: %v", full, err)
		}
	}
	b.Close()
	for _, want := range []string{"the disk is full", "has space again"} {
		if strings.Count(log.String(), want) != 1 {
			t.Errorf("not once %q in\n%s", want, &log)
		}
	}
}
