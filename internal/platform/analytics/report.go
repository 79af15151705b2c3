package analytics

import (
	"context"
	"fmt"
	"time"
)

// The results of this file have the names of fields in the JSON of forager report.

// Report reads the tables of one crawl.
type Report struct {
	db    *DB
	crawl string
}

// Report returns what a report reads of a crawl.
func (d *DB) Report(crawl string) Report { return Report{d, crawl} }

// DeliveredPage is a page that a crawl has fetched.
type DeliveredPage struct {
	URL       string
	Relevance float64
}

// DeliveredPages calls f with the pages in the order in which its shard applied them; pages of several shards are
// ordered by the time stamps of their verdicts.
func (r Report) DeliveredPages(ctx context.Context, f func(DeliveredPage)) error {
	return each(ctx, r.db, `WITH (SELECT max(shard) FROM verdicts WHERE crawl = {crawl:String}) AS last_shard
		SELECT url, relevance FROM verdicts WHERE crawl = {crawl:String} AND outcome = 'delivered'
		ORDER BY if(last_shard = 0, 0, toUnixTimestamp64Milli(recorded_at)), shard, offset`,
		Params{"crawl": r.crawl}, func(p DeliveredPage) error {
			f(p)
			return nil
		})
}

// Apprentice is a model of a crawl's apprentice: trained at so many pages, on so many leaps. R(v) ≥ Cut is high.
type Apprentice struct {
	Version string  `json:"version"`
	Pages   uint64  `json:"pages"`
	Leaps   uint64  `json:"leaps"`
	Cut     float64 `json:"cut"`
}

// Apprentices returns the models of a crawl's apprentice, the oldest first.
func (r Report) Apprentices(ctx context.Context) ([]Apprentice, error) {
	return collect[Apprentice](ctx, r.db, "SELECT model, pages, leaps, measures['cut'] FROM models WHERE crawl = {crawl:String} AND kind = 'apprentice' ORDER BY pages",
		Params{"crawl": r.crawl})
}

// chosenPages are the pages that a crawl has fetched with the decisions to request them. The view pages has more, for which it
// joins every table.
const chosenPages = `requests AS r INNER JOIN verdicts AS v ON v.id = r.id
		WHERE r.crawl = {crawl:String} AND v.crawl = {crawl:String} AND v.outcome = 'delivered'`

// Quartile is a quarter of the pages that a policy chose, by their predicted scores.
type Quartile struct {
	Policy  string  `json:"policy"`
	Quarter uint64  `json:"quarter"` // 1 = lowest scores
	Pages   uint64  `json:"pages"`
	Score   float64 `json:"mean_score"`
	Harvest float64 `json:"harvest"`
}

// Quartiles returns the quarters of a crawl's pages, by policy and score.
func (r Report) Quartiles(ctx context.Context) ([]Quartile, error) {
	return collect[Quartile](ctx, r.db, `SELECT policy, toUInt64(quarter), count(), avg(score), avg(relevance) FROM
		(SELECT policy, score, relevance, ntile(4) OVER (PARTITION BY policy ORDER BY score, v.offset ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS quarter
		 FROM `+chosenPages+`)
		GROUP BY policy, quarter ORDER BY policy, quarter`, Params{"crawl": r.crawl})
}

// Stored are the numbers of a crawl's hosts and of the segments that have its pages, and the bytes of these pages.
type Stored struct{ Hosts, Segments, Bytes uint64 }

// Stored returns what is stored of a crawl.
func (r Report) Stored(ctx context.Context) (Stored, error) {
	return single[Stored](ctx, r.db, `SELECT (SELECT uniqExact(host) FROM requests WHERE crawl = {crawl:String}), uniqExactIf(object, object != ''), sum(object_length)
		FROM fetches WHERE crawl = {crawl:String}`,
		Params{"crawl": r.crawl})
}

// RowCounts returns the number of a crawl's rows by view.
func (r Report) RowCounts(ctx context.Context) (map[string]uint64, error) {
	counts := make(map[string]uint64)
	for _, view := range []string{"requests", "fetches", "judgements", "verdicts", "links", "leaps", "models"} {
		n, err := single[uint64](ctx, r.db, "SELECT count() FROM "+view+" WHERE crawl = {crawl:String}", Params{"crawl": r.crawl})
		if err != nil {
			return nil, err
		}
		counts[view] = n
	}
	return counts, nil
}

// Outage is a time during which the crawl, or a shard of it, could not use the network.
type Outage struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	Cause string    `json:"cause"`
}

// Outages returns the outages of a crawl's shards in the order in which they began.
func (r Report) Outages(ctx context.Context) ([]Outage, error) {
	return collect[Outage](ctx, r.db, "SELECT since, until, cause FROM outages WHERE crawl = {crawl:String} ORDER BY since, shard", Params{"crawl": r.crawl})
}

// JudgedBy are the pages that one critic judged under one revision of the control record.
type JudgedBy struct {
	Critic  string `json:"critic"`
	Marking uint64 `json:"marking"`
	// Degraded is the reason why it judged as a fallback, "" if it is the crawl's own.
	Degraded string  `json:"degraded,omitempty"`
	Pages    uint64  `json:"pages"`
	Harvest  float64 `json:"harvest"`
}

// JudgedBy returns the critics of a crawl's pages in the order in which they were used.
func (r Report) JudgedBy(ctx context.Context) ([]JudgedBy, error) {
	return collect[JudgedBy](ctx, r.db, `SELECT critic, marking, degraded, count(), avg(relevance) FROM judgements
		WHERE crawl = {crawl:String} AND outcome = 'delivered' GROUP BY critic, marking, degraded ORDER BY marking, degraded, critic`,
		Params{"crawl": r.crawl})
}

// Silent is a guide, or a source of backlinks, without a result for some pages.
type Silent struct {
	// Who is its version, Why the most frequent reason.
	Who   string `json:"who"`
	Why   string `json:"why"`
	Pages uint64 `json:"pages"`
}

// Silent returns the guides and sources of backlinks that failed for pages of a crawl.
func (r Report) Silent(ctx context.Context) ([]Silent, error) {
	return collect[Silent](ctx, r.db, `SELECT tupleElement(arrayJoin(CAST(silent, 'Array(Tuple(String, String))')) AS one, 1) AS who, topK(1)(tupleElement(one, 2))[1], count()
		FROM judgements WHERE crawl = {crawl:String} GROUP BY who ORDER BY who`,
		Params{"crawl": r.crawl})
}

// ShadowCritic compares a shadow critic with the one that was used, over the pages judged by both.
type ShadowCritic struct {
	Critic string `json:"critic"`
	Used   string `json:"used"`
	Pages  uint64 `json:"pages"`
	// Failures are pages without a judgement of the shadow.
	Failures uint64 `json:"failures"`
	// Cut is the relevance above which a page is on topic.
	Cut float64 `json:"cut"`
	// Agreement is the share of pages that both or neither classify as on topic.
	Agreement float64 `json:"agreement"`
	// OnTopic and OnTopicUsed are the shares of pages that each classifies as on topic.
	OnTopic     float64 `json:"on_topic"`
	OnTopicUsed float64 `json:"on_topic_used"`
	// Difference is the mean of the shadow's relevance minus the other's, Apart the mean of its absolute value.
	Difference float64 `json:"mean_difference"`
	Apart      float64 `json:"mean_absolute_difference"`
}

// ShadowCritics compares the shadow critics of a crawl; a page with relevance cut or more is on topic.
func (r Report) ShadowCritics(ctx context.Context, cut float64) ([]ShadowCritic, error) {
	return collect[ShadowCritic](ctx, r.db, `WITH relevance >= {cut:Float64} AS on_topic, used_relevance >= {cut:Float64} AS used_on_topic, failure = '' AS judged
		SELECT critic, used, countIf(judged) AS pages, countIf(NOT judged), {cut:Float64}, countIf(judged AND on_topic = used_on_topic) / greatest(pages, 1),
			countIf(judged AND on_topic) / greatest(pages, 1), countIf(judged AND used_on_topic) / greatest(pages, 1),
			sumIf(relevance - used_relevance, judged) / greatest(pages, 1), sumIf(abs(relevance - used_relevance), judged) / greatest(pages, 1)
		FROM shadows WHERE crawl = {crawl:String} GROUP BY critic, used ORDER BY critic, used`,
		Params{"crawl": r.crawl, "cut": fmt.Sprint(cut)})
}

// RankedPage is a hub or an authority.
type RankedPage struct {
	URL       string  `json:"url"`
	Score     float64 `json:"score"`
	Relevance float64 `json:"relevance"`
	Marked    bool    `json:"marked"`
}

// RankedPages returns the best hubs and authorities of the newest ranking of each shard of a crawl, most of each.
func (r Report) RankedPages(ctx context.Context, most int) (hubs, authorities []RankedPage, err error) {
	type ranked struct {
		Kind string
		RankedPage
	}
	err = each(ctx, r.db, `SELECT kind, url, score, relevance, marked FROM hubs
		WHERE place <= {most:UInt64} AND crawl = {crawl:String} AND (shard, pages) IN (SELECT shard, max(pages) FROM hubs WHERE crawl = {crawl:String} GROUP BY shard)
		ORDER BY place, shard`, Params{"crawl": r.crawl, "most": uint64(most)}, func(page ranked) error {
		if page.Kind == "hub" {
			hubs = append(hubs, page.RankedPage)
		} else {
			authorities = append(authorities, page.RankedPage)
		}
		return nil
	})
	return hubs, authorities, err
}

// HubGraph is the size of the graphs from which the shards of a crawl ranked hubs last, in all.
type HubGraph struct {
	// Pages delivered when it was computed, and the number of rankings with hubs.
	Pages    uint64 `json:"pages"`
	Rankings uint64 `json:"rankings"`
	// Nodes and Edges of the graph, and unvisited URLs that marked hubs linked to.
	Nodes  uint64 `json:"nodes"`
	Edges  uint64 `json:"edges"`
	Raised uint64 `json:"raised"`
}

// HubGraph returns the graph of the newest rankings of a crawl.
func (r Report) HubGraph(ctx context.Context) (HubGraph, error) {
	return single[HubGraph](ctx, r.db, `SELECT sum(p), sum(c), sum(n), sum(e), sum(u) FROM
		(SELECT shard, max(pages) AS p, argMax(nodes, pages) AS n, argMax(edges, pages) AS e, toUInt64(argMax(raised, pages)) AS u, uniqExact(id) AS c
		 FROM hubs WHERE crawl = {crawl:String} GROUP BY shard)`, Params{"crawl": r.crawl})
}

// ScoredPages returns the number of a crawl's pages that one of these policies chose at exactly this score, and the mean of
// their R.
func (r Report) ScoredPages(ctx context.Context, score float64, policies []string) (pages uint64, mean float64, err error) {
	type scored struct {
		Pages uint64
		Mean  float64
	}
	of, err := single[scored](ctx, r.db, "SELECT count(), if(count() = 0, 0, avg(relevance)) FROM "+chosenPages+" AND score = {score:Float64} AND policy IN {policies:Array(String)}",
		Params{"crawl": r.crawl, "score": score, "policies": policies})
	return of.Pages, of.Mean, err
}

// ShadowRank is where a shadow ranker and the ranker that was used placed a page.
type ShadowRank struct {
	Shadow, Policy     string
	Dropped            bool // the gate of the shadow let no link to it through
	ShadowTier, Tier   uint32
	ShadowScore, Score float64
	Relevance          float64
}

// ShadowRanks calls f with the places of a crawl's newest pages, at most so many, by shadow and in the order of the requests.
func (r Report) ShadowRanks(ctx context.Context, most int, f func(ShadowRank)) error {
	return each(ctx, r.db, `SELECT s.policy, p.policy, toUInt8(s.dropped), s.tier, p.tier, s.score, p.score, p.relevance
		FROM ranker_shadows AS s INNER JOIN
			(
				SELECT r.id AS id, r.policy AS policy, r.tier AS tier, r.score AS score, v.relevance AS relevance, r.shard AS shard, r.ordinal AS ordinal FROM `+chosenPages+`
					AND r.id IN (SELECT id FROM verdicts WHERE crawl = {crawl:String} AND outcome = 'delivered' ORDER BY recorded_at DESC, offset DESC LIMIT {most:UInt64})
			) AS p ON p.id = s.request
		WHERE s.crawl = {crawl:String}
		ORDER BY s.policy, p.shard, p.ordinal`, Params{"crawl": r.crawl, "most": uint64(most)}, func(x ShadowRank) error {
		f(x)
		return nil
	})
}
