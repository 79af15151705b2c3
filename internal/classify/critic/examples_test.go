package critic

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestNeededPagesMakeTheSameModel: labels of all examples with the pages of those that are needed give the same
// model as all pages.
func TestNeededPagesMakeTheSameModel(t *testing.T) {
	s := Settings{Minimum: 5, Cap: 7, Seed: 3}
	var all, some Examples
	pages := make(map[string]string)
	for i := range 60 {
		url := fmt.Sprintf("HTTP://Host.example/%d", i)
		topics := []string{[]string{"A/B", "A/B/C", "D", "E/F"}[i%7%4]}
		pages[url] = fmt.Sprintf("%s word%d word%d", topics[0], i%11, i%5)
		if err := errors.Join(all.AddText(url, topics, pages[url]), some.Label(url, topics)); err != nil {
			t.Fatal(err)
		}
	}
	needed, err := some.Needed(s)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for url, page := range pages {
		if !needed(url) {
			continue
		}
		n++
		if err := some.SetText(url, page); err != nil {
			t.Fatal(err)
		}
	}
	want, _, err := Train(t.Context(), &all, s)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := Train(t.Context(), &some, s)
	if err != nil || string(got.Marshal()) != string(want.Marshal()) {
		t.Errorf("of %d pages another model is made, %v", n, err)
	}
	if n >= 60 || needed("http://other.example/") {
		t.Errorf("%d pages are needed", n)
	}
	if err := some.SetText("http://other.example/", "x"); err == nil {
		t.Error("a page that was not labelled gets a text")
	}
	if _, err := some.Needed(Settings{Minimum: 99}); err == nil {
		t.Error("a minimum that leaves nothing")
	}
}

func FuzzExamplesTrainACritic(f *testing.F) {
	f.Add("http://h/1\tA/B\tone two\nhttp://h/2\tC\tthree")
	f.Add("x\tA/Other\t\xff\ny\tB\tA\x00\nx\tC\tz")
	f.Fuzz(func(t *testing.T, lines string) {
		var e Examples
		for line := range strings.Lines(lines) {
			url, rest, _ := strings.Cut(line, "\t")
			topic, text, _ := strings.Cut(rest, "\t")
			before := e.Len() + e.Repeated()
			if err := e.AddText(url, []string{topic}, text); (err == nil) != (e.Len()+e.Repeated() == before+1) {
				t.Fatalf("%q: %v, %d examples, then %d", line, err, before, e.Len()+e.Repeated())
			}
		}
		m, _, err := Train(t.Context(), &e, Settings{})
		if err != nil {
			return
		}
		again, err := Unmarshal(m.Marshal())
		if err != nil || string(again.Marshal()) != string(m.Marshal()) {
			t.Errorf("the model of %q does not come back: %v", lines, err)
		}
	})
}
