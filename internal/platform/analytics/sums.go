package analytics

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// Summed is the number of rows of a crawl, duplicates included, and of those that its sums are of.
type Summed struct {
	Crawl      string
	Rows, Sums uint64
}

// Summed returns every crawl with rows or sums.
func (d *DB) Summed(ctx context.Context) ([]Summed, error) {
	return collect[Summed](ctx, d, `SELECT crawl, sum(n), sum(s) FROM
		(
			SELECT crawl, count() AS n, 0 AS s FROM requests_rows GROUP BY crawl
			UNION ALL SELECT crawl, count(), 0 FROM fetches_rows GROUP BY crawl
			UNION ALL SELECT crawl, count(), 0 FROM judgements_rows GROUP BY crawl
			UNION ALL SELECT crawl, count(), 0 FROM verdicts_rows GROUP BY crawl
			UNION ALL SELECT crawl, count(), 0 FROM leaps_rows GROUP BY crawl
			UNION ALL SELECT crawl, 0, argMaxIf(rows, as_of, breakdown = 'total') FROM sums_rows GROUP BY crawl
		)
		GROUP BY crawl ORDER BY crawl`, nil)
}

// joinedRows is about the number of a crawl's rows that are joined at once, in memory.
const joinedRows = 1_000_000

// inRange is the condition on an id that it is in a range, by the sorting key.
const inRange = " BETWEEN toFixedString(unhex({from:String}), 16) AND toFixedString(unhex({to:String}), 16)"

// idRanges calls yield with the ends, in hex, of ranges of all ids, each with about joinedRows of so many rows.
func idRanges(rows uint64) iter.Seq2[string, string] {
	return func(yield func(from, to string) bool) {
		for from, width := uint64(0), 1<<32/(1+rows/joinedRows); from < 1<<32; from += width {
			if !yield(fmt.Sprintf("%08x%024x", from, 0), fmt.Sprintf("%08x%s", min(from+width, 1<<32)-1, strings.Repeat("f", 24))) {
				return
			}
		}
	}
}

const requestColumns = "requests, delivered, targets, relevance"

// requestSums are these of requests with ids in a range.
const requestSums = `one.1, one.2, count(), countIf(outcome = 'delivered'), countIf(outcome = 'delivered' AND relevance >= 0.5), sumIf(relevance, outcome = 'delivered')
	FROM
	(
		SELECT v.outcome AS outcome, v.relevance AS relevance, v.recorded_at AS at, r.host AS host, r.depth AS depth, r.policy AS policy, r.model AS model
		FROM requests_between(from = {from:String}, to = {to:String}) AS r INNER JOIN
			(
				SELECT lower(hex(t.id)) AS id, outcome, relevance, recorded_at FROM verdicts_rows AS t FINAL
				WHERE crawl = {crawl:String} AND t.id` + inRange + `
					AND outcome NOT IN ('seeds', 'replay')
			) AS v ON v.id = r.id
		WHERE r.crawl = {crawl:String}
	)
	ARRAY JOIN [('minute', toString(toStartOfMinute(at))), ('host', host), ('depth', toString(depth)), ('policy', policy), ('model', model), ('outcome', toString(outcome))] AS one
	GROUP BY one`

// otherSums are columns of sums_rows and where they are from. One statement for all of them would need the memory of all at once.
var otherSums = []struct{ columns, from string }{
	{requestColumns, `'topic', topics[1], count(), count(), countIf(relevance >= 0.5), sum(relevance)
		FROM judgements WHERE crawl = {crawl:String} AND outcome = 'delivered' AND notEmpty(topics)
		GROUP BY topics[1]`},
	{"bytes", `one.1, one.2, sum(size)
		FROM fetches ARRAY JOIN [('minute', toString(toStartOfMinute(fetched_at))), ('host', host), ('outcome', toString(outcome))] AS one
		WHERE crawl = {crawl:String}
		GROUP BY one`},
	{"leaps, leaps_delivered, leaps_relevance", `one.1, one.2, count(), countIf(outcome = 'delivered'), sumIf(target, outcome = 'delivered')
		FROM leaps ARRAY JOIN [('minute', toString(toStartOfMinute(recorded_at))), ('policy', policy), ('model', model), ('outcome', toString(outcome))] AS one
		WHERE crawl = {crawl:String}
		GROUP BY one`},
}

const allSums = "requests, delivered, targets, relevance, bytes, leaps, leaps_delivered, leaps_relevance"

// Sum computes the sums of a crawl, or removes them if it has no rows. It may be ended at any time and run several times at once: readers
// take the newest complete sums. Those before them are kept for queries that have begun.
func Sum(ctx context.Context, d *DB, of Summed) error {
	const remove = "DELETE FROM sums_rows WHERE crawl = {crawl:String}"
	if of.Rows == 0 {
		return d.Exec(ctx, remove, Params{"crawl": of.Crawl})
	}
	type times struct{ Now, Before time.Time }
	at, err := single[times](ctx, d, "SELECT now64(3, 'UTC'), max(as_of) FROM sums_rows WHERE breakdown = 'total' AND crawl = {crawl:String}", Params{"crawl": of.Crawl})
	if err != nil {
		return err
	}
	// No other pass has the same numbers.
	var revision [16]byte
	rand.Read(revision[:])
	params := Params{
		"crawl": of.Crawl, "rows": of.Rows, "at": at.Now.UnixMilli(),
		"partial": binary.BigEndian.Uint64(revision[:8]), "revision": binary.BigEndian.Uint64(revision[8:]),
	}
	id := rand.Text()
	defer func() {
		if ctx.Err() != nil {
			d.kill(id)
		}
	}()
	// One thread, as the crawl needs the others.
	pass := clickhouse.Context(ctx, clickhouse.WithQueryID(id), clickhouse.WithSettings(clickhouse.Settings{"max_threads": 1}))
	insert := func(revision, columns, from string) {
		if err == nil {
			err = d.Exec(pass, "INSERT INTO sums_rows (crawl, revision, as_of, rows, breakdown, key, "+columns+
				") SELECT {crawl:String}, {"+revision+":UInt64}, fromUnixTimestamp64Milli({at:Int64}, 'UTC'), {rows:UInt64}, "+from, params)
		}
	}
	for from, to := range idRanges(of.Rows) {
		params["from"], params["to"] = from, to
		insert("partial", requestColumns, requestSums)
	}
	for _, p := range otherSums {
		insert("partial", p.columns, p.from)
	}
	added := "sum(" + strings.ReplaceAll(allSums, ", ", "), sum(") + ") FROM sums_rows WHERE crawl = {crawl:String} AND revision = "
	insert("revision", allSums, "breakdown, key, "+added+"{partial:UInt64} GROUP BY breakdown, key")
	// Complete: the sums by outcome have everything once.
	insert("revision", allSums, "'total', '', "+added+"{revision:UInt64} AND breakdown = 'outcome'")
	if err != nil {
		_ = d.Exec(ctx, remove+" AND revision = {partial:UInt64}", params) // if it fails, too, a later pass deletes them
		return fmt.Errorf("sums of crawl %s: %w", of.Crawl, err)
	}
	return d.Exec(ctx, remove+" AND as_of < fromUnixTimestamp64Milli({before:Int64}, 'UTC')", Params{"crawl": of.Crawl, "before": at.Before.UnixMilli()})
}
