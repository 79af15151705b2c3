package analytics

import (
	"context"
	"fmt"
)

// Neighbour is a page with links to or from some pages. Linked is the number of these that link to it, Links that of
// those it links to, Together how often a page links to it and to one of them.
type Neighbour struct {
	URL      string `json:"url"`
	Linked   uint64 `json:"linked"`
	Links    uint64 `json:"links"`
	Together uint64 `json:"beside"`
}

// neighbours are links around examples: their own, those that lead to them, and those that a page has next to
// them (1999; the couplings of Kessler and Small), each with its count.
const neighbours = `SELECT page, sum(kind = 1) AS linked, sum(kind = 2) AS linking, sum(kind = 3) AS together FROM
(
    SELECT DISTINCT v AS page, u AS other, 1 AS kind FROM links WHERE u IN {examples:Array(String)}
    UNION ALL
    SELECT DISTINCT u AS page, v AS other, 2 AS kind FROM links WHERE v IN {examples:Array(String)} AND u != ''
    UNION ALL
    SELECT DISTINCT v AS page, u AS other, 3 AS kind FROM links
    WHERE u IN (SELECT u FROM links WHERE v IN {examples:Array(String)} AND u != '') AND u NOT IN {examples:Array(String)}
)
WHERE page NOT IN {without:Array(String)}
GROUP BY page
HAVING %s
ORDER BY linked + linking + together DESC, page LIMIT {most:UInt64}`

// Neighbours returns the pages around examples, those with most links first: pages that a crawl has fetched, or URLs
// that none has requested.
func (d *DB) Neighbours(ctx context.Context, examples, without []string, fetched bool, most int) ([]Neighbour, error) {
	condition := "page NOT IN (SELECT url FROM verdicts)"
	if fetched {
		condition = "page IN (SELECT url FROM verdicts WHERE outcome = 'delivered')"
	}
	list, err := collect[Neighbour](ctx, d, fmt.Sprintf(neighbours, condition), Params{"examples": examples, "without": without, "most": uint64(most)})
	if err != nil {
		return nil, fmt.Errorf("neighbourhood of the examples: %w", err)
	}
	return list, nil
}
