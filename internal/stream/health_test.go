package stream

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"forager/internal/stream/streamtest"
)

func TestHealthReady(t *testing.T) {
	h := new(health)
	first, second := new(generation), new(generation)
	check := func(what string, want float64) {
		t.Helper()
		if got := h.ready(); got != want {
			t.Errorf("%s: ready is %v, want %v", what, got, want)
		}
	}
	check("before the group is joined", 0)
	h.joined(first, 2)
	check("without state", 0)
	h.opened(first)
	check("with the state of one of two claims", 0)
	h.opened(first)
	check("with all state", 1)
	h.joined(second, 1)
	h.opened(first)
	check("a claim of an earlier generation", 0)
	h.left(first)
	h.opened(second)
	check("the end of an earlier generation", 1)
	h.left(second)
	check("after the generation", 0)
	h.joined(first, 0)
	check("a member without partitions", 1)
}

func TestHealthBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(health)
		check := func(what string, want float64) {
			t.Helper()
			if got := h.busy(); got != want {
				t.Errorf("%s: busy for %v s, want %v", what, got, want)
			}
		}
		check("idle", 0)
		end := h.begin()
		time.Sleep(3 * time.Second)
		defer h.begin()()
		time.Sleep(2 * time.Second)
		check("two steps", 5)
		end()
		check("the younger step", 2)
		h.wait(1)
		h.wait(1)
		time.Sleep(time.Hour)
		h.wait(-1)
		check("while something is unavailable", 0)
		h.wait(-1)
		time.Sleep(4 * time.Second)
		check("since it is available again", 4)
	})
}

// A step that does not return shows; a broker that is away does not.
func TestHealthOfAStatelessStage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, streamtest.Start(t))
	in, out := w.topic(t, "in", 1), w.topic(t, "out", 1)
	reg := prometheus.NewPedanticRegistry()
	c, err := Dial(w.broker.Config(), w.topics, discard, reg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var n network
	n.through(c)
	send(t, c, numbers(in, 0, 3))
	series := func(name string) float64 { return gathered(t, reg)["forager_stage_"+name] }
	gate := make(chan struct{})
	s := copyTo("health", in, out)
	copyOne := s.Handle
	s.Handle = func(ctx context.Context, r Record) ([]Out, error) {
		<-gate
		return copyOne(ctx, r)
	}
	if series("ready") != 0 {
		t.Error("ready before the group is joined")
	}
	r := run(t, func(ctx context.Context) error { return s.Run(ctx, c) })
	eventually(t, func() bool { return series("ready") == 1 && series("busy_seconds") > .5 })
	n.set(true)
	close(gate)
	eventually(t, func() bool { return series("waiting") > 0 && series("busy_seconds") == 0 })
	n.set(false)
	eventually(t, func() bool { at, _ := committed(t, c, "health", in, 0); return at == 3 && series("ready") == 1 })
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	if series("ready") != 0 {
		t.Error("ready after the stage has left its group")
	}
}

// A stateful stage without its directory is ready once the state reflects what its group had committed.
func TestHealthWhileStateIsRestored(t *testing.T) {
	t.Parallel()
	w := newWorld(t, streamtest.Start(t))
	in, log := w.topic(t, "in", 1), w.topic(t, "log", 3)
	reg := prometheus.NewPedanticRegistry()
	const n = 60
	feeder, _ := w.dial(t)
	send(t, feeder, named(in, 1, n))
	ready := func() bool { return gathered(t, reg)["forager_stage_ready"] == 1 }
	start := func(reg prometheus.Registerer, seen func(partition, n int)) *running {
		c, err := Dial(w.broker.Config(), w.topics, discard, reg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		dir := t.TempDir()
		return run(t, func(ctx context.Context) error { return lotsStage(in, log, seen).Run(ctx, c, dir) })
	}
	var first counter
	r := start(nil, first.note)
	eventually(t, func() bool { return first.all(1, n) })
	if err := r.end(); err != nil {
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
	eventually(t, ready)
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
}
