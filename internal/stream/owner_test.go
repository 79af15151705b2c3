package stream_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"forager/internal/stream"
	"forager/internal/stream/crashtest"
	"forager/schemas"
)

// lots draws a number for each record of its input, and no record may get two: the smallest
// stage for which it matters that a decision is made once.
type lots struct {
	store *stream.Store
	owner int
	epoch uint64
	rand  *rand.Rand
}

func (l *lots) key(name string) []byte { return []byte("lot/" + name) }

func (l *lots) Recover(r stream.Record) error { return l.store.Set(l.key(string(r.Key)), r.Value) }

func (l *lots) Step(_ context.Context, b stream.Batch) (stream.Result, error) {
	var res stream.Result
	for _, r := range b.Records {
		name := string(r.Key)
		_, ok, err := l.store.Get(l.key(name))
		if err != nil {
			return res, err
		}
		if !ok {
			value := strconv.AppendUint(nil, l.rand.Uint64(), 36)
			if err := l.store.Set(l.key(name), value); err != nil {
				return res, err
			}
			id := schemas.URLID(name)
			res.Outs = append(res.Outs, stream.Out{Topic: "log", Partition: -1, Key: r.Key, Value: value, Headers: map[string]string{
				schemas.HeaderVersion: "1", schemas.HeaderID: id.String(),
				schemas.HeaderOwner: strconv.Itoa(l.owner), schemas.HeaderEpoch: strconv.FormatUint(l.epoch, 10),
			}})
		}
		seen, _, err := l.store.Get([]byte("seen"))
		if err != nil {
			return res, err
		}
		n, _ := strconv.Atoi(string(seen))
		if err := l.store.Set([]byte("seen"), strconv.AppendInt(nil, int64(n)+1, 10)); err != nil {
			return res, err
		}
	}
	return res, nil
}

func (l *lots) state() (map[string]string, int, error) {
	drawn := map[string]string{}
	err := l.store.Scan([]byte("lot/"), []byte("lot0"), func(k, v []byte) (bool, error) {
		drawn[strings.TrimPrefix(string(k), "lot/")] = string(v)
		return true, nil
	})
	if err != nil {
		return nil, 0, err
	}
	seen, _, err := l.store.Get([]byte("seen"))
	n, _ := strconv.Atoi(string(seen))
	return drawn, n, err
}

// fenced are the decisions of an owner as a reader of the log sees them: those that are void
// are left out. It fails where one name was given two values.
func fenced(w *crashtest.World, owner int, ignoreFence bool) (map[string]string, error) {
	drawn := map[string]string{}
	for k := range w.Partitions("log") {
		var fence stream.Fence
		for _, r := range w.Records("log", k) {
			kind, err := fence.Read(&r)
			if err != nil {
				return nil, err
			}
			if ignoreFence && kind == stream.Void {
				kind = stream.Decision
			}
			if kind != stream.Decision || r.Headers[schemas.HeaderOwner] != strconv.Itoa(owner) {
				continue
			}
			if was, ok := drawn[string(r.Key)]; ok && was != string(r.Value) {
				return nil, fmt.Errorf("lot %s was drawn twice: %s and %s", r.Key, was, r.Value)
			}
			drawn[string(r.Key)] = string(r.Value)
		}
	}
	return drawn, nil
}

// mutant breaks one rule of the owner from outside, in the broker that it sees.
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
		var l *lots
		m := &mutant{Process: p, rule: rule}
		o := stream.NewOwner(stream.OwnerOptions{
			Stage: "lots", Input: "in", Partition: owner, Log: "log", Broker: m, Store: s, Failpoint: p.Pass,
			Open: func(epoch uint64) (stream.Processor, error) {
				l = &lots{store: s, owner: owner, epoch: epoch, rand: rand.New(rand.NewPCG(w.Rand.Uint64(), 0))}
				return l, nil
			},
		})
		if err := o.Start(context.Background(), w.Now); err != nil {
			return err
		}
		m.started = true
		for {
			p.Pass("idle")
			if w.Chance(.05) {
				if err := o.Rest(context.Background()); err != nil {
					return err
				}
			}
			end := int64(len(w.Records("in", owner)))
			records := w.Records("in", owner)[o.Next():min(end, o.Next()+int64(w.Rand.IntN(4)))]
			if given == inputs && o.Next() == end && w.Chance(.2) {
				if final, finalSeen, err = l.state(); err != nil {
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
			w.Append(stream.Out{Topic: "in", Partition: owner, Key: fmt.Appendf(nil, "k%d", given)})
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
			if p.Done() && p.Err != nil && !errors.Is(p.Err, stream.ErrSuperseded) {
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
		return fmt.Errorf("the state of the last owner is not what the log says: %v, %v", final, drawn)
	}
	if len(final) != inputs || finalSeen != inputs {
		return fmt.Errorf("%d lots drawn and %d records counted for %d records", len(final), finalSeen, inputs)
	}
	return nil
}

func TestOwnersDecideOnceWhateverCrashes(t *testing.T) {
	crashtest.Seeds(t, 300, func(seed uint64) error { return simulateLots(seed, "") })
}

// TestSimulationSeesBrokenOwners shows that the test above would notice.
func TestSimulationSeesBrokenOwners(t *testing.T) {
	for _, rule := range []string{"commit before ack", "log ignored", "no markers", "no look", "no fence"} {
		seed, err := crashtest.First(100, func(seed uint64) error { return simulateLots(seed, rule) })
		if err == nil {
			t.Errorf("%s: 100 seeds saw nothing", rule)
			continue
		}
		t.Logf("%s: seed %d: %.80s", rule, seed, err)
	}
}
