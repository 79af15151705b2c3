package stateful

import (
	"errors"
	"maps"
	"testing"

	"forager/internal/stream"
	"forager/schemas"
)

// TestManyBadRecordsParkTheirCrawl: a crawl does not lose one record after the other.
func TestManyBadRecordsParkTheirCrawl(t *testing.T) {
	f := newFaults()
	record := func(offset int64, crawl string) stream.Record {
		return stream.Record{Offset: offset, Headers: map[string]string{schemas.HeaderCrawl: crawl}}
	}
	fails := func(r stream.Record) {
		t.Helper()
		for range triesAlone {
			if _, ok := f.note(&fault{[]stream.Record{r}, errors.New("bug")}); !ok {
				t.Fatal("the process stops")
			}
		}
	}
	for i := range int64(mostSkipped) {
		fails(record(i, "a"))
	}
	f.passed([]stream.Record{record(50, "b")})
	fails(record(60, "a"))
	if len(f.skip) != mostSkipped || f.park["a"] == "" {
		t.Errorf("skipped %v, parked %v", f.skip, f.park)
	}
	f.passed([]stream.Record{record(61, "a")})
	fails(record(62, "a"))
	if want := mostSkipped + 1; len(f.skip) != want {
		t.Errorf("after a record that was taken: skipped %v", maps.Keys(f.skip))
	}
}
