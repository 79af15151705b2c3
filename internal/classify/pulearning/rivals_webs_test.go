//go:build webs

package pulearning

import (
	"cmp"
	"context"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"forager/internal/page/dom"
	"forager/internal/page/text"
	"forager/internal/testkit/frozen"
	"forager/internal/web/webarchive"
	"forager/internal/web/weburl"
)

// document is a labelled page.
type document struct {
	url, label string
	counts     map[uint32]int
	row        Row
}

// corpus is documents over one vocabulary.
type corpus struct {
	words map[string]uint32
	all   []*document
}

func (c *corpus) add(url, label, page string) {
	if c.words == nil {
		c.words = make(map[string]uint32)
	}
	d := &document{url: url, label: label, counts: make(map[uint32]int)}
	var z text.Scanner
	for z.Reset(page); z.Next(); {
		w, known := c.words[string(z.Token())]
		if !known {
			w = uint32(len(c.words))
			c.words[string(z.Token())] = w
		}
		d.counts[w]++
	}
	c.all = append(c.all, d)
}

// weigh makes every document a unit vector of (1 + log n)·log(N/n(t)); words of one or two documents are left out.
func (c *corpus) weigh() *corpus {
	in := make([]int, len(c.words))
	for _, d := range c.all {
		for w := range d.counts {
			in[w]++
		}
	}
	for _, d := range c.all {
		var square float64
		for w, n := range d.counts {
			if v := (1 + math.Log(float64(n))) * math.Log(float64(len(c.all))/float64(in[w])); in[w] > 2 && v > 0 {
				d.row.Features = append(d.row.Features, w)
				square += v * v
			}
		}
		slices.Sort(d.row.Features)
		for _, w := range d.row.Features {
			v := (1 + math.Log(float64(d.counts[w]))) * math.Log(float64(len(c.all))/float64(in[w]))
			d.row.Values = append(d.row.Values, float32(v/math.Sqrt(square)))
		}
	}
	return c
}

func schools(t testing.TB) *corpus {
	c := new(corpus)
	for a := range frozen.Articles(t, "schools-wikipedia") {
		c.add(a.URL, a.Topics[0], a.Text)
	}
	return c.weigh()
}

func webkb(t testing.TB) *corpus {
	a, err := webarchive.Open(t.Context(), frozen.Path(t, frozen.Webs, "webkb.warc.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	c := new(corpus)
	for raw, label := range frozen.Labels(t, "webkb") {
		u, err := weburl.Parse(raw)
		if err != nil {
			continue // a page that no crawler can request
		}
		if p, ok, err := a.Lookup(u.String()); err != nil {
			t.Fatal(err)
		} else if ok && p.Status == 200 {
			c.add(u.String(), label, dom.Text(p.Body, p.Header.Get("Content-Type")))
		}
	}
	return c.weigh()
}

// bucket is a choice among n that depends on a name only.
func bucket(salt, name string, of uint64) uint64 { return xxhash.Sum64String(salt+" "+name) % of }

// TestWebsPositiveUnlabelled compares ways to learn from positives and 1,000 unlabelled pages; means over parts
// that are held out, of webkb by host. FORAGER_PARTS is the number of parts (1); with 3 it takes a quarter of an
// hour, and the subjects of the encyclopedia take part.
func TestWebsPositiveUnlabelled(t *testing.T) {
	parts := 1
	if s := os.Getenv("FORAGER_PARTS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 5 {
			t.Fatalf("FORAGER_PARTS is %q, want 1 to 5", s)
		}
		parts = n
	}
	web, articles := webkb(t), new(corpus)
	if parts > 1 {
		articles = schools(t)
	}
	part := func(d *document) uint64 { return bucket("test", d.url, 5) }
	for _, c := range []struct {
		name, label string
		from        *corpus
		part        func(*document) uint64
	}{
		{"webkb course", "course/", web, func(d *document) uint64 { return bucket("test", weburl.Host(d.url), 5) }},
		{"schools Science", "Science", articles, part}, {"schools Religion", "Religion", articles, part},
		{"schools Mathematics", "Mathematics", articles, part},
	} {
		if len(c.from.all) == 0 {
			continue
		}
		slices.SortFunc(c.from.all, func(a, b *document) int {
			return cmp.Compare(xxhash.Sum64String(a.url), xxhash.Sum64String(b.url))
		})
		for _, most := range []int{10, 50, math.MaxInt} {
			var tables table
			for out := range uint64(parts) {
				x := trial{features: len(c.from.words), table: &tables}
				for _, d := range c.from.all {
					on := strings.HasPrefix(d.label, c.label)
					switch {
					case c.part(d) == out:
						x.test, x.truth = append(x.test, d.row), append(x.truth, on)
					case bucket("half", d.url, 2) == 0:
						if on && len(x.Positives) < most {
							x.Positives = append(x.Positives, d.row)
						}
					case len(x.Unlabelled) < 1000:
						x.Unlabelled, x.on = append(x.Unlabelled, d.row), append(x.on, on)
					}
				}
				tables.positives += len(x.Positives)
				tables.prior += share(x.on)
				tables.parts++
				x.compare(t)
			}
			tables.print(t, c.name)
		}
	}
}

// table sums up the results of the parts.
type table struct {
	positives, parts int
	prior            float64
	names            []string
	sums             map[string]*[4]float64 // average precision, log loss, Brier, prior's error
}

func (b *table) add(name string, figures [4]float64) {
	if b.sums[name] == nil {
		if b.sums == nil {
			b.sums = make(map[string]*[4]float64)
		}
		b.names = append(b.names, name)
		b.sums[name] = new([4]float64)
	}
	for i, v := range figures {
		b.sums[name][i] += v
	}
}

func (b *table) print(t *testing.T, name string) {
	n := float64(b.parts)
	t.Logf("%s: %d positives, prior %.3f", name, b.positives/b.parts, b.prior/n)
	for _, name := range b.names {
		s := b.sums[name]
		t.Logf("  %-42s average precision %.3f  log loss %.3f  Brier %.3f  prior off by %.3f", name, s[0]/n, s[1]/n, s[2]/n, s[3]/n)
	}
}

// trial is a sample, the truth about it, and pages to be judged.
type trial struct {
	Sample
	on       []bool // of the unlabelled
	test     []Row
	truth    []bool
	features int
	table    *table
}

func share(on []bool) float64 {
	n := 0.
	for _, yes := range on {
		if yes {
			n++
		}
	}
	return n / float64(len(on))
}

func (x *trial) compare(t *testing.T) {
	o := Settings{Features: x.features, L2: defaultL2}
	m, err := Learn(t.Context(), &x.Sample, o)
	if err != nil {
		t.Fatal(err)
	}
	x.row(t, "discarding (Learn)", m.Prior, &m.Linear, m.Curve)

	h, err := o.heldOut(t.Context(), &x.Sample, o.separate)
	if err != nil {
		t.Fatal(err)
	}
	first, err := bestBin(h.Positives, h.Unlabelled)
	if err != nil {
		t.Fatal(err)
	}
	l, err := o.separate(t.Context(), &x.Sample)
	if err != nil {
		t.Fatal(err)
	}
	x.row(t, "unlabelled as negative, best bin", first, l, Curve{1, math.Log(first)})
	c, err := Calibrate(t.Context(), h.Positives, h.Unlabelled, first)
	if err != nil {
		t.Fatal(err)
	}
	x.row(t, "the same, calibrated", first, l, c)
	elkan := elkanNoto(h.Positives, len(x.Unlabelled))
	x.row(t, "Elkan and Noto 2008", elkan, l, Curve{1, math.Log(elkan)})
	convex := func(ctx context.Context, s *Sample) (*Linear, error) { return o.convex(ctx, s, first) }
	h, err = o.heldOut(t.Context(), &x.Sample, convex)
	if err != nil {
		t.Fatal(err)
	}
	if l, err = convex(t.Context(), &x.Sample); err != nil {
		t.Fatal(err)
	}
	x.row(t, "du Plessis et al. 2015", first, l, Curve{1, 0})
	if c, err = Calibrate(t.Context(), h.Positives, h.Unlabelled, first); err != nil {
		t.Fatal(err)
	}
	x.row(t, "du Plessis et al. 2015, calibrated", first, l, c)

	var pages []labelled
	for i := range x.Unlabelled {
		pages = append(pages, labelled{&x.Unlabelled[i], 1 / float64(len(x.on)), x.on[i]})
	}
	if l, err = fit(t.Context(), pages, x.features, o.L2); err != nil {
		t.Fatal(err)
	}
	x.row(t, "supervised, the same pages", share(x.on), l, Curve{1, 0})
}

func (x *trial) row(t *testing.T, what string, prior float64, l *Linear, c Curve) {
	scores := make([]float64, len(x.test))
	loss, square := 0., 0.
	for i := range x.test {
		scores[i] = l.Score(&x.test[i])
		z := c.LogOdds(scores[i])
		p := logistic(z)
		if !x.truth[i] {
			z, p = -z, 1-p
		}
		loss += softplus(-z) / float64(len(x.test))
		square += (1 - p) * (1 - p) / float64(len(x.test))
	}
	x.table.add(what, [4]float64{averagePrecision(scores, x.truth), loss, square, math.Abs(prior - share(x.on))})
}

// averagePrecision is the mean over positives of the precision at their place.
func averagePrecision(scores []float64, truth []bool) (ap float64) {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	hits := 0.
	for place, i := range order {
		if truth[i] {
			hits++
			ap += hits / float64(place+1)
		}
	}
	return ap / hits
}

// elkanNoto is their estimate e1 (2008, §2.1) for two samples of equal weight: for pages that are surely on topic
// the classifier predicts labelled with probability c = 1/(1 + π).
func elkanNoto(positives []float64, unlabelled int) float64 {
	var c float64
	for _, s := range positives {
		c += logistic(s) / float64(len(positives))
	}
	n := float64(unlabelled)
	return min(max((1-c)/c, 1/(n+1)), n/(n+1))
}

// convex minimises the unbiased risk of du Plessis et al. 2015 (eq. 3) with the logistic loss:
// −π·mean over positives of f + mean over unlabelled of log(1 + eᶠ).
func (o *Settings) convex(ctx context.Context, s *Sample, prior float64) (*Linear, error) {
	l := &Linear{Weights: make([]float64, o.Features)}
	read := func(x []float64) { copy(l.Weights, x); l.Bias = x[o.Features] }
	each := func(f func(r *Row, all, on float64)) {
		for i := range s.Positives {
			f(&s.Positives[i], 0, prior/float64(len(s.Positives)))
		}
		for i := range s.Unlabelled {
			f(&s.Unlabelled[i], 1/float64(len(s.Unlabelled)), 0)
		}
	}
	x, err := minimise(ctx, make([]float64, o.Features+1), func(x []float64) (sum float64) {
		read(x)
		each(func(r *Row, all, on float64) {
			f := l.Score(r)
			sum += all*softplus(f) - on*f
		})
		for _, w := range l.Weights {
			sum += o.L2 / 2 * w * w
		}
		return sum
	}, func(slope, x []float64) {
		read(x)
		for i, w := range l.Weights {
			slope[i] = o.L2 * w
		}
		slope[o.Features] = 0
		each(func(r *Row, all, on float64) {
			d := all*logistic(l.Score(r)) - on
			for j, feature := range r.Features {
				slope[feature] += d * float64(r.Values[j])
			}
			slope[o.Features] += d
		})
	})
	if err == nil {
		read(x)
	}
	return l, err
}
