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
