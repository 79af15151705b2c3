package critic

import (
	"errors"
	"strings"
	"testing"

	"forager/internal/modelfile"
)

func TestUnmarshalRefuses(t *testing.T) {
	m, _ := train(t, sentences(3, "A", "B/C"), Settings{})
	whole := m.Marshal()
	_, body, err := modelfile.Open(whole, fileKind, fileVersion)
	if err != nil {
		t.Fatal(err)
	}
	var words modelfile.Encoder
	words.String("porter/2")
	for name, c := range map[string]struct {
		b    []byte
		want error
		says string
	}{
		"empty":            {nil, modelfile.ErrDamaged, "critic model: damaged: the file is empty"},
		"half written":     {whole[:len(whole)/2], modelfile.ErrDamaged, "cut short"},
		"another kind":     {modelfile.Seal("apprentice", 1, body), modelfile.ErrForeign, "apprentice"},
		"a newer format":   {modelfile.Seal(fileKind, fileVersion+1, body), modelfile.ErrNewer, "version 3"},
		"an older format":  {modelfile.Seal(fileKind, oldest-1, body), modelfile.ErrOlder, "train it again"},
		"other words":      {modelfile.Seal(fileKind, fileVersion, words.Bytes()), modelfile.ErrForeign, `"porter/2"`},
		"an empty body":    {modelfile.Seal(fileKind, fileVersion, nil), modelfile.ErrDamaged, "words"},
		"half a body":      {modelfile.Seal(fileKind, fileVersion, body[:len(body)/2]), modelfile.ErrDamaged, "at byte"},
		"more in the body": {modelfile.Seal(fileKind, fileVersion, append(body[:len(body):len(body)], 0)), modelfile.ErrDamaged, "left over"},
	} {
		if _, err := Unmarshal(c.b); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %v with %q", name, err, c.want, c.says)
		}
	}
}

// FuzzUnmarshal seals what it is given, so that damage behind the checksum is met too.
func FuzzUnmarshal(f *testing.F) {
	for _, s := range []Settings{{Minimum: 3, Provenance: map[string]string{"a": "b"}}, {Exact: true, Cap: 2}} {
		m, _ := train(f, append(sentences(4, "A", "B/C"), sentences(1, "B/C/D")...), s)
		_, body, err := modelfile.Open(m.Marshal(), fileKind, fileVersion)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Add([]byte("\x0cuax29/1 stop"))
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := Unmarshal(modelfile.Seal(fileKind, fileVersion, body))
		if err != nil {
			if !errors.Is(err, modelfile.ErrDamaged) && !errors.Is(err, modelfile.ErrForeign) {
				t.Errorf("an error without a class: %v", err)
			}
			return
		}
		focus := m.Classes()[:1]
		if _, err := m.Judge(page("http://h/A/0", "a page of c"), focus); err != nil && m.Focus(focus) == nil {
			t.Errorf("%v", err)
		}
		if again, err := Unmarshal(m.Marshal()); err != nil || string(again.Marshal()) != string(m.Marshal()) {
			t.Errorf("does not come back: %v", err)
		}
	})
}
