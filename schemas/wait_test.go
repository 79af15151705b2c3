package schemas

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

func drawWaits(t *rapid.T) (waits []*Wait) {
	for c := WaitCause_WAIT_CAUSE_GATE; c <= WaitCause_WAIT_CAUSE_WINDOW; c++ {
		held := len(waits) > 0 && Holds(waits[len(waits)-1].GetCause())
		if n := rapid.Uint64Range(0, 3).Draw(t, "urls"); n > 0 && !held {
			waits = append(waits, &Wait{Cause: c, Urls: n, Since: int64(rapid.IntRange(1, 9).Draw(t, "since"))})
		}
	}
	return waits
}

func urlsOf(waits []*Wait, of func(WaitCause) bool) (n uint64) {
	for _, w := range waits {
		if of(w.GetCause()) {
			n += w.GetUrls()
		}
	}
	return n
}

func everyCause(WaitCause) bool { return true }

// TestHold: no URL is lost or counted twice, and those that wait for what comes before go on to do so.
func TestHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		waits := drawWaits(t)
		cause := WaitCause(rapid.IntRange(int(WaitCause_WAIT_CAUSE_STOPPED), int(WaitCause_WAIT_CAUSE_STAGE)).Draw(t, "cause"))
		held := Hold(waits, cause, "x")
		before := func(c WaitCause) bool { return c < cause }
		if urlsOf(held, everyCause) != urlsOf(waits, everyCause) || urlsOf(held, before) != urlsOf(waits, before) {
			t.Fatalf("%v became %v", waits, held)
		}
		if last := held[len(held)-1].GetCause(); !Holds(last) || last > cause {
			t.Fatalf("%v is not held: %v", waits, held)
		}
	})
}

// TestWaitsOfShards: what the URLs of all shards wait for is the sum, whatever the order of the shards.
func TestWaitsOfShards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawWaits(t), drawWaits(t)
		sum, other := addWaits(addWaits(nil, a), b), addWaits(addWaits(nil, b), a)
		if !slices.EqualFunc(sum, other, func(x, y *Wait) bool { return proto.Equal(x, y) }) {
			t.Fatalf("%v and %v", sum, other)
		}
		for c := range WaitCause_WAIT_CAUSE_WINDOW + 1 {
			of := func(x WaitCause) bool { return x == c }
			if urlsOf(sum, of) != urlsOf(a, of)+urlsOf(b, of) {
				t.Fatalf("%v and %v became %v", a, b, sum)
			}
		}
	})
}

// TestWaitsSince: a time stays as long as the cause does, and that of a whole crawl as long as its object.
func TestWaitsSince(t *testing.T) {
	const stage, pause = WaitCause_WAIT_CAUSE_STAGE, WaitCause_WAIT_CAUSE_HOST_PAUSE
	before := &CrawlStatus{Waits: []*Wait{{Cause: stage, Object: "distill", Since: 5}, {Cause: pause, Object: "a.test", Since: 6}}}
	for _, c := range []struct {
		wait *Wait
		want int64
	}{
		{&Wait{Cause: stage, Object: "distill"}, 5}, {&Wait{Cause: stage, Object: "prioritize"}, 9},
		{&Wait{Cause: pause, Object: "b.test"}, 6}, {&Wait{Cause: WaitCause_WAIT_CAUSE_GATE}, 9},
	} {
		WaitsSince(&CrawlStatus{At: 9, Waits: []*Wait{c.wait}}, before)
		if c.wait.GetSince() != c.want {
			t.Errorf("%v, want since %d", c.wait, c.want)
		}
	}
}
