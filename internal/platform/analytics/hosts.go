package analytics

import "context"

// Treated is how a crawl has treated a host, by the requests whose records have been loaded. Requests for robots.txt are not
// among them.
type Treated struct {
	Host string `json:"host"`
	// Requests that were sent to it.
	Requests uint64 `json:"requests"`
	// LeastGap and MedianGap between the end of a request and the begin of the next one, milliseconds; 0 where requests overlap.
	// Gaps is how many there are.
	Gaps      uint64 `json:"gaps"`
	LeastGap  uint64 `json:"least_gap_ms"`
	MedianGap uint64 `json:"median_gap_ms"`
	// TooMany are responses of status 429, Unavailable of 503.
	TooMany     uint64 `json:"status_429"`
	Unavailable uint64 `json:"status_503"`
	// Failed are time-outs, broken connections and other statuses of 500 and above.
	Failed uint64 `json:"failed"`
	// Disallowed by robots.txt, Deferred because the host or its address was not free, and Unreachable are URLs that were not
	// requested then.
	Disallowed  uint64 `json:"disallowed"`
	Deferred    uint64 `json:"deferred"`
	Unreachable uint64 `json:"unreachable"`
	// Waited is the time between the dispatch of a request and its begin or end without one, the sum over all, milliseconds;
	// MedianWait is that of the requests that were sent.
	Waited     uint64 `json:"waited_ms"`
	MedianWait uint64 `json:"median_wait_ms"`
}

// Treated returns how a crawl has treated its hosts: those with most requests first, at most so many.
func (r Report) Treated(ctx context.Context, most int) ([]Treated, error) {
	return collect[Treated](ctx, r.db, `WITH
			status > 0 OR outcome IN ('timeout', 'connection-failed') AS sent,
			toUnixTimestamp64Milli(fetched_at) AS begin
		SELECT host, countIf(sent) AS requests, countIf(sent AND nth > 1) AS gaps,
			if(gaps = 0, 0, minIf(gap, sent AND nth > 1)), if(gaps = 0, 0, toUInt64(quantileExactIf(gap, sent AND nth > 1))),
			countIf(status = 429), countIf(status = 503), countIf(sent AND (status = 0 OR status >= 500 AND status != 503)),
			countIf(outcome = 'robots-disallowed'), countIf(outcome IN ('deferred', 'robots-unavailable') AND status = 0), countIf(endsWith(outcome, '-unreachable')),
			sum(wait), if(requests = 0, 0, toUInt64(quantileExactIf(wait, sent)))
		FROM
		(
			SELECT host, outcome, status, fetched_at, toUInt64(greatest(begin - dispatched, 0)) AS wait,
				row_number() OVER before AS nth, toUInt64(greatest(begin - max(begin + duration_ms) OVER earlier, 0)) AS gap
			FROM
			(
				SELECT host, outcome, status, fetched_at, duration_ms, if(r.id = '', begin, toUnixTimestamp64Milli(r.dispatched_at)) AS dispatched
				FROM (SELECT * FROM fetches WHERE crawl = {crawl:String}) AS f
				LEFT JOIN (SELECT id, dispatched_at FROM requests WHERE crawl = {crawl:String}) AS r ON r.id = f.id
				WHERE host IN (SELECT host FROM fetches WHERE crawl = {crawl:String} GROUP BY host ORDER BY countIf(sent) DESC, host LIMIT {most:UInt64})
			)
			WINDOW before AS (PARTITION BY host, sent ORDER BY begin ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
				earlier AS (PARTITION BY host, sent ORDER BY begin ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
		)
		GROUP BY host ORDER BY requests DESC, host`,
		Params{"crawl": r.crawl, "most": uint64(most)})
}
