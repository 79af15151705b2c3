package stateful_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"forager/internal/platform/objects"
	"forager/internal/platform/objects/objectstest"
	"forager/internal/platform/pipeline"
	"forager/internal/stream"
	"forager/internal/stream/kafka"
	"forager/internal/stream/snapshot"
	"forager/internal/stream/state"
	"forager/internal/stream/stateful"
	"forager/internal/stream/streamtest"
)

// kept is the stage of Lots with snapshots in a bucket.
func kept(in, log string, b snapshot.Bucket, every time.Duration, seen func(partition, n int)) stateful.Stage {
	s := lotsStage(in, log, seen)
	s.Layout, s.Snapshots = "1", &stateful.Snapshots{Bucket: b, Every: every}
	return s
}

// lots is a world with a partition of the stage Lots, and a bucket.
type lots struct {
	*testing.T
	w       *streamtest.World
	in, log string
	client  *kafka.Client
	server  *objectstest.Server
	bucket  *objects.Store
	fed     int
}

func newLots(t *testing.T) *lots {
	l := &lots{T: t, w: streamtest.NewWorld(streamtest.Start(t)), server: objectstest.Start(t)}
	l.in, l.log = l.w.Topic(t, "in", 1), l.w.Topic(t, "log", 3)
	l.client, _ = l.w.Dial(t)
	l.bucket = l.server.Store(t)
	return l
}

// feed appends records.
func (l *lots) feed(n int) {
	l.Helper()
	streamtest.Send(l, l.client, named(l.in, 1, l.fed+n)[l.fed:])
	l.fed += n
}

// run runs the stage until it has seen what was fed and stop holds, then ends it in order. It returns its log and metrics.
func (l *lots) run(dir string, every time.Duration, stop func(series map[string]float64) bool) (string, map[string]float64) {
	l.Helper()
	return l.runStage(dir, l.fed, stop, func(seen func(partition, n int)) stateful.Stage { return kept(l.in, l.log, l.bucket, every, seen) })
}

// runStage is run for another stage, until its state counts that many records.
func (l *lots) runStage(dir string, records int, stop func(series map[string]float64) bool, stage func(seen func(partition, n int)) stateful.Stage) (string, map[string]float64) {
	l.Helper()
	reg := prometheus.NewPedanticRegistry()
	logs := new(streamtest.Logs)
	cfg := l.w.Broker.Config()
	cfg.SessionTimeout = 30 * time.Second // of which the last snapshot may take half
	c, err := kafka.Dial(cfg, l.w.Topics, slog.New(slog.NewTextHandler(logs, nil)), reg)
	if err != nil {
		l.Fatal(err)
	}
	defer c.Close()
	var seen counter
	r := streamtest.Run(l, func(ctx context.Context) error { return stage(seen.note).Run(ctx, c, dir) })
	streamtest.Eventually(l, func() bool {
		select {
		case <-r.Done:
			l.Fatal(r.Err)
		default:
		}
		return seen.all(1, records) && (stop == nil || stop(streamtest.Gathered(l, reg)))
	})
	if err := r.End(); err != nil {
		l.Fatal(err)
	}
	return logs.String(), streamtest.Gathered(l, reg)
}

// ends are the ends of the log.
func (l *lots) ends() (ends []int64) {
	l.Helper()
	for k := range 3 {
		end, err := l.client.End(l.Context(), l.log, k)
		if err != nil {
			l.Fatal(err)
		}
		ends = append(ends, end)
	}
	return ends
}

// trim removes the records of the input before an offset, and those of the log.
func (l *lots) trim(input int64, log []int64) {
	l.Helper()
	streamtest.DeleteBelow(l, l.w.Broker.Addr, l.in, 0, input)
	for k, offset := range log {
		streamtest.DeleteBelow(l, l.w.Broker.Addr, l.log, k, offset)
	}
}

// state is what a directory holds.
func (l *lots) state(dir string) (map[string]string, int) {
	l.Helper()
	s := OpenStore(l, state.Options{Dir: filepath.Join(dir, "p0"), Identity: fmt.Sprintf("lots %s/0", l.in)})
	defer s.Close()
	drawn, seen, err := (&Lots{Store: s}).State()
	if err != nil {
		l.Fatal(err)
	}
	return drawn, seen
}

const never = time.Hour

// An owner without a directory goes on from the snapshot that its predecessor left, also when the topics have no longer what is before it, and
// has the state that a replay of everything gives.
func TestAnEmptyDirectoryIsRestored(t *testing.T) {
	t.Parallel()
	l := newLots(t)
	l.feed(200)
	l.run(t.TempDir(), never, nil)
	l.feed(50)
	replayed, restored := t.TempDir(), t.TempDir()
	log, series := l.run(restored, never, nil)
	if series["forager_stage_state_restored_total"] != 1 || series["forager_stage_records_in_total "+l.in] != 50 || !strings.Contains(log, "directory=empty") {
		t.Errorf("restored %v, %v records read: %s", series["forager_stage_state_restored_total"], series["forager_stage_records_in_total "+l.in], log)
	}
	checkLots(t, l.client, l.in, l.log, restored, 1, 250)
	ends := l.ends()
	c, _ := l.w.Dial(t)
	var seen counter
	r := streamtest.Run(t, func(ctx context.Context) error { return lotsStage(l.in, l.log, seen.note).Run(ctx, c, replayed) })
	streamtest.Eventually(t, func() bool { return seen.all(1, 250) })
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	checkLots(t, l.client, l.in, l.log, replayed, 1, 250)

	l.trim(250, ends)
	l.feed(30)
	trimmed := t.TempDir()
	l.run(trimmed, never, nil)
	if drawn, seen := l.state(trimmed); len(drawn) != 280 || seen != 280 {
		t.Errorf("%d lots drawn, %d records counted", len(drawn), seen)
	}
	// A directory from before what the topics have is of no use, and is replaced.
	l.trim(280, l.ends())
	l.feed(1)
	log, _ = l.run(replayed, never, nil)
	if drawn, seen := l.state(replayed); len(drawn) != 281 || seen != 281 || !strings.Contains(log, "directory=expired") {
		t.Errorf("%d lots drawn, %d records counted: %s", len(drawn), seen, log)
	}
}

// Damaged files are put aside for the newest snapshot; without one the stage stops, as before.
func TestADamagedDirectoryIsRestored(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(files map[string]string) error{
		"a table is gone":      func(files map[string]string) error { return os.Remove(files[".sst"]) },
		"a table is truncated": func(files map[string]string) error { return os.Truncate(files[".sst"], 10) },
		"the manifest is gone": func(files map[string]string) error { return os.Remove(files["MANIFEST"]) },
		"a damaged manifest":   func(files map[string]string) error { return os.WriteFile(files["MANIFEST"], []byte("scribble"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLots(t)
			l.feed(300)
			dir := t.TempDir()
			l.run(dir, never, nil)
			// Tables are there after a flush only.
			s := OpenStore(t, state.Options{Dir: filepath.Join(dir, "p0"), Identity: fmt.Sprintf("lots %s/0", l.in)})
			done, err := s.Flush()
			if err != nil {
				t.Fatal(err)
			}
			<-done
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			files := make(map[string]string)
			entries, err := os.ReadDir(filepath.Join(dir, "p0"))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				files[filepath.Ext(e.Name())] = filepath.Join(dir, "p0", e.Name())
				before, _, _ := strings.Cut(e.Name(), "-")
				files[before] = filepath.Join(dir, "p0", e.Name())
			}
			if err := harm(files); err != nil {
				t.Fatal(err)
			}
			c, _ := l.w.Dial(t)
			if err := lotsStage(l.in, l.log, func(int, int) {}).Run(streamtest.Within(t, time.Minute), c, dir); !errors.Is(err, state.ErrDamaged) {
				t.Fatalf("without snapshots: %v", err)
			}
			l.feed(5)
			log, series := l.run(dir, never, nil)
			if series["forager_stage_state_restored_total"] != 1 || !strings.Contains(log, "directory=damaged") {
				t.Errorf("not restored: %s", log)
			}
			if _, err := os.Stat(filepath.Join(dir, "p0.damaged")); err != nil {
				t.Error(err)
			}
			checkLots(t, l.client, l.in, l.log, dir, 1, 305)
		})
	}
}

// Snapshots of other topics, though their offsets are within these, and of a log that was longer, are named and not used.
func TestForeignAndNewerSnapshots(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason string
		n      int // records of the topics that are made again
	}{{"foreign", 400}, {"newer", 50}} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			l := newLots(t)
			l.feed(200)
			l.run(t.TempDir(), never, nil)
			// The topics are made again: another broker has the same names.
			again := &lots{T: t, w: streamtest.NewWorld(streamtest.Embedded(t)), in: l.in, log: l.log, server: l.server, bucket: l.bucket}
			for name, topic := range l.w.Topics {
				again.w.Topics[name] = topic
			}
			again.w.Setup(t)
			again.client, _ = again.w.Dial(t)
			again.feed(c.n)
			if c.reason == "foreign" {
				for k := range 3 {
					streamtest.Send(t, again.client, streamtest.Numbers(again.log, k, 300))
				}
			}
			dir := t.TempDir()
			log, series := again.run(dir, never, nil)
			if series["forager_stage_snapshots_unfit_total "+c.reason] != 1 || series["forager_stage_state_restored_total"] != 0 || !strings.Contains(log, "reason="+c.reason) {
				t.Errorf("unfit %v, restored %v: %s", series["forager_stage_snapshots_unfit_total "+c.reason], series["forager_stage_state_restored_total"], log)
			}
			if _, seen := again.state(dir); seen != c.n {
				t.Errorf("%d records counted", seen)
			}
		})
	}
}

// The time of a partition's snapshot goes on while its state does not change, and is not served when the partition has been given up.
func TestTimeOfSnapshots(t *testing.T) {
	t.Parallel()
	l := newLots(t)
	l.feed(20)
	began, times := float64(time.Now().Unix()), map[float64]bool{}
	key := func(series map[string]float64) (at float64) {
		for name, value := range series {
			if strings.HasPrefix(name, "forager_stage_snapshot_timestamp_seconds") {
				at = value
			}
		}
		return at
	}
	var made float64
	_, series := l.run(t.TempDir(), 20*time.Millisecond, func(series map[string]float64) bool {
		if n := series["forager_stage_snapshots_total made"]; n == 0 || n != made {
			made = n
			clear(times)
		}
		times[key(series)] = true
		return made > 0 && len(times) > 3
	})
	for at := range times {
		if at < began || at > began+600 {
			t.Errorf("%v s after the begin", at-began)
		}
	}
	if at := key(series); at != 0 {
		t.Errorf("%v is served after the end", at)
	}
}

// A store that is away never stops a stage; snapshots are made once it is back.
func TestStagesRunWithoutTheStore(t *testing.T) {
	t.Parallel()
	l := newLots(t)
	l.server.Down(t)
	l.feed(100)
	dir := t.TempDir()
	up := false
	l.run(dir, 50*time.Millisecond, func(series map[string]float64) bool {
		if !up && series["forager_stage_snapshots_total failed"] > 0 {
			up = true
			l.server.Up(t)
		}
		return series["forager_stage_snapshots_total made"] > 0
	})
	checkLots(t, l.client, l.in, l.log, dir, 1, 100)
	if left, _ := filepath.Glob(filepath.Join(dir, "p0.*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// gated is a bucket in which objects wait until it opens.
type gated struct {
	snapshot.Bucket
	once          sync.Once
	waiting, open chan struct{}
}

func (g *gated) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	g.once.Do(func() { close(g.waiting) })
	select {
	case <-g.open:
	case <-ctx.Done():
	}
	return g.Bucket.Put(ctx, key, r, size)
}

// A process that is to end works on while it makes a snapshot, and the one that it leaves has what came meanwhile. It ends also if the bucket does
// not answer.
func TestWorkGoesOnDuringTheSnapshotBeforeTheEnd(t *testing.T) {
	t.Parallel()
	l := newLots(t)
	for _, c := range []struct {
		session time.Duration
		opens   bool
	}{{time.Minute, true}, {2 * time.Second, false}} {
		l.feed(40)
		cfg := l.w.Broker.Config()
		cfg.SessionTimeout = c.session
		client, err := kafka.Dial(cfg, l.w.Topics, streamtest.Discard, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		g := &gated{Bucket: l.bucket, waiting: make(chan struct{}), open: make(chan struct{})}
		var seen counter
		r := streamtest.Run(t, func(ctx context.Context) error {
			return kept(l.in, l.log, g, never, seen.note).Run(ctx, client, t.TempDir())
		})
		streamtest.Eventually(t, func() bool { return seen.all(1, l.fed) })
		r.Stop()
		<-g.waiting
		if c.opens {
			l.feed(40)
			streamtest.Eventually(t, func() bool { return seen.all(1, l.fed) })
			close(g.open)
		}
		if err := r.Wait(streamtest.Within(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
		manifests := 0
		for _, err := range l.bucket.List(t.Context(), "snapshots/lots/"+l.in+"/0/manifests/") {
			if err != nil {
				t.Fatal(err)
			}
			manifests++
		}
		if manifests != 2 {
			t.Errorf("%d snapshots, want one before the end and the last one", manifests)
		}
	}
	_, series := l.run(t.TempDir(), never, nil)
	if n := series["forager_stage_records_in_total "+l.in]; n != 40 {
		t.Errorf("%v records read after the snapshot of 80, want 40", n)
	}
}

func init() {
	streamtest.Children["snapshots"] = func() {
		cfg := pipeline.Kafka{Brokers: []string{os.Getenv("LOTS_ADDR")}, Group: os.Getenv("LOTS_GROUP"), SessionTimeout: 4 * time.Second}
		in, log := os.Getenv("LOTS_IN"), os.Getenv("LOTS_LOG")
		want, err := strconv.Atoi(os.Getenv("LOTS_WANT"))
		if err != nil {
			panic(err)
		}
		c, err := kafka.Dial(cfg, map[string]pipeline.Topic{in: {Partitions: 1, MaxMessageBytes: 1 << 20}, log: {Partitions: 3, MaxMessageBytes: 1 << 20}}, streamtest.Discard, nil)
		if err != nil {
			panic(err)
		}
		b, err := objects.Open(pipeline.S3{Endpoint: os.Getenv("LOTS_S3"), Bucket: "forager", AccessKey: os.Getenv("LOTS_KEY"), SecretKey: os.Getenv("LOTS_SECRET")})
		if err != nil {
			panic(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		s := kept(in, log, b, 20*time.Millisecond, func(_, n int) {
			if n >= want {
				cancel()
			}
		})
		s.MaxBatch = 2
		if err := s.Run(ctx, c, os.Getenv("LOTS_DIR")); err != nil {
			panic(err)
		}
		fmt.Println("done")
	}
}

// Killed at any point of an upload or a restore, and without its directory now and then, a stage has in the end the state of its topics.
func TestKillsDuringSnapshots(t *testing.T) {
	t.Parallel()
	l := newLots(t)
	env := func(point, dir string) []string {
		return []string{
			"LOTS_ADDR=" + l.w.Broker.Addr, "LOTS_GROUP=" + l.w.Broker.Config().Group, "LOTS_IN=" + l.in, "LOTS_LOG=" + l.log, "LOTS_DIR=" + dir,
			"LOTS_WANT=" + strconv.Itoa(l.fed), "LOTS_S3=" + l.server.Config.Endpoint, "LOTS_KEY=" + l.server.Config.AccessKey, "LOTS_SECRET=" + l.server.Config.SecretKey,
			stream.FailpointVariable + "=" + point,
		}
	}
	dir := filepath.Join(t.TempDir(), "0")
	kills := 0
	for i, point := range []string{
		"", "snapshot-checkpoint", "snapshot-chunk", "snapshot-chunk:3", "snapshot-manifest", "snapshot-made",
		"snapshot-download", "snapshot-download:4", "snapshot-aside", "snapshot-restored", "owner-acked-before-batch:2", "snapshot-collect",
	} {
		l.feed(20)
		if strings.Contains("snapshot-download:4 snapshot-aside snapshot-restored", point) && point != "" {
			dir = filepath.Join(t.TempDir(), strconv.Itoa(i))
		}
		args := env(point, dir)
		if point == "snapshot-collect" { // which comes some time after the last record
			args = append(args, "LOTS_WANT=1000000")
		}
		if _, killed := streamtest.Child(t, "snapshots", args...); killed {
			kills++
		} else if point != "" {
			t.Errorf("%s: the child was not killed", point)
		}
	}
	if _, killed := streamtest.Child(t, "snapshots", env("", dir)...); killed || kills != 11 {
		t.Fatalf("killed at the end %v, and %d times", killed, kills)
	}
	checkLots(t, l.client, l.in, l.log, dir, 1, l.fed)
	last := filepath.Join(t.TempDir(), "last")
	if out, _ := streamtest.Child(t, "snapshots", env("", last)...); !strings.Contains(out, "done") {
		t.Fatal(out)
	}
	checkLots(t, l.client, l.in, l.log, last, 1, l.fed)
}
