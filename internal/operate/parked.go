package operate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"forager/internal/stream"
	"forager/internal/stream/kafka"
	"forager/schemas"
)

// parkingStages are the stages that park crawls, with their input: the first two park crawls with a missing
// object, the others those for which the stage has failed.
var parkingStages = []struct{ stage, topic string }{
	{"critic-score", schemas.TopicPageParsed}, {"feature-extract", schemas.TopicPageJudged},
	{"prioritize", schemas.TopicLinkFound}, {"apprentice-train", schemas.TopicLeapSettled}, {"distill", schemas.TopicLinkFound},
}

// ParkedCrawl is a crawl whose records wait in a stage for something that is missing.
type ParkedCrawl struct {
	Stage string `json:"stage"`
	stream.Parked
}

func (p ParkedCrawl) String() string {
	if p.Object == "" {
		return fmt.Sprintf("%s has left crawl %s aside since %s, as it failed for it (its log has more; forager crawl resume %s tries again, forager crawl delete gives the crawl up): %s",
			p.Stage, p.Unit, p.Since.Format(time.RFC3339), p.Unit, p.Cause)
	}
	return fmt.Sprintf("%d pages of crawl %s wait in %s since %s for %s: %s", p.Records, p.Unit, p.Stage, p.Since.Format(time.RFC3339), p.Object, p.Cause)
}

// ParkedCrawls lists the parked crawls.
func ParkedCrawls(ctx context.Context, client *kafka.Client) (list []ParkedCrawl, err error) {
	for _, s := range parkingStages {
		parked, err := client.Parked(ctx, s.stage, s.topic)
		if err != nil {
			return nil, err
		}
		for _, p := range parked {
			list = append(list, ParkedCrawl{s.stage, p})
		}
	}
	return list, nil
}

// LeftAside reports whether a stage has parked the crawl after a fault.
func LeftAside(ctx context.Context, client *kafka.Client, crawl string) (bool, error) {
	list, err := ParkedCrawls(ctx, client)
	return slices.ContainsFunc(list, func(p ParkedCrawl) bool { return p.Unit == crawl && p.Object == "" }), err
}
