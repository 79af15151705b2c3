package analytics

import (
	"context"
	"fmt"
)

// DeleteCrawl deletes the rows of a crawl from every table that has the column crawl, and returns how many rows
// each had, including duplicates. When it returns no query finds them; their disk space is freed in the
// background.
func (d *DB) DeleteCrawl(ctx context.Context, crawl string) (map[string]uint64, error) {
	names, err := collect[string](ctx, d, `SELECT c.table FROM system.columns AS c JOIN system.tables AS t ON t.database = c.database AND t.name = c.table
		WHERE c.database = {database:String} AND c.name = 'crawl' AND t.engine LIKE '%MergeTree' ORDER BY c.table`,
		Params{"database": d.database})
	if err != nil {
		return nil, err
	}
	deleted := make(map[string]uint64, len(names))
	for _, table := range names {
		n, err := single[uint64](ctx, d, "SELECT count() FROM "+quoted(table)+" WHERE crawl = {crawl:String}", Params{"crawl": crawl})
		deleted[table] = n
		if err == nil && n > 0 {
			err = d.Exec(ctx, "DELETE FROM "+quoted(table)+" WHERE crawl = {crawl:String} SETTINGS lightweight_deletes_sync = 2", Params{"crawl": crawl})
		}
		if err == nil && n > 0 {
			err = d.Exec(ctx, "ALTER TABLE "+quoted(table)+" APPLY DELETED MASK SETTINGS mutations_sync = 0", nil)
		}
		if err != nil {
			return nil, fmt.Errorf("delete the rows of crawl %s from %s: %w", crawl, table, err)
		}
	}
	return deleted, nil
}

// SegmentsOf returns the segments with pages of a crawl: those without pages of crawls that still exist, and the shared
// ones. gone are all deleted crawls.
func (d *DB) SegmentsOf(ctx context.Context, crawl string, gone []string) (alone, shared []string, err error) {
	type segment struct {
		Object string
		Shared bool
	}
	err = each(ctx, d, `SELECT object, max(crawl NOT IN {gone:Array(String)}) FROM fetches_rows
		WHERE object IN (SELECT object FROM fetches_rows WHERE crawl = {crawl:String} AND object != '') GROUP BY object ORDER BY object`,
		Params{"crawl": crawl, "gone": gone}, func(s segment) error {
			if s.Shared {
				shared = append(shared, s.Object)
			} else {
				alone = append(alone, s.Object)
			}
			return nil
		})
	return alone, shared, err
}

// GuidesOf returns the versions of guides that a crawl announced and that no operator and no crawl that still exists
// did. gone are all deleted crawls.
func (d *DB) GuidesOf(ctx context.Context, crawl string, gone []string) ([]string, error) {
	return collect[string](ctx, d, `SELECT model FROM models_rows WHERE kind = 'guide' GROUP BY model
		HAVING has(groupArray(crawl), {crawl:String}) AND max(crawl NOT IN {gone:Array(String)}) = 0 ORDER BY model`,
		Params{"crawl": crawl, "gone": gone})
}
