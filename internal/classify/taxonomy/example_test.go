package taxonomy_test

import (
	"fmt"
	"log"

	"forager/internal/classify/taxonomy"
)

// A leaf with too few examples is pruned; its examples count for the topic above it.
func ExamplePrune() {
	examples := []taxonomy.Example{
		{URL: "http://a.test/", Topics: []string{"Sports/Cycling"}},
		{URL: "http://b.test/", Topics: []string{"Sports/Cycling"}},
		{URL: "http://c.test/", Topics: []string{"Sports/Curling"}},
		{URL: "http://d.test/", Topics: []string{"Arts"}},
		{URL: "http://e.test/", Topics: []string{"Arts"}},
	}
	tree, err := taxonomy.Prune(examples, taxonomy.Settings{Minimum: 2})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range tree.Classes {
		fmt.Println(c.Name, c.Examples)
	}
	for _, p := range tree.Pruned {
		fmt.Printf("%s is pruned into %s\n", p.Topic, p.Into)
	}
	// Output:
	// Arts [3 4]
	// Sports/Cycling [0 1]
	// Sports/Other [2]
	// Sports/Curling is pruned into Sports
}

func ExampleMarking_Weigh() {
	m := taxonomy.Marking{Good: []string{"Sports"}, Weights: map[string]float64{"Sports": .5}, Bad: []string{"Sports/Curling"}}
	classes := []string{"Arts", "Sports/Curling", "Sports/Cycling"}
	weights, err := m.Weigh(classes, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(weights.Focus)
	// Output: [0 0 0.5]
}
