package analytics

import (
	"testing"
)

func TestReads(t *testing.T) {
	for sql, want := range map[string]bool{
		"select 1": true, "\n-- a\n/* b\n*/ WITH 1 AS x SELECT x": true, "((SELECT 1))": true, "SHOW TABLES": true, "desc t": true,
		"SYSTEM STOP MERGES": false, "-- SELECT\nSYSTEM SHUTDOWN": false, "KILL QUERY WHERE 1": false, "/* SELECT */ DROP TABLE t": false,
		"selection": false, "INSERT INTO t SELECT 1": false, "": false, "# SELECT": false, "-- SELECT 1": false,
	} {
		if got := Reads(sql); got != want {
			t.Errorf("%q reads: %t, want %t", sql, got, want)
		}
	}
}
