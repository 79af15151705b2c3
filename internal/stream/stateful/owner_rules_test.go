package stateful_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/stream"
	"forager/internal/stream/crashtest"
	"forager/internal/stream/state"
	"forager/internal/stream/stateful"
	"forager/schemas"
)

// alone runs a program that nothing disturbs to its end.
func alone(w *crashtest.World, dir *crashtest.Dir, body func(p *crashtest.Process) error) error {
	p := w.Spawn("alone", dir, body)
	for p.Run() {
	}
	return p.Err
}

func calm(seed uint64) *crashtest.World {
	return crashtest.New(seed, map[string]int{"in": 3, "log": 3, schemas.TopicDeadLetter: 1}, crashtest.Faults{Sync: 1})
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// lotsOwner opens the store and makes an owner of partition 2 that draws lots.
func lotsOwner(p *crashtest.Process, change ...func(*stateful.OwnerOptions)) (*stateful.Owner, error) {
	s, err := p.OpenStore("lots")
	if err != nil {
		return nil, err
	}
	o := stateful.OwnerOptions{
		Stage: "lots", Input: "in", Partition: 2, Log: "log", Broker: p, Store: s, Failpoint: p.Pass,
		Open: func(epoch uint64) (stateful.Processor, error) {
			return &Lots{Store: s, Log: "log", Owner: 2, Epoch: epoch}, nil
		},
	}
	for _, f := range change {
		f(&o)
	}
	return stateful.NewOwner(o), nil
}

func input(w *crashtest.World, names ...string) {
	for _, name := range names {
		w.Append(stream.Out{Topic: "in", Partition: 2, Key: []byte(name), Headers: map[string]string{schemas.HeaderVersion: "1"}})
	}
}

// whole starts an owner and takes one step with everything there is.
func whole(p *crashtest.Process, change ...func(*stateful.OwnerOptions)) (*stateful.Owner, error) {
	o, err := lotsOwner(p, change...)
	if err != nil {
		return nil, err
	}
	if err := o.Start(context.Background(), noon); err != nil {
		return o, err
	}
	_, err = o.Step(context.Background(), p.World.Records("in", 2)[o.Next():], noon)
	return o, err
}

// reads counts what is read of a broker.
type reads struct {
	*crashtest.Process
	n *int
}

func (r reads) Read(ctx context.Context, topic string, partition int, from, to int64, f func(stream.Record) error) error {
	*r.n++
	return r.Process.Read(ctx, topic, partition, from, to, f)
}

// TestOwnersDoNotReadWhatTheyWrote: an owner looks at what others write to the log, not at its own decisions.
func TestOwnersDoNotReadWhatTheyWrote(t *testing.T) {
	w := calm(1)
	names := make([]string, 40)
	for i := range names {
		names[i] = "k" + strconv.Itoa(i)
	}
	input(w, names...)
	if err := alone(w, crashtest.NewDir("d"), func(p *crashtest.Process) error {
		n := 0
		o, err := lotsOwner(p, func(o *stateful.OwnerOptions) { o.Broker = reads{p, &n} })
		if err != nil {
			return err
		}
		if err := o.Start(context.Background(), noon); err != nil {
			return err
		}
		n = 0
		for _, r := range w.Records("in", 2) {
			if _, err := o.Step(context.Background(), []stream.Record{r}, noon); err != nil {
				return err
			}
		}
		if written := len(w.Records("log", 0)); n > 0 || written < 3 {
			t.Errorf("%d reads, and %d records in the log with claim and marker", n, written)
		}
		return p.CloseStore()
	}); err != nil {
		t.Fatal(err)
	}
}

func TestEpochIsTheOffsetOfTheClaimPlusOne(t *testing.T) {
	w := calm(1)
	dir := crashtest.NewDir("d")
	for _, want := range []uint64{1, 3, 5} { // claim and marker each time, in partition 0
		if err := alone(w, dir, func(p *crashtest.Process) error {
			o, err := whole(p)
			if o.Epoch() != want {
				t.Errorf("epoch %d, want %d", o.Epoch(), want)
			}
			return errors.Join(err, p.CloseStore())
		}); err != nil {
			t.Fatal(err)
		}
	}
	for k := range 3 {
		var fence stream.Fence
		for _, r := range w.Records("log", k) {
			kind, err := fence.Read(&r)
			if err != nil {
				t.Fatal(err)
			}
			m := new(schemas.FetchRequest)
			if err := proto.Unmarshal(r.Value, m); err != nil || !m.GetMarker() || m.GetOwner() != 2 || (kind == stream.Claim) != (m.GetEpoch() == 0) {
				t.Errorf("record %v of kind %v: %v", m, kind, err)
			}
		}
		if fence.Epoch(2) != 5 {
			t.Errorf("partition %d is marked with %d", k, fence.Epoch(2))
		}
	}
}

// cut is a broker whose topics have lost their first records, or all of them.
type cut struct {
	*crashtest.Process
	topic      string
	first, end int64
}

func (c cut) Offsets(ctx context.Context, topic string, partition int) (first, end int64, err error) {
	if first, end, err = c.Process.Offsets(ctx, topic, partition); topic == c.topic {
		first, end = c.first, c.end
	}
	return first, end, err
}

func (c cut) End(ctx context.Context, topic string, partition int) (int64, error) {
	_, end, err := c.Offsets(ctx, topic, partition)
	return end, err
}

func TestRecordsThatAreGone(t *testing.T) {
	for _, k := range []struct {
		name       string
		topic      string
		first, end int64
		kept       bool // the state directory is there
		accept     bool
		want       string // in the error; empty = none
	}{
		{"input cut, new state", "in", 2, 4, false, false, "accept-loss"},
		{"input cut, new state, loss accepted", "in", 2, 4, false, true, ""},
		{"input cut behind the state", "in", 4, 4, true, false, ""},
		{"input cut before the state's end", "in", 5, 9, true, false, "accept-loss"},
		{"acceptance is for new state only", "in", 5, 9, true, true, "accept-loss"},
		{"input created again", "in", 0, 1, true, false, "delete the state directory"},
		{"log cut, new state", "log", 1, 9, false, false, "accept-loss"},
		{"log created again", "log", 0, 0, true, false, "delete the state directory"},
	} {
		t.Run(k.name, func(t *testing.T) {
			w := calm(1)
			input(w, "a", "b", "c", "d")
			dir := crashtest.NewDir("d")
			if k.kept {
				if err := alone(w, dir, func(p *crashtest.Process) error {
					_, err := whole(p)
					return errors.Join(err, p.CloseStore())
				}); err != nil {
					t.Fatal(err)
				}
			}
			err := alone(w, dir, func(p *crashtest.Process) error {
				_, err := whole(p, func(o *stateful.OwnerOptions) {
					o.Broker, o.AcceptLoss = cut{p, k.topic, k.first, k.end}, k.accept
				})
				return err
			})
			var gone *stream.OffsetError
			switch {
			case k.want == "" && err != nil:
				t.Error(err)
			case k.want != "" && (!stream.IsBroken(err) || !errors.As(err, &gone) || gone.Topic != k.topic || !strings.Contains(err.Error(), k.want)):
				t.Errorf("error %v, want one with %q", err, k.want)
			}
		})
	}
}

func TestTheLogsPartitionsAreFixed(t *testing.T) {
	dir := crashtest.NewDir("d")
	if err := alone(calm(1), dir, func(p *crashtest.Process) error {
		_, err := whole(p)
		return errors.Join(err, p.CloseStore())
	}); err != nil {
		t.Fatal(err)
	}
	more := crashtest.New(1, map[string]int{"in": 3, "log": 4}, crashtest.Faults{})
	err := alone(more, dir, func(p *crashtest.Process) error { _, err := whole(p); return err })
	if !stream.IsBroken(err) || !strings.Contains(err.Error(), "4 partitions") {
		t.Errorf("error %v", err)
	}
}

// TestSupersededOwnersStop: at whatever point the older of two owners is when the newer one begins,
// it ends with ErrSuperseded at its next output, and has committed nothing void.
func TestSupersededOwnersStop(t *testing.T) {
	ends := make(map[string]int)
	for stop := range 60 {
		w := calm(uint64(stop))
		input(w, "a", "b", "c")
		older := w.Spawn("older", crashtest.NewDir("old"), func(p *crashtest.Process) error {
			o, err := whole(p)
			if err != nil {
				return err
			}
			p.Pass("between")
			_, err = o.Step(context.Background(), w.Records("in", 2)[o.Next():], noon)
			return err
		})
		running := true
		for n := 0; n < stop && running; n++ {
			running = older.Run()
		}
		if !running {
			break
		}
		point := older.Point()
		dir := crashtest.NewDir("new")
		if err := alone(w, dir, func(p *crashtest.Process) error {
			_, err := whole(p)
			return errors.Join(err, p.CloseStore())
		}); err != nil {
			t.Fatal(err)
		}
		input(w, "d", "e")
		for older.Run() {
		}
		switch {
		case older.Err == nil: // it had not begun, and is the newer one
			ends["newer"]++
		case errors.Is(older.Err, stateful.ErrSuperseded):
			ends["superseded"]++
		default:
			t.Errorf("stopped at %q: %v", point, older.Err)
		}
		if _, err := fenced(w, 2, false); err != nil {
			t.Errorf("stopped at %q: %v", point, err)
		}
	}
	if ends["newer"] == 0 || ends["superseded"] < 20 {
		t.Errorf("the older one ended %v", ends)
	}
}

func TestAnAnswerToANewerOwnerStopsTheOlder(t *testing.T) {
	w := calm(1)
	input(w, "a")
	err := alone(w, crashtest.NewDir("d"), func(p *crashtest.Process) error {
		o, err := whole(p)
		if err != nil {
			return err
		}
		answer := func(owner, epoch string) stream.Record {
			at := w.Append(stream.Out{Topic: "in", Partition: 2, Key: []byte("x" + owner + epoch), Headers: map[string]string{
				schemas.HeaderVersion: "1", schemas.HeaderOwner: owner, schemas.HeaderEpoch: epoch,
			}})
			return w.Records("in", 2)[at.Offset]
		}
		// Another partition's owner, and a lower epoch, are no news.
		if _, err := o.Step(context.Background(), []stream.Record{answer("1", "99"), answer("2", "1"), answer("2", "")}, noon); err != nil {
			return err
		}
		next := o.Next()
		_, err = o.Step(context.Background(), []stream.Record{answer("2", "2")}, noon)
		if !errors.Is(err, stateful.ErrSuperseded) || o.Next() != next {
			t.Errorf("error %v, next %d", err, o.Next())
		}
		if _, err := o.Step(context.Background(), nil, noon); !errors.Is(err, stateful.ErrSuperseded) {
			t.Errorf("a dead owner goes on: %v", err)
		}
		if err := o.Settle(context.Background()); !errors.Is(err, stateful.ErrSuperseded) {
			t.Errorf("a dead owner rests: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestRecordsOfOtherProgramsAreDeadLetters(t *testing.T) {
	w := calm(1)
	input(w, "a")
	w.Append(stream.Out{Topic: "in", Partition: 2, Key: []byte("b"), Value: []byte("who am I")})
	input(w, "c")
	var poison []string
	err := alone(w, crashtest.NewDir("d"), func(p *crashtest.Process) error {
		o, err := whole(p, func(o *stateful.OwnerOptions) {
			o.Poison = func(r *stream.Record, cause error) { poison = append(poison, string(r.Key)+": "+cause.Error()) }
		})
		if err != nil {
			return err
		}
		if o.Next() != 3 {
			t.Errorf("next is %d", o.Next())
		}
		// A version of the future stops the owner instead.
		w.Append(stream.Out{Topic: "in", Partition: 2, Headers: map[string]string{schemas.HeaderVersion: "999"}})
		if _, err := o.Step(context.Background(), w.Records("in", 2)[3:], noon); !stream.IsBroken(err) {
			t.Errorf("an unknown version: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if drawn, err := fenced(w, 2, false); err != nil || len(drawn) != 2 {
		t.Errorf("drawn %v, %v", drawn, err)
	}
	letters := w.Records(schemas.TopicDeadLetter, 0)
	if len(letters) != 1 || len(poison) != 1 || !strings.HasPrefix(poison[0], "b: ") {
		t.Fatalf("%d letters, poison %v", len(letters), poison)
	}
	letter := new(schemas.DeadLetter)
	if err := proto.Unmarshal(letters[0].Value, letter); err != nil || letter.GetOffset() != 1 || string(letter.GetValue()) != "who am I" {
		t.Errorf("letter %v, %v", letter, err)
	}
}

func TestRestLeavesLittleToRead(t *testing.T) {
	w := calm(1)
	input(w, "a", "b", "c")
	dir := crashtest.NewDir("d")
	marks := func(rest time.Duration) (m state.Marks) {
		t.Helper()
		if err := alone(w, dir, func(p *crashtest.Process) error {
			o, err := whole(p)
			if err != nil {
				return err
			}
			for k := range 3 { // of other partitions' owners
				w.Append(stream.Out{Topic: "log", Partition: k, Headers: map[string]string{schemas.HeaderOwner: "1", schemas.HeaderEpoch: "1", schemas.HeaderID: "x"}})
			}
			if _, err := o.Step(context.Background(), nil, noon.Add(rest)); err != nil {
				return err
			}
			if err := p.CloseStore(); err != nil {
				return err
			}
			s, err := p.OpenStore("lots")
			if err == nil {
				m = s.Marks()
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return m
	}
	behind := func(m state.Marks) (n int64) {
		for k, l := range m.Log {
			n += int64(len(w.Records("log", k))) - l.Offset
		}
		return n
	}
	if n := behind(marks(time.Minute)); n != 3 {
		t.Errorf("%d records behind the log, want 3", n)
	}
	if n := behind(marks(time.Hour)); n != 0 {
		t.Errorf("%d records behind the log after a rest", n)
	}
}

// TestALongRecoveryIsCommittedInParts: what a start has read need not be read again.
func TestALongRecoveryIsCommittedInParts(t *testing.T) {
	w := calm(1)
	for i := range 2500 {
		w.Append(stream.Out{Topic: "log", Partition: 1, Key: []byte(time.Duration(i).String()), Value: []byte("v"), Headers: map[string]string{
			schemas.HeaderVersion: "1", schemas.HeaderOwner: "2", schemas.HeaderEpoch: "1", schemas.HeaderID: "00",
		}})
	}
	dir := crashtest.NewDir("d")
	bad := errors.New("crash")
	n := 0
	err := alone(w, dir, func(p *crashtest.Process) error {
		_, err := whole(p, func(o *stateful.OwnerOptions) {
			open := o.Open
			o.Open = func(epoch uint64) (stateful.Processor, error) {
				l, err := open(epoch)
				return &counting{l.(*Lots), &n, 2200, bad}, err
			}
		})
		return err
	})
	if !errors.Is(err, bad) || n != 2200 {
		t.Fatalf("%v after %d", err, n)
	}
	n = 0
	if err := alone(w, dir, func(p *crashtest.Process) error {
		_, err := whole(p, func(o *stateful.OwnerOptions) {
			open := o.Open
			o.Open = func(epoch uint64) (stateful.Processor, error) {
				l, err := open(epoch)
				return &counting{l.(*Lots), &n, 9999, nil}, err
			}
		})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if n != 500 {
		t.Errorf("%d decisions were recovered again, want 500", n)
	}
}

// counting fails at its most-th recovered decision.
type counting struct {
	*Lots
	n    *int
	most int
	err  error
}

func (c *counting) Recover(r stream.Record) error {
	if *c.n++; *c.n == c.most {
		return c.err
	}
	return c.Lots.Recover(r)
}
