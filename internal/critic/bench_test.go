package critic

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"forager/schemas"
)

// BenchmarkJudge judges pages of some 2,000 words by a critic of 15 classes and 60,000 words
// with frequencies as in language, and prints how much slower that is than looking at each byte
// of their text once.
func BenchmarkJudge(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 4))
	zipf := rand.NewZipf(r, 1.1, 5, 60_000)
	write := func(topic, words int) string {
		var s strings.Builder
		for range words {
			w := zipf.Uint64()
			if r.IntN(5) == 0 {
				w = w*15 + uint64(topic) // a word of the topic's own
			}
			fmt.Fprintf(&s, "w%x ", w*2654435761%(1<<30))
		}
		return s.String()
	}
	var all []labelled
	for topic := range 15 {
		for i := range 60 {
			all = append(all, labelled{fmt.Sprintf("http://h/%d/%d", topic, i), fmt.Sprintf("topic%02d", topic), write(topic, 1500)})
		}
	}
	m, _ := train(b, all, Settings{})
	var (
		pages []*schemas.Page
		texts []string
		size  int64
	)
	for i := range 64 {
		s := write(i%15, 2000)
		texts, pages = append(texts, s), append(pages, page("http://new/", s))
		size += int64(len(s))
	}
	focus := []string{"topic03"}
	b.SetBytes(size / int64(len(pages)))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := m.Judge(pages[i%len(pages)], focus); err != nil {
			b.Fatal(err)
		}
	}
	judged := b.Elapsed()
	var sink byte
	begin := time.Now()
	for i := range b.N {
		s := texts[i%len(texts)]
		for j := range len(s) {
			sink ^= s[j]
		}
	}
	floor := time.Since(begin)
	b.ReportMetric(float64(judged)/float64(max(floor, 1)), "×floor")
	if sink == 1 {
		b.Log("the floor was looked at")
	}
}

func BenchmarkTrain(b *testing.B) {
	e := examples(b, sentences(200, "A/B", "A/C", "D", "E"))
	for b.Loop() {
		if _, _, err := Train(e, Settings{Minimum: 100}); err != nil {
			b.Fatal(err)
		}
	}
}
