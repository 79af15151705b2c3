package critic

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"forager/internal/platform/modelfile"
)

func TestUnmarshalRefuses(t *testing.T) {
	m, _ := train(t, sentences(3, "A", "B/C"), Settings{})
	whole := m.Marshal()
	_, body, err := modelfile.Open(whole, FileKind, fileVersion)
	if err != nil {
		t.Fatal(err)
	}
	var words modelfile.Encoder
	words.String("porter/2")
	for name, c := range map[string]struct {
		b        []byte
		want     error
		expected string
	}{
		"empty":            {nil, modelfile.ErrDamaged, "critic model: damaged: the file is empty"},
		"half written":     {whole[:len(whole)/2], modelfile.ErrDamaged, "cut short"},
		"another kind":     {modelfile.Seal("apprentice", 1, body), modelfile.ErrForeign, "apprentice"},
		"a newer format":   {modelfile.Seal(FileKind, fileVersion+1, body), modelfile.ErrNewer, "version 3"},
		"an older format":  {modelfile.Seal(FileKind, oldestVersion-1, body), modelfile.ErrOlder, "train it again"},
		"other words":      {modelfile.Seal(FileKind, fileVersion, words.Bytes()), modelfile.ErrForeign, `"porter/2"`},
		"an empty body":    {modelfile.Seal(FileKind, fileVersion, nil), modelfile.ErrDamaged, "words"},
		"half a body":      {modelfile.Seal(FileKind, fileVersion, body[:len(body)/2]), modelfile.ErrDamaged, "at byte"},
		"more in the body": {modelfile.Seal(FileKind, fileVersion, append(body[:len(body):len(body)], 0)), modelfile.ErrDamaged, "left over"},
	} {
		if _, err := Unmarshal(c.b); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.expected) {
			t.Errorf("%s: %v, want %v with %q", name, err, c.want, c.expected)
		}
	}
}

// FuzzUnmarshal adds a valid checksum to its input, so that damage is not detected by the checksum alone.
func FuzzUnmarshal(f *testing.F) {
	for _, s := range []Settings{
		{Minimum: 3, Provenance: map[string]string{"a": "b"}}, {Exact: true, Cap: 2}, {Method: BayesTree, Features: 5}, {Method: Logistic},
	} {
		m, _ := train(f, append(sentences(4, "A", "B/C"), sentences(1, "B/C/D")...), s)
		_, body, err := modelfile.Open(m.Marshal(), FileKind, fileVersion)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Add([]byte("\x0cuax29/1 stop"))
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := Unmarshal(modelfile.Seal(FileKind, fileVersion, body))
		if err != nil {
			if !errors.Is(err, modelfile.ErrDamaged) && !errors.Is(err, modelfile.ErrForeign) {
				t.Errorf("an error without a class: %v", err)
			}
			return
		}
		focus := m.Classes()[:1]
		if _, err := m.Judge(page("http://h/A/0", "a page of c"), focus); err != nil && focusOn(m, focus) == nil {
			t.Errorf("%v", err)
		}
		if again, err := Unmarshal(m.Marshal()); err != nil || string(again.Marshal()) != string(m.Marshal()) {
			t.Errorf("does not come back: %v", err)
		}
	})
}

// TestSealedDamageIsHarmless changes bytes and then the checksum: a file is refused, or its model can be used.
func TestSealedDamageIsHarmless(t *testing.T) {
	for _, method := range Methods {
		m, _ := train(t, append(sentences(5, "A", "B/C", "B/D"), sentences(1, "B/C/D")...), Settings{Method: method})
		_, whole, err := modelfile.Open(m.Marshal(), FileKind, fileVersion)
		if err != nil {
			t.Fatal(err)
		}
		for at := range whole {
			for _, bits := range []byte{1, 0x80, 0xff} {
				body := bytes.Clone(whole)
				body[at] ^= bits
				m, err := Unmarshal(modelfile.Seal(FileKind, fileVersion, body))
				if err != nil {
					if !errors.Is(err, modelfile.ErrDamaged) && !errors.Is(err, modelfile.ErrForeign) {
						t.Fatalf("%s, byte %d: %v", method, at, err)
					}
					continue
				}
				o := NewPrediction(len(m.Classes()))
				for _, url := range []string{"http://h/A/0", "http://new/"} {
					if err := m.Predict(t.Context(), o, page(url, "a page of c the link b d")); err != nil {
						t.Fatalf("%s, byte %d: %v", method, at, err)
					}
				}
			}
		}
	}
}

func TestMappedModelIsTheModel(t *testing.T) {
	m, _ := train(t, sentences(9, "A", "B/C"), Settings{})
	path := filepath.Join(t.TempDir(), "m")
	if err := os.WriteFile(path, m.Marshal(), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := modelfile.Map(path)
	if err != nil {
		t.Fatal(err)
	}
	mapped, err := UnmarshalMapped(file)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC() // the file must outlive the caller that mapped it
	for _, url := range []string{"http://h/A/0", "http://new/"} {
		want, err := m.Judge(page(url, "a page of c"), []string{"A"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := mapped.Judge(page(url, "a page of c"), []string{"A"})
		if err != nil || !proto.Equal(got, want) {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
	}
	cut := filepath.Join(t.TempDir(), "cut")
	if err := os.WriteFile(cut, m.Marshal()[:100], 0o600); err != nil {
		t.Fatal(err)
	}
	if file, err = modelfile.Map(cut); err != nil {
		t.Fatal(err)
	}
	if _, err := UnmarshalMapped(file); !errors.Is(err, modelfile.ErrDamaged) {
		t.Errorf("a damaged file: %v", err)
	}
}
