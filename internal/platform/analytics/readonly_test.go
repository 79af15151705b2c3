package analytics_test

import (
	"bytes"
	"strings"
	"testing"

	"forager/internal/platform/analytics"
)

func TestReadOnlyRefusesChanges(t *testing.T) {
	d := migrated(t)
	ctx := analytics.ReadOnly(t.Context())
	var out bytes.Buffer
	for _, sql := range []string{
		"INSERT INTO markers_rows (partition, owner, epoch, precedence) VALUES (1, 2, 3, 4)", "DROP TABLE markers_rows", "TRUNCATE TABLE markers_rows",
		"ALTER TABLE markers_rows DELETE WHERE 1", "CREATE TABLE mine (a UInt8) ENGINE = Memory", "SET readonly = 0",
		"SELECT 1 SETTINGS readonly = 0",
	} {
		err := d.Copy(ctx, &out, "CSV", sql, nil)
		if err == nil || !strings.Contains(err.Error(), "readonly") {
			t.Errorf("%s: %v", sql, err)
		}
	}
	for _, sql := range []string{"SELECT count() FROM fetches", "SELECT count() FROM fetches SETTINGS max_threads = 1", "SHOW TABLES", "EXPLAIN SELECT 1"} {
		if err := d.Copy(ctx, &out, "CSV", sql, nil); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if err := d.Copy(t.Context(), &out, "CSV", "CREATE TABLE mine (a UInt8) ENGINE = Memory", nil); err != nil {
		t.Errorf("a read-only query left its mark on those that follow: %v", err)
	}
}

func TestAFormatClauseTakesPrecedence(t *testing.T) {
	d := migrated(t)
	for sql, want := range map[string]string{
		"SELECT 1 AS a FORMAT JSONEachRow":                          "{\"a\":1}\n",
		"SELECT 1 AS a format TSVWithNames ;\n":                     "a\n1\n",
		"SELECT 1 AS a FORMAT JSONEachRow SETTINGS max_threads = 1": "{\"a\":1}\n",
		"SELECT 'x FORMAT JSONEachRow' AS a":                        "\"x FORMAT JSONEachRow\"\n",
		"SELECT 1 AS a -- FORMAT JSONEachRow":                       "1\n",
		"SELECT 1 AS a;":                                            "1\n",
	} {
		var out bytes.Buffer
		if err := d.Copy(analytics.ReadOnly(t.Context()), &out, "CSV", sql, nil); err != nil || out.String() != want {
			t.Errorf("%s: %q, %v; want %q", sql, out.String(), err, want)
		}
	}
}
