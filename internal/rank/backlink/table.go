package backlink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"forager/internal/platform/modelfile"
	"forager/internal/rank/edgefile"
)

const (
	// TableKind is the kind of a table's file (package modelfile).
	TableKind    = "backlink-table"
	tableVersion = 1
)

// Table is a source made of edges. It is immutable.
type Table struct {
	urls    []string // sorted, distinct
	targets []uint32 // ascending
	ends    []uint32 // the end of each target's parents
	parents []uint32
}

// Edges calls f with the ends of links, canonical URLs, and returns the counts of what it read.
type Edges func(f func(from, to string)) (edgefile.Counts, error)

// maxPages bounds the pages of a table, parents included: some 2 GB of URLs while it is made.
const maxPages = 1 << 24

// errTooMany: the edges have more pages, or links to them, than a table may have.
var errTooMany = errors.New("too much for one table; name the hosts whose pages are to be asked about")

// EdgesOf returns the edges of a file of URLs that lead to wanted pages. A share of broken lines above broken is
// edgefile.ErrBroken.
func EdgesOf(ctx context.Context, r io.Reader, broken float64, wanted func(to string) bool) Edges {
	return func(f func(from, to string)) (edgefile.Counts, error) {
		return edgefile.Links(ctx, r, broken, wanted, f)
	}
}

// NewTable keeps the first Most parents of each page among the edges. Links of a page to itself are left out. More than
// maxPages pages are an error.
func NewTable(edges Edges) (*Table, edgefile.Counts, error) {
	names, numbers := []string(nil), make(map[string]uint32)
	number := func(url string) uint32 {
		n, ok := numbers[url]
		if !ok {
			n = uint32(len(names))
			names, numbers[url] = append(names, url), n
		}
		return n
	}
	of := make(map[uint32][]uint32)
	full := false
	counts, err := edges(func(from, to string) {
		if from == to {
			return
		}
		if full = full || len(names)+2 > maxPages; full {
			return
		}
		target := number(to)
		if known := of[target]; len(known) < Most {
			if p := number(from); !slices.Contains(known, p) {
				of[target] = append(known, p)
			}
		}
	})
	if err == nil && full {
		err = fmt.Errorf("%w: more than %d pages are linked", errTooMany, maxPages)
	}
	if err != nil {
		return nil, counts, err
	}
	t := &Table{urls: slices.Sorted(slices.Values(names))}
	for at, url := range t.urls {
		known := of[numbers[url]]
		if len(known) == 0 {
			continue
		}
		t.targets = append(t.targets, uint32(at))
		for _, p := range known {
			n, _ := slices.BinarySearch(t.urls, names[p])
			t.parents = append(t.parents, uint32(n))
		}
		t.ends = append(t.ends, uint32(len(t.parents)))
	}
	return t, counts, nil
}

// Targets returns the number of pages with known parents.
func (t *Table) Targets() int { return len(t.targets) }

// Parents implements Source; it never fails. If nothing links to a page at the root of a host, the parents of the host's
// vertex are returned.
func (t *Table) Parents(_ context.Context, url string) ([]string, error) {
	parents := t.of(url)
	if v := edgefile.Vertex(url); parents == nil && v != "" {
		parents = t.of(v)
	}
	return parents, nil
}

// of returns the parents of a target; nil for other pages.
func (t *Table) of(url string) (parents []string) {
	n, ok := slices.BinarySearch(t.urls, url)
	if !ok {
		return nil
	}
	at, ok := slices.BinarySearch(t.targets, uint32(n))
	if !ok {
		return nil
	}
	begin := uint32(0)
	if at > 0 {
		begin = t.ends[at-1]
	}
	for _, p := range t.parents[begin:t.ends[at]] {
		parents = append(parents, t.urls[p])
	}
	return parents
}

// Marshal returns the table's file.
func (t *Table) Marshal() []byte {
	e := modelfile.NewEncoder(TableKind, tableVersion)
	e.Words(t.urls)
	for _, numbers := range [][]uint32{t.targets, t.ends, t.parents} {
		modelfile.PutArray(e, numbers)
	}
	return modelfile.Seal(TableKind, tableVersion, e.Bytes())
}

// Unmarshal reads a table's file. Errors are those of package modelfile.
func Unmarshal(b []byte) (*Table, error) {
	_, body, err := modelfile.Open(b, TableKind, tableVersion)
	if err != nil {
		return nil, fmt.Errorf("table of backlinks: %w", err)
	}
	d := modelfile.NewDecoder(body)
	t := &Table{urls: d.Words("pages")}
	t.targets = modelfile.Array[uint32](d, "pages with parents")
	t.ends = modelfile.Array[uint32](d, "ends of parents")
	t.parents = modelfile.Array[uint32](d, "parents")
	t.check(d)
	if err := d.End(); err != nil {
		return nil, fmt.Errorf("table of backlinks: %w", err)
	}
	return t, nil
}

// check reports invalid contents to the decoder.
func (t *Table) check(d *modelfile.Decoder) {
	if len(t.ends) != len(t.targets) {
		d.Fail("%d pages with parents have %d ends", len(t.targets), len(t.ends))
		return
	}
	last := uint32(0)
	for i, end := range t.ends {
		if end <= last || end-last > Most {
			d.Fail("page %d has the parents %d to %d", i, last, end)
		}
		last = end
	}
	if int(last) != len(t.parents) {
		d.Fail("%d parents, the pages have %d", len(t.parents), last)
	}
	for i, n := range t.targets {
		if int(n) >= len(t.urls) || i > 0 && n <= t.targets[i-1] {
			d.Fail("page %d of %d", n, len(t.urls))
		}
	}
	for _, n := range t.parents {
		if int(n) >= len(t.urls) {
			d.Fail("parent %d of %d pages", n, len(t.urls))
		}
	}
}
