package analytics_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"forager/internal/platform/analytics"
)

// TestBrokenParts: parts whose files are empty are found, and are distinguished by whether the parts they were
// merged from replaced them.
func TestBrokenParts(t *testing.T) {
	d := migrated(t)
	do := func(sql string) {
		t.Helper()
		if err := d.Exec(t.Context(), sql, nil); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	fill := func(table string) (path string) {
		t.Helper()
		rows := query(t, d, "SELECT path FROM system.parts WHERE active AND table = {table:String} ORDER BY max_block_number DESC LIMIT 1", analytics.Params{"table": table}).Rows
		return rows[0][0].(string)
	}
	empty := func(path string) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(path, "*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", path, len(files), err)
		}
		for _, f := range files {
			if err := os.Truncate(f, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range 3 {
		for _, table := range []string{"markers_rows", "statuses_rows"} {
			do(fmt.Sprintf("INSERT INTO %s (precedence) SELECT %d", table, i))
		}
	}
	if parts, err := d.CheckParts(t.Context()); err != nil || len(parts) != 0 {
		t.Fatalf("broken from the start: %v, %v", parts, err)
	}
	do("OPTIMIZE TABLE statuses_rows FINAL")
	empty(fill("statuses_rows")) // a merge
	lost := fill("markers_rows")
	empty(lost) // new rows
	parts, err := d.CheckParts(t.Context())
	if err != nil || len(parts) != 2 || parts[0].Table != "markers_rows" || parts[0].Part != filepath.Base(lost) || parts[0].Problem == "" || parts[1].Table != "statuses_rows" {
		t.Errorf("found %+v, %v", parts, err)
	}
	for _, table := range []string{"markers_rows", "statuses_rows"} {
		do("DETACH TABLE " + table)
		for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) { // something may still use it
			err := d.Exec(t.Context(), "ATTACH TABLE "+table, nil)
			if err == nil {
				break
			}
			if time.Now().After(end) {
				t.Fatal(err)
			}
		}
	}
	parts, err = d.SetAside(t.Context())
	if err != nil || len(parts) != 2 || parts[0].Table != "markers_rows" || parts[0].Replaced || parts[1].Table != "statuses_rows" || !parts[1].Replaced {
		t.Errorf("set aside %+v, %v", parts, err)
	}
	if parts, err := d.CheckParts(t.Context()); err != nil || len(parts) != 0 {
		t.Errorf("still broken: %v, %v", parts, err)
	}
	for _, p := range parts {
		do("ALTER TABLE " + p.Table + " DROP DETACHED PART '" + p.Part + "' SETTINGS allow_drop_detached = 1")
	}
	if parts, err = d.SetAside(t.Context()); err != nil || len(parts) != 0 {
		t.Errorf("still set aside: %v, %v", parts, err)
	}
}
