package stateful_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"forager/internal/platform/pipeline"
	"forager/internal/stream"
	"forager/internal/stream/kafka"
	"forager/internal/stream/state"
	"forager/internal/stream/stateful"
	"forager/internal/stream/streamtest"
	"forager/schemas"
)

// lotsStage is the stage of Lots; seen is called with the number of records that the state of each
// partition counts.
func lotsStage(in, log string, seen func(partition, n int)) stateful.Stage {
	return stateful.Stage{Stage: "lots", Input: in, Log: log, MaxBatch: 12,
		Open: func(partition int, epoch uint64, store *stateful.Store) (stateful.Processor, error) {
			return &Lots{Store: store, Log: log, Owner: partition, Epoch: epoch, Stepped: func(n int) { seen(partition, n) }}, nil
		}}
}

// named are records in every partition of a topic: names p/0 … p/n-1.
func named(topic string, partitions, n int) []stream.Out {
	var outs []stream.Out
	for p := range partitions {
		for i := range n {
			outs = append(outs, stream.Out{Topic: topic, Partition: p, Key: fmt.Appendf(nil, "%d/%d", p, i), Headers: map[string]string{schemas.HeaderVersion: "1"}})
		}
	}
	return outs
}

// checkLots compares each partition's state in dir with the log, and the log with the input.
func checkLots(t *testing.T, c *kafka.Client, in, log, dir string, partitions, n int) {
	t.Helper()
	var records [][]stream.Record
	for k := range 3 {
		records = append(records, streamtest.ReadAll(t, c, log, k))
	}
	for p := range partitions {
		drawn, err := FencedLots(records, p, false)
		if err != nil {
			t.Errorf("partition %d: %v", p, err)
		}
		if len(drawn) != n {
			t.Errorf("partition %d: %d lots drawn, want %d", p, len(drawn), n)
		}
		s := OpenStore(t, state.Options{Dir: filepath.Join(dir, fmt.Sprint("p", p)), Identity: fmt.Sprintf("lots %s/%d", in, p)})
		state, seen, err := (&Lots{Store: s}).State()
		if err != nil || seen != n || !maps.Equal(state, drawn) {
			t.Errorf("partition %d: the state counts %d records and %d lots, the log %d: equal %v, %v", p, seen, len(state), len(drawn), maps.Equal(state, drawn), err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// counter reports when every partition has counted n records.
type counter struct {
	mu   sync.Mutex
	seen map[int]int
}

func (s *counter) note(partition, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[int]int{}
	}
	s.seen[partition] = max(s.seen[partition], n)
}

func (s *counter) all(partitions, n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range partitions {
		if s.seen[p] < n {
			return false
		}
	}
	return true
}

func (s *counter) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen) > 0
}

func TestStatefulMembersJoinAndLeave(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{true, false} {
		t.Run(fmt.Sprint("one directory ", shared), func(t *testing.T) {
			t.Parallel()
			w := streamtest.NewWorld(streamtest.Start(t))
			const partitions, n = 4, 200
			in, log := w.Topic(t, "in", partitions), w.Topic(t, "log", 3)
			c, _ := w.Dial(t)
			ctx := streamtest.Within(t, 3*time.Minute)
			outs := named(in, partitions, n)
			fed := 0
			feed := func() *streamtest.Running { // a quarter of the records of every partition, while members come and go
				from := fed
				fed += n / 4
				return streamtest.Run(t, func(context.Context) error {
					for i := from; i < from+n/4; i += 10 {
						var some []stream.Out
						for p := range partitions {
							some = append(some, outs[p*n+i:p*n+i+10]...)
						}
						if _, err := c.Produce(ctx, some); err != nil {
							return err
						}
					}
					return nil
				})
			}
			home := t.TempDir()
			dir := func(member string) string {
				if shared {
					return home
				}
				return filepath.Join(home, member)
			}
			var seen counter
			member := func(name string) (*streamtest.Running, *counter) {
				mc, _ := w.Dial(t)
				own := new(counter)
				return streamtest.Run(t, func(ctx context.Context) error {
					return lotsStage(in, log, func(p, n int) { seen.note(p, n); own.note(p, n) }).Run(ctx, mc, dir(name))
				}), own
			}
			end := func(rs ...*streamtest.Running) {
				t.Helper()
				for _, r := range rs {
					if err := r.End(); err != nil {
						t.Fatal(err)
					}
				}
			}
			fedAll := func(r *streamtest.Running) {
				t.Helper()
				if err := r.Wait(ctx); err != nil {
					t.Fatal(err)
				}
				streamtest.Eventually(t, func() bool { return seen.all(partitions, fed) })
			}
			a, _ := member("a")
			fedAll(feed())
			f := feed()
			b, own := member("b")
			streamtest.Eventually(t, func() bool { return own.any() })
			fedAll(f)
			f = feed()
			end(a)
			fedAll(f)
			f = feed()
			a, own = member("a")
			streamtest.Eventually(t, func() bool { return own.any() })
			end(b)
			fedAll(f)
			// The last member gets every partition, in whichever directory.
			streamtest.Eventually(t, func() bool { return own.all(partitions, n) })
			end(a)
			checkLots(t, c, in, log, dir("a"), partitions, n)
			// Rebuilt from nothing, the state is the same.
			var again counter
			fresh := t.TempDir()
			mc, _ := w.Dial(t)
			r := streamtest.Run(t, func(ctx context.Context) error { return lotsStage(in, log, again.note).Run(ctx, mc, fresh) })
			streamtest.Eventually(t, func() bool { return again.all(partitions, n) })
			if err := r.End(); err != nil {
				t.Fatal(err)
			}
			checkLots(t, c, in, log, fresh, partitions, n)
		})
	}
}

func init() {
	streamtest.Children["lots"] = func() {
		cfg := pipeline.Kafka{Brokers: []string{os.Getenv("LOTS_ADDR")}, Group: os.Getenv("LOTS_GROUP"), SessionTimeout: 4 * time.Second}
		in, log := os.Getenv("LOTS_IN"), os.Getenv("LOTS_LOG")
		want, err := strconv.Atoi(os.Getenv("LOTS_WANT"))
		if err != nil {
			panic(err)
		}
		c, err := kafka.Dial(cfg, map[string]pipeline.Topic{in: {Partitions: 2, MaxMessageBytes: 1 << 20}, log: {Partitions: 3, MaxMessageBytes: 1 << 20}}, streamtest.Discard, nil)
		if err != nil {
			panic(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		var seen counter
		if err := lotsStage(in, log, func(p, n int) {
			if seen.note(p, n); seen.all(2, want) {
				cancel()
			}
		}).Run(ctx, c, os.Getenv("LOTS_DIR")); err != nil {
			panic(err)
		}
		fmt.Println("done")
	}
}

func TestStatefulSurvivesKill(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"owner-claimed", "owner-marked", "owner-acked-before-batch:4", "owner-batch-before-commit:5"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := streamtest.NewWorld(streamtest.Start(t))
			const partitions, n = 2, 50
			in, log := w.Topic(t, "in", partitions), w.Topic(t, "log", 3)
			c, _ := w.Dial(t)
			streamtest.Send(t, c, named(in, partitions, n))
			dir := t.TempDir()
			env := []string{"LOTS_ADDR=" + w.Broker.Addr, "LOTS_GROUP=" + w.Broker.Config().Group, "LOTS_IN=" + in, "LOTS_LOG=" + log, "LOTS_DIR=" + dir, "LOTS_WANT=" + strconv.Itoa(n)}
			if out, killed := streamtest.Child(t, "lots", append(env, stream.FailpointVariable+"="+point)...); !killed {
				t.Fatalf("the failpoint did not kill the child, which printed %q", out)
			}
			if out, killed := streamtest.Child(t, "lots", env...); killed || !strings.Contains(out, "done") {
				t.Fatalf("killed %v, output %q", killed, out)
			}
			checkLots(t, c, in, log, dir, partitions, n)
		})
	}
}

func TestStatefulStopsLoudlyWhereItsStateNeedsRecordsThatAreGone(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in, log := w.Topic(t, "in", 1), w.Topic(t, "log", 3)
	c, _ := w.Dial(t)
	dir := t.TempDir()
	s := OpenStore(t, state.Options{Dir: filepath.Join(dir, "p0"), Identity: "lots " + in + "/0"})
	if err := s.Commit(state.Marks{Input: 7, Log: make([]state.LogMark, 3)}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	err := lotsStage(in, log, func(int, int) {}).Run(streamtest.Within(t, 60*time.Second), c, dir)
	var gone *stream.OffsetError
	if !stream.IsBroken(err) || !errors.As(err, &gone) || gone.Offset != 7 || !strings.Contains(err.Error(), "delete the state directory") {
		t.Errorf("it returns: %v", err)
	}
}

func TestStatefulNamesASecondDeployment(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Embedded(t))
	in, log := w.Topic(t, "in", 1), w.Topic(t, "log", 3)
	cfg := w.Broker.Config()
	cfg.SessionTimeout = time.Second
	first, _ := streamtest.Dial(t, cfg, w.Topics)
	cfg.Group += "-other"
	second, _ := streamtest.Dial(t, cfg, w.Topics)
	var seen counter
	r := streamtest.Run(t, func(ctx context.Context) error {
		return lotsStage(in, log, seen.note).Run(ctx, first, t.TempDir())
	})
	send := func(from, to int) {
		t.Helper()
		streamtest.Send(t, second, named(in, 1, to)[from:])
		streamtest.Eventually(t, func() bool { return seen.all(1, to) })
	}
	send(0, 5)
	other := streamtest.Run(t, func(ctx context.Context) error {
		return lotsStage(in, log, seen.note).Run(ctx, second, t.TempDir())
	})
	send(5, 10)
	// Each takes the partition from the other when it next decides something, until one gives up.
	for n := 10; ; n += 5 {
		select {
		case <-other.Done:
			t.Errorf("the newer deployment ended before the older one: %v", other.Err)
			return
		case <-r.Done:
			if !stream.IsBroken(r.Err) || !errors.Is(r.Err, stateful.ErrSuperseded) || !strings.Contains(r.Err.Error(), "another deployment") {
				t.Errorf("the older deployment ended with %v", r.Err)
			}
			return
		default:
			send(n, n+5)
		}
	}
}

// failing is a Processor whose first steps fail.
type failing struct {
	*Lots
	errs *[]error
}

func (f failing) Step(ctx context.Context, w stateful.Work) (stateful.Result, error) {
	r, err := f.Lots.Step(ctx, w) // the state is half changed when it fails
	if errs := *f.errs; err == nil && len(errs) > 0 {
		*f.errs = errs[1:]
		err = errs[0]
	}
	return r, err
}

func TestStatefulBeginsAgainFromTheLastCommit(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	const n = 30
	in, log := w.Topic(t, "in", 1), w.Topic(t, "log", 3)
	c, _ := w.Dial(t)
	streamtest.Send(t, c, named(in, 1, n))
	var seen counter
	away := stream.Unavailable(errors.New("the store is away"))
	errs := []error{nil, nil, away, nil, away}
	stage := lotsStage(in, log, seen.note)
	open := stage.Open
	stage.Open = func(partition int, epoch uint64, store *stateful.Store) (stateful.Processor, error) {
		p, err := open(partition, epoch, store)
		return failing{p.(*Lots), &errs}, err
	}
	dir := t.TempDir()
	r := streamtest.Run(t, func(ctx context.Context) error { return stage.Run(ctx, c, dir) })
	// A step that has seen the last record may still be one that fails.
	streamtest.Eventually(t, func() bool { at, _ := w.Committed(t, "lots", in, 0); return at == n })
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	checkLots(t, c, in, log, dir, 1, n)

	bug := errors.New("a bug") // that concerns no record and no crawl
	errs = []error{bug, bug}
	if err := stage.Run(streamtest.Within(t, 60*time.Second), c, dir); !stream.IsBroken(err) || !errors.Is(err, bug) {
		t.Errorf("a bug: %v, want broken", err)
	}
}

// A stage that rests takes at once what came meanwhile, and ends while it rests.
func TestStatefulRests(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	const n = 40
	in, log := w.Topic(t, "in", 1), w.Topic(t, "log", 3)
	c, _ := w.Dial(t)
	streamtest.Send(t, c, named(in, 1, n)[:1])
	var seen counter
	var steps atomic.Int64 // with records
	stage := lotsStage(in, log, func(partition, n int) { steps.Add(1); seen.note(partition, n) })
	stage.MaxBatch = n
	resting, awake, long := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var once, end sync.Once
	stage.Linger = func(int) time.Duration {
		once.Do(func() { close(resting); <-awake })
		if seen.all(1, n) {
			end.Do(func() { close(long) })
			return time.Hour
		}
		return 0
	}
	r := streamtest.Run(t, func(ctx context.Context) error { return stage.Run(ctx, c, t.TempDir()) })
	<-resting
	before := steps.Load()
	for _, out := range named(in, 1, n)[1:] {
		streamtest.Send(t, c, []stream.Out{out})
	}
	close(awake)
	streamtest.Eventually(t, func() bool { return seen.all(1, n) })
	if took := steps.Load() - before; took > n/2 {
		t.Errorf("%d steps for %d records that came while the stage rested", took, n-1)
	}
	streamtest.Send(t, c, []stream.Out{{Topic: in, Key: []byte("0/last"), Headers: map[string]string{schemas.HeaderVersion: "1"}}})
	<-long
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
}

// A stateful stage without its directory is ready once the state reflects what its group had committed.
func TestHealthWhileStateIsRestored(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Start(t))
	in, log := w.Topic(t, "in", 1), w.Topic(t, "log", 3)
	reg := prometheus.NewPedanticRegistry()
	const n = 60
	feeder, _ := w.Dial(t)
	streamtest.Send(t, feeder, named(in, 1, n))
	ready := func() bool { return streamtest.Gathered(t, reg)["forager_stage_ready"] == 1 }
	start := func(reg prometheus.Registerer, seen func(partition, n int)) *streamtest.Running {
		c, err := kafka.Dial(w.Broker.Config(), w.Topics, streamtest.Discard, reg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		dir := t.TempDir()
		return streamtest.Run(t, func(ctx context.Context) error { return lotsStage(in, log, seen).Run(ctx, c, dir) })
	}
	var first counter
	r := start(nil, first.note)
	streamtest.Eventually(t, func() bool { return first.all(1, n) })
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	half, gate := make(chan struct{}), make(chan struct{})
	r = start(reg, func(_, seen int) {
		if seen >= n/2 {
			select {
			case half <- struct{}{}:
				<-gate
			case <-gate:
			}
		}
	})
	<-half
	if ready() {
		t.Error("ready with half of the state")
	}
	close(gate)
	streamtest.Eventually(t, ready)
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
}

func OpenStore(t testing.TB, o state.Options) *stateful.Store {
	t.Helper()
	s, err := stateful.OpenStore(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
