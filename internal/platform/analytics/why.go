package analytics

import (
	"context"
	"fmt"
	"strings"

	"forager/schemas"
)

// Linker is a page that links to a URL.
type Linker struct {
	// URL of the page; empty for a list of seeds.
	URL string
	// Depth is that of the page, and Requested whether its request was found; lists of seeds have none.
	Depth     uint32
	Requested bool
}

// Trail follows links of a crawl back to its seeds.
type Trail struct {
	DB    *DB
	Crawl string
}

// Linkers returns pages of a crawl that link to a URL, also where the crawl refused the link: those nearest to a seed, at most so many.
// It reads one column of all links of the crawl.
func (t Trail) Linkers(ctx context.Context, url string, most int) ([]Linker, error) {
	const linking = `SELECT u FROM links_rows WHERE crawl = {crawl:String} AND v = {url:String} AND u != v`
	return collect[Linker](ctx, t.DB, `SELECT l.u, r.depth, toUInt8(r.url != '') FROM (SELECT DISTINCT u FROM (`+linking+`)) AS l
		LEFT JOIN (SELECT url, min(depth) AS depth FROM requests_rows WHERE crawl = {crawl:String} AND url IN (`+linking+`) GROUP BY url) AS r ON r.url = l.u
		ORDER BY l.u != '', r.url = '', r.depth, l.u LIMIT {most:UInt64}`,
		Params{"crawl": t.Crawl, "url": url, "most": uint64(most)})
}

// Target is a URL to which pages of a crawl lead.
type Target struct {
	URL string
	// Via is the page nearest to a seed that links or redirects to it; empty for a list of seeds. Depth is that at which it leads there.
	Via   string
	Depth uint32
}

// A query of targets reads about targetSample * targetSlice links: the embedded ClickHouse holds a result in memory. One link in
// targetSample is drawn, and each targetSlice-th of these is the first of a slice.
const (
	targetSample = 4096
	targetSlice  = 64
)

// Targets calls f with every URL to which pages of the crawl link or redirect, requested or not, sorted by URL. It reads the targets of all
// links once for every slice.
func (t Trail) Targets(ctx context.Context, f func(*Target) error) error {
	return t.targets(ctx, targetSample, targetSlice, f)
}

func (t Trail) targets(ctx context.Context, sample, slice int, f func(*Target) error) error {
	const within = ` AND %[1]s >= {from:String} AND ({to:String} = '' OR %[1]s < {to:String})`
	params := Params{"crawl": t.Crawl, "sample": uint64(sample), "slice": uint64(slice), "from": ""}
	bounds, err := collect[string](ctx, t.DB, `SELECT DISTINCT v FROM (SELECT v, row_number() OVER (ORDER BY v) AS n FROM links_rows
		WHERE crawl = {crawl:String} AND sipHash64(id) % {sample:UInt64} = 0) WHERE n % {slice:UInt64} = 0 ORDER BY v`, params)
	if err != nil {
		return err
	}
	for _, to := range append(bounds, "") {
		params["to"] = to
		err := each(ctx, t.DB, `SELECT v, argMin(u, (deep, u)), toUInt32(min(deep)) FROM
			(
				SELECT l.v AS v, l.u AS u, if(u = '', 0, r.depth + l.hop) AS deep FROM
				(
					SELECT v, u, 1 AS hop FROM links_rows WHERE crawl = {crawl:String} AND u != v`+fmt.Sprintf(within, "v")+`
					UNION ALL
					SELECT redirect, url, 0 FROM verdicts_rows WHERE crawl = {crawl:String} AND outcome = 'redirected' AND redirect NOT IN ('', url)`+fmt.Sprintf(within, "redirect")+`
				) AS l
				LEFT JOIN (SELECT url, min(depth) AS depth FROM requests_rows WHERE crawl = {crawl:String} GROUP BY url) AS r ON r.url = l.u
				WHERE u = '' OR r.url != ''
			)
			GROUP BY v ORDER BY v`, params, func(x Target) error { return f(&x) })
		if err != nil {
			return err
		}
		params["from"] = to
	}
	return nil
}

// likelyAttempts are those by whose ids a request is looked for; a URL that was deferred more often is found by its name, which takes
// longer.
const likelyAttempts = 16

// Via returns the page by whose link a URL was chosen, as of its last request; empty for a seed. ok is false if no request is found.
func (t Trail) Via(ctx context.Context, url string) (via string, ok bool, err error) {
	ids := make([]string, likelyAttempts)
	for i := range ids {
		ids[i] = idLiteral(schemas.RequestID(t.Crawl, url, uint32(i+1)))
	}
	for _, which := range []string{"id IN (" + strings.Join(ids, ", ") + ")", "url = {url:String}"} {
		rows, err := collect[string](ctx, t.DB, `SELECT via FROM requests_rows WHERE crawl = {crawl:String} AND `+which+` ORDER BY attempt DESC LIMIT 1`,
			Params{"crawl": t.Crawl, "url": url})
		if err != nil || len(rows) > 0 {
			return strings.Join(rows, ""), err == nil, err
		}
	}
	return "", false, nil
}

func idLiteral(id schemas.ID) string { return fmt.Sprintf("toFixedString(unhex('%s'), 16)", id) }

// LinkWords returns the words of the texts of links by the ids of their leaps, in no order, as far as the leaps were settled with
// their features.
func (t Trail) LinkWords(ctx context.Context, leaps []schemas.ID) (map[string][]string, error) {
	words := make(map[string][]string)
	if len(leaps) == 0 {
		return words, nil
	}
	ids := make([]string, len(leaps))
	for i, id := range leaps {
		ids[i] = idLiteral(id)
	}
	type leap struct {
		ID    string
		Words []string
	}
	err := each(ctx, t.DB, `SELECT lower(hex(id)), arrayFilter((t, d) -> d = 0, terms, offsets) FROM leaps_rows WHERE crawl = {crawl:String} AND id IN (`+strings.Join(ids, ", ")+`)`,
		Params{"crawl": t.Crawl}, func(l leap) error {
			words[l.ID] = l.Words
			return nil
		})
	return words, err
}
