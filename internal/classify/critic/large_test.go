package critic

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"forager/internal/classify/bayes"
	"forager/internal/classify/calibrate"
	"forager/internal/classify/logistic"
	"forager/internal/classify/taxonomy"
	"forager/internal/platform/modelfile"
	"forager/schemas"
)

// large is a model of random numbers: 500 classes and 200,000 words with frequencies as in language,
// of which each class has met a hundred documents.
func large(b *testing.B, method Method) (m *Model, pages []*schemas.Page) {
	b.Helper()
	const classes, words, documents, length = 500, 200_000, 100, 300
	r := rand.New(rand.NewPCG(3, 4))
	zipf := rand.NewZipf(r, 1.3, 9, words-1)
	t := &training{words: words}
	var list []string
	for i := range words {
		list = append(list, fmt.Sprintf("w%06d", i))
	}
	draw := func(topic, n int) []uint32 {
		all := make([]uint32, n)
		for i := range all {
			w := zipf.Uint64()
			if r.IntN(15) == 0 {
				w = (w*7919 + uint64(topic)*104_729) % words // a word that the topic uses more than others do
			}
			all[i] = uint32(w)
		}
		return all
	}
	curve := &calibrate.Curve{A: .3, B: -1}
	m = &Model{settings: Settings{Method: method}, calibration: &calibration{takes: schemas.Posterior_POSTERIOR_CALIBRATED, best: curve}, unseen: new(unseen)}
	bags := make([][]*bayes.Bag, classes)
	for k := range classes {
		m.classes = append(m.classes, fmt.Sprintf("group%02d/topic%03d", k/20, k))
		m.calibration.classes = append(m.calibration.classes, curve)
		for range documents {
			t.bags = append(t.bags, ascending(bagOf(draw(k, length))))
			t.of = append(t.of, []int{k})
			bags[k] = append(bags[k], t.bags[len(t.bags)-1])
		}
	}
	t.classes = m.classes
	var err error
	if m.words, err = newVocabulary(list); err != nil {
		b.Fatal(err)
	}
	switch method {
	case Bayes:
		counts, err := bayes.Count(words, bags)
		if err != nil {
			b.Fatal(err)
		}
		m.judge = &flat{counts.Model()}
	case Logistic:
		h := &hashed{}
		n := 0
		h.features, n = hashWords(list, classes)
		h.idf = make([]float32, n)
		h.model = &logistic.Packed{Bias: make([]float64, classes), Scale: make([]float32, n), Weights: make([]int16, n*classes)}
		for f := range n {
			h.idf[f], h.model.Scale[f] = 1+r.Float32(), 1e-3
		}
		for i := range h.model.Weights {
			h.model.Weights[i] = int16(r.Uint32())
		}
		m.judge = h
	}
	for i := range 64 {
		var text strings.Builder
		for _, w := range draw(i%classes, 1000) {
			text.WriteString(list[w] + " ")
		}
		pages = append(pages, page("http://new/"+strconv.Itoa(i), text.String()))
	}
	return newModel(m), pages
}

func bagOf(words []uint32) *bayes.Bag {
	b := new(bayes.Bag)
	slices.Sort(words)
	for i, w := range words {
		if i == 0 || w != words[i-1] {
			b.Features, b.Counts = append(b.Features, w), append(b.Counts, 0)
		}
		b.Counts[len(b.Counts)-1]++
	}
	return b
}

// BenchmarkLarge prints how long a mapped model of 500 classes and 200,000 words takes until it is
// ready, what it adds to the process's memory, and the time to score a page of 1,000 tokens. Ceilings:
// 0.5 s, 300 MB, 150 µs.
func BenchmarkLarge(b *testing.B) {
	for _, method := range []Method{Bayes, Logistic} {
		b.Run(string(method), func(b *testing.B) {
			m, pages := large(b, method)
			path := filepath.Join(b.TempDir(), "model")
			data := m.Marshal()
			if err := os.WriteFile(path, data, 0o600); err != nil {
				b.Fatal(err)
			}
			size := len(data)
			m, data = nil, nil
			runtime.GC()
			before, begin := heap(), cpu(b)
			file, err := modelfile.Map(path)
			if err != nil {
				b.Fatal(err)
			}
			if m, err = UnmarshalMapped(file); err != nil {
				b.Fatal(err)
			}
			ready := cpu(b) - begin
			weights, err := Weigh(m, taxonomy.Marking{Good: m.Classes()[:1]})
			if err != nil {
				b.Fatal(err)
			}
			// The least time of each page counts, which does not depend on the load of the machine.
			least := make([]time.Duration, len(pages))
			for i := 0; b.Loop(); i++ {
				at := i % len(pages)
				began := time.Now()
				if _, err := Judge(b.Context(), m, pages[at], weights); err != nil {
					b.Fatal(err)
				}
				if took := time.Since(began); least[at] == 0 || took < least[at] {
					least[at] = took
				}
			}
			var sum time.Duration
			for _, d := range least {
				sum += d
			}
			b.ReportMetric(float64(sum.Nanoseconds())/1e3/float64(len(pages)), "µs/page")
			distinct := 0
			for _, p := range pages {
				distinct += len(p.Terms)
			}
			b.ReportMetric(float64(distinct)/float64(len(pages)), "words/page")
			b.ReportMetric(ready.Seconds(), "CPU-s-until-ready")
			b.ReportMetric(float64(size)/1e6, "MB-file")
			b.ReportMetric(float64(size)/1e6+(heap()-before)/1e6, "MB-resident") // all of the file was looked at
		})
	}
}

// heap returns the size of the reachable memory, bytes.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
