package neardup

import (
	"cmp"
	"crypto/sha256"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"

	"forager/internal/page/text"
)

const (
	bands, rows = 21, 3
	bins        = bands * rows
	// runLength is the number of words of a run.
	runLength = 3
	// mostRuns is the number of runs that are stored for a suspect.
	mostRuns = 1024
)

// Finder receives pages in order. The zero value is ready to use.
type Finder struct {
	first  map[[16]byte]int32 // page, by the digest of its words
	copyOf []int32            // of each page: the first with its words
	own    []int32            // the pages that are no copies
	bands  [][bands]uint32    // of each of these

	words reader
}

// Add adds the text of the next page.
func (f *Finder) Add(page string) {
	if f.first == nil {
		f.first = make(map[[16]byte]int32)
	}
	n := int32(len(f.copyOf))
	digest := f.words.read(page)
	if at, ok := f.first[digest]; ok {
		f.copyOf = append(f.copyOf, at)
		return
	}
	f.first[digest] = n
	f.copyOf = append(f.copyOf, n)
	f.own = append(f.own, n)
	f.bands = append(f.bands, f.words.bands())
}

// Copies returns groups of at least two pages with the same words, by their first pages.
func (f *Finder) Copies() [][]int {
	groups := make(map[int32][]int)
	for n, first := range f.copyOf {
		if int32(n) != first {
			if groups[first] == nil {
				groups[first] = []int{int(first)}
			}
			groups[first] = append(groups[first], n)
		}
	}
	return byFirst(groups)
}

func byFirst(groups map[int32][]int) [][]int {
	var out [][]int
	for _, g := range groups {
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b []int) int { return cmp.Compare(a[0], b[0]) })
	return out
}

// Suspects are pages that may resemble others; no copies.
type Suspects struct {
	pairs [][2]int32
	runs  map[int32][]uint64 // of the pages of the pairs, ascending; nil until shown
	words reader
}

// Suspects ends the first pass; the Finder releases its memory.
func (f *Finder) Suspects() *Suspects {
	s := &Suspects{runs: make(map[int32][]uint64)}
	order := make([]int32, len(f.own))
	for b := range bands {
		for i := range order {
			order[i] = int32(i)
		}
		slices.SortFunc(order, func(x, y int32) int {
			return cmp.Or(cmp.Compare(f.bands[x][b], f.bands[y][b]), cmp.Compare(x, y))
		})
		begin := 0
		for i := 1; i < len(order); i++ {
			if f.bands[order[i]][b] != f.bands[order[begin]][b] {
				begin = i
				continue
			}
			s.suspect(f.own[order[begin]], f.own[order[i]])
			if i-1 > begin {
				s.suspect(f.own[order[i-1]], f.own[order[i]])
			}
		}
		slices.SortFunc(s.pairs, func(a, b [2]int32) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
		s.pairs = slices.Compact(s.pairs)
	}
	f.bands = nil
	for _, p := range s.pairs {
		s.runs[p[0]], s.runs[p[1]] = nil, nil
	}
	return s
}

func (s *Suspects) suspect(a, b int32) { s.pairs = append(s.pairs, [2]int32{a, b}) }

// Needs reports whether the text of a page is needed for the second pass.
func (s *Suspects) Needs(page int) bool {
	_, ok := s.runs[int32(page)]
	return ok
}

// Show adds the text of a page that is wanted.
func (s *Suspects) Show(page int, text string) {
	s.words.read(text)
	s.runs[int32(page)] = s.words.least(mostRuns)
}

// Group is pages that resemble one another.
type Group struct {
	// Pages are at least two, ascending.
	Pages []int
	// Least is the smallest resemblance by which one of them belongs to the others, in [0,1].
	Least float64
}

// Groups returns the groups in which each page resembles another by at least least, by their first pages. Pages
// that were not shown resemble no other.
func (s *Suspects) Groups(least float64) []Group {
	parent := make(map[int32]int32)
	root := func(p int32) int32 {
		for {
			up, ok := parent[p]
			if !ok || up == p {
				return p
			}
			p = up
		}
	}
	weakest := make(map[int32]float64)
	for _, p := range s.pairs {
		r := resemblance(s.runs[p[0]], s.runs[p[1]])
		if r < least || r == 0 {
			continue
		}
		a, b := root(p[0]), root(p[1])
		low := min(r, orOne(weakest, a), orOne(weakest, b))
		if a == b {
			continue // they are in one group already
		}
		to, from := min(a, b), max(a, b)
		parent[from], parent[to] = to, to
		weakest[to] = low
	}
	groups := make(map[int32][]int)
	for p := range parent {
		groups[root(p)] = append(groups[root(p)], int(p))
	}
	for _, g := range groups {
		slices.Sort(g)
	}
	var out []Group
	for _, g := range byFirst(groups) {
		out = append(out, Group{Pages: g, Least: weakest[int32(g[0])]})
	}
	return out
}

func orOne(m map[int32]float64, k int32) float64 {
	if v, ok := m[k]; ok {
		return v
	}
	return 1
}

// resemblance estimates |A∩B| / |A∪B| of two sets by their least hashes, ascending: exactly if neither was cut.
func resemblance(a, b []uint64) float64 {
	most := math.MaxInt
	if len(a) == mostRuns || len(b) == mostRuns {
		most = mostRuns
	}
	union, common := 0, 0
	for i, j := 0, 0; union < most && (i < len(a) || j < len(b)); union++ {
		switch {
		case j == len(b) || i < len(a) && a[i] < b[j]:
			i++
		case i == len(a) || b[j] < a[i]:
			j++
		default:
			common++
			i++
			j++
		}
	}
	if union == 0 {
		return 0
	}
	return float64(common) / float64(union)
}

// reader computes runs of a text's words.
type reader struct {
	scanner text.Scanner
	words   []byte
	ends    []int
	runs    []uint64
}

// read reads a text and returns the digest of its words.
func (r *reader) read(page string) [16]byte {
	r.words, r.ends, r.runs = r.words[:0], r.ends[:0], r.runs[:0]
	for r.scanner.Reset(page); r.scanner.Next(); {
		r.words = append(append(r.words, r.scanner.Token()...), 0)
		r.ends = append(r.ends, len(r.words))
	}
	begin := 0
	for i := range r.ends {
		end := r.ends[min(i+runLength, len(r.ends))-1]
		r.runs = append(r.runs, xxhash.Sum64(r.words[begin:end]))
		if begin = r.ends[i]; i+runLength >= len(r.ends) {
			break
		}
	}
	sum := sha256.Sum256(r.words)
	return [16]byte(sum[:16])
}

// bands returns those of the text that was read.
func (r *reader) bands() (out [bands]uint32) {
	const empty = math.MaxUint64
	var least [bins]uint64
	for i := range least {
		least[i] = empty
	}
	for _, h := range r.runs {
		bin := h >> 32 * bins >> 32
		least[bin] = min(least[bin], h*0x9e3779b97f4a7c15) // an order that is independent of the bins
	}
	filled := least
	for i := range filled {
		for away := 1; filled[i] == empty && away < bins; away++ {
			if v := least[(i+away)%bins]; v != empty {
				filled[i] = v + uint64(away)*0xc2b2ae3d27d4eb4f
			}
		}
	}
	for b := range out {
		var key [8 * rows]byte
		for k := range rows {
			v := filled[b*rows+k]
			for i := range 8 {
				key[8*k+i] = byte(v >> (8 * i))
			}
		}
		out[b] = uint32(xxhash.Sum64(key[:]))
	}
	return out
}

// least returns the n smallest distinct runs of the text that was read, ascending.
func (r *reader) least(n int) []uint64 {
	slices.Sort(r.runs)
	runs := slices.Compact(r.runs)
	return slices.Clone(runs[:min(n, len(runs))])
}
