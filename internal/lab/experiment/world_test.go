package experiment

import (
	"context"
	"path/filepath"
	"testing"

	"forager/internal/lab/experiment/worldtest"
	"forager/internal/lab/taskfile"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// environment writes the world and prepares its task.
func env(t testing.TB, w *worldtest.World) *Environment {
	t.Helper()
	dir := w.Write(t)
	file, err := taskfile.Load(filepath.Join(dir, "tasks.json"))
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := file.Select()
	if err != nil {
		t.Fatal(err)
	}
	environments, err := Prepare(t.Context(), file, dir, tasks, linkfeature.Settings{DMax: 5})
	if err != nil {
		t.Fatal(err)
	}
	return environments[tasks[0]]
}

// try makes a crawl that must not fail.
func try(t testing.TB, g *Environment, ranker string, draw int, seed uint64) *Crawl {
	t.Helper()
	c, err := g.Try(t.Context(), ranker, draw, seed, &schemas.Learning{DMax: 5})
	if err != nil {
		t.Fatalf("%s: %v", ranker, err)
	}
	return c
}

// found is the verdict on a page in scope.
func (g *Environment) found(u string) *schemas.LinkFound {
	rec, err := g.Verdict(context.Background(), u)
	if err != nil {
		panic(err)
	}
	return rec
}

// text is the parsed page, nil where there is none.
func (p *page) text() *schemas.Page {
	parsed, err := p.parsed()
	if err != nil {
		panic(err)
	}
	return parsed
}
