package neardup_test

import (
	"fmt"

	"forager/internal/page/neardup"
)

func ExampleFinder() {
	pages := []string{
		"bicycle clubs of Boston meet on Sunday at the river for a ride of forty miles",
		"recipes for bread with rye and sour dough that rises over night",
		"bicycle clubs of Boston meet on Sunday at the river for a ride of fifty miles",
		"recipes for bread with rye and sour dough that rises over night",
	}
	// The first pass reads every page, the second only the suspects.
	var finder neardup.Finder
	for _, p := range pages {
		finder.Add(p)
	}
	fmt.Println("copies:", finder.Copies())
	suspects := finder.Suspects()
	for i, p := range pages {
		if suspects.Needs(i) {
			suspects.Show(i, p)
		}
	}
	for _, g := range suspects.Groups(.5) {
		fmt.Printf("near-duplicates: %v, resemblance %.2f\n", g.Pages, g.Least)
	}
	// Output:
	// copies: [[1 3]]
	// near-duplicates: [0 2], resemblance 0.75
}
