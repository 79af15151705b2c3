package frontier_test

import (
	"fmt"
	"log"
	"time"

	"forager/internal/frontier"
	"forager/internal/frontier/storage"
	"forager/internal/web/scope"
	"forager/schemas"
)

// A crawl by soft focus: the link on the relevant page is followed before that on the other one.
func Example() {
	ctl := &schemas.CrawlControl{
		Crawl: "physics", Revision: 1, State: schemas.CrawlState_CRAWL_STATE_RUNNING,
		Policies: []*schemas.Policy{{Name: "soft-focus", Ranker: schemas.Ranker_RANKER_SOFT_FOCUS}},
		Budget:   &schemas.Budget{Pages: 3}, Window: 2, Scope: &schemas.Scope{Hosts: []string{"example"}},
	}
	limits, err := scope.New(ctl.GetScope(), nil)
	if err != nil {
		log.Fatal(err)
	}
	shard, err := frontier.Open(storage.NewMemory(), ctl.GetCrawl(), 0)
	if err == nil {
		err = shard.Configure(ctl, limits, frontier.Options{Epoch: 1})
	}
	if err != nil {
		log.Fatal(err)
	}
	now := time.UnixMilli(0)
	apply := func(rec *schemas.LinkFound) {
		if _, err := shard.Apply(rec, now); err != nil {
			log.Fatal(err)
		}
	}
	seeds := schemas.RequestID("physics", "seeds:1", 0)
	apply(&schemas.LinkFound{
		Id: seeds[:], Crawl: "physics", Outcome: schemas.Outcome_OUTCOME_SEEDS,
		Links: []*schemas.Link{{Url: "http://a.example/"}, {Url: "http://b.example/"}},
	})
	relevance := map[string]float64{"http://a.example/": .2, "http://b.example/": .9}
	for {
		requests, err := shard.Dispatch(now, 2)
		if err != nil {
			log.Fatal(err)
		}
		for _, r := range requests {
			fmt.Printf("%s with score %.1f\n", r.GetUrl(), r.GetScore())
			apply(&schemas.LinkFound{
				Id: r.GetId(), Crawl: "physics", Url: r.GetUrl(), Outcome: schemas.Outcome_OUTCOME_DELIVERED,
				Judgement: &schemas.Judgement{Raw: relevance[r.GetUrl()]},
				Links:     []*schemas.Link{{Url: r.GetUrl() + "next"}},
			})
		}
		if reason, ended := shard.Finished(); ended {
			fmt.Println(reason)
			return
		}
	}
	// Output:
	// http://a.example/ with score 1.0
	// http://b.example/ with score 1.0
	// http://b.example/next with score 0.9
	// pages budget spent
}
