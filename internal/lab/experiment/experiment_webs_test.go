//go:build webs

package experiment

import (
	"path/filepath"
	"testing"

	"forager/internal/lab/taskfile"
	"forager/internal/rank/linkfeature"
	"forager/internal/testkit/frozen"
)

// folder is the directory of the frozen webs.
func folder(t testing.TB) string {
	return frozen.Path(t, frozen.Webs, "")
}

// TestWebsTasks: of every task, the number of targets is that of the task file (newGround checks
// it), and the budget is a quarter of the pages. A page is there whatever has become of it: plain
// text and what has no URL count, too, although no crawl here can spend budget on them.
func TestWebsTasks(t *testing.T) {
	file, err := taskfile.Load(filepath.Join(folder(t), "tasks.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := file.Select()
	if err != nil {
		t.Fatal(err)
	}
	environments, err := Prepare(t.Context(), file, folder(t), tasks, linkfeature.Settings{DMax: 5})
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		g := environments[task]
		pages := 0
		count := func(p *page) {
			if task.Pages.Has(g.web.labels[p.url]) {
				pages++
			}
		}
		for _, p := range g.web.pages {
			if p.status == 200 {
				count(p)
			}
		}
		for _, p := range g.web.strays {
			count(p)
		}
		if uint64(pages/4) != task.Budget {
			t.Errorf("%s: a quarter of %d pages is not the budget of %d", task.Name, pages, task.Budget)
		}
		for draw := range task.Seeds {
			if s := g.Lost(draw); s != "" {
				t.Errorf("%s, draw %d: seed %s is no page of the web", task.Name, draw, s)
			}
		}
	}
}
