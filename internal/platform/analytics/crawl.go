package analytics

import (
	"context"
	"fmt"

	"forager/schemas"
)

// Crawls returns the names of the crawls with fetched pages, sorted.
func (d *DB) Crawls(ctx context.Context) ([]string, error) {
	return collect(ctx, d, "SELECT crawl FROM fetches_rows GROUP BY crawl ORDER BY crawl", nil, func(row []any) string { return row[0].(string) })
}

// Complete counts the pages of an outcome whose rows are all there: a page combines rows of several topics, which are
// loaded one after another.
func (d *DB) Complete(ctx context.Context, crawl, outcome string) (n uint64, err error) {
	const of = "(SELECT id FROM %s WHERE crawl = {crawl:String})"
	sql := "SELECT count() FROM verdicts WHERE crawl = {crawl:String} AND outcome = {outcome:String} AND id IN " + fmt.Sprintf(of, "requests")
	if outcome == schemas.OutcomeName(schemas.Outcome_OUTCOME_DELIVERED) {
		sql += " AND id IN " + fmt.Sprintf(of, "fetches") + " AND id IN " + fmt.Sprintf(of, "judgements")
	}
	err = d.Each(ctx, sql, Params{"crawl": crawl, "outcome": outcome}, func(row []any) error {
		n = row[0].(uint64)
		return nil
	})
	return n, err
}

// Outcomes calls f with the outcome of every attempt at a URL of a crawl, in order; redirect is the target of a
// redirection.
func (d *DB) Outcomes(ctx context.Context, crawl string, f func(url, outcome, detail, redirect string)) error {
	err := d.Each(ctx, `SELECT r.url, v.outcome, v.detail, v.redirect FROM requests AS r LEFT JOIN
		(SELECT id, outcome, detail, redirect, offset FROM verdicts WHERE crawl = {crawl:String}) AS v ON v.id = r.id WHERE r.crawl = {crawl:String} ORDER BY r.shard, v.offset, r.id`,
		Params{"crawl": crawl}, func(row []any) error {
			f(row[0].(string), row[1].(string), row[2].(string), row[3].(string))
			return nil
		})
	if err != nil {
		return fmt.Errorf("outcomes of crawl %s: %w", crawl, err)
	}
	return nil
}
