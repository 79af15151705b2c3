//go:build webs

package warc

import (
	"io"
	"testing"

	"forager/internal/frozen"
)

// The frozen webs read whole: as many records as their README counts, every stored answer
// parses, and every page has a body of the length its header says.
func TestFrozenWebs(t *testing.T) {
	for name, want := range map[string][2]int{"webkb": {8275, 1446}, "webplatform": {5194, 4749}} {
		file := frozen.Open(t, frozen.Webs, name+".warc.gz")
		info, err := file.Stat()
		if err != nil {
			t.Fatal(err)
		}
		r := NewReader(file, info.Size(), Limits{})
		var pages, redirects int
		for {
			record, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if record.Type != TypeResponse {
				continue
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
