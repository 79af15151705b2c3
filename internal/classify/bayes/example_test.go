package bayes_test

import (
	"fmt"
	"log"

	"forager/internal/classify/bayes"
)

// Example 13.1 of Manning, Raghavan & Schütze, Introduction to Information Retrieval: three documents on China and one on another
// subject; features are words by number.
func Example() {
	counts, err := bayes.Count(6, [][]*bayes.Bag{
		{
			{Features: []uint32{0, 1}, Counts: []uint32{2, 1}},
			{Features: []uint32{0, 2}, Counts: []uint32{2, 1}},
			{Features: []uint32{0, 3}, Counts: []uint32{1, 1}},
		},
		{{Features: []uint32{0, 4, 5}, Counts: []uint32{1, 1, 1}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	model := counts.Model()
	p := make([]float64, model.Classes())
	known := model.LogLikelihood(p, &bayes.Bag{Features: []uint32{0, 4, 5}, Counts: []uint32{3, 1, 1}})
	model.Posterior(p, p, bayes.Temper(known))
	fmt.Printf("China %.3f, other %.3f\n", p[0], p[1])
	// Output: China 0.690, other 0.310
}
