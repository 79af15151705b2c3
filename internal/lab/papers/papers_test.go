package papers

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"forager/internal/lab/experiment"
	"forager/internal/lab/experiment/worldtest"
	"forager/internal/lab/measure"
	"forager/internal/lab/taskfile"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// tiny is a small web that is taken for universities, so that every figure looks at it.
func tiny(t testing.TB, seed uint64) *World {
	t.Helper()
	dir := worldtest.Random(seed, 120).Write(t)
	file, err := taskfile.Load(filepath.Join(dir, "tasks.json"))
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := file.Select()
	if err != nil {
		t.Fatal(err)
	}
	environments, err := experiment.Prepare(t.Context(), file, dir, tasks, linkfeature.Settings{DMax: Reach})
	if err != nil {
		t.Fatal(err)
	}
	leaves, err := experiment.PrepareFrom(t.Context(), experiment.LoadWeb, file, dir, tasks, linkfeature.Settings{DMax: Reach}, experiment.Parsing{Leaves: schemas.LeafMode_LEAF_MODE_PAPER})
	if err != nil {
		t.Fatal(err)
	}
	return &World{Name: "webkb, tiny", Tasks: tasks, Environments: environments, Leaves: leaves, Draws: []int{0, 1}, MEMM: 1, Origin: "a test"}
}

// page is the report as it is written, and its figures by name.
func page(t *testing.T, w *World) (string, map[string]string) {
	t.Helper()
	r, err := Reproduce(t.Context(), []*World{w}, func(string, int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	figures := make(map[string]string)
	if err := r.WriteMarkdown(&b, "papers", func(name, svg string) error { figures[name] = svg; return nil }); err != nil {
		t.Fatal(err)
	}
	return b.String(), figures
}

// TestTheSameWebsGiveTheSamePage however many crawls run at once.
func TestTheSameWebsGiveTheSamePage(t *testing.T) {
	text, figures := page(t, tiny(t, 61))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	again, others := page(t, tiny(t, 61))
	if text != again || !maps.Equal(figures, others) {
		t.Error("the same world gives another page")
	}
	for _, never := range []string{"NaN", "%!", "+Inf", "-Inf", "-0.000"} {
		if strings.Contains(text, never) {
			t.Errorf("%q is in the page", never)
		}
	}
	for name, svg := range figures {
		if !strings.Contains(text, "(papers/"+name+")") || !strings.HasPrefix(svg, "<svg") {
			t.Errorf("figure %s is not in the page, or no SVG", name)
		}
	}
	if links := strings.Count(text, "](papers/"); links != len(figures) || links < 6 {
		t.Errorf("%d links to %d figures", links, len(figures))
	}
	// Every figure has the paper's finding, and is shown or listed as missing. One site is no witness: every verdict but that of Fig. 3 is
	// open, whatever the mean.
	if n := strings.Count(text, "| inconclusive |"); n < 60 || strings.Count(text, "| agrees |") != 2 || strings.Contains(text, "| disagrees |") {
		t.Errorf("%d claims are inconclusive", n)
	}
	for _, section := range strings.Split(text, "\n### ")[1:] {
		title, _, _ := strings.Cut(section, "\n")
		if !strings.Contains(section, "**The paper:**") || !strings.Contains(section, "**webkb, tiny:**") && !strings.Contains(section, "Not shown:") && !strings.Contains(title, "Fig. 3:") {
			t.Errorf("%s is neither shown nor missing", title)
		}
	}
}

// TestSyntheticWebsGiveNoVerdict: their parts are in the page, marked.
func TestSyntheticWebsGiveNoVerdict(t *testing.T) {
	w := tiny(t, 62)
	w.Synthetic = true
	text, _ := page(t, w)
	if n := strings.Count(text, "| inconclusive |"); n != 0 || strings.Count(text, "| agrees |") != 2 || !strings.Contains(text, "(synthetic: proves code, no headline):**") {
		t.Errorf("%d verdicts more than that of Fig. 3", n)
	}
}

func TestFigure3(t *testing.T) {
	f, err := offsetsOfFigure3()
	if err != nil || f.Claims[0].Verdict() != Agrees || len(f.Parts[0].Tables[0].Rows) != 7 {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestVerdictsFollowFromTheInterval: a mean beyond the bound is no verdict while sites differ, and of many claims each needs more evidence.
func TestVerdictsFollowFromTheInterval(t *testing.T) {
	sites := func(values ...float64) measure.Nested {
		n := make(measure.Nested)
		for i, v := range values {
			n[fmt.Sprint(i)] = map[string][]float64{"task": {v}}
		}
		return n
	}
	clear, noisy := sites(.5, .51, .49, .5, .52, .5), sites(.007+.4, .007-.4, .007+.1, .007-.1, .407, -.393)
	for _, c := range []struct {
		claim Claim
		want  Verdict
	}{
		{Claim{sample: clear}, Agrees}, {Claim{sample: clear, Bound: .6}, Disagrees}, {Claim{sample: clear, Bound: .6, Below: true}, Agrees},
		{Claim{sample: clear, Below: true}, Disagrees}, {Claim{sample: clear, Bound: .503}, Inconclusive}, {Claim{sample: noisy}, Inconclusive},
		{Claim{sample: sites(.5)}, Inconclusive}, {Claim{sample: sites(.5, .51, .49, .5, .52)}, Inconclusive}, {Claim{}, None},
	} {
		r := &Report{Figures: []Figure{{Claims: []Claim{c.claim}}}}
		r.judge()
		if have := r.Figures[0].Claims[0].Verdict(); have != c.want {
			t.Errorf("%+v: %s, want %s", r.Figures[0].Claims[0], have, c.want)
		}
	}
	middling := sites(.1, .2, .15, .3, .02, .1)
	one, many := &Report{Figures: []Figure{{Claims: []Claim{{sample: middling}}}}}, &Report{Figures: make([]Figure, 40)}
	for i := range many.Figures {
		many.Figures[i].Claims = []Claim{{sample: middling}}
	}
	one.judge()
	many.judge()
	if a, b := one.Figures[0].Claims[0].Verdict(), many.Figures[9].Claims[0].Verdict(); a != Agrees || b != Inconclusive {
		t.Errorf("alone %s, among forty %s", a, b)
	}
}

// TestCrawlsBeginFarAway: the seeds are as far from a target as reported.
func TestCrawlsBeginFarAway(t *testing.T) {
	w := tiny(t, 63)
	g := w.Environments[w.Tasks[0]]
	distances, err := g.Distances()
	if err != nil {
		t.Fatal(err)
	}
	for u, d := range distances {
		if g.Target(u) != (d == 0) {
			t.Errorf("%s lies %d links from a target", u, d)
		}
	}
	seeds, nearest, err := w.far(w.Tasks[0], 0, 1, 1)
	if err != nil || len(seeds) != starts || nearest != 1 {
		t.Errorf("seeds %v, nearest %d, %v", seeds, nearest, err)
	}
	for _, s := range seeds {
		if distances[s] != 1 {
			t.Errorf("%s lies %d links from a target", s, distances[s])
		}
	}
	if again, _, _ := w.far(w.Tasks[0], 0, 1, 1); !slices.Equal(seeds, again) {
		t.Error("the same draw gives other seeds")
	}
	if seeds, nearest, _ := w.far(w.Tasks[0], 0, 9, 9); len(seeds) != starts || nearest >= 9 {
		t.Errorf("where nothing is so far: %v, nearest %d", seeds, nearest)
	}
}

// made returns instances whose class follows from a word at an offset.
func made(n int, offset int32) []instance {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	var all []instance
	for i := range n {
		x := instance{u: fmt.Sprintf("http://h%d.test/%d", i%7, i), v: fmt.Sprintf("http://v.test/%d", i), high: i%3 == 0}
		word := map[bool]string{true: "good", false: "poor"}[x.high]
		x.features = []*schemas.Feature{{Term: word, Offset: offset, Count: 1}, {Term: "z" + fmt.Sprint(r.IntN(9)), Offset: int32(r.IntN(5)) - 2, Count: 2}}
		all = append(all, x)
	}
	return all
}

// TestValidation: a word beyond d_max does not help, one within it classifies all; folds by host keep hosts together.
func TestValidation(t *testing.T) {
	all := made(300, 4)
	for _, f := range foldings {
		for d, want := range map[int]bool{3: false, 4: true, 8: true} {
			a, err := validate(all, f, within(d))
			if err != nil {
				t.Fatal(err)
			}
			if right := min(a.average, a.negative, a.positive) > .9; right != want {
				t.Errorf("folds %s, d_max %d: %+v", f.name, d, a)
			}
		}
	}
	for i := range all {
		for j := range all {
			if i%7 == j%7 && foldings[1].of(&all[i]) != foldings[1].of(&all[j]) {
				t.Fatal("pages of one host are in two folds")
			}
		}
	}
	// The same word at two offsets with opposite meanings: without offsets it is no evidence.
	for i := range all {
		d := int32(1)
		if all[i].high {
			d = 2
		}
		all[i].features = []*schemas.Feature{{Term: "word", Offset: d, Count: 1}}
	}
	with, err := validate(all, foldings[0], within(5))
	if err != nil {
		t.Fatal(err)
	}
	without, err := validate(all, foldings[0], textOnly(5))
	if err != nil || with.average < 1 || without.positive > 0 || without.negative < 1 {
		t.Errorf("with offsets %+v, without %+v (%v)", with, without, err)
	}
}

// TestInformationGain compares with I(X;Y) = H(X) + H(Y) − H(X,Y), counted over instances.
func TestInformationGain(t *testing.T) {
	all := made(240, 1)
	if have := informationGain(all)[Reach+1]; have <= 0 {
		t.Errorf("a word of the class gains %v", have)
	}
	joint := func(term string, d int32, class func(i int) bool) float64 {
		var n [2][2]float64
		for i := range all {
			has := slices.ContainsFunc(all[i].features, func(f *schemas.Feature) bool { return f.Term == term && f.Offset == d })
			n[map[bool]int{true: 1}[has]][map[bool]int{true: 1}[class(i)]]++
		}
		h := func(counts ...float64) (sum float64) {
			for _, c := range counts {
				if p := c / float64(len(all)); p > 0 {
					sum -= p * math.Log2(p)
				}
			}
			return sum
		}
		return h(n[0][0]+n[0][1], n[1][0]+n[1][1]) + h(n[0][0]+n[1][0], n[0][1]+n[1][1]) - h(n[0][0], n[0][1], n[1][0], n[1][1])
	}
	random := rand.New(rand.NewPCG(8, 2002)).Perm(len(all))
	for d := int32(-2); d <= 2; d++ {
		counts := make(map[string]int)
		for i := range all {
			for _, f := range all[i].features {
				if f.Offset == d {
					counts[f.Term]++
				}
			}
		}
		var sum, n float64
		for term, c := range counts {
			if c >= rarest {
				sum += joint(term, d, func(i int) bool { return all[i].high }) - joint(term, d, func(i int) bool { return all[random[i]].high })
				n++
			}
		}
		if have := informationGain(all)[Reach+d]; math.Abs(have-sum/n) > 1e-9 {
			t.Errorf("at %d: %v, by counting %v", d, have, sum/n)
		}
	}
}

// TestWordsAroundLinks counts by hand.
func TestWordsAroundLinks(t *testing.T) {
	all := []instance{
		{features: []*schemas.Feature{{Term: "a", Offset: 0, Count: 3}, {Term: "a", Offset: 2, Count: 1}, {Term: "b", Offset: 2, Count: 1}, {Term: "c:/x", Offset: schemas.NoOffset, Count: 1}}},
		{features: []*schemas.Feature{{Term: "b", Offset: -8, Count: 5}}},
	}
	tokens, text := densities(all)
	for d, want := range map[int][2]float64{0: {.3, .5}, 2: {.2, .5}, -8: {.5, .5}, 1: {0, 0}} {
		if tokens[Reach+d] != want[0] || text[Reach+d] != want[1] {
			t.Errorf("at %d: %v of the words, text at %v of the links", d, tokens[Reach+d], text[Reach+d])
		}
	}
	if teeth := sawtooth([]float64{2, 1, 2, 1, 2, 1, 2, 1, 9, 1, 2, 1, 2, 1, 2, 3, 2}); teeth != 7 {
		t.Errorf("%d teeth", teeth)
	}
}

// TestDistancesAndOverlaps by hand.
func TestDistancesAndOverlaps(t *testing.T) {
	if have := experiment.Hops([][]uint32{{2}, {2, 3}, {4}, {}, {3}, {0}}, []uint32{0, 1}); !slices.Equal(have, []int{0, 0, 1, 1, 2, -1}) {
		t.Errorf("%v", have)
	}
	a, b := map[string]bool{"x": true, "y": true}, map[string]bool{"y": true, "z": true, "w": true}
	if measure.Overlap(a, b) != .5 || measure.Overlap(b, a) != 1./3 || measure.Overlap(nil, a) != 0 {
		t.Errorf("%v, %v", measure.Overlap(a, b), measure.Overlap(b, a))
	}
}

// TestFurtherFeaturesAreSeenOneAfterTheOther: of a link's features those that a row of §3.8 names, and words in all.
func TestFurtherFeaturesAreSeenOneAfterTheOther(t *testing.T) {
	terms := []string{"c:/", "c:/A", "c:/A/B", "c:/AB", "w:200", "word"}
	var all []*schemas.Feature
	for _, term := range terms {
		all = append(all, &schemas.Feature{Term: term, Count: 1})
	}
	for i, want := range []string{"word", "c:/A/B c:/AB word", "c:/ c:/A c:/A/B c:/AB word", "w:200 word"} {
		var seen []string
		for _, term := range terms {
			if !strings.Contains(term, ":") || further2002[i].uses(term, className(term, all)) {
				seen = append(seen, term)
			}
		}
		if got := strings.Join(seen, " "); got != want {
			t.Errorf("%s: uses %q, want %q", further2002[i].name, got, want)
		}
	}
}
