package experiment

import (
	"reflect"
	"testing"
	"time"
	"unsafe"

	"forager/internal/experiment/worldtest"
	"forager/schemas"
)

// TestGuidesAreForgotten behind the last crawl that follows them, and what is made again says the same.
func TestGuidesAreForgotten(t *testing.T) {
	g := ground(t, worldtest.Random(7, 120))
	bench := &Bench{
		Tasks: []*Task{g.task}, Draws: []int{0, 1}, Grounds: map[*Task]*Ground{g.task: g},
		Variants: Variants([]string{"context-graph", "memm-marginal", "apprentice-topics"}, &schemas.Learning{DMax: 5}),
	}
	kept := func() (guides, tables int) {
		g.web.taught.Range(func(any, any) bool { guides++; return true })
		g.extracted.Range(func(any, any) bool { tables++; return true })
		return guides, tables
	}
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
	if guides, tables := kept(); most == 0 || guides != 0 || tables != 0 || g.alike.Load() != nil {
		t.Errorf("at most %d guides were kept; at the end there are %d, and %d sets of tables", most, guides, tables)
	}
	again, err := bench.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(first, again) {
		t.Error("crawls behind a rest differ from those before it")
	}
}

// TestTermsOfAWebAreShared without a page that changes.
func TestTermsOfAWebAreShared(t *testing.T) {
	var s shared
	a := &schemas.Page{Terms: []string{"apple", "pear"}, Tokens: []uint32{1, 0}}
	b := &schemas.Page{Terms: append(make([]string, 0, 9), string([]byte("pear")), "fig")}
	s.share(a)
	s.share(b)
	s.share(nil)
	if !reflect.DeepEqual(a.GetTerms(), []string{"apple", "pear"}) || !reflect.DeepEqual(b.GetTerms(), []string{"pear", "fig"}) {
		t.Errorf("%v, %v", a, b)
	}
	if unsafe.StringData(a.GetTerms()[1]) != unsafe.StringData(b.GetTerms()[0]) || cap(b.Terms) != 2 {
		t.Error("the term is there twice, or room is kept behind the terms")
	}
}
