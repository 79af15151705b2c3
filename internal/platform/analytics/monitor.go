package analytics

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// The results of this file are what the monitor shows; their fields have the names of its API.

// CrawlPoint is the state of a crawl at a number of delivered pages.
type CrawlPoint struct {
	Pages uint64 `json:"pages"`
	// Relevance is the sum of R over these pages.
	Relevance float64 `json:"relevance"`
	Requests  uint64  `json:"requests"`
	Queued    uint64  `json:"queued"`
	// At is the time of the status; zero in states that are older than this field.
	At time.Time `json:"at,omitzero"`
}

// CrawlPoints returns some 1,000 states of a crawl, in their order, from the statuses that were loaded: all of the last 2,000 pages.
func (d *DB) CrawlPoints(ctx context.Context, crawl string) ([]CrawlPoint, error) {
	return collect[CrawlPoint](ctx, d, `WITH (SELECT greatest(max(pages), 1) FROM standings WHERE crawl = {crawl:String}) AS last
		SELECT max(pages) AS n, argMax(relevance, pages), argMax(requests, pages), argMax(queued, pages), argMax(at, pages) FROM standings
		WHERE crawl = {crawl:String} AND pages > 0 GROUP BY if(pages + 2000 > last, pages, intDiv(pages * 1000, greatest(assumeNotNull(last), 1))) ORDER BY n`,
		Params{"crawl": crawl})
}

// Fetched are the bytes that a crawl fetched in a part of its time.
type Fetched struct {
	Until time.Time
	Bytes uint64
}

// Fetched returns the bytes that a crawl fetched in at most some 300 parts of equal length of its time, in their order.
func (r Report) Fetched(ctx context.Context) ([]Fetched, error) {
	return collect[Fetched](ctx, r.db, `WITH (SELECT (toUnixTimestamp64Milli(min(fetched_at)), toUnixTimestamp64Milli(max(fetched_at)) + 1) FROM fetches WHERE crawl = {crawl:String} AND size > 0) AS span
		SELECT max(fetched_at) AS until, sum(size) FROM fetches WHERE crawl = {crawl:String} AND size > 0
		GROUP BY intDiv((toUnixTimestamp64Milli(fetched_at) - span.1) * 300, span.2 - span.1) ORDER BY until`, Params{"crawl": r.crawl})
}

// Revision is a control record of a crawl, which is JSON.
type Revision struct {
	At      time.Time
	Control string
}

// Revisions returns the newest control records of a crawl that were loaded, at most so many, the oldest first.
func (r Report) Revisions(ctx context.Context, most int) ([]Revision, error) {
	list, err := collect[Revision](ctx, r.db, "SELECT recorded_at, control FROM controls WHERE crawl = {crawl:String} ORDER BY revision DESC LIMIT {most:UInt64}",
		Params{"crawl": r.crawl, "most": uint64(most)})
	slices.Reverse(list)
	return list, err
}

// ArmPoint is what an arm of a mixture did in a part of a crawl.
type ArmPoint struct {
	Dispatched uint64  `json:"dispatched" doc:"Requests that all arms had chosen by the end of this part."`
	Policy     string  `json:"policy"`
	Chosen     uint64  `json:"chosen" doc:"Requests that it chose in this part."`
	Credited   uint64  `json:"credited" doc:"Pages credited to it in this part."`
	Reward     float64 `json:"reward" doc:"Sum over these pages of R, calibrated."`
}

// ArmPoints returns what the arms of the crawl's mixture did in each of at most some 50 parts with equally many requests, in their order; nothing if there
// is no mixture.
func (r Report) ArmPoints(ctx context.Context) ([]ArmPoint, error) {
	return collect[ArmPoint](ctx, r.db, `WITH (SELECT greatest(max(dispatched), 1) FROM arms WHERE crawl = {crawl:String}) AS last,
			intDiv(dispatched * 50, greatest(assumeNotNull(last), 1)) AS part
		SELECT max(max(dispatched)) OVER (PARTITION BY part) AS n, policy, sum(chosen), sum(credited), sum(reward) FROM arms
		WHERE crawl = {crawl:String} GROUP BY part, policy ORDER BY n, policy`,
		Params{"crawl": r.crawl})
}

// Host is what a crawl found on a host.
type Host struct {
	Host      string  `json:"host"`
	Requests  uint64  `json:"requests"`
	Delivered uint64  `json:"delivered"`
	Failed    uint64  `json:"failed"`
	Deferred  uint64  `json:"deferred" doc:"Requests that were put off, as the host or its address was to be left alone."`
	Robots    uint64  `json:"robots" doc:"Requests that robots.txt forbids, or that were not sent as it could not be read."`
	Relevance float64 `json:"relevance" doc:"Sum of R over its pages."`
	Harvest   float64 `json:"harvest" doc:"Mean of R over its pages."`
	Trouble   string  `json:"trouble,omitempty" doc:"The most frequent outcome without a page."`
}

// HostsBy are the orders of hosts: by what they gave and wasted, by pauses, by what robots.txt forbids, and by failures.
var HostsBy = map[string]string{"yield": "sum DESC", "waste": "delivered - sum DESC", "pause": "deferred DESC", "robots": "robots DESC", "failures": "failed DESC"}

// Hosts returns hosts of a crawl in one of the orders of HostsBy, at most so many after the first skipped ones.
func (d *DB) Hosts(ctx context.Context, crawl, by string, skip, most int) ([]Host, error) {
	return collect[Host](ctx, d, `WITH outcome NOT IN ('delivered', 'redirected', 'deferred', 'robots-unavailable') AS fails
		SELECT host, sum(n), sumIf(n, outcome = 'delivered') AS delivered, sumIf(n, fails) AS failed, sumIf(n, outcome = 'deferred') AS deferred,
			sumIf(n, startsWith(outcome, 'robots-')) AS robots, sumIf(r, outcome = 'delivered') AS sum, sum / greatest(delivered, 1), argMaxIf(toString(outcome), n, fails)
		FROM (SELECT domain(url) AS host, outcome, count() AS n, sum(relevance) AS r FROM verdicts WHERE crawl = {crawl:String} GROUP BY host, outcome)
		GROUP BY host ORDER BY `+HostsBy[by]+`, host LIMIT {most:UInt64} OFFSET {skip:UInt64}`,
		Params{"crawl": crawl, "most": uint64(most), "skip": uint64(skip)})
}

// SeenPage is a request of a crawl with all that is known of it.
type SeenPage struct {
	URL        string    `json:"url"`
	Attempt    uint32    `json:"attempt"`
	Outcome    string    `json:"outcome" doc:"Empty = in flight."`
	Status     uint32    `json:"status"`
	Detail     string    `json:"detail,omitempty"`
	Redirect   string    `json:"redirect,omitempty"`
	Relevance  float64   `json:"relevance"`
	Topics     []string  `json:"topics"`
	Posteriors []float64 `json:"posteriors"`
	Critic     string    `json:"critic,omitempty"`
	Title      string    `json:"title"`
	Language   string    `json:"language,omitempty"`
	Depth      uint32    `json:"depth"`
	Via        string    `json:"via,omitempty" doc:"The page from which it was reached."`
	Score      float64   `json:"score" doc:"Predicted at its dispatch."`
	Policy     string    `json:"policy"`
	Model      string    `json:"model,omitempty"`
	Dispatched time.Time `json:"dispatched_at"`
	Fetched    time.Time `json:"fetched_at"`
	Judged     time.Time `json:"applied_at" doc:"When its verdict was written."`
	Bytes      uint64    `json:"bytes"`
	Stored     bool      `json:"stored"`
}

// SeenPages returns requests of a crawl: those of a URL, by attempt; or without one the newest delivered pages above a relevance, at
// most so many after the first skipped ones.
func (d *DB) SeenPages(ctx context.Context, crawl, url string, above float64, skip, most int) ([]SeenPage, error) {
	// Chosen by the ids of a few, or the view would join all pages.
	which := "id IN (SELECT lower(hex(t.id)) FROM requests_rows AS t WHERE crawl = {crawl:String} AND url = {url:String}) ORDER BY attempt DESC LIMIT {most:UInt64} OFFSET {skip:UInt64}"
	if url == "" {
		which = `id IN (SELECT id FROM verdicts WHERE crawl = {crawl:String} AND outcome = 'delivered' AND relevance >= {above:Float64}
			ORDER BY recorded_at DESC, offset DESC LIMIT {most:UInt64} OFFSET {skip:UInt64}) ORDER BY applied_at DESC, applied DESC`
	}
	return collect[SeenPage](ctx, d, `SELECT url, attempt, toString(outcome), status, detail, redirect, relevance, topics, posteriors, critic, title, language,
			depth, via, score, policy, model, dispatched_at, fetched_at, applied_at, size, toUInt8(object != '')
		FROM pages WHERE crawl = {crawl:String} AND `+which,
		Params{"crawl": crawl, "url": url, "above": above, "most": uint64(most), "skip": uint64(skip)})
}

// SeenLink is a link of a page, with its prediction and what came of it.
type SeenLink struct {
	Position uint32   `json:"position" doc:"In the order of the document, from 0."`
	URL      string   `json:"url"`
	Settled  bool     `json:"settled"`
	Score    float64  `json:"score,omitempty" doc:"Predicted at the dispatch of its target."`
	Policy   string   `json:"policy,omitempty"`
	Outcome  string   `json:"outcome,omitempty"`
	Target   float64  `json:"target,omitempty" doc:"R of its target."`
	Terms    []string `json:"terms,omitempty" doc:"Features: words around the link."`
}

// SeenLinks returns the links of a page, in the order of the document, at most so many.
func (d *DB) SeenLinks(ctx context.Context, crawl, url string, most int) ([]SeenLink, error) {
	return collect[SeenLink](ctx, d, `SELECT position, l.v, toUInt8(s.v != ''), s.score, s.policy, toString(s.outcome), s.target, arraySlice(s.terms, 1, 8)
		FROM (SELECT * FROM links WHERE crawl = {crawl:String} AND u = {url:String}) AS l
		LEFT JOIN (SELECT * FROM leaps WHERE crawl = {crawl:String} AND u = {url:String}) AS s ON s.id = l.id
		ORDER BY position, l.v LIMIT {most:UInt64}`,
		Params{"crawl": crawl, "url": url, "most": uint64(most)})
}

// Letters counts the dead letters of a stage with one error, digits aside.
type Letters struct {
	Stage   string    `json:"stage"`
	Crawl   string    `json:"crawl,omitempty"`
	Error   string    `json:"error" doc:"Of the newest one."`
	Records uint64    `json:"records"`
	Last    time.Time `json:"last"`
	Class   string    `json:"class" doc:"Class of the errors: what is replayed or dropped."`
	Newest  uint64    `json:"newest" doc:"Number of the newest one."`
}

const lettersDiffer = `[0-9a-f]{6,}|[0-9]+`

var differ = regexp.MustCompile(lettersDiffer)

// ErrorClass is the class of an error: its begin, without digits.
func ErrorClass(text string) string { return differ.ReplaceAllString(text[:min(len(text), 80)], "#") }

// Letters returns the dead letters by stage, crawl and class of error, the newest class first.
func (d *DB) Letters(ctx context.Context, most int) ([]Letters, error) {
	return collect[Letters](ctx, d, `SELECT stage, crawl, argMax(substring(error, 1, 300), at), count(), max(at) AS last, replaceRegexpAll(substring(error, 1, 80), '`+lettersDiffer+`', '#') AS class, max(offset)
		FROM letters GROUP BY stage, crawl, class ORDER BY last DESC LIMIT {most:UInt64}`,
		Params{"most": uint64(most)})
}

// MadeModel is a model of a crawl.
type MadeModel struct {
	Kind    string    `json:"kind"`
	Version string    `json:"version"`
	Pages   uint64    `json:"pages" doc:"Delivered when it was trained."`
	Leaps   uint64    `json:"leaps" doc:"On which it was trained."`
	Created time.Time `json:"created_at"`
}

// MadeModels returns the models of a crawl, the newest first, at most so many after the first skipped ones.
func (d *DB) MadeModels(ctx context.Context, crawl string, skip, most int) ([]MadeModel, error) {
	return collect[MadeModel](ctx, d, `SELECT kind, model, pages, leaps, created_at FROM models WHERE crawl = {crawl:String}
		ORDER BY pages DESC, created_at DESC, model LIMIT {most:UInt64} OFFSET {skip:UInt64}`, Params{"crawl": crawl, "most": uint64(most), "skip": uint64(skip)})
}

// Bounded returns a context whose statements can only read, for at most so long, and have no more than that many rows.
func Bounded(ctx context.Context, within time.Duration, rows int) context.Context {
	return readOnly(ctx, map[string]any{
		"max_execution_time": within.Seconds(), "max_result_rows": uint64(rows), "result_overflow_mode": "break", "max_memory_usage": uint64(256 << 20),
	})
}

// TopicPages counts the pages that a critic took to be about a topic more than about any other.
type TopicPages struct {
	Topic     string
	Pages     uint64
	Relevance float64 // sum of R
	// LastPages and LastRelevance are those among the last pages that were judged.
	LastPages     uint64
	LastRelevance float64
	// Parts and PartRelevance are those of TopicParts parts of equal length of the time between the first and the last judgement.
	Parts         []uint64
	PartRelevance []float64
}

// TopicParts is the number of parts of the time for which TopicPages counts.
const TopicParts = 12

// TopicPages returns the pages of a crawl by their best topic, and how many of the last ones judged they are.
func (d *DB) TopicPages(ctx context.Context, crawl string, last int) ([]TopicPages, error) {
	return collect[TopicPages](ctx, d, `WITH (SELECT min(t) FROM (SELECT recorded_at AS t FROM judgements WHERE crawl = {crawl:String} ORDER BY t DESC LIMIT {last:UInt64})) AS since,
			(SELECT (toUnixTimestamp64Milli(min(recorded_at)), toUnixTimestamp64Milli(max(recorded_at)) + 1) FROM judgements WHERE crawl = {crawl:String}) AS span,
			intDiv((toUnixTimestamp64Milli(recorded_at) - span.1) * {parts:UInt64}, span.2 - span.1) AS part
		SELECT topics[1] AS topic, count(), sum(relevance), countIf(recorded_at >= since), sumIf(relevance, recorded_at >= since),
			`+fmt.Sprintf("countResample(0, %[1]d, 1)(part), sumResample(0, %[1]d, 1)(toFloat64(relevance), part)", TopicParts)+`
		FROM judgements WHERE crawl = {crawl:String} AND notEmpty(topics) GROUP BY topic ORDER BY topic`,
		Params{"crawl": crawl, "last": uint64(last), "parts": uint64(TopicParts)})
}
