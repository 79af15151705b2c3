package view

import (
	"context"
	"slices"
	"strings"

	"forager/internal/platform/analytics"
)

// lastPages is the number of pages that are the last ones of a crawl in counts by topic.
const lastPages = 1000

// Topic is a node of the taxonomy with the pages that the critic took to be about it, or about a node below, more than about any other.
type Topic struct {
	Topic   string      `json:"topic"`
	Depth   int         `json:"depth" doc:"Number of nodes above."`
	Mark    string      `json:"mark,omitempty" enum:"good,bad" doc:"What it is marked; what is below inherits it."`
	Pages   uint64      `json:"pages"`
	Harvest float64     `json:"harvest" doc:"Mean of R over these pages."`
	Last    uint64      `json:"last" doc:"Of the last 1,000 pages judged, at least."`
	Lately  float64     `json:"lately" doc:"Mean of R over those."`
	Parts   []TopicPart `json:"parts" doc:"Of 12 parts of equal length of the time between the first and the last judgement."`
}

// TopicPart is what came of a topic in a part of the time.
type TopicPart struct {
	Pages   uint64  `json:"pages"`
	Harvest float64 `json:"harvest" doc:"Mean of R over these pages."`
}

// TopicsOf returns the topics of a crawl's pages and of its focus with all nodes above, each behind the one that it is below.
func (s *Source) TopicsOf(ctx context.Context, crawl string) ([]Topic, error) {
	ctl, err := s.Topics.Control(crawl)
	if err != nil {
		return nil, err
	}
	pages, err := s.DB.TopicPages(Ask(ctx), crawl, lastPages)
	if err != nil {
		return nil, err
	}
	return tree(pages, ctl.GetFocus(), ctl.GetBad()), nil
}

// tree adds the pages of topics up, each for itself and all nodes above it.
func tree(pages []analytics.TopicPages, good, bad []string) []Topic {
	sums := make(map[string]*analytics.TopicPages)
	add := func(x analytics.TopicPages) {
		for end := len(x.Topic); end > 0; end = strings.LastIndexByte(x.Topic[:end], '/') {
			node := sums[x.Topic[:end]]
			if node == nil {
				node = &analytics.TopicPages{Topic: x.Topic[:end], Parts: make([]uint64, analytics.TopicParts), PartRelevance: make([]float64, analytics.TopicParts)}
				sums[node.Topic] = node
			}
			node.Pages, node.Relevance = node.Pages+x.Pages, node.Relevance+x.Relevance
			node.LastPages, node.LastRelevance = node.LastPages+x.LastPages, node.LastRelevance+x.LastRelevance
			for i, n := range x.Parts {
				node.Parts[i], node.PartRelevance[i] = node.Parts[i]+n, node.PartRelevance[i]+x.PartRelevance[i]
			}
		}
	}
	for _, x := range pages {
		add(x)
	}
	for _, topic := range slices.Concat(good, bad) {
		add(analytics.TopicPages{Topic: topic})
	}
	topics := make([]Topic, 0, len(sums))
	for name, x := range sums {
		t := Topic{
			Topic: name, Depth: strings.Count(name, "/"), Pages: x.Pages, Harvest: x.Relevance / float64(max(x.Pages, 1)),
			Last: x.LastPages, Lately: x.LastRelevance / float64(max(x.LastPages, 1)),
		}
		for i, n := range x.Parts {
			t.Parts = append(t.Parts, TopicPart{n, x.PartRelevance[i] / float64(max(n, 1))})
		}
		switch {
		case slices.Contains(bad, name):
			t.Mark = "bad"
		case slices.Contains(good, name):
			t.Mark = "good"
		}
		topics = append(topics, t)
	}
	slices.SortFunc(topics, func(a, b Topic) int { return slices.Compare(strings.Split(a.Topic, "/"), strings.Split(b.Topic, "/")) })
	return topics
}
