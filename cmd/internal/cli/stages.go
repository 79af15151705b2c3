package cli

import (
	"slices"

	"forager/schemas"
)

// StageNames are the stages that handle records, in the order of a page's journey.
var StageNames = []string{
	"fetch", "parse-dom", "critic-score", "feature-extract", "prioritize", "apprentice-train", "distill", "load-clickhouse",
	"archive-parquet",
}

// Programs are what forager up starts besides the embedded parts: the stages, and the monitor, without which they work as well.
var Programs = append(slices.Clone(StageNames), "monitor")

// StageInputs are the topics whose records wait for a stage. Topics that every process reads by itself
// (crawl.control, model.published) are not included. For archive-parquet records wait by design, until they are
// enough for a file: no command waits for it.
var StageInputs = map[string][]string{
	"fetch": {schemas.TopicFetchRequested}, "parse-dom": {schemas.TopicPageFetched},
	"critic-score": {schemas.TopicPageParsed}, "feature-extract": {schemas.TopicPageJudged},
	"prioritize": {schemas.TopicLinkFound}, "apprentice-train": {schemas.TopicLeapSettled},
	"distill": {schemas.TopicLinkFound},
	"load-clickhouse": {
		schemas.TopicPageFetched, schemas.TopicPageJudged, schemas.TopicLinkFound, schemas.TopicLeapSettled,
		schemas.TopicHubRanked,
	},
}
