package critic

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConfirmAsksForEach(t *testing.T) {
	list := []question{{URL: "a"}, {URL: "b"}, {URL: "c"}, {URL: "d"}, {URL: "e"}}
	for answers, want := range map[string][2][]string{
		"y\nno\nwhat\nY\ns\nn\n": {{"a", "c"}, {"b", "e"}},
		"y\nq\ny\n":              {{"a"}, nil},
		"n\n":                    {nil, {"a"}},
		"":                       {nil, nil},
	} {
		yes, no, err := confirm(strings.NewReader(answers), io.Discard, list)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, [2][]string{yes, no}); diff != "" {
			t.Errorf("answers %q: %s", answers, diff)
		}
	}
}
