package critic_test

import (
	"context"
	"fmt"
	"log"

	"forager/internal/classify/critic"
)

func ExampleTrain() {
	var examples critic.Examples
	for i, page := range []struct{ topic, text string }{
		{"Cycling", "bicycle clubs and the routes they ride"},
		{"Cycling", "how to repair the wheel of a bicycle"},
		{"Cycling", "mountain bike trails and races"},
		{"Other", "recipes for bread and cake"},
		{"Other", "the weather of the coming week"},
		{"Other", "train times and tickets"},
	} {
		if err := examples.AddText(fmt.Sprintf("http://example.com/%d", i), []string{page.topic}, page.text); err != nil {
			log.Fatal(err)
		}
	}
	model, _, err := critic.Train(context.Background(), &examples, critic.Settings{Exact: true, Unmeasured: true})
	if err != nil {
		log.Fatal(err)
	}
	for _, page := range []string{"a race for every bicycle", "cake for the week"} {
		j, err := model.JudgeText(page, []string{"Cycling"})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: relevant %v\n", page, j.GetRaw() > .5)
	}
	// Output:
	// a race for every bicycle: relevant true
	// cake for the week: relevant false
}
