package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"

	"forager/internal/page/tfidf"
)

// cosineCase are documents as counts by word, those of the corpus and those to compare, and the cosine of each pair of the latter.
type cosineCase struct {
	Corpus        [][]uint32  `json:"corpus"`
	Texts         [][]uint32  `json:"texts"`
	Cosines       [][]float64 `json:"cosines"`
	LargestCosine []float64   `json:"largest"`
}

// dumpCosine compares generated documents.
func dumpCosine([]string) error {
	random := rand.New(rand.NewPCG(2008, 4))
	draw := func(n, words int) (rows [][]uint32, documents []tfidf.Document) {
		for range n {
			row := make([]uint32, words)
			for range random.IntN(80) {
				row[random.IntN(1+random.IntN(words))]++
			}
			var d tfidf.Document
			for w, n := range row {
				d.Words, d.Counts = append(d.Words, fmt.Sprintf("w%d", w)), append(d.Counts, n)
			}
			rows, documents = append(rows, row), append(documents, d)
		}
		return rows, documents
	}
	var cases []cosineCase
	for _, shape := range [][3]int{{1, 5, 3}, {10, 30, 20}, {100, 200, 60}, {300, 60, 40}} {
		var c cosineCase
		var corpus, texts []tfidf.Document
		c.Corpus, corpus = draw(shape[0], shape[1])
		c.Texts, texts = draw(shape[2], shape[1])
		weighed, err := tfidf.NewCorpus(slices.Values(corpus))
		if err != nil {
			return err
		}
		var vectors []tfidf.Vector
		for _, d := range texts {
			vectors = append(vectors, weighed.Vector(d))
		}
		for i, v := range vectors {
			row := make([]float64, len(vectors))
			for j, u := range vectors {
				row[j] = tfidf.Cosine(v, u)
			}
			c.Cosines = append(c.Cosines, row)
			c.LargestCosine = append(c.LargestCosine, tfidf.LargestCosine(v, append(slices.Clone(vectors[:i]), vectors[i+1:]...)))
		}
		cases = append(cases, c)
	}
	return json.NewEncoder(os.Stdout).Encode(cases)
}
