package policy_test

import (
	"fmt"
	"log"

	"forager/internal/rank/policy"
	"forager/schemas"
)

// Soft focus (1999): a link is as good as the best page that has it is relevant.
func ExamplePolicy_Add() {
	soft, err := policy.New(&schemas.Policy{Name: "soft", Ranker: schemas.Ranker_RANKER_SOFT_FOCUS}, 1)
	if err != nil {
		log.Fatal(err)
	}
	var at policy.Place
	for via, relevance := range []float64{.25, .75, .5} {
		if at, err = soft.Add(at, "http://example.com/", &policy.Source{Raw: relevance}, uint64(via)); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(at.Score, "by link", at.Via)
	// Output: 0.75 by link 1
}
