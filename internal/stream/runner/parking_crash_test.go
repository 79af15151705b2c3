package runner_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"forager/internal/platform/pipeline"
	"forager/internal/stream"
	"forager/internal/stream/kafka"
	"forager/internal/stream/runner"
	"forager/internal/stream/streamtest"
	"forager/schemas"
)

func init() {
	streamtest.Children["park"] = func() {
		in, out := os.Getenv("PARK_IN"), os.Getenv("PARK_OUT")
		topics := map[string]pipeline.Topic{schemas.TopicDeadLetter: {Partitions: 1, Retention: time.Hour, MaxMessageBytes: 8 << 20}}
		for _, name := range []string{in, out} {
			topics[name] = pipeline.Topic{Partitions: 2, Retention: time.Hour, MaxMessageBytes: 1 << 20}
		}
		c, err := kafka.Dial(pipeline.Kafka{Brokers: []string{os.Getenv("PARK_BROKER")}, Group: os.Getenv("PARK_GROUP"), SessionTimeout: time.Second}, topics, streamtest.Discard, nil)
		if err != nil {
			panic(err)
		}
		s := &shelves{gone: make(map[string]bool)}
		for _, crawl := range strings.Fields(os.Getenv("PARK_GONE")) {
			s.set(crawl, true)
		}
		stage := judging(in, out, s)
		judge := stage.Handle
		stage.Handle = func(ctx context.Context, r stream.Record) ([]stream.Out, error) {
			stream.Failpoint("handling")
			return judge(ctx, r)
		}
		panic(stage.Run(context.Background(), c))
	}
}

// TestParkingSurvivesKill kills the only member again and again: between the acknowledgement of outputs and the commit,
// of records that were just read and of parked ones, after a commit, and at any call of Handle. What is missing changes from one member
// to the next. Every record has its verdict in the end, those of a crawl in order, and a record that by the commits was
// complete when a member was killed has no further one.
func TestParkingSurvivesKill(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			testParkingSurvivesKill(t, rand.New(rand.NewPCG(seed, 11)))
		})
	}
}

func testParkingSurvivesKill(t *testing.T, rnd *rand.Rand) {
	b := streamtest.Start(t)
	w := streamtest.NewWorld(b)
	in, out := w.Topic(t, "in", 2), w.Topic(t, "out", 2)
	c, _ := w.Dial(t)
	crawls := []string{"a", "b", "c", "d"}
	env := []string{"PARK_IN=" + in, "PARK_OUT=" + out, "PARK_BROKER=" + b.Addr, "PARK_GROUP=" + b.Config().Group}
	begun, complete := [2]int{}, [2]map[string]bool{}
	// alone fails if a record that was complete at the last kill has a verdict since.
	alone := func() {
		t.Helper()
		for p := range 2 {
			for _, r := range streamtest.ReadAll(t, c, out, p)[begun[p]:] {
				if complete[p][string(r.Key)] {
					t.Fatalf("partition %d: record %s was complete and was handled again", p, r.Key)
				}
			}
		}
	}
	sent, parked := 0, 0
	for round := range 9 {
		var gone []string
		for _, crawl := range crawls[1:] { // "a" never lacks anything, so that each member has something to send
			if rnd.IntN(2) == 0 {
				gone = append(gone, crawl)
			}
		}
		more := 10 + rnd.IntN(30)
		streamtest.Send(t, c, pages(in, sent, sent+more, crawls...))
		sent += more
		failpoint := []string{
			fmt.Sprint("acked-before-commit:", 1+rnd.IntN(4)), fmt.Sprint("handling:", 1+rnd.IntN(2*more)), "committed:1",
		}[round%3]
		if _, killed := streamtest.Child(t, "park", append(slices.Clone(env), "PARK_GONE="+strings.Join(gone, " "), stream.FailpointVariable+"="+failpoint)...); !killed {
			t.Fatalf("%s did not kill the member", failpoint)
		}
		alone()
		for p := range 2 {
			begun[p], complete[p] = len(streamtest.ReadAll(t, c, out, p)), make(map[string]bool)
			low, metadata := w.Committed(t, "judge", in, p)
			next, waits, err := runner.Parked(max(low, 0), metadata)
			if err != nil {
				t.Fatal(err)
			}
			parked += len(waits)
			for _, r := range streamtest.ReadAll(t, c, in, p) {
				if r.Offset < next && !waits[r.Offset] {
					complete[p][string(r.Key)] = true
				}
			}
		}
	}
	if parked == 0 || len(complete[0])+len(complete[1]) == 0 {
		t.Fatalf("the commits of killed members show %d parked records, the last %d complete ones", parked, len(complete[0])+len(complete[1]))
	}
	r := streamtest.Run(t, func(ctx context.Context) error { return judging(in, out, &shelves{}).Run(ctx, c) })
	for _, crawl := range crawls {
		streamtest.Eventually(t, func() bool { return verdicts(t, c, out, crawl) == 2*sent })
	}
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	alone()
	for p := range 2 {
		if at, metadata := w.Committed(t, "judge", in, p); at != int64(len(crawls)*sent) || metadata != "" {
			t.Errorf("partition %d: committed %d of %d, %q", p, at, len(crawls)*sent, metadata)
		}
	}
}
