//go:build webs

package warc

import (
	"testing"

	"forager/internal/testkit/frozen"
)

// The frozen webs are read whole: as many records as in their README, every stored response can be parsed, and
// every page has a body of the length in its header.
func TestFrozenWebs(t *testing.T) {
	for name, want := range map[string][2]int{"webkb": {8275, 1446}, "webplatform": {5194, 4749}} {
		var pages, redirects int
		for record, err := range Responses(frozen.Path(t, frozen.Webs, name+".warc.gz")) {
			if err != nil {
				t.Fatal(err)
			}
			answer, err := record.Response()
			if err != nil {
				t.Fatal(err)
			}
			switch answer.Status {
			case 200:
				pages++
			case 301:
				redirects++
			}
		}
		if got := [2]int{pages, redirects}; got != want {
			t.Errorf("%s: pages and redirects %v, want %v", name, got, want)
		}
	}
}
