package stateful_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"forager/internal/stream"
	"forager/internal/stream/crashtest"
	"forager/internal/stream/stateful"
	"forager/schemas"
)

func fenced(w *crashtest.World, owner int, ignoreFence bool) (map[string]string, error) {
	log := make([][]stream.Record, w.Partitions("log"))
	for k := range log {
		log[k] = w.Records("log", k)
	}
	return FencedLots(log, owner, ignoreFence)
}

// mutant breaks one rule of the owner from outside, in its broker.
type mutant struct {
	*crashtest.Process
	rule    string
	started bool
	pending []stream.Out
}

func (m *mutant) Produce(ctx context.Context, outs []stream.Out) ([]stream.Position, error) {
	marks := slices.ContainsFunc(outs, func(o stream.Out) bool { return o.Headers[schemas.HeaderID] == "" })
	switch {
	case m.rule == "commit before ack" && m.started && !marks:
		// Sent when the next call comes; positions are made up.
		before := m.pending
		m.pending = outs
		if len(before) > 0 {
			if _, err := m.Process.Produce(ctx, before); err != nil {
				return nil, err
			}
		}
		at := make([]stream.Position, len(outs))
		for i := range outs {
			at[i].Partition = stream.PartitionOf(outs[i].Key, m.World.Partitions("log"))
			at[i].Offset = int64(len(m.World.Records("log", at[i].Partition))) - 1
		}
		return at, nil
	case m.rule == "no markers" && len(outs) > 1 && marks:
		at := make([]stream.Position, len(outs))
		for k := range outs {
			at[k] = stream.Position{Partition: k, Offset: int64(len(m.World.Records("log", k))) - 1}
		}
		return at, nil
	}
	return m.Process.Produce(ctx, outs)
}

func (m *mutant) Read(ctx context.Context, topic string, partition int, from, to int64, f func(stream.Record) error) error {
	if topic == "log" && (m.rule == "log ignored" && !m.started || m.rule == "no look" && m.started) {
		return nil
	}
	return m.Process.Read(ctx, topic, partition, from, to, f)
}

// simulateLots runs one seed; rule names what is broken, "" = nothing.
func simulateLots(seed uint64, rule string) error {
	const inputs, partitions, owner = 30, 3, 2
	w := crashtest.New(seed, map[string]int{"in": owner + 1, "log": partitions},
		crashtest.Faults{Double: .1, Late: .05, Sync: .3})
	var lives []*crashtest.Process
	dirs := []*crashtest.Dir{crashtest.NewDir("a"), crashtest.NewDir("b"), crashtest.NewDir("c")}
	given, spawned := 0, 0
	var final map[string]string
	finalSeen := 0
	body := func(p *crashtest.Process) error {
		s, err := p.OpenStore("lots")
		if err != nil {
			return err
		}
		var l *Lots
		m := &mutant{Process: p, rule: rule}
		o := stateful.NewOwner(stateful.OwnerOptions{
			Stage: "lots", Input: "in", Partition: owner, Log: "log", Broker: m, Store: s, Failpoint: p.Pass,
			Open: func(epoch uint64) (stateful.Processor, error) {
				l = &Lots{Store: s, Log: "log", Owner: owner, Epoch: epoch}
				return l, nil
			},
		})
		if err := o.Start(context.Background(), w.Now); err != nil {
			return err
		}
		m.started = true
		for {
			p.Pass("idle")
			if w.Chance(.02) { // which a later owner may restore, however old it is then
				dir, err := p.Snapshot()
				if err != nil {
					return err
				}
				dirs = append(dirs, dir)
			}
			if w.Chance(.05) {
				if err := o.Settle(context.Background()); err != nil {
					return err
				}
			}
			end := int64(len(w.Records("in", owner)))
			records := w.Records("in", owner)[o.Next():min(end, o.Next()+int64(w.Rand.IntN(4)))]
			if given == inputs && o.Next() == end && w.Chance(.2) {
				if final, finalSeen, err = l.State(); err != nil {
					return err
				}
				return p.CloseStore()
			}
			if _, err := o.Step(context.Background(), records, w.Now); err != nil {
				return err
			}
		}
	}
	for step := 0; ; step++ {
		if step > 200_000 {
			return errors.New("no end")
		}
		alive := slices.DeleteFunc(slices.Clone(lives), (*crashtest.Process).Done)
		crashing := step < 600
		switch roll := w.Rand.IntN(100); {
		case roll < 5 && given < inputs:
			w.Append(stream.Out{Topic: "in", Partition: owner, Key: fmt.Appendf(nil, "k%d", given), Headers: map[string]string{schemas.HeaderVersion: "1"}})
			given++
		case roll < 7:
			w.Deliver()
		case roll < 8:
			w.Now = w.Now.Add(time.Duration(w.Rand.IntN(20)) * time.Minute)
		case len(alive) == 0 || roll < 10 && crashing && len(alive) < 3:
			free := slices.DeleteFunc(slices.Clone(dirs), func(d *crashtest.Dir) bool { return !d.Free() })
			if len(free) == 0 || spawned > 60 && w.Chance(.5) {
				dirs = append(dirs, crashtest.NewDir(fmt.Sprint("d", len(dirs))))
				continue
			}
			spawned++
			lives = append(lives, w.Spawn(fmt.Sprint("p", spawned), free[w.Rand.IntN(len(free))], body))
		case roll < 12 && crashing:
			alive[w.Rand.IntN(len(alive))].Kill()
		default:
			p := alive[w.Rand.IntN(len(alive))]
			for n := w.Rand.IntN(8); n >= 0 && p.Run(); n-- {
			}
			if p.Done() && p.Err != nil && !errors.Is(p.Err, stateful.ErrSuperseded) {
				return fmt.Errorf("%s: %w", p.Name, p.Err)
			}
		}
		if _, err := fenced(w, owner, rule == "no fence"); err != nil && step%50 == 0 {
			return err
		}
		if final != nil {
			break
		}
	}
	for _, p := range lives {
		p.Kill()
	}
	drawn, err := fenced(w, owner, rule == "no fence")
	if err != nil {
		return err
	}
	if !maps.Equal(drawn, final) {
		return fmt.Errorf("the state of the last owner is not that of the log: %v, %v", final, drawn)
	}
	if len(final) != inputs || finalSeen != inputs {
		return fmt.Errorf("%d lots drawn and %d records counted for %d records", len(final), finalSeen, inputs)
	}
	return nil
}

func TestOwnersDecideOnceWhateverCrashes(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds = 30
	}
	crashtest.Seeds(t, seeds, func(seed uint64) error { return simulateLots(seed, "") })
}

// TestSimulationFindsBrokenOwners shows that the test above would notice.
func TestSimulationFindsBrokenOwners(t *testing.T) {
	for _, rule := range []string{"commit before ack", "log ignored", "no markers", "no look", "no fence"} {
		seed, err := crashtest.First(100, func(seed uint64) error { return simulateLots(seed, rule) })
		if err == nil {
			t.Errorf("%s: 100 seeds saw nothing", rule)
			continue
		}
		t.Logf("%s: seed %d: %.80s", rule, seed, err)
	}
}
