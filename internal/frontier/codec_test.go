package frontier

import (
	"bytes"
	"encoding/hex"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"forager/internal/rank/rank"
	"forager/internal/web/scope"
	"forager/schemas"
)

// samples are entries in every state.
func samples() []*entry {
	f := facts{score: .25, tier: 1, policy: 2, model: 3, ordinal: 400, clock: 5000}
	return []*entry{
		{url: "http://a.example/", host: 7, depth: 2, hops: 1, loaded: true},
		{
			url: "http://a.example/q", host: 7, raised: true, attempt: 1, tries: 1, facts: f, more: true,
			links: []link{{page: 200, index: 3, first: 40, last: 41}, {page: 200, index: 5, first: 7, last: 7, alias: 6, anchor: 65_536}, {page: 1000, first: 1, last: 2}},
			places: []placed{
				{Place: rank.Place{In: true, Tier: 1, Score: -.5, Best: .75, Via: 300, Links: 9, Sum: -2}, generation: 6, model: 3},
				{generation: 1},
				{Place: rank.Place{In: true, Pinned: true, Score: 1, Best: 1, Via: 1}},
			},
		},
		{url: "http://a.example/w", loaded: true, state: stateWaiting, attempt: 2, tries: 2, facts: f, notBefore: 1_700_000_000_000},
		{url: "http://a.example/f", loaded: true, state: stateFlight, attempt: 1, facts: f},
		{
			url: "http://a.example/d", loaded: true, state: stateFinal, attempt: 1, facts: f,
			outcome: schemas.Outcome_OUTCOME_DELIVERED, raw: 1, tempered: .125, trained: 5,
		},
		{url: "http://a.example/g", loaded: true, state: stateFinal, attempt: 3, facts: f, outcome: schemas.Outcome_OUTCOME_TIMEOUT},
		{url: "http://a.example/r", loaded: true, state: stateAlias, attempt: 1, facts: f, target: 12},
	}
}

var exportEntry = cmp.AllowUnexported(entry{}, placed{}, facts{}, link{})

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
		if got := hex.EncodeToString(e.append(nil)); got != want[i] {
			t.Errorf("entry %d is written as\n%s, want\n%s", i, got, want[i])
		}
		b, err := hex.DecodeString(want[i])
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeEntry(0, b)
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
		b := e.append(nil)
		f.Add(b)
		f.Add(b[:len(b)-1])
		f.Add(append(b, 0))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := decodeEntry(9, b)
		if err != nil {
			return
		}
		// What can be read has one form only.
		if again := e.append(nil); !bytes.Equal(again, b) {
			t.Errorf("%x is read and written as %x", b, again)
		}
	})
}

// FuzzDecodeState feeds every other decoder.
func FuzzDecodeState(f *testing.F) {
	c := newCounters()
	c.clock, c.raw, c.outcomes[1], c.refused[scope.Gate], c.unranked, c.shapeBegan = 300, 1.5, 2, 3, 4, 5
	f.Add(c.append(nil, []generations{{1, 2, [slots]uint64{5, 300}}, {3, 3, [slots]uint64{6}}}))
	f.Add((&storedHost{
		name: "a.example", dispatched: 3, notBefore: 1000, place: 2, shape: 7, backlog: backlog{queued: 300, waiting: 1},
		fronts: []storedFront{{policy: 1, generation: 9, stored: 300, unread: true, bound: order{tier: 1, tries: 2, score: -.5, ordinal: 70}}},
	}).append(nil))
	f.Add((&page{url: "http://a.example/", raw: .5, tempered: 1, calibrated: .25, bestIsFocus: true, pending: 300}).append(nil))
	f.Add([]byte{targetsVersion, 1, 2, 200, 1})
	f.Add(appendGuidance(nil, []*schemas.Guidance{{Guide: "g/1", Scores: []float64{1, -2}, States: [][]byte{[]byte("s")}}}))
	f.Add(appendArm(nil, rank.Arm{Alpha: 2.5, Beta: 1, Chosen: 300, Credited: 2, Reward: 1.5}))
	f.Add((&link{first: 300, last: 301, alias: 4, anchor: 65_536}).append(nil))
	for _, fl := range []*flight{{ordinal: 4, attempt: 1, at: 7}, {attempt: 2, asks: true, request: &schemas.FetchRequest{Url: "u"}}} {
		b, err := fl.append(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, g, err := decodeCounters(b); err == nil {
			if c2, g2, err := decodeCounters(c.append(nil, g)); err != nil || c2.clock != c.clock || !slices.Equal(g, g2) {
				t.Errorf("counters %x do not come back: %v", b, err)
			}
		}
		if h, err := decodeHost(b); err == nil && !bytes.Equal(h.append(nil), b) {
			t.Errorf("host %x comes back as %x", b, h.append(nil))
		}
		if p, err := decodePage(1, b); err == nil && !bytes.Equal(p.append(nil), b) {
			t.Errorf("page %x comes back as %x", b, p.append(nil))
		}
		if targets, err := decodeTargets(1, b); err == nil && !bytes.Equal(appendTargets(nil, targets), b) {
			t.Errorf("targets %x do not come back", b)
		}
		if g, err := decodeGuidance(1, b); err == nil && !bytes.Equal(appendGuidance(nil, g), b) {
			t.Errorf("guidance %x comes back as %x", b, appendGuidance(nil, g))
		}
		if a, err := decodeArm(b); err == nil && !bytes.Equal(appendArm(nil, a), b) {
			t.Errorf("arm %x comes back as %x", b, appendArm(nil, a))
		}
		var l link
		if err := l.read(b); err == nil && !bytes.Equal(l.append(nil), b) {
			t.Errorf("link %x comes back as %x", b, l.append(nil))
		}
		if fl, err := decodeFlight(b); err == nil {
			if _, err := fl.append(nil); err != nil {
				t.Errorf("flight %x: %v", b, err)
			}
		}
	})
}

func drawOrder(t *rapid.T) order {
	return order{
		tier: rapid.Uint32Range(0, 2).Draw(t, "tier"), tries: rapid.Uint32Range(0, 300).Draw(t, "tries"),
		score: rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{
			0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64, -math.MaxFloat64,
		})).Draw(t, "score"),
		ordinal: rapid.Uint64Range(0, 1<<40).Draw(t, "ordinal"),
	}
}

// TestQueueKeysSortAsTheOrderDoes compares the order of keys with the order that they encode.
func TestQueueKeysSortAsTheOrderDoes(t *testing.T) {
	k := newKeys(shardPrefix(ShardName{"crawl", 3}))
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawOrder(t), drawOrder(t)
		if rapid.Bool().Draw(t, "same rank") {
			b.tier, b.tries, b.score = a.tier, a.tries, a.score
		}
		x := slices.Clone(k.queue(1, 70_000, 9, a))
		y := slices.Clone(k.queue(1, 70_000, 9, b))
		if got, want := bytes.Compare(x, y), compareOrders(a, b); got != want {
			t.Fatalf("keys of %+v and %+v compare as %d, want %d", a, b, got, want)
		}
		got, err := k.parseQueue(x)
		if err != nil || got != (queueKey{1, 70_000, 9, a}) {
			t.Fatalf("%+v comes back as %+v, %v", a, got, err)
		}
		for _, prefix := range [][]byte{k.queueHost(1, 70_000, 9), k.generation(kindQueue, 1, 70_000), k.kind(kindQueue)} {
			if !bytes.HasPrefix(x, prefix) || bytes.Compare(x, after(prefix)) >= 0 {
				t.Fatalf("key %x is not within prefix %x", x, prefix)
			}
		}
	})
}

func TestAfter(t *testing.T) {
	for _, c := range []struct{ prefix, want []byte }{
		{[]byte{1}, []byte{2}}, {[]byte{1, 0xff}, []byte{2}}, {[]byte{1, 2, 0xff, 0xff}, []byte{1, 3}}, {[]byte{0xff}, nil},
	} {
		if got := after(c.prefix); !bytes.Equal(got, c.want) {
			t.Errorf("after %x comes %x, want %x", c.prefix, got, c.want)
		}
	}
}

// TestFront compares a front with a sorted list that is used as the store.
func TestFront(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f front
		frontSize := rapid.IntRange(1, 32).Draw(t, "size")
		var all []order
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			if len(all) == 0 || rapid.IntRange(0, 2).Draw(t, "insert") > 0 {
				o := order{score: float64(rapid.IntRange(0, 5).Draw(t, "score")), ordinal: rapid.Uint64Range(1, 500).Draw(t, "ordinal")}
				at, found := slices.BinarySearchFunc(all, o, compareOrders)
				if found {
					continue
				}
				all = slices.Insert(all, at, o)
				f.insert(o, frontSize)
			} else {
				at := 0
				if rapid.Bool().Draw(t, "any") {
					at = rapid.IntRange(0, len(all)-1).Draw(t, "at")
				}
				f.remove(all[at])
				all = slices.Delete(all, at, at+1)
			}
			if f.unread && (len(f.keys) != 1 || all[0].less(f.keys[0])) {
				t.Fatalf("unread front %v of %v", f.keys, all)
			}
			if f.unread && rapid.Bool().Draw(t, "read") {
				f = front{keys: slices.Clone(all[:min(len(all), frontSize)]), stored: uint32(len(all))}
			}
			if n := len(f.keys); int(f.stored) != len(all) || f.empty() != (n == 0) || n > 2*frontSize || !f.unread && !slices.Equal(f.keys, all[:n]) {
				t.Fatalf("front %+v of %v", f, all)
			}
		}
	})
}

// TestHeap compares a heap with a sorted list.
func TestHeap(t *testing.T) {
	type item struct{ rank, at int }
	rapid.Check(t, func(t *rapid.T) {
		h := &heap[*item]{less: func(a, b *item) bool { return a.rank < b.rank }, at: func(i *item) *int { return &i.at }}
		items := make([]*item, 12)
		for i := range items {
			items[i] = &item{at: -1}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			x := rapid.SampledFrom(items).Draw(t, "item")
			x.rank = rapid.IntRange(0, 9).Draw(t, "rank")
			h.fix(x, rapid.IntRange(0, 3).Draw(t, "in") > 0)
			n, least := 0, math.MaxInt
			for _, i := range items {
				if i.at >= 0 {
					if n++; h.items[i.at] != i {
						t.Fatalf("item is not where it says")
					}
					least = min(least, i.rank)
				}
			}
			if n != h.len() || (n > 0 && h.top().rank != least) {
				t.Fatalf("%d items, want %d, top %v, want %d", h.len(), n, h.top(), least)
			}
		}
	})
}

// TestLRU checks the budget and the order of eviction.
func TestLRU(t *testing.T) {
	c := newLRU[int, string](10)
	kept := func(keys ...int) {
		t.Helper()
		for _, k := range keys {
			if _, ok := c.peek(k); !ok {
				t.Errorf("%d is gone", k)
			}
		}
		if len(c.at) != len(keys) {
			t.Errorf("%d items are kept, want %v", len(c.at), keys)
		}
	}
	c.put(1, "a", 4)
	c.put(2, "b", 4)
	c.get(1)
	c.peek(2) // is no use
	c.put(3, "c", 4)
	kept(1, 3)
	three := c.put(3, "c", 4)
	c.put(1, "a", 7)
	if kept(1); c.used != 7 || three.kept() {
		t.Errorf("used %d; 3 is kept: %t", c.used, three.kept())
	}
	c.put(4, "d", 100) // larger than the budget: it stays alone
	kept(4)
	c.limit(200)
	c.put(5, "e", 50)
	kept(4, 5)
	c.limit(60)
	kept(5)
	c.drop(5)
	c.drop(5)
	if kept(); c.used != 0 {
		t.Errorf("used %d", c.used)
	}
}

func TestMemory(t *testing.T) { testStore(t, NewMemory()) }

func TestLagging(t *testing.T) { testStore(t, newLagging()) }

// TestShipped checks that the stages' Store conforms to Store.
func TestShipped(t *testing.T) { testStore(t, shippedFor(t)) }

// testStore compares a store with a map.
func testStore(tb *testing.T, s Store) {
	rapid.Check(tb, func(t *rapid.T) {
		commit(tb, s) // range deletions in a batch make it slow
		if err := s.DeleteRange([]byte{1}, []byte{0xff}); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		key := rapid.StringMatching(`[a-c]{1,3}`)
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			k, v := key.Draw(t, "key"), key.Draw(t, "value")
			var err error
			switch rapid.IntRange(0, 4).Draw(t, "op") {
			case 0, 1:
				err = s.Set([]byte(k), []byte(v))
				want[k] = v
			case 2:
				err = s.Delete([]byte(k))
				delete(want, k)
			case 3:
				to := key.Draw(t, "to")
				if k > to {
					k, to = to, k
				}
				err = s.DeleteRange([]byte(k), []byte(to))
				for x := range want {
					if x >= k && x < to {
						delete(want, x)
					}
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			got, ok, err := s.Get([]byte(k))
			if w, has := want[k]; err != nil || ok != has || string(got) != w {
				t.Fatalf("get %s: %q %t %v, want %q %t", k, got, ok, err, w, has)
			}
		}
		commit(tb, s)
		var keys [][]byte
		for _, k := range slices.Sorted(maps.Keys(want)) {
			keys = append(keys, []byte(k), []byte(k+"-")) // the second one is not there
		}
		committed := map[string]string{}
		if err := s.ReadCommitted(keys, func(i int, value []byte) error {
			committed[string(keys[i])] = string(value)
			return nil
		}); err != nil || !maps.Equal(committed, want) {
			t.Fatalf("committed is %v, want %v (%v)", committed, want, err)
		}
		scan := s.Scan
		if rapid.Bool().Draw(t, "committed") {
			scan = s.ScanCommitted
		}
		from, to, most := key.Draw(t, "from"), key.Draw(t, "to"), rapid.IntRange(1, 9).Draw(t, "most")
		var got, expect []string
		err := scan([]byte(from), []byte(to), func(k, v []byte) (bool, error) {
			got = append(got, string(k)+"="+string(v))
			return len(got) < most, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range want {
			if k >= from && k < to {
				expect = append(expect, k+"="+v)
			}
		}
		slices.Sort(expect)
		if expect = expect[:min(most, len(expect))]; !slices.Equal(got, expect) {
			t.Fatalf("scan %s–%s: %v, want %v", from, to, got, expect)
		}
	})
}
