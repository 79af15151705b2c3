package samples

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"forager/internal/platform/objects/objectstest/memory"
)

func TestExamplesComeBack(t *testing.T) {
	store := memory.Bucket{}
	pages := []Sample{{"http://a.test/", Liked, "acids & <bases>\n"}, {"http://b.test/", Background, ""}, {"http://c.test/", Wrong, "x"}}
	key, err := Save(t.Context(), store, "chem", pages)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Save(t.Context(), store, "chem", pages); err != nil || again != key || len(store) != 1 {
		t.Errorf("saved again as %s: %v", again, err)
	}
	got, err := Load(t.Context(), store, key)
	if err != nil || cmp.Diff(pages, got) != "" {
		t.Errorf("%v, %v", got, err)
	}
	whole := store[key]
	for at := range whole {
		store[key] = whole[:at]
		if _, err := Load(t.Context(), store, key); err == nil {
			t.Fatalf("cut at %d: no error", at)
		}
	}
	if _, err := Save(t.Context(), store, "chem", []Sample{{"http://a.test/", "perhaps", ""}}); err != nil {
		t.Fatal(err)
	}
	for key := range store {
		if _, err := Load(t.Context(), store, key); err == nil {
			t.Errorf("%s was read", key)
		}
	}
}

func TestTheLastMarkOfAPageCounts(t *testing.T) {
	store := memory.Bucket{}
	at := time.Unix(1_800_000_000, 0).UTC()
	mark := func(critic, url string, right bool, after time.Duration) {
		if err := Add(t.Context(), store, critic, Mark{URL: url, Right: right, Topic: "chem", Text: url, Crawl: "c", At: at.Add(after)}); err != nil {
			t.Fatal(err)
		}
	}
	mark("chem", "http://b.test/", true, 2*time.Nanosecond)
	mark("chem", "http://b.test/", false, time.Nanosecond)
	mark("chem", "http://a.test/", false, 0)
	mark("chem2", "http://c.test/", true, 0)
	drawn := Mark{URL: "http://b.test/", Topic: "chem", Text: "http://b.test/", Crawl: "c", At: at.Add(-time.Second), Drawn: true}
	if err := Add(t.Context(), store, "chem", drawn); err != nil {
		t.Fatal(err)
	}
	marks, err := Marks(t.Context(), store, "chem")
	if err != nil {
		t.Fatal(err)
	}
	want := []Mark{
		{"http://a.test/", false, "chem", "", "http://a.test/", false, "c", at, nil},
		{"http://b.test/", true, "chem", "", "http://b.test/", true, "c", at.Add(2 * time.Nanosecond), nil},
	}
	if diff := cmp.Diff(want, marks); diff != "" {
		t.Error(diff)
	}
	got := Apply([]Sample{{"http://a.test/", Liked, "old"}, {"http://c.test/", Background, "x"}}, marks)
	if diff := cmp.Diff([]Sample{{"http://c.test/", Background, "x"}, {"http://a.test/", Wrong, "http://a.test/"}, {"http://b.test/", Liked, "http://b.test/"}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestMarksChangeTopics(t *testing.T) {
	for _, c := range []struct {
		mark Mark
		was  []string
		want []string
	}{
		{Mark{Right: true, Topic: "A"}, nil, []string{"A"}},
		{Mark{Right: true, Topic: "A"}, []string{"B", "A"}, []string{"B", "A"}},
		{Mark{Topic: "A"}, []string{"A/x", "AB", "A", "B"}, []string{"AB", "B"}},
		{Mark{Topic: "A", Instead: "C"}, []string{"A"}, []string{"C"}},
		{Mark{Topic: "A"}, []string{"A"}, []string{}},
	} {
		if got := c.mark.Topics(c.was); cmp.Diff(c.want, got) != "" {
			t.Errorf("%+v: %v becomes %v, want %v", c.mark, c.was, got, c.want)
		}
	}
}
