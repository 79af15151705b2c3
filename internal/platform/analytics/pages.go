package analytics

import (
	"context"
	"math"
	"time"
)

// Selection chooses pages of the view pages.
type Selection struct {
	Crawl string
	// Outcome of the request, as schemas.OutcomeName has it. Only delivered ones have bytes.
	Outcome string
	// Above is the least relevance R(u), raw.
	Above float64
	// Topic that is the best topic of a page, or above it; empty = any.
	Topic string
	// Among are the URLs of the wanted pages, of all crawls if Crawl is empty, each page once; nil = any.
	Among []string
	// Sample is the number of pages to draw, by a hash of their URLs; 0 = all of them.
	Sample int
	// URLsOnly: of the pages only the URLs are read, and of several attempts at one URL one.
	URLsOnly bool
}

// StoredPage is a page of a crawl, with the position of its WARC record, bytes: the columns of Selection.query.
type StoredPage struct {
	URL, Outcome        string
	Status              uint32
	Relevance, Tempered float64
	Topics              []string
	Posteriors          []float64
	Title, Language     string
	Depth               uint32
	Via                 string
	Fetched             time.Time
	Object              string
	Offset, Length      uint64
}

// pagesAtOnce is the number of pages whose rows one query joins, in memory.
const pagesAtOnce = 100_000

// position is that of a verdict in the order in which a crawl applied them.
type position struct {
	Shard  uint32
	Offset uint64
}

// chosen returns a query for the verdicts of the selection, whatever their topics.
func (s *Selection) chosen() string {
	const from = "SELECT id, shard, offset FROM verdicts WHERE (crawl = {crawl:String} OR {crawl:String} = '') AND outcome = {outcome:String} AND relevance >= {above:Float64}"
	switch {
	case s.Among != nil:
		return from + " AND url IN {among:Array(String)}"
	case s.Sample > 0:
		return from + " ORDER BY sipHash64(url), offset, id LIMIT 1 BY url LIMIT {sample:UInt64}"
	case s.URLsOnly && s.Outcome != "delivered": // a page is delivered once
		return from + " ORDER BY shard, offset, id LIMIT 1 BY url"
	}
	return from
}

// query returns a query for the pages of those chosen with positions in [from, to).
func (s *Selection) query() string {
	columns, order := "url, outcome, status, relevance, tempered, topics, posteriors, title, language, depth, via, fetched_at, object, object_offset, object_length", "shard, applied, id"
	switch {
	case s.Among != nil:
		order = "url, fetched_at, id LIMIT 1 BY url"
	case s.Sample > 0:
		order = "sipHash64(url), applied, id"
	case s.URLsOnly:
		columns = "url"
	}
	sql := "SELECT " + columns + " FROM pages WHERE (crawl = {crawl:String} OR {crawl:String} = '') AND id IN (SELECT id FROM (" + s.chosen() +
		") WHERE (shard, offset) >= ({from_shard:UInt32}, {from:UInt64}) AND (shard, offset) < ({to_shard:UInt32}, {to:UInt64}))"
	// A page that is being loaded may have a verdict and no position of its bytes yet.
	sql += " AND (outcome != 'delivered' OR object != '')"
	if s.Topic != "" {
		sql += " AND (topics[1] = {topic:String} OR startsWith(topics[1], concat({topic:String}, '/')))"
	}
	return sql + " ORDER BY " + order
}

// Pages calls f with the selected pages, in the order in which the crawl applied them, by URL (Among), or by the hash (Sample).
func (d *DB) Pages(ctx context.Context, sel Selection, f func(*StoredPage) error) error {
	return pages(ctx, d, sel, pagesAtOnce, f)
}

func pages(ctx context.Context, d *DB, sel Selection, slice int, f func(*StoredPage) error) error {
	params := Params{"crawl": sel.Crawl, "outcome": sel.Outcome, "above": sel.Above, "topic": sel.Topic, "among": sel.Among, "sample": uint64(sel.Sample), "slice": uint64(slice)}
	var bounds []position
	if sel.Among == nil && sel.Sample == 0 {
		var err error
		bounds, err = collect[position](ctx, d, "SELECT shard, offset FROM (SELECT shard, offset, row_number() OVER (ORDER BY shard, offset) AS n FROM ("+sel.chosen()+
			")) WHERE n % {slice:UInt64} = 0 ORDER BY shard, offset", params)
		if err != nil {
			return err
		}
	}
	var from position
	for _, to := range append(bounds, position{math.MaxUint32, 0}) {
		params["from_shard"], params["from"], params["to_shard"], params["to"] = from.Shard, from.Offset, to.Shard, to.Offset
		if err := each(ctx, d, sel.query(), params, func(p StoredPage) error { return f(&p) }); err != nil {
			return err
		}
		from = to
	}
	return nil
}
