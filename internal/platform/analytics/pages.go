package analytics

import (
	"context"
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

func (s *Selection) query() (sql string, params Params) {
	columns := "url, outcome, status, relevance, tempered, topics, posteriors, title, language, depth, via, fetched_at, object, object_offset, object_length"
	if s.URLsOnly {
		columns = "url"
	}
	params = Params{"crawl": s.Crawl, "outcome": s.Outcome, "above": s.Above}
	sql = "SELECT " + columns + " FROM pages WHERE (crawl = {crawl:String} OR {crawl:String} = '') AND outcome = {outcome:String} AND relevance >= {above:Float64}"
	// A page that is being loaded may have a verdict and no position of its bytes yet.
	sql += " AND (outcome != 'delivered' OR object != '')"
	if s.Topic != "" {
		sql += " AND (topics[1] = {topic:String} OR startsWith(topics[1], concat({topic:String}, '/')))"
		params["topic"] = s.Topic
	}
	switch {
	case s.Among != nil:
		sql += " AND url IN {among:Array(String)} ORDER BY url, fetched_at, id LIMIT 1 BY url"
		params["among"] = s.Among
	case s.Sample > 0:
		sql += " ORDER BY sipHash64(url), applied, id LIMIT 1 BY url LIMIT {sample:UInt64}"
		params["sample"] = uint64(s.Sample)
	case s.URLsOnly:
		sql += " ORDER BY shard, applied, id LIMIT 1 BY url"
	default:
		sql += " ORDER BY shard, applied, id"
	}
	return sql, params
}

// Pages calls f with the selected pages, in the order in which the crawl applied them, by URL (Among), or by the hash (Sample).
func (d *DB) Pages(ctx context.Context, sel Selection, f func(*StoredPage) error) error {
	sql, params := sel.query()
	return each(ctx, d, sql, params, func(p StoredPage) error { return f(&p) })
}
