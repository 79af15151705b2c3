package operate

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"forager/internal/stream/kafka"
	"forager/schemas"
)

// StageNames are the stages that handle records, in the order of a page's journey.
var StageNames = []string{
	"fetch", "parse-dom", "critic-score", "feature-extract", "prioritize", "apprentice-train", "distill", "load-clickhouse",
	"archive-parquet",
}

// StageInputs are the topics whose records wait for a stage. Topics that every process reads by itself
// (crawl.control, model.published) are not included. For archive-parquet records wait by design, until they are
// enough for a file: no command waits for it.
var StageInputs = map[string][]string{
	"fetch": {schemas.TopicFetchRequested}, "parse-dom": {schemas.TopicPageFetched},
	"critic-score": {schemas.TopicPageParsed}, "feature-extract": {schemas.TopicPageJudged},
	"prioritize": {schemas.TopicLinkFound}, "apprentice-train": {schemas.TopicLeapSettled},
	"distill": {schemas.TopicLinkFound},
	"load-clickhouse": {
		schemas.TopicFetchRequested, schemas.TopicPageFetched, schemas.TopicPageJudged, schemas.TopicLinkFound, schemas.TopicLeapSettled,
		schemas.TopicHubRanked, schemas.TopicPageRejudged,
	},
}

// loop is the number of the first stages that every request of a crawl passes.
const loop = 5

// StageLag is how far a stage is behind, whether it runs or not.
type StageLag struct {
	Stage   string `json:"stage"`
	Records int64  `json:"records" doc:"Records that it has not completed."`
	// Seconds is the age of the oldest of them; 0 if there is none.
	Seconds float64 `json:"seconds" doc:"Age of the oldest record that it has not completed, apart from those of parked crawls."`
	// Rate is known to those who have looked before (Pipeline.RatesSince).
	Rate float64 `json:"rate" doc:"Records a second that it completed lately; 0 until it was looked at twice."`
	// done is the number of records that it has completed, but for a constant.
	done int64
	// crawls are the ages of the oldest records of partitions, by the crawl that they are of.
	crawls map[string]float64
}

// Pipeline is the state of the stages at a time.
type Pipeline struct {
	at     time.Time
	Stages []StageLag
	Parked []ParkedCrawl
}

// LookAt reads the state of the stages from the broker; it waits while that is unavailable.
func LookAt(ctx context.Context, client *kafka.Client) (*Pipeline, error) {
	p := &Pipeline{at: time.Now(), Stages: make([]StageLag, len(StageNames)-1)} // archive-parquet waits by design
	g, ctx := errgroup.WithContext(ctx)
	for i := range p.Stages {
		g.Go(func() (err error) {
			p.Stages[i], err = lagOf(ctx, client, StageNames[i])
			return err
		})
	}
	g.Go(func() (err error) {
		p.Parked, err = ParkedCrawls(ctx, client)
		return err
	})
	return p, g.Wait()
}

// RatesSince sets the rates of the stages since an earlier look.
func (p *Pipeline) RatesSince(earlier *Pipeline) {
	if span := p.at.Sub(earlier.at).Seconds(); span > 0 {
		for i := range p.Stages {
			p.Stages[i].Rate = float64(max(0, p.Stages[i].done-earlier.Stages[i].done)) / span
		}
	}
}

func lagOf(ctx context.Context, client *kafka.Client, stage string) (StageLag, error) {
	x := StageLag{Stage: stage, crawls: make(map[string]float64)}
	behind, done, err := client.Behind(ctx, stage, StageInputs[stage]...)
	x.done = done
	for _, b := range behind {
		age := max(0, time.Since(b.Oldest).Seconds())
		x.Records += b.Records
		x.Seconds, x.crawls[b.Crawl] = max(x.Seconds, age), max(x.crawls[b.Crawl], age)
	}
	return x, err
}
