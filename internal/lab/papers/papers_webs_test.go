//go:build webs

package papers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forager/internal/lab/experiment"
	"forager/internal/lab/taskfile"
	"forager/internal/rank/linkfeature"
	"forager/internal/testkit/frozen"
)

// TestWebsGainIsTheCommittedOne measures Fig. 8 of 2002 on webkb-uni: its table in docs/papers.md must have these numbers.
func TestWebsGainIsTheCommittedOne(t *testing.T) {
	path := frozen.Path(t, frozen.Webs, "tasks.json.gz")
	file, err := taskfile.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := file.Select("webkb-uni:*")
	if err != nil {
		t.Fatal(err)
	}
	environments, err := experiment.Prepare(t.Context(), file, filepath.Dir(path), tasks, linkfeature.Settings{DMax: Reach})
	if err != nil {
		t.Fatal(err)
	}
	w := &World{Name: "webkb-uni", Tasks: tasks, Environments: environments, Draws: []int{10}}
	if err := w.crawls(t.Context(), w.every(kept, soft)); err != nil {
		t.Fatal(err)
	}
	m := &measured{around: newAround()}
	for _, k := range w.every(kept, soft) {
		m.around.add(evidence(w.made[k]))
	}
	m.divide(float64(len(tasks)))
	want := gainOf(&m.around)
	for i, row := range committedRows(t, "### 2002, Fig. 8", "**webkb-uni:**") {
		if have := strings.TrimSpace(strings.Split(row, "|")[2]); have != num(want.millibits[i]) {
			t.Errorf("docs/papers.md has %q; measured now: %s. make papers writes it again", row, num(want.millibits[i]))
		}
	}
}

// committedRows are the rows of the first table of a web's part of a figure.
func committedRows(t *testing.T, figure, web string) []string {
	t.Helper()
	b, err := os.ReadFile("../../../docs/papers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), figure)
	if ok {
		_, rest, ok = strings.Cut(rest, web)
	}
	if ok {
		_, rest, ok = strings.Cut(rest, "--:|\n")
	}
	table, _, _ := strings.Cut(rest, "\n\n")
	rows := strings.Split(strings.TrimSpace(table), "\n")
	if !ok || len(rows) != 2*Reach+1 {
		t.Fatalf("docs/papers.md has no table of %s, %s: %d rows", figure, web, len(rows))
	}
	return rows
}
