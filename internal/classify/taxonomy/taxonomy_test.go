package taxonomy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// at makes n examples of a topic.
func at(n int, topics ...string) []Example {
	var e []Example
	for i := range n {
		e = append(e, Example{URL: fmt.Sprintf("http://x/%s/%d", strings.Join(topics, "+"), i), Topics: topics})
	}
	return e
}

// sizes is a tree without the examples themselves.
func sizes(t *Tree) map[string]int {
	m := make(map[string]int)
	for _, c := range t.Classes {
		m[c.Name] = len(c.Examples)
	}
	return m
}

func TestPruneInTheOrderOfThePaper(t *testing.T) {
	examples := slices.Concat(
		at(5, "Science/Chemistry"), at(2, "Science/Chemistry/Acids"), // Acids moves up
		at(1, "Science/Physics"), at(1, "Science/Physics/Light"), at(1, "Science/Physics/Sound"), // all three end in Physics, which stays
		at(2, "Science"), at(1, "Science/Maps"), // Science/Other has 3
		at(2, "Arts/Dance"), at(1, "Arts"), // Arts has 3 when Dance is gone: a leaf that stays
		at(1, "Home/Soups/Cold"), // all of it ends at the root
	)
	tree, err := Prune(examples, Settings{Minimum: 3})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{
		"Arts": 3, "Other": 1, "Science/Chemistry": 7, "Science/Other": 3, "Science/Physics": 3,
	}, sizes(tree)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Pruned{
		{"Arts/Dance", 2, "Arts"},
		{"Home", 1, ""},
		{"Home/Soups", 1, ""},
		{"Home/Soups/Cold", 1, ""},
		{"Science/Chemistry/Acids", 2, "Science/Chemistry"},
		{"Science/Maps", 1, "Science"},
		{"Science/Physics/Light", 1, "Science/Physics"},
		{"Science/Physics/Sound", 1, "Science/Physics"},
	}, tree.Pruned); diff != "" {
		t.Error(diff)
	}
}

func TestOtherIsExemptAndNeverEmpty(t *testing.T) {
	tree, err := Prune(slices.Concat(at(9, "A/B"), at(9, "A/C"), at(1, "A/C/D"), at(9, "E/F"), at(9, "E/G"), at(1, "E")), Settings{Minimum: 9})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"A/B": 9, "A/C": 10, "E/F": 9, "E/G": 9, "E/Other": 1}, sizes(tree)); diff != "" {
		t.Error(diff)
	}
}

func TestAnExampleCountsOnceAClass(t *testing.T) {
	tree, err := Prune(slices.Concat(at(2, "A/B", "A/C", "D"), at(1, "A"), at(4, "D")), Settings{Minimum: 3})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"A": 3, "D": 6}, sizes(tree)); diff != "" {
		t.Error(diff)
	}
}

func TestCapDrawsTheSameWhateverTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		examples := slices.Concat(at(9, "A"), at(2, "B"), at(4, "C", "A"))
		shuffled := rapid.Permutation(examples).Draw(t, "order")
		s := Settings{Cap: 3, Seed: rapid.Uint64().Draw(t, "seed")}
		names := func(e []Example) map[string][]string {
			tree, err := Prune(e, s)
			if err != nil {
				t.Fatal(err)
			}
			m := make(map[string][]string)
			for _, c := range tree.Classes {
				if len(c.Examples) > 3 || c.Name == "A" && c.Cut != 10 || c.Name == "B" && c.Cut != 0 {
					t.Fatalf("class %s: %d examples, %d cut", c.Name, len(c.Examples), c.Cut)
				}
				for _, i := range c.Examples {
					m[c.Name] = append(m[c.Name], e[i].URL)
				}
				slices.Sort(m[c.Name])
			}
			return m
		}
		if diff := cmp.Diff(names(examples), names(shuffled)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestSeedsDrawDifferently(t *testing.T) {
	seen := make(map[string]bool)
	for seed := range uint64(20) {
		tree, err := Prune(append(at(40, "A"), at(1, "B")...), Settings{Cap: 10, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		seen[fmt.Sprint(tree.Classes[0].Examples)] = true
	}
	if len(seen) < 20 {
		t.Errorf("20 seeds draw %d samples", len(seen))
	}
}

// literally performs step 3 as it is written, taking any leaf that has too few examples.
func literally(examples []Example, k int, r *rand.Rand) map[string][]int {
	have := map[string]map[int]bool{"": {}}
	parent := func(topic string) string { return topic[:max(0, strings.LastIndexByte(topic, '/'))] }
	for i, e := range examples {
		for _, topic := range e.Topics {
			for up := topic; up != ""; up = parent(up) {
				if have[up] == nil {
					have[up] = make(map[int]bool)
				}
			}
			have[topic][i] = true
		}
	}
	leaf := func(topic string) bool {
		for other := range have {
			if other != "" && other != topic && parent(other) == topic {
				return false
			}
		}
		return true
	}
	for {
		var due []string
		for topic, e := range have {
			if topic != "" && len(e) < k && leaf(topic) {
				due = append(due, topic)
			}
		}
		if len(due) == 0 {
			break
		}
		slices.Sort(due)
		topic := due[r.IntN(len(due))]
		for i := range have[topic] {
			have[parent(topic)][i] = true
		}
		delete(have, topic)
	}
	classes := make(map[string][]int)
	for topic, e := range have {
		name := topic
		if topic == "" || !leaf(topic) {
			name = strings.TrimPrefix(topic+"/Other", "/")
		}
		for i := range e {
			classes[name] = append(classes[name], i)
		}
		slices.Sort(classes[name])
	}
	for name := range classes {
		if len(classes[name]) == 0 {
			delete(classes, name)
		}
	}
	return classes
}

func TestPruneIsTheLiteralLoop(t *testing.T) {
	topic := rapid.StringMatching(`[AB](/[AB]){0,3}`)
	rapid.Check(t, func(t *rapid.T) {
		var examples []Example
		for i := range rapid.IntRange(1, 30).Draw(t, "examples") {
			examples = append(examples, Example{URL: fmt.Sprint(i), Topics: rapid.SliceOfN(topic, 1, 2).Draw(t, "topics")})
		}
		k := rapid.IntRange(0, 6).Draw(t, "k")
		want := literally(examples, k, rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "order"))))
		tree, err := Prune(examples, Settings{Minimum: k})
		if err != nil {
			if len(want) < 2 {
				return
			}
			t.Fatal(err)
		}
		got := make(map[string][]int)
		for _, c := range tree.Classes {
			got[c.Name] = c.Examples
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestTooFewClassesIsAnError(t *testing.T) {
	for _, e := range [][]Example{nil, at(5, "A"), slices.Concat(at(2, "A"), at(2, "B"))} {
		if _, err := Prune(e, Settings{Minimum: 3}); err == nil || !strings.Contains(err.Error(), "minimum") {
			t.Errorf("%d examples: %v", len(e), err)
		}
	}
}

func TestParseTopic(t *testing.T) {
	for name, want := range map[string]string{
		"A/B c/D": "A/B c/D", "/A/B/": "A/B", "A/Other": "A", "Other": "", "/Other/": "", "A/Others": "A/Others", "other": "other",
	} {
		if got, err := ParseTopic(name); got != want || err != nil {
			t.Errorf("ParseTopic(%q) = %q, %v, want %q", name, got, err, want)
		}
	}
	deep := strings.Repeat("/a", MaxDepth)
	if _, err := ParseTopic(deep); err != nil {
		t.Error(err)
	}
	for _, name := range []string{
		"", "/", "A//B", "A/ B", "A/B\n", "A\x00/B", "A/Other/B", "A\u0085", "A\x7fB", "A/\u202eB", "A\xff",
		deep + "/a", strings.Repeat("/a", 10_000), strings.Repeat("a", MaxTopic+1),
	} {
		got, err := ParseTopic(name)
		if err == nil {
			t.Errorf("ParseTopic(%q) = %q without an error", name, got)
		} else if len(err.Error()) > 2*MaxTopic {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	}
}

func TestFocus(t *testing.T) {
	classes := []string{"Arts", "Other", "Science/Chemistry", "Science/Other", "Science/Physics", "Sciences"}
	pruned := []Pruned{{"Home", 1, ""}, {"Science/Chemistry/Acids", 2, "Science/Chemistry"}}
	for _, c := range []struct {
		names    []string
		want     []int
		expected []string
	}{
		{[]string{"Arts"}, []int{0}, nil},
		{[]string{"/Science/"}, []int{2, 3, 4}, nil},
		{[]string{"Science/Physics", "Arts"}, []int{0, 4}, nil},
		{nil, nil, []string{"no focus topic"}},
		{[]string{""}, nil, []string{"unknown"}},
		{[]string{"Arts", "Arts/"}, nil, []string{`"Arts" is named twice`}},
		{[]string{"Science/Physics", "Science"}, nil, []string{`"Science/Physics" lies below focus topic "Science"`}},
		{[]string{"Science/Chemistry/Acids", "Home", "Sports"}, nil, []string{
			`"Science/Chemistry/Acids" was pruned: 2 examples`, `"Science/Chemistry" took them`,
			`"Home" was pruned: 1 examples`, "no topic above it stayed",
			`"Sports" is unknown to the critic; its topics are Arts, Other, Science, Sciences`,
		}},
		{[]string{"Science/Biology/Birds"}, nil, []string{"its topics are Science/Chemistry, Science/Other, Science/Physics"}},
		{[]string{"Arts/Dance"}, nil, []string{`nothing lies below "Arts"`}},
	} {
		in, err := Focus(classes, pruned, c.names)
		if len(c.expected) > 0 {
			if err == nil {
				t.Errorf("%q: no error", c.names)
				continue
			}
			for _, s := range c.expected {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q: %q does not contain %q", c.names, err, s)
				}
			}
			continue
		}
		var got []int
		for k, yes := range in {
			if yes {
				got = append(got, k)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%q: %v %s", c.names, err, diff)
		}
	}
}

func FuzzParseTopic(f *testing.F) {
	for _, s := range []string{"A/B", "/A/Other", "//", "A/Other/B", "Other"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		topic, err := ParseTopic(name)
		if err != nil || topic == "" {
			return
		}
		if again, err := ParseTopic(topic); err != nil || again != topic {
			t.Errorf("%q is %q, which is %q, %v", name, topic, again, err)
		}
	})
}
