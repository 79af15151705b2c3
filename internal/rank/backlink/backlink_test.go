package backlink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"forager/internal/classify/httpmodel"
	"forager/internal/platform/modelfile"
	"forager/internal/rank/edgefile"
	"forager/schemas"
)

// constantSource is a source that returns the same for every page.
type constantSource struct {
	parents []string
	err     error
}

func (s constantSource) Parents(context.Context, string) ([]string, error) { return s.parents, s.err }

func page(n uint32) string { return fmt.Sprintf("http://web.test/%d", n) }

// handMade is the web of 20 pages whose context graph packages localgraph and contextgraph have worked out on paper.
var handMade = map[uint32][]uint32{
	1: {0}, 2: {0, 1}, 4: {0, 3},
	5: {1, 2}, 6: {2, 3}, 7: {4, 0},
	8: {5}, 9: {5, 6}, 10: {5, 6, 18},
	11: {8}, 12: {9, 10}, 13: {10}, 14: {10, 13},
	15: {10, 11}, 16: {11}, 17: {16, 0},
	19: {15}, 0: {19}, 3: {3},
}

func edgesOf(web map[uint32][]uint32) string {
	var b strings.Builder
	for u := range uint32(20) {
		for _, v := range web[u] {
			fmt.Fprintf(&b, "%s\t%s\n", page(u), page(v))
		}
	}
	return b.String()
}

func tableOf(t testing.TB, edges string) *Table {
	t.Helper()
	table, _, err := NewTable(EdgesOf(t.Context(), strings.NewReader(edges), .5, func(string) bool { return true }))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestHandMadeWeb: the parents of each page, read off the drawing.
func TestHandMadeWeb(t *testing.T) {
	table := tableOf(t, "# the web\n"+edgesOf(handMade)+"not an edge\n"+page(1)+" "+page(0)+"\n")
	again, err := Unmarshal(table.Marshal())
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[uint32][]uint32{
		0: {1, 2, 4, 7, 17}, 1: {2, 5}, 2: {5, 6}, 3: {4, 6}, 4: {7}, 5: {8, 9, 10}, 6: {9, 10}, 8: {11}, 9: {12}, 11: {15, 16}, 13: {14}, 10: {12, 13, 14, 15},
		15: {19}, 16: {17}, 18: {10}, 19: {0}, 7: nil, 12: nil, 17: nil,
	} {
		var wanted []string
		for _, p := range want {
			wanted = append(wanted, page(p))
		}
		for _, by := range []*Table{table, again} {
			result, err := Ask(t.Context(), by, "web/1", page(target))
			if err != nil || !slices.Equal(result.GetParents(), wanted) || result.GetQueries() != 1 || result.GetDropped() != 0 || result.GetSource() != "web/1" {
				t.Errorf("page %d: %v, %v; want %v", target, result, err, wanted)
			}
		}
	}
	if got := again.Targets(); got != 16 {
		t.Errorf("%d pages have parents", got)
	}
}

// TestTableAgreesWithAScan of the edges, whatever they are; a file that was changed is refused or a table.
func TestTableAgreesWithAScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var edges [][2]string
		for range rapid.IntRange(0, 60).Draw(t, "edges") {
			draw := rapid.Map(rapid.Uint32Range(0, 30), page)
			edges = append(edges, [2]string{draw.Draw(t, "from"), draw.Draw(t, "to")})
		}
		table, _, err := NewTable(func(f func(from, to string)) (c edgefile.Counts, err error) {
			for _, e := range edges {
				f(e[0], e[1])
			}
			return c, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for n := range uint32(32) {
			var want []string
			for _, e := range edges {
				if e[1] == page(n) && e[0] != e[1] && !slices.Contains(want, e[0]) && len(want) < Most {
					want = append(want, e[0])
				}
			}
			if got, err := table.Parents(context.Background(), page(n)); err != nil || !slices.Equal(got, want) {
				t.Fatalf("parents of %d: %v, %v; want %v", n, got, err, want)
			}
		}
	})
}

func FuzzUnmarshal(f *testing.F) {
	f.Add(tableOf(f, edgesOf(handMade)).Marshal())
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, modelfile.Seal(TableKind, tableVersion, b)} {
			table, err := Unmarshal(b)
			if err != nil {
				continue
			}
			for _, url := range table.urls {
				if parents, err := table.Parents(t.Context(), url); err != nil || len(parents) > Most {
					t.Errorf("%d parents, %v", len(parents), err)
				}
			}
		}
	})
}

// TestWhatIsNotBelieved: invalid parents of a source are dropped.
func TestWhatIsNotBelieved(t *testing.T) {
	lies := constantSource{parents: []string{"ftp://web.test/", "not a URL", "http://web.test:80/1", page(1), page(0), "http://web.test/2#top"}}
	result, err := Ask(t.Context(), lies, "s/1", page(0))
	if err != nil || !slices.Equal(result.GetParents(), []string{page(1), page(2)}) || result.GetDropped() != 4 {
		t.Errorf("%v, %v", result, err)
	}
	var many []string
	for n := range uint32(Most + 5) {
		many = append(many, page(n+1))
	}
	if result, err := Ask(t.Context(), constantSource{parents: many}, "s/1", page(0)); err != nil || len(result.GetParents()) != Most || result.GetDropped() != 5 {
		t.Errorf("%v, %v", result, err)
	}
	for reason, charged := range map[string]uint32{httpmodel.Timeout: 1, httpmodel.Rubbish: 1, httpmodel.Open: 0} {
		failure := &httpmodel.Failure{Reason: reason, Detail: "x"}
		result, err := Ask(t.Context(), constantSource{err: failure}, "s/1", page(0))
		if !errors.Is(err, failure) || result.GetQueries() != charged || !strings.Contains(result.GetFailure(), reason) {
			t.Errorf("%s: %v, %v", reason, result, err)
		}
	}
}

func TestWanted(t *testing.T) {
	target := &schemas.Judgement{Guidance: []*schemas.Guidance{{Layer: 2}, {Layer: 1}}}
	may := &schemas.Path{Backlinks: "s/1"}
	if !Wanted(may, target) || Wanted(may, &schemas.Judgement{Guidance: []*schemas.Guidance{{}, {Layer: 2}}}) || Wanted(nil, target) {
		t.Error("a source is to be asked about targets, where the path allows it")
	}
}

// TestJoin: parents follow a page's links with the best score that a guide gave these, but for those that it links to itself.
func TestJoin(t *testing.T) {
	own := make([]*schemas.Link, 0, 9)
	own = append(own, &schemas.Link{Url: page(1)}, &schemas.Link{Url: page(2)})
	rec := &schemas.LinkFound{Links: own, Judgement: &schemas.Judgement{
		Raw: 1, Anchors: []uint32{5, 6}, Backlinks: &schemas.Backlinks{Parents: []string{page(3), page(2), page(4)}},
		Guidance: []*schemas.Guidance{{Scores: []float64{.5}}, {Scores: []float64{3, 7}, States: [][]byte{{1}, {2}}}, {Failure: "timeout"}},
	}}
	Join(rec)
	parent := func(n uint32) *schemas.Link {
		return &schemas.Link{Url: page(n), FirstLeaf: schemas.NoLeaf, LastLeaf: schemas.NoLeaf, Backlink: true}
	}
	want := &schemas.LinkFound{Links: []*schemas.Link{own[0], own[1], parent(3), parent(4)}, Judgement: &schemas.Judgement{
		Raw: 1, Anchors: []uint32{5, 6, schemas.AnchorSteps, schemas.AnchorSteps}, Backlinks: rec.Judgement.Backlinks,
		Guidance: []*schemas.Guidance{
			{Scores: []float64{.5}}, {Scores: []float64{3, 7, 7, 7}, States: [][]byte{{1}, {2}, nil, nil}}, {Failure: "timeout"},
		},
	}}
	if !proto.Equal(rec, want) {
		t.Errorf("%v, want %v", rec, want)
	}
	if own[:3][2] != nil {
		t.Error("links that others have were written to")
	}
	alone := &schemas.LinkFound{Links: own, Judgement: &schemas.Judgement{}}
	if Join(alone); len(alone.Links) != 2 {
		t.Errorf("%v without parents", alone)
	}
}

func TestOpen(t *testing.T) {
	service, err := httpmodel.ParseBacklinks("s.yaml", "url: http://127.0.0.1:9/")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{service.Marshal(), tableOf(t, edgesOf(handMade)).Marshal()} {
		if _, err := Open(b, httpmodel.Options{}); err != nil {
			t.Error(err)
		}
		if _, err := Open(b[:len(b)-1], httpmodel.Options{}); err == nil {
			t.Error("a file that was cut is a source")
		}
	}
	if _, err := Open([]byte("forager guide 1\n"), httpmodel.Options{}); !errors.Is(err, modelfile.ErrForeign) {
		t.Errorf("another kind: %v", err)
	}
}

// TestHosts: what links to the vertex of a host links to the page at its root, unless more is known of that.
func TestHosts(t *testing.T) {
	edges := [][2]string{{"http://a.test/", "http://b.test/"}, {"http://c.test/", "https://d.test/"}, {"http://a.test/", "http://d.test/"}}
	table, _, err := NewTable(func(f func(from, to string)) (edgefile.Counts, error) {
		for _, e := range edges {
			f(e[0], e[1])
		}
		return edgefile.Counts{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string][]string{
		"http://b.test/": {"http://a.test/"}, "https://www.b.test/": {"http://a.test/"}, "https://b.test/x": nil,
		"https://d.test/": {"http://c.test/"}, "https://www.d.test/": {"http://a.test/"}, "https://a.test/": nil,
	} {
		if got, err := table.Parents(t.Context(), url); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v (%v)", url, got, want, err)
		}
	}
}

// TestNumberedEdges make the table that the same edges make with URLs, whatever the order of the vertices; vertices without
// a name, broken lines and pages that are not wanted are left out.
func TestNumberedEdges(t *testing.T) {
	var edges, vertices strings.Builder
	for u := range uint32(20) {
		fmt.Fprintf(&vertices, "%d\t%s\n", 119-u, page(19-u))
		for _, v := range handMade[u] {
			fmt.Fprintf(&edges, "%d\t%d\n", 100+u, 100+v)
		}
	}
	edges.WriteString("7\t100\n100\tx\n")
	vertices.WriteString("x\ty\n")
	open := func(text string) func() (io.ReadCloser, error) {
		return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
	}
	n := &Numbered{Edges: open(edges.String()), Vertices: open(vertices.String()), Broken: .1}
	table, counts, err := NewTable(n.Links(t.Context(), func(string) bool { return true }))
	if err != nil || !slices.Equal(table.Marshal(), tableOf(t, edgesOf(handMade)).Marshal()) {
		t.Errorf("another table than that of URLs, %v", err)
	}
	if counts.Broken != 1 || n.Named.Broken != 1 || n.Nameless != 1 {
		t.Errorf("edges %+v, vertices %+v, %d without a name", counts, n.Named, n.Nameless)
	}
	one := &Numbered{Edges: open(edges.String()), Vertices: open(vertices.String()), Broken: .1}
	table, _, err = NewTable(one.Links(t.Context(), func(to string) bool { return to == page(4) }))
	if parents, _ := table.Parents(t.Context(), page(4)); err != nil || table.Targets() != 1 || !slices.Equal(parents, []string{page(7)}) {
		t.Errorf("parents of one page: %v, %v", parents, err)
	}
	for name, n := range map[string]*Numbered{
		"vertices: ": {Edges: open(edges.String()), Vertices: open("a\tb\n")},
		"line 33":    {Edges: open(edges.String()), Vertices: open(vertices.String()[:len(vertices.String())-4])},
	} {
		if _, _, err := NewTable(n.Links(t.Context(), func(string) bool { return true })); !errors.Is(err, edgefile.ErrBroken) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
