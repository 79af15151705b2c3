package experiment

import (
	"reflect"
	"sync"
	"testing"
	"time"

	"forager/internal/lab/experiment/worldtest"
	"forager/internal/lab/taskfile"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// TestGuidesAreForgotten after the last crawl that follows them, and a guide made again has the same scores.
func TestGuidesAreForgotten(t *testing.T) {
	g := env(t, worldtest.Random(7, 120))
	bench := &Bench{
		Tasks: []*taskfile.Task{g.task}, Draws: []int{0, 1}, Environments: map[*taskfile.Task]*Environment{g.task: g},
	}
	for _, name := range []string{"context-graph", "memm-marginal", "apprentice-topics", "rennie-mccallum@logistic"} {
		v, err := ParseVariant(name, &schemas.Learning{DMax: 5})
		if err != nil {
			t.Fatal(err)
		}
		bench.Variants = append(bench.Variants, v)
	}
	size := func(m *sync.Map) (n int) {
		m.Range(func(any, any) bool { n++; return true })
		return n
	}
	kept := func() (guides, verdicts int) { return size(&g.web.taught), size(&g.made) }
	var most int
	bench.Done = func(Job, *Result, time.Duration, int, int) error {
		guides, _ := kept()
		most = max(most, guides)
		return nil
	}
	first, err := bench.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if guides, verdicts := kept(); most == 0 || guides != 0 || verdicts != 0 || size(&g.alike.results) > 0 || size(&g.part.texts.results) > 0 || g.web.extracted.recent != nil {
		t.Errorf("at most %d guides were kept; at the end there are %d, and %d verdicts, texts and features of links", most, guides, verdicts)
	}
	again, err := bench.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(first, again) {
		t.Error("crawls behind a rest differ from those before it")
	}
}

// TestExtractionsAreBounded: no more bytes of extractions are kept than the bound.
func TestExtractionsAreBounded(t *testing.T) {
	var e extractions
	key := func(i int) extractionKey { return extractionKey{settings: linkfeature.Settings{DMax: i}} }
	some := func() *extraction {
		return &extraction{table: &schemas.LeafTable{Tokens: make([]uint32, 1<<20)}}
	}
	const all = 200
	for i := range all {
		e.put(key(i), some())
		if e.get(key(0)) == nil {
			t.Fatalf("what was used last is gone after %d more", i)
		}
	}
	var kept, bytes int
	for i := range all {
		if x := e.get(key(i)); x != nil {
			kept, bytes = kept+1, bytes+x.size()
		}
	}
	if bytes > extractedBytes || bytes < extractedBytes/3 {
		t.Errorf("%d extractions of %d bytes are kept", kept, bytes)
	}
}
