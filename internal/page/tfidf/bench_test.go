package tfidf

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkIndex counts texts of 300 words each, with a new word among ten.
func BenchmarkIndex(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	frequent := rand.NewZipf(r, 1.1, 4, 1<<14)
	texts := make([][][]byte, 3000)
	for i := range texts {
		for k := range 300 {
			word := fmt.Sprintf("word%d", frequent.Uint64())
			if k%10 == 0 {
				word = fmt.Sprintf("new%d", r.Uint32())
			}
			texts[i] = append(texts[i], []byte(word))
		}
	}
	for b.Loop() {
		_, _, err := Index(len(texts), func(i int, add func(word []byte, count uint32)) error {
			for _, word := range texts[i] {
				add(word, 1)
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
