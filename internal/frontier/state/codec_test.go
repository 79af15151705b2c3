package state

import (
	"bytes"
	"encoding/hex"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"forager/internal/rank/policy"
	"forager/internal/web/scope"
	"forager/schemas"
)

// samples are entries in every state.
func samples() []*Entry {
	f := Facts{Score: .25, Tier: 1, Policy: 2, Model: 3, Ordinal: 400, Clock: 5000}
	return []*Entry{
		{URL: "http://a.example/", Host: 7, Depth: 2, Hops: 1, Loaded: true},
		{
			URL: "http://a.example/q", Host: 7, Raised: true, Attempt: 1, Tries: 1, Facts: f, More: true,
			Links: []Link{{Page: 200, Index: 3, First: 40, Last: 41}, {Page: 200, Index: 5, First: 7, Last: 7, Alias: 6, Anchor: 65_536}, {Page: 1000, First: 1, Last: 2}},
			Places: []Placed{
				{Place: policy.Place{In: true, Tier: 1, Score: -.5, Best: .75, Via: 300, Links: 9, Sum: -2}, Generation: 6, Model: 3},
				{Generation: 1},
				{Place: policy.Place{In: true, Pinned: true, Score: 1, Best: 1, Via: 1}},
			},
		},
		{URL: "http://a.example/w", Loaded: true, State: Waiting, Attempt: 2, Tries: 2, Facts: f, NotBefore: 1_700_000_000_000},
		{URL: "http://a.example/f", Loaded: true, State: InFlight, Attempt: 1, Facts: f},
		{
			URL: "http://a.example/d", Loaded: true, State: Final, Attempt: 1, Facts: f,
			Outcome: schemas.Outcome_OUTCOME_DELIVERED, Raw: 1, Tempered: .125, Trained: 5,
		},
		{URL: "http://a.example/g", Loaded: true, State: Final, Attempt: 3, Facts: f, Outcome: schemas.Outcome_OUTCOME_TIMEOUT},
		{URL: "http://a.example/r", Loaded: true, State: Alias, Attempt: 1, Facts: f, Target: 12},
	}
}

var exportEntry = cmp.AllowUnexported(Entry{}, Placed{}, Facts{}, Link{})

// TestEntryBytes holds the encoding of version 5 still: state that was written once is read by
// every later program.
func TestEntryBytes(t *testing.T) {
	want := []string{
		"050011687474703a2f2f612e6578616d706c652f0704010000000000",
		"050012687474703a2f2f612e6578616d706c652f710701000101000000000000d03f010203900388270301060301000000000000e0bf000000000000e83fac020900000000000000c00001001b000000000000000000f03f010301c80103282900000005070706808004a0060001020000",
		"050112687474703a2f2f612e6578616d706c652f770000000202000000000000d03f01020390038827" + "80d095ffbc310000",
		"050212687474703a2f2f612e6578616d706c652f660000000100000000000000d03f010203900388270000",
		"050312687474703a2f2f612e6578616d706c652f640000000100000000000000d03f0102039003882701000000000000f03f000000000000c03f050000",
		"050312687474703a2f2f612e6578616d706c652f670000000300000000000000d03f0102039003882705000000",
		"050412687474703a2f2f612e6578616d706c652f720000000100000000000000d03f010203900388270c0000",
	}
	for i, e := range samples() {
		if got := hex.EncodeToString(e.Append(nil)); got != want[i] {
			t.Errorf("entry %d is written as\n%s, want\n%s", i, got, want[i])
		}
		b, err := hex.DecodeString(want[i])
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeEntry(0, b)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(e, got, exportEntry); d != "" {
			t.Errorf("entry %d (− written, + read):\n%s", i, d)
		}
	}
}

func FuzzDecodeEntry(f *testing.F) {
	for _, e := range samples() {
		b := e.Append(nil)
		f.Add(b)
		f.Add(b[:len(b)-1])
		f.Add(append(b, 0))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := DecodeEntry(9, b)
		if err != nil {
			return
		}
		// What can be read has one form only.
		if again := e.Append(nil); !bytes.Equal(again, b) {
			t.Errorf("%x is read and written as %x", b, again)
		}
	})
}

// FuzzDecodeState feeds every other decoder.
func FuzzDecodeState(f *testing.F) {
	c := newCounters()
	c.Clock, c.Raw, c.Outcomes[1], c.Refused[scope.Gate], c.Unranked, c.ShapeBegan = 300, 1.5, 2, 3, 4, 5
	f.Add(c.Append(nil, []Generations{{1, 2, [Slots]uint64{5, 300}}, {3, 3, [Slots]uint64{6}}}))
	f.Add((&Page{URL: "http://a.example/", Raw: .5, Tempered: 1, Calibrated: .25, BestIsFocus: true, Pending: 300}).append(nil))
	f.Add([]byte{targetsVersion, 1, 2, 200, 1})
	f.Add(appendGuidance(nil, []*schemas.Guidance{{Guide: "g/1", Scores: []float64{1, -2}, States: [][]byte{[]byte("s")}}}))
	f.Add((&Link{First: 300, Last: 301, Alias: 4, Anchor: 65_536}).append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, g, err := decodeCounters(b); err == nil {
			if c2, g2, err := decodeCounters(c.Append(nil, g)); err != nil || c2.Clock != c.Clock || !slices.Equal(g, g2) {
				t.Errorf("counters %x do not come back: %v", b, err)
			}
		}
		if p, err := DecodePage(1, b); err == nil && !bytes.Equal(p.append(nil), b) {
			t.Errorf("page %x comes back as %x", b, p.append(nil))
		}
		if targets, err := decodeTargets(1, b); err == nil && !bytes.Equal(appendTargets(nil, targets), b) {
			t.Errorf("targets %x do not come back", b)
		}
		if g, err := DecodeGuidance(1, b); err == nil && !bytes.Equal(appendGuidance(nil, g), b) {
			t.Errorf("guidance %x comes back as %x", b, appendGuidance(nil, g))
		}
		var l Link
		if err := l.read(b); err == nil && !bytes.Equal(l.append(nil), b) {
			t.Errorf("link %x comes back as %x", b, l.append(nil))
		}
	})
}

func drawOrder(t *rapid.T) Order {
	return Order{
		Tier: rapid.Uint32Range(0, 2).Draw(t, "tier"), Tries: rapid.Uint32Range(0, 300).Draw(t, "tries"),
		Score: rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{
			0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64, -math.MaxFloat64,
		})).Draw(t, "score"),
		Ordinal: rapid.Uint64Range(0, 1<<40).Draw(t, "ordinal"),
	}
}

// TestQueueKeysSortAsTheOrderDoes compares the order of keys with the order that they encode.
func TestQueueKeysSortAsTheOrderDoes(t *testing.T) {
	k := NewKeys(ShardPrefix(ShardName{"crawl", 3}))
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawOrder(t), drawOrder(t)
		if rapid.Bool().Draw(t, "same rank") {
			b.Tier, b.Tries, b.Score = a.Tier, a.Tries, a.Score
		}
		x := slices.Clone(k.Queue(1, 70_000, 9, a))
		y := slices.Clone(k.Queue(1, 70_000, 9, b))
		if got, want := bytes.Compare(x, y), CompareOrders(a, b); got != want {
			t.Fatalf("keys of %+v and %+v compare as %d, want %d", a, b, got, want)
		}
		got, err := k.ParseQueue(x)
		if err != nil || got != (QueueKey{1, 70_000, 9, a}) {
			t.Fatalf("%+v comes back as %+v, %v", a, got, err)
		}
		for _, prefix := range [][]byte{k.QueueHost(1, 70_000, 9), k.Generation(KindQueue, 1, 70_000), k.Kind(KindQueue)} {
			if !bytes.HasPrefix(x, prefix) || bytes.Compare(x, After(prefix)) >= 0 {
				t.Fatalf("key %x is not within prefix %x", x, prefix)
			}
		}
	})
}

func TestAfter(t *testing.T) {
	for _, c := range []struct{ prefix, want []byte }{
		{[]byte{1}, []byte{2}}, {[]byte{1, 0xff}, []byte{2}}, {[]byte{1, 2, 0xff, 0xff}, []byte{1, 3}}, {[]byte{0xff}, nil},
	} {
		if got := After(c.prefix); !bytes.Equal(got, c.want) {
			t.Errorf("after %x comes %x, want %x", c.prefix, got, c.want)
		}
	}
}

// TestIndexKeysSortAsTheOrderDoes compares the order of keys of the index with the order that they encode.
func TestIndexKeysSortAsTheOrderDoes(t *testing.T) {
	k := NewKeys(ShardPrefix(ShardName{"crawl", 3}))
	rapid.Check(t, func(t *rapid.T) {
		a, b := Indexed{drawOrder(t), rapid.Uint32().Draw(t, "host")}, Indexed{drawOrder(t), rapid.Uint32().Draw(t, "host")}
		x, y := slices.Clone(k.Index(1, 70_000, 3, a)), slices.Clone(k.Index(1, 70_000, 3, b))
		if got, want := bytes.Compare(x, y), CompareIndexed(a, b); got != want {
			t.Fatalf("keys of %+v and %+v compare as %d, want %d", a, b, got, want)
		}
		if got, err := k.ParseIndex(x); err != nil || got != a {
			t.Fatalf("%+v comes back as %+v, %v", a, got, err)
		}
	})
}
