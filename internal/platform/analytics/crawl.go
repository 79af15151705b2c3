package analytics

import (
	"context"
	"fmt"

	"forager/schemas"
)

// Crawls returns the names of the crawls with fetched pages, sorted.
func (d *DB) Crawls(ctx context.Context) ([]string, error) {
	return collect[string](ctx, d, "SELECT crawl FROM fetches_rows GROUP BY crawl ORDER BY crawl", nil)
}

// Complete counts the pages of an outcome whose rows are all there: a page combines rows of several topics, which are
// loaded one after another.
func (d *DB) Complete(ctx context.Context, crawl, outcome string) (pages uint64, err error) {
	const within = "crawl = {crawl:String} AND id" + inRange
	sql := "SELECT count() FROM verdicts_rows FINAL WHERE outcome = {outcome:String} AND " + within +
		" AND lower(hex(id)) IN (SELECT id FROM requests_between(from = {from:String}, to = {to:String}) WHERE crawl = {crawl:String})"
	if outcome == schemas.OutcomeName(schemas.Outcome_OUTCOME_DELIVERED) {
		sql += " AND id IN (SELECT id FROM fetches_rows WHERE " + within + ") AND id IN (SELECT id FROM judgements_rows WHERE " + within + ")"
	}
	params := Params{"crawl": crawl, "outcome": outcome}
	rows, err := single[uint64](ctx, d, "SELECT count() FROM verdicts_rows WHERE crawl = {crawl:String}", params)
	if err != nil {
		return 0, err
	}
	for from, to := range idRanges(4 * rows) { // of each of four tables
		params["from"], params["to"] = from, to
		n, err := single[uint64](ctx, d, sql, params)
		if err != nil {
			return 0, err
		}
		pages += n
	}
	return pages, nil
}

// Outcomes calls f with the outcome of every attempt at a URL of a crawl, in order; redirect is the target of a
// redirection.
func (d *DB) Outcomes(ctx context.Context, crawl string, f func(url, outcome, detail, redirect string)) error {
	type attempt struct{ URL, Outcome, Detail, Redirect string }
	err := each(ctx, d, `SELECT r.url, v.outcome, v.detail, v.redirect FROM requests AS r LEFT JOIN
		(SELECT id, outcome, detail, redirect, offset FROM verdicts WHERE crawl = {crawl:String}) AS v ON v.id = r.id WHERE r.crawl = {crawl:String} ORDER BY r.shard, v.offset, r.id`,
		Params{"crawl": crawl}, func(a attempt) error {
			f(a.URL, a.Outcome, a.Detail, a.Redirect)
			return nil
		})
	if err != nil {
		return fmt.Errorf("outcomes of crawl %s: %w", crawl, err)
	}
	return nil
}
