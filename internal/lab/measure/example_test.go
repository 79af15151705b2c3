package measure_test

import (
	"fmt"
	"log"

	"forager/internal/lab/measure"
)

// A crawl of five pages with a budget of ten; four targets exist.
func ExampleCurve() {
	curve := measure.NewCurve([]measure.Page{
		{Relevance: .9, Target: true},
		{Relevance: .8, Target: true},
		{Relevance: .1},
		{Relevance: .7, Target: true},
		{Relevance: 0},
	}, 10, 4)
	n := curve.Pages()
	fmt.Printf("harvest rate %.2f, loss %.1f pages, recall %.2f\n", curve.Rate(n), curve.Loss(n), curve.Recall(n))
	// Output: harvest rate 0.50, loss 2.5 pages, recall 0.75
}

// Two rankers on two tasks, two draws each.
func ExampleCompare() {
	c, err := measure.Compare(
		map[string][]float64{"chemistry": {.5, .7}, "cycling": {.4, .6}},
		map[string][]float64{"chemistry": {.4, .4}, "cycling": {.3, .5}},
		func(task string) string { return task },
	)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("mean difference %.2f over %d tasks, above on %d\n", c.Mean, c.Tasks, c.Above)
	// Output: mean difference 0.15 over 2 tasks, above on 2
}
