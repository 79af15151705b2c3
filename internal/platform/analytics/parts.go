package analytics

import (
	"context"
	"fmt"
	"strings"
)

// BrokenPart is a part of a table that cannot be read, because of a full or failing disk.
type BrokenPart struct {
	Table, Part string
	// Problem is the server's message; empty if the part was set aside before.
	Problem string
	// Replaced: parts that hold the first and the last of its rows are in use, so that the parts it was merged from
	// seem to have replaced it. Otherwise its rows are missing.
	Replaced bool
}

// Drop is the statement that removes a part which was set aside.
func (p BrokenPart) Drop() string {
	return fmt.Sprintf("ALTER TABLE %s DROP DETACHED PART '%s' SETTINGS allow_drop_detached = 1", p.Table, p.Part)
}

// SetAside returns the parts that the server found broken and does not use.
func (d *DB) SetAside(ctx context.Context) ([]BrokenPart, error) {
	const holds = "countIf(p.partition_id = d.partition_id AND d.%[1]s_block_number BETWEEN p.min_block_number AND p.max_block_number) > 0"
	return collect[BrokenPart](ctx, d, `SELECT d.table, d.name, '', toUInt8(any(ifNull(d.level, 0) > 0) AND `+fmt.Sprintf(holds, "min")+` AND `+fmt.Sprintf(holds, "max")+`)
		FROM system.detached_parts AS d
		LEFT JOIN (SELECT table, partition_id, min_block_number, max_block_number FROM system.parts WHERE database = {database:String} AND active) AS p ON p.table = d.table
		WHERE d.database = {database:String} AND startsWith(ifNull(d.reason, ''), 'broken') GROUP BY d.table, d.name ORDER BY d.table, d.name`,
		Params{"database": d.database})
}

// CheckParts reads every part in use of every table, and returns those that are broken.
func (d *DB) CheckParts(ctx context.Context) (parts []BrokenPart, err error) {
	names, err := collect[string](ctx, d, "SELECT name FROM system.tables WHERE database = {database:String} AND engine LIKE '%MergeTree' ORDER BY name",
		Params{"database": d.database})
	if err != nil {
		return nil, err
	}
	for _, table := range names {
		err := d.Each(ctx, "CHECK TABLE "+quoted(table)+" SETTINGS check_query_single_value_result = 0", nil, func(row []any) error {
			if passed := fmt.Sprint(row[1]); passed != "1" && passed != "true" {
				problem, _, _ := strings.Cut(fmt.Sprint(row[2]), "\n")
				parts = append(parts, BrokenPart{Table: table, Part: fmt.Sprint(row[0]), Problem: problem})
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("check table %s: %w", table, err)
		}
	}
	return parts, nil
}

// Size returns the bytes of all tables on disk, without parts that have been merged into others.
func Size(ctx context.Context, d *DB) (uint64, error) {
	return single[uint64](ctx, d, "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase()", nil)
}
