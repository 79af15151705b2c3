package apprentice

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// corpus makes pages of leaves with words as frequent as in language, and their links.
func corpus(pages int, vocabulary uint64) (tables []*linkfeature.Table, links [][]*schemas.Link) {
	r := rand.New(rand.NewPCG(5, 6))
	zipf := rand.NewZipf(r, 1.1, 5, vocabulary-1)
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

func leaps(pages int, vocabulary uint64) []leap {
	tables, links := corpus(pages, vocabulary)
	var all []leap
	for i, t := range tables {
		for j, l := range links[i] {
			all = append(all, leap{t.Features(l, 5), float64((i*j)%11) / 10})
		}
	}
	return all
}

// known trains a learner on a number of features: every word at every offset up to 5, with R(v) as a critic gives it,
// mostly near 0 or 1.
func known(c Learner, features int, r *rand.Rand) {
	one := []*schemas.Feature{{Count: 1}}
	for i := range features {
		one[0].Term, one[0].Offset = fmt.Sprintf("word%d", i/11), int32(i%11-5)
		for range 1 + r.IntN(3) {
			if err := c.Add(one, relevance(r)); err != nil {
				panic(err)
			}
		}
	}
}

func relevance(r *rand.Rand) float64 {
	switch x := r.Float64(); {
	case x < .6:
		return r.Float64() / 300
	case x < .8:
		return 1 - r.Float64()/300
	}
	return r.Float64()
}

// BenchmarkAdd learns from leaps with some 50 features into a million known ones. Leaps are fresh
// copies, as a stage has just decoded them; only learning is counted, in CPU time. Floor: one look
// at each feature in a map of strings.
func BenchmarkAdd(b *testing.B) {
	b.Run("bayes", func(b *testing.B) { benchmarkAdd(b, NewCounts()) })
	b.Run("logistic", func(b *testing.B) { benchmarkAdd(b, newLogistic(defaultProximal)) })
}

func benchmarkAdd(b *testing.B, c Learner) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const vocabulary = 90_910
	r := rand.New(rand.NewPCG(3, 4))
	if err := c.SetCut(.5); err != nil {
		b.Fatal(err)
	}
	known(c, 11*vocabulary, r)
	seen := make(map[string]int)
	for i := range vocabulary {
		seen[fmt.Sprintf("word%d", i)] = 1
	}
	all := leaps(400, vocabulary)
	for i := range all {
		all[i].r = relevance(r)
	}
	runtime.GC()
	fresh := make([]leap, 64)
	var took, floor time.Duration
	var n, done int
	for at := 0; b.Loop(); at++ {
		if at%len(fresh) > 0 {
			continue
		}
		for i := range fresh {
			fresh[i] = all[(at+i)%len(all)].clone()
			n += len(fresh[i].features)
		}
		done += len(fresh)
		before := threadTime(b)
		for _, l := range fresh {
			if err := c.Add(l.features, l.r); err != nil {
				b.Fatal(err)
			}
		}
		took += threadTime(b) - before
		for i := range fresh {
			fresh[i] = all[(at+i+7777)%len(all)].clone()
		}
		before = threadTime(b)
		for _, l := range fresh {
			for _, f := range l.features {
				seen[f.Term]++
			}
		}
		floor += threadTime(b) - before
	}
	b.ReportMetric(float64(took)/float64(floor), "×floor")
	b.ReportMetric(float64(done)/took.Seconds(), "leaps/cpu-s")
	b.ReportMetric(float64(n)/float64(done), "features/leap")
	b.ReportMetric(float64(c.Model().Facts().Features), "features")
}

// clone copies a leap as proto.Unmarshal would: every feature and string is allocated, one after another.
func (l leap) clone() leap {
	features := make([]*schemas.Feature, len(l.features))
	for i, f := range l.features {
		features[i] = &schemas.Feature{Term: strings.Clone(f.Term), Offset: f.Offset, Count: f.Count}
	}
	return leap{features, l.r}
}

// threadTime is the CPU time, user and system, of the thread.
func threadTime(b *testing.B) time.Duration {
	const thread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	if err := syscall.Getrusage(thread, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkModel(b *testing.B) {
	c := NewCounts()
	for _, l := range leaps(100, 30_000) {
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
	tables, links := corpus(100, 30_000)
	c := NewCounts()
	for _, l := range leaps(100, 30_000) {
		if err := c.Add(l.features, l.r); err != nil {
			b.Fatal(err)
		}
	}
	m := c.Model()
	b.Run("page", func(b *testing.B) { // one link, its page's terms looked up once in 40 links
		var p Page
		for i := 0; b.Loop(); i++ {
			p.Turn(m, tables[i%100], 5)
			for _, l := range links[i%100] {
				p.Score(l)
			}
		}
		b.ReportMetric(float64(b.Elapsed())/float64(b.N*40), "ns/link")
	})
	b.Run("features", func(b *testing.B) {
		all := leaps(20, 30_000)
		for i := 0; b.Loop(); i++ {
			m.Score(all[i%len(all)].features)
		}
	})
}
