package pageguide

import (
	"bytes"
	"errors"
	"maps"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"forager/internal/platform/modelfile"
	"forager/internal/platform/modelfile/modelfiletest"
	"forager/internal/rank/guide"
	"forager/schemas"
)

// variants are guides of all kinds, with settings of all sorts.
func variants(t testing.TB) map[string]*Guide {
	t.Helper()
	all := make(map[string]*Guide)
	for _, k := range Kinds {
		all[string(k)] = trained(t, k, small())
	}
	s := small()
	s.Words.Stem, s.Layers.WithLayer1, s.Layers.Raw, s.Layers.Quantile = false, true, true, .05
	s.Provenance = nil
	all["context-graph raw"] = trained(t, ContextGraph, s)
	s.Path.Edges, s.Path.Ahead, s.Path.Inference, s.Path.Order = true, true, Viterbi, ByStates
	s.Path.Observe, s.Path.Description, s.Graph.Depth = ObserveWords|ObserveAnchorIn|ObserveURL, "calls for papers", 2
	all["memm edges"] = trained(t, MEMM, s)
	return all
}

// TestFilesComeBack: a guide read from a file has the same guidance for every page, and the same file.
func TestFilesComeBack(t *testing.T) {
	for name, g := range variants(t) {
		file := g.Marshal()
		if !IsFile(file) {
			t.Errorf("%s: not a file of its kind", name)
		}
		again, err := Unmarshal(file)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if again.Kind() != g.Kind() || again.ReadsURLs() != g.ReadsURLs() || !maps.Equal(again.Provenance(), g.Provenance()) {
			t.Errorf("%s: %s %v, want %s %v", name, again.Kind(), again.Provenance(), g.Kind(), g.Provenance())
		}
		if !bytes.Equal(again.Marshal(), file) {
			t.Errorf("%s: the file does not come back", name)
		}
		var state []byte
		for i := range web {
			p := withLink(parse(t, i, "p"))
			a, b := ask(t, g, p, state), ask(t, again, p, state)
			if !proto.Equal(a, b) {
				t.Errorf("%s, page %d: %v, want %v", name, i, b, a)
			}
			state = guide.State(a, 0)
		}
	}
}

// TestTrainingIsRepeatable: the same training data give the same bytes.
func TestTrainingIsRepeatable(t *testing.T) {
	once := variants(t)
	for name, g := range variants(t) {
		if !bytes.Equal(g.Marshal(), once[name].Marshal()) {
			t.Errorf("%s is another", name)
		}
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	for name, g := range variants(t) {
		file := g.Marshal()
		kind := string(g.Kind())
		_, body, err := modelfile.Open(file, kind, fileVersion)
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Clone(file)
		changed[len(file)/2] ^= 1
		for what, c := range map[string]struct {
			b    []byte
			want error
		}{
			"nothing":          {nil, modelfile.ErrForeign},
			"text":             {[]byte("guide me"), modelfile.ErrForeign},
			"a critic":         {modelfile.Seal("critic", 1, body), modelfile.ErrForeign},
			"a newer version":  {modelfile.Seal(kind, fileVersion+1, body), modelfile.ErrNewer},
			"half":             {file[:len(file)/2], modelfile.ErrDamaged},
			"a changed byte":   {changed, modelfile.ErrDamaged},
			"half a body":      {modelfile.Seal(kind, fileVersion, body[:len(body)/2]), modelfile.ErrDamaged},
			"more in the body": {modelfile.Seal(kind, fileVersion, append(bytes.Clone(body), 0)), modelfile.ErrDamaged},
			"words of another": {modelfile.Seal(kind, fileVersion, append([]byte("\x09spaces/99"), body...)), modelfile.ErrForeign},
		} {
			if g, err := Unmarshal(c.b); g != nil || !errors.Is(err, c.want) {
				t.Errorf("%s, %s: %v, want %v", name, what, err, c.want)
			}
		}
	}
}

// tryAll runs the guide of a body that may be damaged on pages. Whatever can be read can be run.
func tryAll(t testing.TB, kind Kind, body []byte, pages []*schemas.Page) {
	g, err := Unmarshal(modelfile.Seal(string(kind), fileVersion, body))
	if err != nil {
		if !errors.Is(err, modelfile.ErrDamaged) && !errors.Is(err, modelfile.ErrForeign) {
			t.Fatalf("an error without a class: %v", err)
		}
		return
	}
	var state []byte
	for _, p := range pages {
		result, err := g.Guide(t.Context(), &guide.View{Page: p, State: state})
		if err == nil {
			err = guide.Check(result, len(p.GetLinks()))
			state = guide.State(result, 0)
		}
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
	}
	if again, err := Unmarshal(g.Marshal()); err != nil || !bytes.Equal(again.Marshal(), g.Marshal()) {
		t.Fatalf("%s does not come back: %v", kind, err)
	}
}

// FuzzUnmarshal seals its input, so that damage after the checksum is tested, too.
func FuzzUnmarshal(f *testing.F) {
	for _, g := range variants(f) {
		_, body, err := modelfile.Open(g.Marshal(), string(g.Kind()), fileVersion)
		if err != nil {
			f.Fatal(err)
		}
		for i, k := range Kinds {
			if k == g.Kind() {
				f.Add(uint8(i), body)
			}
		}
	}
	pages := []*schemas.Page{parse(f, 5, "p"), parse(f, 3, "p")}
	f.Fuzz(func(t *testing.T, kind uint8, body []byte) { tryAll(t, Kinds[int(kind)%len(Kinds)], body, pages) })
}

// TestSealedDamageIsHarmless changes bytes after the checksum: a file is refused, or its guide can be run on any page.
func TestSealedDamageIsHarmless(t *testing.T) {
	pages := []*schemas.Page{parse(t, 5, "p"), parse(t, 3, "p")}
	s := small()
	s.Path.Keywords, s.Graph.Depth = 2, 2
	for _, kind := range Kinds {
		_, whole, err := modelfile.Open(trained(t, kind, s).Marshal(), string(kind), fileVersion)
		if err != nil {
			t.Fatal(err)
		}
		for at := range whole {
			for _, bits := range []byte{1, 0x80, 0xff} {
				body := bytes.Clone(whole)
				body[at] ^= bits
				tryAll(t, kind, body, pages)
			}
		}
	}
}

// TestStoredFile decodes files that were written once, with the first release of their format version. They are never
// written again.
func TestStoredFile(t *testing.T) {
	for _, kind := range Kinds {
		want := trained(t, kind, small())
		g, err := Unmarshal(modelfiletest.Stored(t, "testdata/v1-"+string(kind)+".guide", want.Marshal()))
		if err != nil {
			t.Fatal(err)
		}
		if g.Kind() != kind || g.Provenance()["crawl"] != "by hand" || !strings.Contains(g.words.String(), "stem") {
			t.Errorf("%s: %v, %v", g.Kind(), g.Provenance(), g.words)
		}
		for i := range web {
			p := withLink(parse(t, i, "p"))
			a, _ := guide.Score(ask(t, g, p, nil), 0)
			if b, _ := guide.Score(ask(t, want, p, nil), 0); a-b > 1e-4 || b-a > 1e-4 { // another processor may end L-BFGS elsewhere
				t.Errorf("%s, page %d: %v, want %v", kind, i, a, b)
			}
		}
	}
}
