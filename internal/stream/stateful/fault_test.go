package stateful_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/proto"

	"forager/internal/stream"
	"forager/internal/stream/kafka"
	"forager/internal/stream/state"
	"forager/internal/stream/stateful"
	"forager/internal/stream/streamtest"
	"forager/schemas"
)

// brittle is Lots that fails on some records, before or after it has changed the state, and for some crawls.
type brittle struct {
	*Lots
	// poison records panic; with blame the Processor names the record that it was processing.
	poison  map[string]bool
	blame   bool
	wrecked *atomic.Bool // the crawl "w" fails without a record
	fixed   *atomic.Bool // a newer program, for which nothing is poison
}

func (b brittle) Step(ctx context.Context, w stateful.Work) (stateful.Result, error) {
	var res stateful.Result
	for i := range w.Records {
		r := &w.Records[i]
		take := func() error {
			if r.Skipped() {
				return b.Store.Set([]byte("skipped/"+string(r.Key)), nil)
			}
			one, err := b.Lots.Step(ctx, stateful.Work{Records: []stream.Record{*r}})
			res.Outs = append(res.Outs, one.Outs...)
			if b.poison[string(r.Key)] && !b.fixed.Load() {
				panic("poison " + string(r.Key))
			}
			return err
		}
		var err error
		if b.blame {
			err = stateful.GuardRecord(r.Headers[schemas.HeaderCrawl], r, take)
		} else {
			err = take()
		}
		if err != nil {
			return res, err
		}
	}
	if _, parked := b.Store.Parked()["w"]; !parked && b.wrecked.Load() {
		return res, stateful.Guard("w", func() error { panic("the crawl is wrecked") })
	}
	return res, nil
}

// skippedLetters returns the names of the skipped records of a stage by dead.letter.
func skippedLetters(t testing.TB, c *kafka.Client) (names []string) {
	t.Helper()
	for _, r := range streamtest.ReadAll(t, c, schemas.TopicDeadLetter, 0) {
		letter := new(schemas.DeadLetter)
		if err := proto.Unmarshal(r.Value, letter); err != nil {
			t.Fatal(err)
		}
		if r.Headers[schemas.HeaderSkipped] != "" && strings.Contains(letter.GetError(), "poison") && len(letter.GetKey()) > 0 {
			names = append(names, string(letter.GetKey()))
		}
	}
	return names
}

// TestAPoisonRecordIsSkipped: a record on which the Processor panics goes to dead.letter, in any batch; no other
// record is lost or processed twice; a state rebuilt by a newer program skips the same records.
func TestAPoisonRecordIsSkipped(t *testing.T) {
	t.Parallel()
	for _, blame := range []bool{true, false} {
		t.Run(fmt.Sprint("blame ", blame), func(t *testing.T) {
			t.Parallel()
			w := streamtest.NewWorld(streamtest.Embedded(t))
			const n = 40
			in, log := w.Topic(t, "in", 1), w.Topic(t, "log", 3)
			c, _ := w.Dial(t)
			streamtest.Send(t, c, named(in, 1, n))
			poison := map[string]bool{"0/3": true, "0/17": true, "0/39": true}
			var fixed, wrecked atomic.Bool
			var seen counter
			stage := lotsStage(in, log, seen.note)
			open := stage.Open
			stage.Open = func(partition int, epoch uint64, store *stateful.Store) (stateful.Processor, error) {
				p, err := open(partition, epoch, store)
				return brittle{p.(*Lots), poison, blame, &wrecked, &fixed}, err
			}
			check := func(dir string) {
				t.Helper()
				drained := streamtest.Run(t, func(ctx context.Context) error { return stage.Run(ctx, c, dir) })
				streamtest.Eventually(t, func() bool {
					at, _ := w.Committed(t, "lots", in, 0)
					return at == n && seen.all(1, n-len(poison))
				})
				if err := drained.End(); err != nil {
					t.Fatal(err)
				}
				s := OpenStore(t, state.Options{Dir: filepath.Join(dir, "p0"), Identity: fmt.Sprintf("lots %s/0", in)})
				defer s.Close()
				_, count, err := (&Lots{Store: s}).State()
				if err != nil || count != n-len(poison) {
					t.Errorf("the state counts %d records, want %d: %v", count, n-len(poison), err)
				}
				for name := range poison {
					if _, ok, err := s.Get([]byte("skipped/" + name)); !ok || err != nil {
						t.Errorf("record %s was not skipped: %v", name, err)
					}
				}
			}
			dir := t.TempDir()
			check(dir)
			if letters := skippedLetters(t, c); len(letters) != len(poison) {
				t.Errorf("dead letters about %v", letters)
			}
			fixed.Store(true)
			seen = counter{}
			check(t.TempDir())
			if letters := skippedLetters(t, c); len(letters) != len(poison) {
				t.Errorf("after the state was rebuilt, dead letters about %v", letters)
			}
		})
	}
}

// TestACrawlThatFailsIsParked: the crawl that fails without a record is parked, also for the next owner, and named
// in the commits; the records of others are processed; a newer control record lets it be tried again.
func TestACrawlThatFailsIsParked(t *testing.T) {
	t.Parallel()
	w := streamtest.NewWorld(streamtest.Embedded(t))
	const n = 30
	in, log := w.Topic(t, "in", 1), w.Topic(t, "log", 3)
	c, l := w.Dial(t)
	streamtest.Send(t, c, named(in, 1, n))
	var fixed, wrecked atomic.Bool
	var revision atomic.Uint64
	var parked atomic.Bool
	wrecked.Store(true)
	var seen counter
	stage := lotsStage(in, log, seen.note)
	open := stage.Open
	stage.Open = func(partition int, epoch uint64, store *stateful.Store) (stateful.Processor, error) {
		p, err := open(partition, epoch, store)
		_, is := store.Parked()["w"]
		parked.Store(is)
		return brittle{p.(*Lots), nil, true, &wrecked, &fixed}, err
	}
	changed := make(chan struct{}, 1)
	stage.Notify = func(int) (<-chan struct{}, func()) { return changed, func() {} }
	stage.Revision = func(string) uint64 { return revision.Load() }
	dir := t.TempDir()
	r := streamtest.Run(t, func(ctx context.Context) error { return stage.Run(ctx, c, dir) })
	streamtest.Eventually(t, func() bool { return seen.all(1, n) && parked.Load() })
	streamtest.Eventually(t, func() bool { at, _ := w.Committed(t, "lots", in, 0); return at == n })
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	list, err := c.Parked(t.Context(), "lots", in)
	if err != nil || len(list) != 1 || list[0].Unit != "w" || !strings.Contains(list[0].Cause, "wrecked") {
		t.Errorf("the commits have %+v, %v", list, err)
	}
	if !strings.Contains(l.String(), "the crawl is parked") {
		t.Error("the log has no line about it")
	}
	parked.Store(false)
	r = streamtest.Run(t, func(ctx context.Context) error { return stage.Run(ctx, c, dir) })
	streamtest.Eventually(t, func() bool { return parked.Load() }) // the next owner has it
	wrecked.Store(false)
	revision.Store(1)
	changed <- struct{}{}
	streamtest.Eventually(t, func() bool { return !parked.Load() })
	streamtest.Eventually(t, func() bool { _, metadata := w.Committed(t, "lots", in, 0); return metadata == "" })
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	checkLots(t, c, in, log, dir, 1, n)
}
