package deploy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"forager/internal/platform/pipeline"
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

// parkedCrawl is a crawl whose records wait in a stage for something that is missing.
type parkedCrawl struct {
	Stage string `json:"stage"`
	stream.Parked
}

func (p parkedCrawl) String() string {
	if p.Object == "" {
		return fmt.Sprintf("%s has left crawl %s aside since %s, as it failed for it (its log has more; forager crawl resume %s tries again, forager crawl delete gives the crawl up): %s",
			p.Stage, p.Unit, p.Since.Format(time.RFC3339), p.Unit, p.Cause)
	}
	return fmt.Sprintf("%d pages of crawl %s wait in %s since %s for %s: %s", p.Records, p.Unit, p.Stage, p.Since.Format(time.RFC3339), p.Object, p.Cause)
}

// parkedCrawls lists the parked crawls.
func parkedCrawls(ctx context.Context, client *kafka.Client) (list []parkedCrawl, err error) {
	for _, s := range parkingStages {
		parked, err := client.Parked(ctx, s.stage, s.topic)
		if err != nil {
			return nil, err
		}
		for _, p := range parked {
			list = append(list, parkedCrawl{s.stage, p})
		}
	}
	return list, nil
}

// LeftAside reports whether a stage has parked the crawl after a fault.
func LeftAside(ctx context.Context, client *kafka.Client, crawl string) (bool, error) {
	list, err := parkedCrawls(ctx, client)
	return slices.ContainsFunc(list, func(p parkedCrawl) bool { return p.Unit == crawl && p.Object == "" }), err
}

// ParkedNotes returns the notes on a parked crawl for its report.
func ParkedNotes(ctx context.Context, client *kafka.Client, crawl string) (notes []string, err error) {
	list, err := parkedCrawls(ctx, client)
	for _, p := range list {
		if p.Unit == crawl {
			notes = append(notes, "parked: "+p.String())
		}
	}
	return notes, err
}

// checkParked is an error that names the parked crawls.
func checkParked(ctx context.Context, cfg *pipeline.Config, log *slog.Logger) (err error) {
	client, err := kafka.Dial(cfg.Kafka, cfg.Topics, log, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	list, err := parkedCrawls(ctx, client)
	for _, p := range list {
		err = errors.Join(err, errors.New(p.String()))
	}
	return err
}
