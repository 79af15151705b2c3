package apprentice

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"forager/internal/linkfeature"
	"forager/schemas"
)

// corpus makes pages of leaves with words as frequent as in language, and their links.
func corpus(pages int) (tables []*linkfeature.Table, links [][]*schemas.Link) {
	r := rand.New(rand.NewPCG(5, 6))
	zipf := rand.NewZipf(r, 1.1, 5, 30_000)
	for range pages {
		p := &schemas.Page{Url: "http://h/"}
		index := make(map[uint64]uint32)
		for i := range uint32(200) {
			n := uint32(r.IntN(10))
			p.LeafLengths = append(p.LeafLengths, n)
			for range n {
				w := zipf.Uint64()
				t, ok := index[w]
				if !ok {
					t = uint32(len(p.Terms))
					index[w] = t
					p.Terms = append(p.Terms, fmt.Sprintf("word%d", w))
				}
				p.Tokens = append(p.Tokens, t)
			}
			if i%5 == 0 {
				p.Links = append(p.Links, &schemas.Link{FirstLeaf: i, LastLeaf: i})
			}
		}
		table, l, _, err := linkfeature.Extract(p, nil, linkfeature.Settings{DMax: 5})
		if err != nil {
			panic(err)
		}
		open, err := linkfeature.Open(table)
		if err != nil {
			panic(err)
		}
		tables, links = append(tables, open), append(links, l)
	}
	return tables, links
}

func leaps(pages int) []leap {
	tables, links := corpus(pages)
	var all []leap
	for i, t := range tables {
		for j, l := range links[i] {
			all = append(all, leap{t.Features(l, 5), float64((i*j)%11) / 10})
		}
	}
	return all
}

// BenchmarkAdd learns from leaps with some 47 features; floor: one look at each feature in a
// map of strings.
func BenchmarkAdd(b *testing.B) {
	all := leaps(200)
	c := NewCounts()
	n := 0
	for i := 0; b.Loop(); i++ {
		l := all[i%len(all)]
		n += len(l.features)
		if err := c.Add(l.features, l.r); err != nil {
			b.Fatal(err)
		}
	}
	took := b.Elapsed()
	seen := make(map[string]int, len(c.terms))
	begin := time.Now()
	for i := range b.N {
		for _, f := range all[i%len(all)].features {
			seen[f.Term]++
		}
	}
	b.ReportMetric(float64(took)/float64(max(1, time.Since(begin))), "×floor")
	b.ReportMetric(float64(b.N)/took.Seconds(), "leaps/s")
	b.ReportMetric(float64(n)/float64(b.N), "features/leap")
}

func BenchmarkModel(b *testing.B) {
	c := NewCounts()
	for _, l := range leaps(100) {
		if err := c.Add(l.features, l.r); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("make", func(b *testing.B) {
		for b.Loop() {
			c.Model()
		}
		b.ReportMetric(float64(c.Model().Facts().Features), "features")
	})
	b.Run("marshal", func(b *testing.B) {
		size := 0
		for b.Loop() {
			size = len(c.Marshal())
		}
		b.ReportMetric(float64(size), "bytes")
	})
	file := c.Marshal()
	b.Run("unmarshal", func(b *testing.B) {
		for b.Loop() {
			if _, err := Unmarshal(file); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkScore(b *testing.B) {
	tables, links := corpus(100)
	c := NewCounts()
	for _, l := range leaps(100) {
		if err := c.Add(l.features, l.r); err != nil {
			b.Fatal(err)
		}
	}
	m := c.Model()
	b.Run("page", func(b *testing.B) { // one link, its page's terms looked up once in 40 links
		for i := 0; b.Loop(); i++ {
			p := m.Page(tables[i%100])
			for _, l := range links[i%100] {
				p.Score(l, 5)
			}
		}
		b.ReportMetric(float64(b.Elapsed())/float64(b.N*40), "ns/link")
	})
	b.Run("features", func(b *testing.B) {
		all := leaps(20)
		for i := 0; b.Loop(); i++ {
			m.Score(all[i%len(all)].features)
		}
	})
}
