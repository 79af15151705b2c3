package bayes

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func bag(features ...uint32) *Bag {
	b := new(Bag)
	for _, f := range features {
		if i := slices.Index(b.Features, f); i >= 0 {
			b.Counts[i]++
		} else {
			b.Features, b.Counts = append(b.Features, f), append(b.Counts, 1)
		}
	}
	return b
}

func posterior(m *Model, d *Bag, temper bool) []float64 {
	p := make([]float64, m.Classes())
	known := m.LogLikelihood(p, d)
	divisor := 1.0
	if temper {
		divisor = Temper(known)
	}
	m.Posterior(p, p, divisor)
	return p
}

// TestPublishedExample is example 13.1 of Manning, Raghavan, Schütze, Introduction to
// Information Retrieval: 3/4·(3/7)³·1/14·1/14 against 1/4·(2/9)³·2/9·2/9.
func TestPublishedExample(t *testing.T) {
	const chinese, beijing, shanghai, macao, tokyo, japan = 0, 1, 2, 3, 4, 5
	counts, err := Count(6, [][]*Bag{
		{bag(chinese, beijing, chinese), bag(chinese, chinese, shanghai), bag(chinese, macao)},
		{bag(tokyo, japan, chinese)},
	})
	if err != nil {
		t.Fatal(err)
	}
	m := counts.Model()
	d := bag(chinese, chinese, chinese, tokyo, japan)
	sum := make([]float64, 2)
	if known := m.LogLikelihood(sum, d); known != 5 {
		t.Errorf("%d known words, want 5", known)
	}
	china := 3. / 4 * math.Pow(3./7, 3) / 14 / 14
	other := 1. / 4 * math.Pow(2./9, 5)
	for k, want := range []float64{china, other} {
		if got := m.LogPrior(k) + sum[k]; math.Abs(got-math.Log(want)) > 1e-12 {
			t.Errorf("class %d: log probability %v, want %v", k, got, math.Log(want))
		}
	}
	if p := posterior(m, d, false); math.Abs(p[0]-china/(china+other)) > 1e-12 {
		t.Errorf("Pr(China) = %v, want %v", p[0], china/(china+other))
	}
}

var genBag = rapid.Custom(func(t *rapid.T) *Bag {
	return bag(rapid.SliceOfN(rapid.Uint32Range(0, 8), 0, 12).Draw(t, "features")...)
})

var genClasses = rapid.Custom(func(t *rapid.T) [][]*Bag {
	return rapid.SliceOfN(rapid.SliceOfN(genBag, 0, 5), 1, 5).Draw(t, "classes")
})

// brute is the formula in rational numbers.
func brute(classes [][]*Bag, d *Bag) []float64 {
	n := make([]map[uint32]int64, len(classes))
	total, vocabulary, documents := make([]int64, len(classes)), map[uint32]bool{}, int64(0)
	for k, class := range classes {
		n[k] = make(map[uint32]int64)
		documents += int64(len(class))
		for _, b := range class {
			for i, f := range b.Features {
				n[k][f] += int64(b.Counts[i])
				total[k] += int64(b.Counts[i])
				vocabulary[f] = true
			}
		}
	}
	joint, sum := make([]*big.Rat, len(classes)), new(big.Rat)
	for k, class := range classes {
		joint[k] = big.NewRat(1, 1)
		if documents > 0 {
			joint[k].SetFrac64(int64(len(class)), documents)
		}
		for i, f := range d.Features {
			if vocabulary[f] {
				for range d.Counts[i] {
					joint[k].Mul(joint[k], big.NewRat(1+n[k][f], int64(len(vocabulary))+total[k]))
				}
			}
		}
		sum.Add(sum, joint[k])
	}
	p := make([]float64, len(classes))
	for k := range p {
		p[k], _ = new(big.Rat).Quo(joint[k], sum).Float64()
	}
	return p
}

func TestPosteriorIsTheFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes, d := genClasses.Draw(t, "training"), genBag.Draw(t, "document")
		counts, err := Count(9, classes)
		if err != nil {
			t.Fatal(err)
		}
		got, want := posterior(counts.Model(), d, false), brute(classes, d)
		for k := range want {
			if math.Abs(got[k]-want[k]) > 1e-12 {
				t.Fatalf("Pr = %v, want %v", got, want)
			}
		}
	})
}

// TestManyFeatures uses documents with more features than are added together, once and several times.
func TestManyFeatures(t *testing.T) {
	const features = 40
	gen := rapid.Custom(func(t *rapid.T) *Bag {
		b := new(Bag)
		for f, n := range rapid.SliceOfN(rapid.Uint32Range(0, 3), features, features).Draw(t, "counts") {
			if n > 0 {
				b.Features, b.Counts = append(b.Features, uint32(f)), append(b.Counts, n)
			}
		}
		return b
	})
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.SliceOfN(rapid.SliceOfN(gen, 1, 2), 2, 4).Draw(t, "training")
		d := gen.Draw(t, "document")
		for i := range rapid.IntRange(0, len(d.Counts)).Draw(t, "once") {
			d.Counts[i] = 1
		}
		counts, err := Count(features, classes)
		if err != nil {
			t.Fatal(err)
		}
		got, want := posterior(counts.Model(), d, false), brute(classes, d)
		for k := range want {
			if math.Abs(got[k]-want[k]) > 1e-10 {
				t.Fatalf("Pr = %v, want %v", got, want)
			}
		}
	})
}

func TestTemperedPosteriorOfALongDocument(t *testing.T) {
	counts, err := Count(2, [][]*Bag{{bag(0, 0, 0, 1)}, {bag(0, 1)}, {bag(1)}})
	if err != nil {
		t.Fatal(err)
	}
	m := counts.Model()
	// 3 : 1 of two words; |T| = 2. θ of the first word: 4/6, 2/4, 1/3; of the second 2/6, 2/4, 2/3.
	d := &Bag{Features: []uint32{0, 1, 7}, Counts: []uint32{300, 100, 9}}
	odds := make([]float64, 3)
	var sum float64
	for k, theta := range [][2]float64{{4. / 6, 2. / 6}, {2. / 4, 2. / 4}, {1. / 3, 2. / 3}} {
		odds[k] = math.Pow(theta[0], 75) * math.Pow(theta[1], 25) / 3
		sum += odds[k]
	}
	for k, got := range posterior(m, d, true) {
		if want := odds[k] / sum; math.Abs(got-want) > 1e-12 {
			t.Errorf("class %d: %v, want %v: as if the document had 75 and 25 words", k, got, want)
		}
	}
	short := &Bag{Features: []uint32{0, 7}, Counts: []uint32{100, 1000}}
	if diff := cmp.Diff(posterior(m, short, false), posterior(m, short, true)); diff != "" {
		t.Errorf("100 known words are tempered: %s", diff)
	}
}

func TestNothingKnownGivesThePrior(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := genClasses.Draw(t, "training")
		counts, err := Count(9, classes)
		if err != nil {
			t.Fatal(err)
		}
		m := counts.Model()
		var documents float64
		for _, c := range classes {
			documents += float64(len(c))
		}
		for k, got := range posterior(m, &Bag{Features: []uint32{9, 1 << 31}, Counts: []uint32{5, 1}}, true) {
			want := 1 / float64(len(classes))
			if documents > 0 {
				want = float64(len(classes[k])) / documents
			}
			if math.Abs(got-want) > 1e-12 {
				t.Fatalf("class %d: %v, want %v", k, got, want)
			}
		}
	})
}

func TestOrderChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := genClasses.Draw(t, "training")
		want, err := Count(9, classes)
		if err != nil {
			t.Fatal(err)
		}
		shuffled := make([][]*Bag, len(classes))
		for k, c := range classes {
			shuffled[k] = rapid.Permutation(c).Draw(t, "documents")
			for i, b := range shuffled[k] {
				order := rapid.Permutation(slices.Collect(func(yield func(int) bool) {
					for j := range b.Features {
						if !yield(j) {
							return
						}
					}
				})).Draw(t, "features")
				turned := new(Bag)
				for _, j := range order {
					turned.Features, turned.Counts = append(turned.Features, b.Features[j]), append(turned.Counts, b.Counts[j])
				}
				shuffled[k][i] = turned
			}
		}
		got, err := Count(9, shuffled)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestVocabularyIsWhatOccurs(t *testing.T) {
	counts, err := Count(5, [][]*Bag{{{Features: []uint32{4, 1}, Counts: []uint32{2, 0}}}, {bag(2, 2)}})
	if err != nil {
		t.Fatal(err)
	}
	m := counts.Model()
	for f, want := range []bool{false, false, true, false, true, false} {
		if m.Known(uint32(f)) != want {
			t.Errorf("feature %d known: %v, want %v", f, !want, want)
		}
	}
}

func TestCountRefuses(t *testing.T) {
	for name, classes := range map[string][][]*Bag{
		"no class":           nil,
		"a feature too high": {{bag(3)}},
		"counts missing":     {{{Features: []uint32{1}}}},
	} {
		if _, err := Count(3, classes); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestMoreCountsThanLevels: beyond 65,535 different counts gains are computed where they are needed.
func TestMoreCountsThanLevels(t *testing.T) {
	const features, classes = 70_000, 3
	c := &Counts{Documents: []uint64{1, 1, 1}, Start: make([]uint32, features+1)}
	tokens := make([]float64, classes)
	for f := range features {
		for k := range classes {
			n := uint64(f*(k+1) + 1)
			c.Class, c.N = append(c.Class, uint16(k)), append(c.N, n)
			tokens[k] += float64(n)
		}
		c.Start[f+1] = uint32(len(c.N))
	}
	m := c.Model()
	d := &Bag{Features: []uint32{0, 7, 40_000, 69_999, 65_534}, Counts: []uint32{1, 2, 3, 1, 5}}
	got := make([]float64, classes)
	if known := m.LogLikelihood(got, d); known != 12 {
		t.Errorf("%d known words, want 12", known)
	}
	for k := range classes {
		want := 0.0
		for i, f := range d.Features {
			want += float64(d.Counts[i]) * math.Log((1+float64(int(f)*(k+1)+1))/(features+tokens[k]))
		}
		if math.Abs(got[k]-want) > 1e-9*math.Abs(want) {
			t.Errorf("class %d: log likelihood %v, want %v", k, got[k], want)
		}
	}
}

// TestTableHoldsCounts checks that a table keeps all counts, and passes its own check.
func TestTableHoldsCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts, err := Count(9, genClasses.Draw(t, "training"))
		if err != nil {
			t.Fatal(err)
		}
		table := counts.Table()
		if err := table.Check(); err != nil {
			t.Fatal(err)
		}
		got := &Counts{Documents: table.Documents, Start: table.Start, Class: make([]uint16, len(counts.Class)), N: make([]uint64, len(counts.N))}
		for f := range table.Features() {
			at := table.Start[f]
			for class := range table.Documents {
				if n := table.occurrences(class, uint32(f)); n > 0 {
					got.Class[at], got.N[at] = uint16(class), n
					at++
				}
			}
		}
		if diff := cmp.Diff(counts, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestCheckKeepsModelsFromHarm changes one number of a table at a time: either Check returns an error, or the
// model can be used.
func TestCheckKeepsModelsFromHarm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts, err := Count(9, genClasses.Draw(t, "training"))
		if err != nil {
			t.Fatal(err)
		}
		table := counts.Table()
		change := func(list []uint32) {
			if len(list) > 0 {
				list[rapid.IntRange(0, len(list)-1).Draw(t, "at")] = rapid.OneOf(rapid.Uint32Range(0, 20), rapid.Uint32()).Draw(t, "number")
			}
		}
		switch rapid.IntRange(0, 5).Draw(t, "what") {
		case 0:
			change(table.Start)
		case 1:
			change(table.Cells)
		case 2:
			change(table.Row)
		case 3:
			if len(table.Rows) > 0 {
				table.Rows[0] = rapid.Uint16().Draw(t, "level")
			}
		case 4:
			table.Levels = table.Levels[:len(table.Levels)/2]
		case 5:
			table.Tokens = table.Tokens[1:]
		}
		if table.Check() == nil {
			posterior(table.Model(), genBag.Draw(t, "document"), true)
		}
	})
}

// occurrences returns n(c,τ).
func (t *Table) occurrences(class int, feature uint32) uint64 {
	for i := t.Start[feature]; i < t.Start[feature+1]; i++ {
		switch x := t.Cells[i]; {
		case int(uint16(x)) != class:
		case x>>16 == 0:
			return t.Beyond[i]
		default:
			return t.Levels[x>>16-1]
		}
	}
	return 0
}
