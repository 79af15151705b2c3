package runner

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"forager/internal/stream"
	"forager/internal/stream/kafka"
)

// TestGather: outputs wait for those of records that are in flight, for gatherTime and no longer.
func TestGather(t *testing.T) {
	const ( // what becomes of a slot
		done = iota
		later
		never
		failed
	)
	for _, k := range []struct {
		name  string
		slots []int
		lasts []int // of the records of a fetch
		most  int   // MaxInFlight
		batch int
		next  bool
		took  time.Duration
	}{
		{"one alone", []int{done}, []int{0}, 8, 1, false, 0},
		{"all are done", []int{done, done, done}, []int{2}, 8, 3, false, 0},
		{"what is behind the last one too, if it is there", []int{done, done, done}, []int{0, 2}, 8, 3, false, 0},
		{"one ends later", []int{done, later, done}, []int{2}, 8, 3, false, gatherTime / 2},
		{"one does not end", []int{done, done, never, done}, []int{3}, 8, 2, true, gatherTime},
		{"more are to come, and do not", []int{done, done}, nil, 8, 2, false, gatherTime},
		{"one fails", []int{done, failed, done}, []int{2}, 8, 1, true, 0},
		{"one fails later", []int{done, done, later + failed}, []int{2}, 8, 2, true, gatherTime / 2},
		{"half of what may be in flight", []int{done, done, never}, []int{2}, 4, 2, false, 0},
	} {
		t.Run(k.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &statelessClaim{stage: &Stateless{MaxInFlight: k.most}, claim: &kafka.Claim{Hard: t.Context()}, slots: make(chan *slot, len(k.slots))}
				for i, what := range k.slots {
					sl := &slot{last: slices.Contains(k.lasts, i), done: make(chan struct{}), outs: make([]stream.Out, 1)}
					if what >= failed {
						sl.err = errors.New("poison")
					}
					switch what {
					case done, failed:
						close(sl.done)
					case later, later + failed:
						time.AfterFunc(gatherTime/2, func() { close(sl.done) })
					}
					s.slots <- sl
				}
				began := time.Now()
				batch, next := s.gather(<-s.slots)
				if len(batch) != k.batch || (next != nil) != k.next || time.Since(began) != k.took {
					t.Errorf("%d slots and another one %t after %v, want %d, %t, %v", len(batch), next != nil, time.Since(began), k.batch, k.next, k.took)
				}
			})
		})
	}
}

func TestARecordAloneInFlightDoesNotLinger(t *testing.T) {
	if u := (&unorderedClaim{stage: &Unordered{Linger: time.Hour}, flights: new(atomic.Int64)}); u.linger() != 0 {
		t.Error("what is alone in flight waits")
	}
}
