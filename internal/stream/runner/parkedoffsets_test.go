package runner

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forager/internal/stream"
)

func TestParkedMetadata(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newParking(0)
		high := int64(0)
		for range rapid.IntRange(0, 3000).Draw(t, "records") {
			high += 1 + int64(rapid.IntRange(0, 2).Draw(t, "gap"))
			crawl := fmt.Sprint("crawl", rapid.IntRange(0, 2).Draw(t, "crawl"))
			p.park(crawl, high-1, stream.Missing(rapid.String().Draw(t, "object"), errors.New(strings.Repeat("cause ", 50))))
		}
		p.high = max(high, 1)
		low, metadata := p.point()
		if len(metadata) > 4096 {
			t.Fatalf("metadata of %d bytes", len(metadata))
		}
		q := newParking(low)
		next, err := q.restore(low, metadata)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case next == low && p.count > 0 && q.count == 0: // the lists did not fit: all come again
		case next == p.high && q.count == p.count:
			for unit, u := range p.units {
				if fmt.Sprint(q.units[unit].offsets) != fmt.Sprint(u.offsets) {
					t.Fatalf("unit %s: %v, want %v", unit, q.units[unit].offsets, u.offsets)
				}
			}
		default:
			t.Fatalf("restored %d of %d records, next %d of %d", q.count, p.count, next, p.high)
		}
	})
}

func FuzzParkedMetadata(f *testing.F) {
	f.Add(`{"high":5,"parked":[{"crawl":"a","offsets":"1 1"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		p := newParking(3)
		if next, err := p.restore(3, text); err == nil && next < 3 {
			t.Errorf("goes back to %d", next)
		}
	})
}
