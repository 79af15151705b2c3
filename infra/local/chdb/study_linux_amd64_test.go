package chdb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"forager/internal/lab/study"
)

// TestStudiesAreLoaded: the engine reads both files of a study, with the same rows.
func TestStudiesAreLoaded(t *testing.T) {
	dir := t.TempDir()
	rows := []study.Row{
		{Study: "s", Task: `web:"a", b`, Variant: "soft-focus", Ranker: "soft-focus", Access: "seeds", Settings: `{"d_max":5}`, Seed: 7, AUC: .25, Pages: 10, EndReason: "pages budget spent"},
		{Study: "s", Task: "web:b", Draw: 3, Variant: "apprentice d_max=0", Ranker: "apprentice", Access: "seeds", Settings: "{}", AUC: 1. / 3, Loss100: 1e-9, Bytes: 1 << 40, EndReason: "stagnated"},
	}
	csv, err := os.Create(filepath.Join(dir, "runs.csv"))
	if err != nil {
		t.Fatal(err)
	}
	parquet, err := os.Create(filepath.Join(dir, "runs.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(study.WriteCSV(csv, rows), csv.Close(), study.WriteParquet(parquet, rows), parquet.Close()); err != nil {
		t.Fatal(err)
	}
	c := connect(t, filepath.Join(dir, "engine"))
	const columns = "task, draw, variant, settings, seed, bytes, auc, loss_100, end_reason"
	read := func(file, format string) string {
		return query(t, c, fmt.Sprintf("SELECT %s FROM file('%s', '%s') ORDER BY draw FORMAT JSONEachRow", columns, filepath.Join(dir, file), format))
	}
	fromCSV, fromParquet := read("runs.csv", "CSVWithNames"), read("runs.parquet", "Parquet")
	if fromCSV != fromParquet {
		t.Errorf("CSV\n%s\nParquet\n%s", fromCSV, fromParquet)
	}
	if got := query(t, c, fmt.Sprintf("SELECT sum(auc) = 0.25 + 1/3, max(bytes) = 1099511627776 FROM file('%s', 'Parquet') FORMAT TSV", filepath.Join(dir, "runs.parquet"))); got != "1\t1\n" {
		t.Errorf("sums: %q\n%s", got, fromParquet)
	}
}
