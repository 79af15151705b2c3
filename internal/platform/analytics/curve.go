package analytics

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// The questions of this file have results whose size does not depend on the number of pages.

// CurvePoint is a crawl after a number of delivered pages.
type CurvePoint struct {
	Pages    uint64
	Requests uint64 // with a verdict
	// Relevance is the sum of R, Targets the number of pages with R of at least one half.
	Relevance float64
	Targets   uint64
	// Last100, Last200 and Last1000 are means of R over the last pages, of fewer at the beginning.
	Last100, Last200, Last1000 float64
}

// Curve returns at most so many points of a crawl, evenly spaced by pages; the last one is that of all pages. Pages are in the order of
// DeliveredPages. ClickHouse sorts all verdicts, on its disk where they are many.
func (r Report) Curve(ctx context.Context, points int) ([]CurvePoint, error) {
	// The rows of the points, and those 100, 200 and 1,000 pages before them.
	rows, err := collect[CurvePoint](ctx, r.db, `WITH
			(SELECT count() FROM verdicts WHERE crawl = {crawl:String} AND outcome = 'delivered') AS total,
			(SELECT max(shard) FROM verdicts WHERE crawl = {crawl:String}) AS last_shard
		SELECT n, requests, gain, hits
		FROM
		(
			SELECT page, countIf(page) OVER w AS n, count() OVER w AS requests, sum(if(page, relevance, 0.)) OVER w AS gain, countIf(page AND relevance >= 0.5) OVER w AS hits
			FROM
			(
				SELECT outcome = 'delivered' AS page, relevance, if(last_shard = 0, 0, toUnixTimestamp64Milli(recorded_at)) AS turn, shard, offset
				FROM verdicts WHERE crawl = {crawl:String}
			)
			WINDOW w AS (ORDER BY turn, shard, offset ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
		)
		WHERE page AND arrayExists(m -> m <= total AND intDiv(m * {points:UInt64}, greatest(total, 1)) != intDiv((m - 1) * {points:UInt64}, greatest(total, 1)), [n, n + 100, n + 200, n + 1000])
		ORDER BY n`,
		Params{"crawl": r.crawl, "points": uint64(points)})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	gain := make(map[uint64]float64)
	for _, p := range rows {
		gain[p.Pages] = p.Relevance
	}
	var curve []CurvePoint
	total := rows[len(rows)-1].Pages
	for _, p := range rows {
		if n := uint64(points); p.Pages*n/total == (p.Pages-1)*n/total {
			continue
		}
		for window, to := range map[uint64]*float64{100: &p.Last100, 200: &p.Last200, 1000: &p.Last1000} {
			before := uint64(0)
			if p.Pages > window {
				before = p.Pages - window
			}
			*to = (p.Relevance - gain[before]) / float64(p.Pages-before)
		}
		curve = append(curve, p)
	}
	return curve, nil
}

// Tenth is a tenth of the range of scores, which are in [0,1], of the pages that a policy chose.
type Tenth struct {
	Policy string  `json:"policy"`
	Tenth  float64 `json:"tenth"` // lower bound of the scores
	Pages  uint64  `json:"pages"`
	// Score is the mean of the scores at dispatch, Harvest that of R.
	Score   float64 `json:"mean_score"`
	Harvest float64 `json:"harvest"`
}

// Tenths returns scores of a crawl's pages against R. Scores outside of [0,1] are no probabilities and left out.
func (r Report) Tenths(ctx context.Context) ([]Tenth, error) {
	return collect[Tenth](ctx, r.db, `SELECT policy, least(floor(score * 10), 9) / 10 AS tenth, count(), avg(score), avg(relevance)
		FROM `+chosenPages+` AND score BETWEEN 0 AND 1 GROUP BY policy, tenth ORDER BY policy, tenth`,
		Params{"crawl": r.crawl})
}

// Shared is the number of URLs that two crawls have both fetched.
type Shared struct {
	One   string `json:"one"`
	Other string `json:"other"`
	Pages uint64 `json:"pages"`
}

// Overlap returns the URLs that each two of at most 64 crawls have both fetched, and of each crawl with itself its URLs. One ≤ Other.
func Overlap(ctx context.Context, d *DB, crawls []string) ([]Shared, error) {
	if len(crawls) > 64 {
		return nil, fmt.Errorf("%d crawls: at most 64 can be compared at once", len(crawls))
	}
	type fetched struct{ By, Pages uint64 }
	pages := make(map[[2]string]uint64)
	// A set of crawls is a bit mask: millions of URLs are in a few different sets.
	err := each(ctx, d, `SELECT crawls, count() FROM
		(
			SELECT groupBitOr(bitShiftLeft(toUInt64(1), toUInt8(indexOf({crawls:Array(String)}, toString(crawl)) - 1))) AS crawls
			FROM verdicts WHERE crawl IN {crawls:Array(String)} AND outcome = 'delivered' GROUP BY sipHash128(url)
		)
		GROUP BY crawls`, Params{"crawls": crawls}, func(x fetched) error {
		for i, one := range crawls {
			for j, other := range crawls {
				if one <= other && (x.By>>i)&(x.By>>j)&1 == 1 {
					pages[[2]string{one, other}] += x.Pages
				}
			}
		}
		return nil
	})
	var shared []Shared
	for pair, n := range pages {
		shared = append(shared, Shared{pair[0], pair[1], n})
	}
	slices.SortFunc(shared, func(a, b Shared) int { return cmp.Or(cmp.Compare(a.One, b.One), cmp.Compare(a.Other, b.Other)) })
	return shared, err
}
