package localgraph

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// web20 is a hand-made web of 20 pages; links by source.
//
//	19 → 15 → 10 → {5, 6} → {1, 2} → 0 and 7; page 3 is another target, near page 6.
var web20 = map[uint32][]uint32{
	1: {0}, 2: {0, 1}, 4: {0, 3},
	5: {1, 2}, 6: {2, 3}, 7: {4, 0},
	8: {5}, 9: {5, 6}, 10: {5, 6, 18},
	11: {8}, 12: {9, 10}, 13: {10}, 14: {10, 13},
	15: {10, 11}, 16: {11}, 17: {16, 0},
	19: {15}, 0: {19}, 3: {3},
}

func parentsOf(web map[uint32][]uint32) func(uint32) []uint32 {
	parents := make(map[uint32][]uint32)
	for u := range uint32(64) {
		for _, v := range web[u] {
			parents[v] = append(parents[v], u)
		}
	}
	return func(v uint32) []uint32 { return parents[v] }
}

// TestHandMadeWeb was worked out on paper.
func TestHandMadeWeb(t *testing.T) {
	g, err := Build([]uint32{0}, Known(parentsOf(web20)), Default)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]Member{
		{{0, 1}},
		{{1, 1}, {2, 1}, {4, 1}, {7, 1}, {17, 1}},
		{{5, 2}, {6, 1}},                              // 5 links to 1 and 2; 2 → 1 and 7 → 4 stay in layer 1
		{{8, 1}, {9, 2}, {10, 2}},                     // 9 and 10 link to both 5 and 6
		{{11, 1}, {12, 2}, {13, 1}, {14, 1}, {15, 1}}, // 14 → 13 is a link within the layer
	}
	if !reflect.DeepEqual(g.Layers, want) || g.Sampled != 0 {
		t.Errorf("%v, want %v", g.Layers, want)
	}
	// With 3 as a second target, 4 and 6 are in layer 1 of its graph, 6 in layer 2 of the other.
	both, err := Build([]uint32{0, 3}, Known(parentsOf(web20)), Default)
	if err != nil {
		t.Fatal(err)
	}
	if want := []Member{{1, 1}, {2, 1}, {4, 2}, {6, 1}, {7, 1}, {17, 1}}; !slices.Equal(both.Layers[1], want) {
		t.Errorf("layer 1 is %v, want %v", both.Layers[1], want)
	}
	if want := []Member{{5, 2}, {6, 1}, {7, 1}, {9, 1}, {10, 1}}; !slices.Equal(both.Layers[2], want) {
		t.Errorf("layer 2 is %v, want %v", both.Layers[2], want)
	}
	if low := both.Lowest(); low[6] != 1 || low[9] != 2 || low[5] != 2 || low[12] != 3 || low[0] != 0 {
		t.Errorf("lowest layers %v", low)
	}
}

// TestBuildIsBreadthFirst: without a cap the layer of a page in the graph of one target is its
// distance, and its copies are its links into the layer below.
func TestBuildIsBreadthFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint32Range(1, 25).Draw(t, "pages")
		web := make(map[uint32][]uint32)
		for u := range n {
			web[u] = rapid.SliceOfNDistinct(rapid.Uint32Range(0, n-1), 0, 4, rapid.ID).Draw(t, "links")
		}
		s := Settings{Depth: rapid.IntRange(1, 5).Draw(t, "depth"), Cap: 100}
		target := rapid.Uint32Range(0, n-1).Draw(t, "target")
		g, err := Build([]uint32{target}, Known(parentsOf(web)), s)
		if err != nil {
			t.Fatal(err)
		}
		// Distances by relaxing every link until nothing changes.
		const far = 1 << 20
		distance := make([]int, n)
		for u := range distance {
			distance[u] = far
		}
		distance[target] = 0
		for range n {
			for u := range n {
				for _, v := range web[u] {
					distance[u] = min(distance[u], distance[v]+1)
				}
			}
		}
		for u := range n {
			copies := 0
			for _, v := range web[u] {
				if distance[v] == distance[u]-1 {
					copies++
				}
			}
			for i, layer := range g.Layers {
				at := slices.IndexFunc(layer, func(m Member) bool { return m.Page == u })
				if (at >= 0) != (distance[u] == i) {
					t.Fatalf("page %d at distance %d: in layer %d %t", u, distance[u], i, at >= 0)
				}
				if at >= 0 && i > 0 && layer[at].Copies != copies {
					t.Fatalf("page %d has %d copies, and %d links into the layer below", u, layer[at].Copies, copies)
				}
			}
		}
	})
}

func TestCap(t *testing.T) {
	web := map[uint32][]uint32{}
	for u := uint32(1); u < 20; u++ {
		web[u] = []uint32{0}
		web[u+20] = []uint32{u}
	}
	s := Settings{Depth: 2, Cap: 5, Seed: 1}
	one, err := Build([]uint32{0}, Known(parentsOf(web)), s)
	if err != nil {
		t.Fatal(err)
	}
	if len(one.Layers[1]) != 5 || len(one.Layers[2]) != 5 || one.Sampled != 1 {
		t.Errorf("%+v", one)
	}
	for i, m := range one.Layers[2] { // of those that were kept
		if m.Page != one.Layers[1][i].Page+20 {
			t.Errorf("page %d is in layer 2", m.Page)
		}
	}
	again, _ := Build([]uint32{0}, Known(parentsOf(web)), s)
	s.Seed = 2
	other, _ := Build([]uint32{0}, Known(parentsOf(web)), s)
	if !reflect.DeepEqual(one, again) || reflect.DeepEqual(one, other) {
		t.Error("the sample is not that of the seed")
	}
	for want, f := range map[string]func() (*Graph, error){
		"there are none": func() (*Graph, error) { return Build(nil, Known(parentsOf(web)), Default) },
		"depth 0":        func() (*Graph, error) { return Build([]uint32{0}, Known(parentsOf(web)), Settings{Cap: 3}) },
	} {
		if _, err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
