package clickhouse_test

import (
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"forager/infra/local/clickhouse"
)

// TestFullDiskIsMended: a merge that left empty files on a full disk loses no row.
func TestFullDiskIsMended(t *testing.T) {
	var free, looks atomic.Uint64
	free.Store(math.MaxUint64)
	s, err := clickhouse.Start(t.Context(), t.TempDir(), "127.0.0.1:0", clickhouse.Settings{
		Log:  slog.New(slog.NewTextHandler(t.Output(), nil)),
		Free: func() (uint64, error) { looks.Add(1); return free.Load(), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	must := func(sql string) string {
		t.Helper()
		r := ask(t, s, "POST", "", sql)
		if r.status != 200 {
			t.Fatalf("%s: %s", sql, r.body)
		}
		return strings.TrimSpace(r.body)
	}
	seen := func(bytes uint64) {
		free.Store(bytes)
		for n := looks.Load(); looks.Load() < n+2; time.Sleep(10 * time.Millisecond) {
		}
	}
	must("CREATE TABLE `odd ``name` (n UInt64, s String) ENGINE = ReplacingMergeTree ORDER BY n")
	const rows = 1000
	for i := range 3 {
		must(fmt.Sprintf("INSERT INTO `odd ``name` SELECT number + %d, toString(number) FROM numbers(%d)", i*rows, rows))
	}
	sums := "SELECT count(), sum(n), max(s) FROM `odd ``name` FINAL"
	want := must(sums)

	seen(1 << 20)
	if r := ask(t, s, "POST", "", "INSERT INTO `odd ``name` VALUES (1, '1')"); r.header.Get("X-ClickHouse-Exception-Code") != "243" {
		t.Errorf("rows for a full disk: %d %s", r.status, r.body)
	}
	for _, sql := range []string{
		"INSERT INTO `odd ``name` SELECT 1, '1'", "DELETE FROM `odd ``name` WHERE n = 1", "alter table `odd ``name` DELETE WHERE n = 1",
		"CREATE OR REPLACE VIEW v AS SELECT 1", "/* new */ CREATE TABLE t (n UInt8) ENGINE = MergeTree ORDER BY n", "RENAME TABLE `odd ``name` TO t",
	} {
		if r := ask(t, s, "POST", "", sql); r.header.Get("X-ClickHouse-Exception-Code") != "243" {
			t.Errorf("%s on a full disk: %d %s", sql, r.status, r.body)
		}
	}
	must("OPTIMIZE TABLE `odd ``name` FINAL")
	merged := must("SELECT path FROM system.parts WHERE table = 'odd `name' AND active")
	files, err := filepath.Glob(filepath.Join(merged, "*"))
	if err != nil || len(files) == 0 || strings.Contains(merged, "\n") {
		t.Fatalf("parts %s: %d files, %v", merged, len(files), err)
	}
	for _, f := range files {
		if err := os.Truncate(f, 0); err != nil {
			t.Fatal(err)
		}
	}
	if got := must("CHECK TABLE `odd ``name` SETTINGS check_query_single_value_result = 1"); got != "0" {
		t.Fatalf("the broken part is taken for good: %s", got)
	}
	seen(math.MaxUint64)
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if r := ask(t, s, "POST", "", sums); r.status == 200 && strings.TrimSpace(r.body) == want {
			break
		} else if time.Now().After(end) {
			t.Fatalf("rows after a minute: %s, want %s", r.body, want)
		}
	}
	if got := must("CHECK TABLE `odd ``name` SETTINGS check_query_single_value_result = 1"); got != "1" {
		t.Errorf("after mending: %s", got)
	}
	must("INSERT INTO `odd ``name` VALUES (1000000, 'x')")
}
