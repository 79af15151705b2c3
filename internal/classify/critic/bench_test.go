package critic

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"forager/schemas"
)

// BenchmarkJudge judges pages of some 2,000 words by critics of 15 and 500 classes and 60,000 words with
// frequencies as in natural language, parsed and from raw text, and prints how much slower that is than reading
// each byte of their text once.
func BenchmarkJudge(b *testing.B) {
	for _, classes := range []int{15, 500} {
		b.Run(fmt.Sprint(classes, "-classes"), func(b *testing.B) { benchmarkJudge(b, classes, 12_000/classes) })
	}
}

func benchmarkJudge(b *testing.B, classes, examples int) {
	r := rand.New(rand.NewPCG(3, 4))
	zipf := rand.NewZipf(r, 1.1, 5, 60_000)
	write := func(topic, words int) string {
		var s strings.Builder
		for range words {
			w := zipf.Uint64()
			if r.IntN(5) == 0 {
				w = (w*7919 + uint64(topic)*104_729) % 60_000 // a word that the topic uses more than others do
			}
			fmt.Fprintf(&s, "w%x ", w*2654435761%(1<<30))
		}
		return s.String()
	}
	var all []labelled
	for topic := range classes {
		for i := range min(60, examples) {
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
		s := write(i%classes, 2000)
		texts, pages = append(texts, s), append(pages, page("http://new/", s))
		size += int64(len(s))
	}
	focus := []string{"topic03"}
	for name, judge := range map[string]func(i int) error{
		"parsed": func(i int) error {
			_, err := m.Judge(pages[i], focus)
			return err
		},
		"text": func(i int) error {
			_, err := m.JudgeText(texts[i], focus)
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size / int64(len(pages)))
			b.ReportAllocs()
			before := cpu(b)
			for i := 0; b.Loop(); i++ {
				if err := judge(i % len(pages)); err != nil {
					b.Fatal(err)
				}
			}
			judged := b.Elapsed()
			used := cpu(b) - before
			b.ReportMetric(float64(b.N)*float64(size)/float64(len(pages))/1e6/used.Seconds(), "MB/CPU-s")
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
		})
	}
}

// cpu is the CPU time of the process so far, which does not depend on the load of the machine.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkTrain(b *testing.B) {
	e := examples(b, sentences(200, "A/B", "A/C", "D", "E"))
	for b.Loop() {
		if _, _, err := Train(b.Context(), e, Settings{Minimum: 100}); err != nil {
			b.Fatal(err)
		}
	}
}
