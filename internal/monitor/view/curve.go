package view

import (
	"context"
	"sort"
	"time"

	"forager/internal/measure/chart"
	"forager/internal/platform/analytics"
)

// Point is the harvest of a crawl at a number of delivered pages.
type Point struct {
	Pages   uint64  `json:"pages"`
	Harvest float64 `json:"harvest" doc:"Mean R of the pages so far."`
	Last100 float64 `json:"last_100" doc:"Mean R of the last 100 pages."`
	Last1K  float64 `json:"last_1000" doc:"Mean R of the last 1,000 pages."`
	Queued  uint64  `json:"queued"`
}

// Times and sizes of questions to ClickHouse.
const (
	askWithin = 10 * time.Second
	maxRows   = 5000
)

// Ask bounds the questions of one request.
func Ask(ctx context.Context) context.Context { return analytics.Bounded(ctx, askWithin, maxRows) }

// Curve returns the harvest of a crawl over its delivered pages, at most some 300 points.
func (s *Source) Curve(ctx context.Context, crawl string) ([]Point, error) {
	all, err := s.DB.CrawlPoints(Ask(ctx), crawl)
	if err != nil {
		return nil, err
	}
	points := []Point{}
	step := max(1, len(all)/300)
	for i, at := range all {
		if i%step == 0 || i == len(all)-1 {
			points = append(points, Point{
				Pages: at.Pages, Harvest: at.Relevance / float64(at.Pages), Last100: Lately(all, i, 100), Last1K: Lately(all, i, 1000), Queued: at.Queued,
			})
		}
	}
	return points, nil
}

// RejudgedLines draws the harvest of a crawl by the judgements of other critics.
func RejudgedLines(series []analytics.Rejudged) (lines []chart.Line) {
	for _, x := range series {
		line := chart.Line{Name: Plain("by " + x.Critic + " for " + x.Focus), Dashed: true}
		for _, p := range x.Curve {
			line.X, line.Y = append(line.X, float64(p.Pages)), append(line.Y, p.Harvest)
		}
		lines = append(lines, line)
	}
	return lines
}

// Lately returns the mean R of the last n pages before a state; between two states R is taken to be constant.
func Lately(all []analytics.CrawlPoint, i int, n uint64) float64 {
	at := all[i]
	if at.Pages <= n {
		return at.Relevance / float64(at.Pages)
	}
	from := at.Pages - n
	k := sort.Search(i, func(k int) bool { return all[k].Pages >= from })
	var before analytics.CrawlPoint
	if k > 0 {
		before = all[k-1]
	}
	after := all[k]
	sum := before.Relevance + (after.Relevance-before.Relevance)*float64(from-before.Pages)/float64(max(after.Pages-before.Pages, 1))
	return (at.Relevance - sum) / float64(n)
}
