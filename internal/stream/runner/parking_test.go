package runner_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"forager/internal/stream"
	"forager/internal/stream/kafka"
	"forager/internal/stream/runner"
	"forager/internal/stream/streamtest"
	"forager/schemas"
)

// shelves are the objects that crawls need; a test removes and restores them.
type shelves struct {
	mu   sync.Mutex
	gone map[string]bool
}

func (s *shelves) set(crawl string, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone[crawl] = gone
}

func (s *shelves) missing(crawl string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone[crawl]
}

func crawlOf(r *stream.Record) string { return r.Headers[schemas.HeaderCrawl] }

// judging copies records whose crawl has what it needs.
func judging(in, out string, s *shelves) runner.Stateless {
	return runner.Stateless{Stage: "judge", Inputs: []string{in}, Workers: 8, MaxInFlight: 32, Unit: crawlOf,
		Handle: func(_ context.Context, r stream.Record) ([]stream.Out, error) {
			if crawl := crawlOf(&r); s.missing(crawl) {
				return nil, stream.Missing("critic of "+crawl, errors.New("the object is not there"))
			}
			if strings.HasPrefix(string(r.Value), "poison") {
				return nil, errors.New("undecodable")
			}
			o := r.Onward(out, r.Key, r.Value)
			o.Partition = stream.Along(r.Partition)
			return []stream.Out{o}, nil
		},
		Poison: func(r stream.Record, _ error) ([]stream.Out, error) {
			o := r.Onward(out, r.Key, nil)
			o.Partition = stream.Along(r.Partition)
			return []stream.Out{o}, nil
		}}
}

// pages are records of crawls in turn, n of each in each of two partitions; their keys are crawl/number.
func pages(in string, from, to int, crawls ...string) (outs []stream.Out) {
	for i := from; i < to; i++ {
		for _, crawl := range crawls {
			for p := range 2 {
				value := "page"
				if i%17 == 11 {
					value = "poison"
				}
				outs = append(outs, stream.Out{Topic: in, Partition: p, Key: fmt.Appendf(nil, "%s/%d", crawl, i), Value: []byte(value),
					Headers: map[string]string{schemas.HeaderVersion: "1", schemas.HeaderCrawl: crawl}})
			}
		}
	}
	return outs
}

// verdicts counts the distinct records of a crawl in the output, of both partitions, and demands that the first of
// each come in order.
func verdicts(t testing.TB, c *kafka.Client, out, crawl string) (n int) {
	t.Helper()
	for p := range 2 {
		next := 0
		for _, r := range streamtest.ReadAll(t, c, out, p) {
			of, number, _ := strings.Cut(string(r.Key), "/")
			var i int
			if _, err := fmt.Sscan(number, &i); err != nil || of != crawl {
				continue
			}
			if i > next {
				t.Fatalf("partition %d: record %d of crawl %s comes before %d", p, i, crawl, next)
			}
			if i == next {
				next++
			}
		}
		n += next
	}
	return n
}

// TestAMissingObjectParksItsCrawlOnly: the partition continues with the other crawls, the commit names the missing
// object, a new owner reads it, and the crawl is resumed once the object is available.
func TestAMissingObjectParksItsCrawlOnly(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in, out := w.Topic(t, "in", 2), w.Topic(t, "out", 2)
	c, _ := w.Dial(t)
	const n = 100
	s := &shelves{gone: map[string]bool{"a": true}}
	if list, err := c.Parked(streamtest.Within(t, time.Minute), "judge", in); err != nil || len(list) != 0 {
		t.Errorf("before the stage has ever run: %+v, %v", list, err)
	}
	streamtest.Send(t, c, pages(in, 0, n, "a", "b", "c"))
	member := func() (*streamtest.Running, *streamtest.Logs, *kafka.Client) {
		mc, l := w.Dial(t)
		return streamtest.Run(t, func(ctx context.Context) error { return judging(in, out, s).Run(ctx, mc) }), l, mc
	}
	r, l, mc := member()
	streamtest.Eventually(t, func() bool { return verdicts(t, c, out, "b") == 2*n && verdicts(t, c, out, "c") == 2*n })
	if got := verdicts(t, c, out, "a"); got != 0 {
		t.Fatalf("%d verdicts on a crawl without its critic", got)
	}
	if !strings.Contains(l.String(), "msg=parked") || !strings.Contains(l.String(), "crawl=a") || !strings.Contains(l.String(), "critic of a") {
		t.Errorf("the log does not name the crawl and the object:\n%s", l)
	}
	// The last record of a may be handled behind those of the other crawls that came after it.
	streamtest.Eventually(t, func() bool {
		return streamtest.Gauge(mc.Metrics.Parked.WithLabelValues(in, "0", "a", "critic of a")) == n
	})
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	list, err := c.Parked(streamtest.Within(t, time.Minute), "judge", in)
	if err != nil || len(list) != 1 || list[0].Unit != "a" || list[0].Object != "critic of a" || list[0].Records != 2*n || !strings.Contains(list[0].Cause, "not there") {
		t.Fatalf("the commits have %+v, %v", list, err)
	}
	if behind, _, err := c.Behind(streamtest.Within(t, time.Minute), "judge", in); err != nil || len(behind) > 0 {
		t.Errorf("behind %+v, %v, though all records are parked or completed", behind, err)
	}
	before := w.Count(t, c, out)
	r, _, mc = member() // a new owner
	streamtest.Send(t, c, pages(in, n, n+20, "a", "b"))
	streamtest.Eventually(t, func() bool { return verdicts(t, c, out, "b") == 2*(n+20) })
	if got := w.Count(t, c, out) - before; got != 2*20 {
		t.Errorf("the new owner sent %d records, want %d: nothing that was answered comes again", got, 2*20)
	}
	s.set("a", false)
	streamtest.Eventually(t, func() bool { return verdicts(t, c, out, "a") == 2*(n+20) })
	streamtest.Eventually(t, func() bool {
		for p := range 2 {
			if at, metadata := w.Committed(t, "judge", in, p); at != 3*n+2*20 || metadata != "" {
				return false
			}
		}
		return true
	})
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	if list, err := c.Parked(streamtest.Within(t, time.Minute), "judge", in); err != nil || len(list) != 0 {
		t.Errorf("parked at the end: %+v, %v", list, err)
	}
	for p := range 2 {
		if got := len(streamtest.ReadAll(t, c, out, p)); got != 3*n+2*20 {
			t.Errorf("partition %d: %d records, want each once: %d", p, got, 3*n+2*20)
		}
	}
	_ = mc
}

// TestParkingWithMembersThatComeAndGo draws what is missing when, and which members run: each record has its
// verdict, those of a crawl come in order, and crawls that lack nothing never wait for the others.
func TestParkingWithMembersThatComeAndGo(t *testing.T) {
	t.Parallel()
	seeds := uint64(6)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 7))
			w := streamtest.NewWorld(streamtest.Start(t))
			in, out := w.Topic(t, "in", 2), w.Topic(t, "out", 2)
			c, _ := w.Dial(t)
			crawls := []string{"a", "b", "c", "d"}
			s := &shelves{gone: make(map[string]bool)}
			var members []*streamtest.Running
			join := func() {
				mc, _ := w.Dial(t)
				members = append(members, streamtest.Run(t, func(ctx context.Context) error { return judging(in, out, s).Run(ctx, mc) }))
			}
			leave := func() {
				i := rnd.IntN(len(members))
				if err := members[i].End(); err != nil {
					t.Fatal(err)
				}
				members = append(members[:i], members[i+1:]...)
			}
			sent := 0
			for range 5 {
				for _, crawl := range crawls[1:] { // "a" never lacks anything
					s.set(crawl, rnd.IntN(2) == 0)
				}
				more := 1 + rnd.IntN(40)
				streamtest.Send(t, c, pages(in, sent, sent+more, crawls...))
				sent += more
				switch {
				case len(members) == 0 || len(members) < 2 && rnd.IntN(2) == 0:
					join()
				case rnd.IntN(2) == 0:
					leave()
					if len(members) == 0 {
						join()
					}
				}
				streamtest.Eventually(t, func() bool { return verdicts(t, c, out, "a") == 2*sent })
			}
			for _, crawl := range crawls {
				s.set(crawl, false)
			}
			for _, crawl := range crawls {
				streamtest.Eventually(t, func() bool { return verdicts(t, c, out, crawl) == 2*sent })
			}
			for len(members) > 0 {
				leave()
			}
		})
	}
}
