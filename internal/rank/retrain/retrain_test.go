package retrain

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"forager/internal/rank/apprentice"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// world is pages of a crawl and the relevance of their links' targets.
type world struct {
	random *rand.Rand
	pages  []*schemas.Page
	topics map[string]*schemas.Judgement
	// r is R(v) of every link of every page, by u and v.
	r map[[2]string]float64
}

func newWorld(seed uint64) *world {
	w := &world{random: rand.New(rand.NewPCG(seed, 1)), topics: make(map[string]*schemas.Judgement), r: make(map[[2]string]float64)}
	for i := range 3 + w.random.IntN(8) {
		p := &schemas.Page{Url: fmt.Sprint("http://h/", i), Terms: []string{"a", "b", "c", "d", "e"}}
		for range 5 + w.random.IntN(30) {
			n := uint32(w.random.IntN(3))
			p.LeafLengths = append(p.LeafLengths, n)
			p.LeafDepths, p.LeafJoins = append(p.LeafDepths, byte(4+n)), append(p.LeafJoins, byte(1+len(p.Tokens)%3))
			for range n {
				p.Tokens = append(p.Tokens, uint32(w.random.IntN(len(p.Terms))))
			}
		}
		for j := range 1 + w.random.IntN(5) {
			leaf := uint32(w.random.IntN(len(p.LeafLengths)))
			v := fmt.Sprint("http://v/", i, "/", j)
			p.Links = append(p.Links, &schemas.Link{Url: v, FirstLeaf: leaf, LastLeaf: leaf, Position: uint32(j), Depth: 4, TagPath: []uint32{7, uint32(leaf % 3), uint32(leaf % 2)}})
			w.r[[2]string{p.Url, v}] = w.random.Float64()
		}
		w.pages = append(w.pages, p)
		w.topics[p.Url] = &schemas.Judgement{Topics: []*schemas.TopicScore{{Topic: fmt.Sprint("A/", w.random.IntN(3))}, {Topic: "B"}, {Topic: "C"}}}
		w.topics[p.Url].Posteriors = []*schemas.TopicScore{{Topic: w.topics[p.Url].Topics[0].Topic, Tempered: .5 + .03*float64(i)}, {Topic: "B", Tempered: .1}}
	}
	return w
}

func (w *world) features(t testing.TB, p *schemas.Page, s linkfeature.Settings) map[string][]*schemas.Feature {
	table, links, _, err := linkfeature.Extract(p, w.topics[p.Url], s)
	if err != nil {
		t.Fatal(err)
	}
	open, err := linkfeature.Open(table)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string][]*schemas.Feature)
	for _, l := range links {
		all[l.Url] = open.FeaturesOf(l, s.DMax, s.Families)
		if s.Families.Cocitation() { // of the links near it every other one was known
			var known []linkfeature.Sibling
			for i, x := range links {
				if x.Url != l.Url && i%2 == 0 {
					known = append(known, linkfeature.Sibling{First: x.FirstLeaf, Last: x.LastLeaf, Relevance: w.r[[2]string{p.Url, x.Url}]})
				}
			}
			all[l.Url] = linkfeature.Merge(all[l.Url], linkfeature.Cocited(l, known, s.DMax))
		}
	}
	return all
}

// leaps are the records of leap.settled as prioritize would send them under some settings, with
// boundaries, copies and records of others among them.
func (w *world) leaps(t testing.TB, s linkfeature.Settings) []*schemas.LeapSettled {
	var all []*schemas.LeapSettled
	pages := uint64(0)
	mark := func() {
		pages += 1 + uint64(w.random.IntN(9))
		all = append(all, &schemas.LeapSettled{Id: schemas.LeapID("c", "boundary", fmt.Sprint(pages)).Bytes(), Crawl: "c", Pages: pages, Boundary: true})
	}
	for _, p := range w.pages {
		features := w.features(t, p, s)
		for _, l := range p.Links {
			all = append(all, &schemas.LeapSettled{
				Id: schemas.LeapID("c", p.Url, l.Url).Bytes(), Crawl: "c", U: p.Url, V: l.Url, Outcome: schemas.Outcome_OUTCOME_DELIVERED,
				TargetRaw: w.r[[2]string{p.Url, l.Url}], Features: features[l.Url], Trains: w.random.IntN(5) > 0,
			})
			switch w.random.IntN(8) {
			case 0:
				mark()
			case 1: // a copy of something earlier, boundaries too
				all = append(all, all[w.random.IntN(len(all))])
			case 2:
				other := proto.CloneOf(all[len(all)-1])
				other.Crawl, other.Id = "d", schemas.LeapID("d", other.U, other.V).Bytes()
				all = append(all, other)
			case 3:
				all = append(all, &schemas.LeapSettled{Crawl: "c", Trains: true, TargetRaw: 3})
			}
		}
	}
	mark()
	return all
}

// plain trains in the plainest way and returns the bytes at each boundary.
func plain(t testing.TB, by apprentice.Settings, leaps []*schemas.LeapSettled) (models [][]byte, pages []uint64) {
	counts, seen := apprentice.New(by), make(map[string]bool)
	for _, l := range leaps {
		switch {
		case l.Crawl != "c" || l.Id == nil || l.NoApprentice || seen[string(l.Id)]:
		case l.Boundary:
			if len(pages) > 0 && l.Pages <= pages[len(pages)-1] {
				continue
			}
			counts.Model()
			models, pages = append(models, counts.Marshal()), append(pages, l.Pages)
		case l.Trains:
			if err := counts.Add(l.Features, l.TargetRaw); err != nil {
				t.Fatal(err)
			}
			seen[string(l.Id)] = true
		}
	}
	return models, pages
}

func (w *world) train(t testing.TB, by apprentice.Settings, leaps []*schemas.LeapSettled, s Settings) ([]byte, error) {
	s.Crawl = "c"
	tr, err := New(apprentice.New(by), s)
	if err != nil {
		return nil, err
	}
	for i, l := range leaps {
		done, err := tr.Leap(int64(i), l)
		if err != nil && l.Id != nil {
			t.Fatal(err)
		}
		if done {
			if _, through, _ := tr.Boundary(); through != int64(i) {
				t.Fatalf("done at %d, and the boundary is at %d", i, through)
			}
			break
		}
	}
	if err := tr.End(); err != nil {
		return nil, err
	}
	if tr.FromPages() {
		order := w.random.Perm(len(w.pages))
		for _, i := range append(order, order[0]) {
			if err := tr.Page(w.pages[i], w.topics[w.pages[i].Url]); err != nil {
				t.Fatal(err)
			}
		}
	}
	counts, err := tr.Model()
	if err != nil {
		return nil, err
	}
	counts.Model()
	return counts.Marshal(), nil
}

var five = linkfeature.Settings{DMax: 5}

var genFamilies = rapid.Custom(func(t *rapid.T) linkfeature.Families {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"offsets", "near-text", "anchor", "position", "url-tokens", "co-citation", "far", "tag-path", "path-length", "ancestor"}), 1, 3, rapid.ID).Draw(t, "names")
	f, err := linkfeature.FamiliesNamed(names)
	if err != nil {
		t.Fatal(err)
	}
	return f
})

// Naive Bayes, which no order of leaps matters to, and logistic regression, which one does.
var (
	bayes, _   = apprentice.SettingsOf(nil)
	logistic   = apprentice.DefaultLogistic()
	genLearner = rapid.Custom(func(t *rapid.T) apprentice.Settings {
		s := rapid.SampledFrom([]apprentice.Settings{bayes, logistic}).Draw(t, "learner")
		s.Count = schemas.Counting(rapid.Int32Range(1, 3).Draw(t, "counting"))
		return s
	})
)

func TestNoSettingsGiveTheModelsOfLiveTraining(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rapid.Uint64().Draw(rt, "seed"))
		leaps, by := w.leaps(t, five), genLearner.Draw(rt, "learner")
		models, pages := plain(t, by, leaps)
		for i := range models {
			got, err := w.train(t, by, leaps, Settings{Recorded: five, Features: five, Through: pages[i]})
			if err != nil || !bytes.Equal(got, models[i]) {
				rt.Fatalf("through %d pages: another model (%v)", pages[i], err)
			}
		}
		got, err := w.train(t, by, leaps, Settings{Recorded: five, Features: five})
		if err != nil || !bytes.Equal(got, models[len(models)-1]) {
			rt.Fatalf("through the last boundary: another model (%v)", err)
		}
		// Without boundaries all leaps are learned.
		of := slices.DeleteFunc(slices.Clone(leaps), func(l *schemas.LeapSettled) bool { return l.Boundary })
		whole, _ := plain(t, by, append(slices.Clone(of), &schemas.LeapSettled{Id: []byte{1}, Crawl: "c", Pages: 1, Boundary: true}))
		got, err = w.train(t, by, of, Settings{Recorded: five, Features: five})
		if err != nil && slices.ContainsFunc(of, func(l *schemas.LeapSettled) bool { return l.Id != nil && l.Crawl == "c" && l.Trains }) || err == nil && !bytes.Equal(got, whole[0]) {
			rt.Fatalf("without boundaries: another model (%v)", err)
		}
		// A late copy of a boundary is no boundary: the leaps before it are not learned.
		late := proto.CloneOf(leaps[0])
		late.Id, late.Trains = schemas.LeapID("c", "late", "late").Bytes(), true
		for _, l := range leaps {
			if l.Boundary {
				leaps = append(leaps, late, l)
				break
			}
		}
		got, err = w.train(t, by, leaps, Settings{Recorded: five, Features: five})
		if err != nil || !bytes.Equal(got, models[len(models)-1]) {
			rt.Fatalf("a copy of a boundary is taken for one (%v)", err)
		}
	})
}

// TestLeapsWithoutAnApprentice: an apprentice that began to rank in the midst of a crawl has not learned the leaps before, and that of
// a crawl in which none ranked is one that had had their features.
func TestLeapsWithoutAnApprentice(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := linkfeature.Settings{DMax: rapid.IntRange(0, 9).Draw(rt, "d_max"), Families: genFamilies.Draw(rt, "families")}
		w := newWorld(rapid.Uint64().Draw(rt, "seed"))
		by := genLearner.Draw(rt, "learner")
		by.Families = s.Families
		had := w.leaps(t, s)
		var leaps []*schemas.LeapSettled
		isBoundary := func(l *schemas.LeapSettled) bool { return l.Boundary && l.Crawl == "c" }
		first := slices.IndexFunc(had, isBoundary)
		until, without := rapid.IntRange(0, first).Draw(rt, "until"), make(map[string]bool)
		for i, l := range had {
			without[string(l.Id)] = without[string(l.Id)] || i < until // copies, too
			if l = proto.CloneOf(l); without[string(l.Id)] {
				l.Features, l.NoApprentice = nil, true
			}
			leaps = append(leaps, l)
		}
		models, _ := plain(t, by, leaps)
		got, err := w.train(t, by, leaps, Settings{Recorded: s, Features: s})
		if err != nil || !bytes.Equal(got, models[len(models)-1]) {
			rt.Fatalf("with boundaries: another model (%v)", err)
		}
		leaps = leaps[:first]
		got, err = w.train(t, by, leaps, Settings{Recorded: s, Features: s})
		whole, _ := plain(t, by, had[:first+1])
		some := slices.ContainsFunc(leaps, func(l *schemas.LeapSettled) bool { return l.Trains && l.NoApprentice && l.Crawl == "c" && l.Id != nil })
		switch {
		case some && s.Families.Cocitation():
			if err == nil || !strings.Contains(err.Error(), "--features") {
				rt.Fatalf("co-citation that is not known: %v", err)
			}
		case err != nil:
			if slices.ContainsFunc(leaps, func(l *schemas.LeapSettled) bool { return l.Trains && l.Crawl == "c" && l.Id != nil }) {
				rt.Fatal(err)
			}
		case !bytes.Equal(got, whole[0]):
			rt.Fatal("without boundaries: another model")
		}
	})
}

// A crawl that had had the other settings from the start is what they are compared with.
func TestOtherFeaturesGiveTheModelsOfACrawlThatHadThem(t *testing.T) {
	none, top, all := schemas.TopicFeatures_TOPIC_FEATURES_NONE, schemas.TopicFeatures_TOPIC_FEATURES_TOP2, schemas.TopicFeatures_TOPIC_FEATURES_ALL
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		draw := func(name string) linkfeature.Settings {
			return linkfeature.Settings{DMax: rapid.IntRange(0, 9).Draw(rt, name), Topics: rapid.SampledFrom([]schemas.TopicFeatures{none, top, all}).Draw(rt, name+" topics"), Families: genFamilies.Draw(rt, name+" families")}
		}
		recorded, wanted := draw("recorded"), draw("wanted")
		w := newWorld(seed)
		had := w.leaps(t, recorded)
		would := newWorld(seed).leaps(t, wanted)
		by := genLearner.Draw(rt, "learner")
		by.Families = wanted.Families
		models, _ := plain(t, by, would)
		got, err := w.train(t, by, had, Settings{Recorded: recorded, Features: wanted})
		if wanted.Families.Cocitation() && (!recorded.Families.Cocitation() || wanted.DMax > recorded.DMax) {
			if err == nil || !strings.Contains(err.Error(), "in the leaps alone") {
				rt.Fatalf("recorded with %v, wanted %v: %v", recorded, wanted, err)
			}
			return
		}
		if wanted.Families.TagPaths() && !recorded.Families.TagPaths() {
			if err == nil || !strings.Contains(err.Error(), "tag paths") {
				rt.Fatalf("recorded with %v, wanted %v: %v", recorded, wanted, err)
			}
			return
		}
		if wanted.Families.Trees() && !recorded.Families.Trees() {
			if err == nil || !strings.Contains(err.Error(), "trees of pages") {
				rt.Fatalf("recorded with %v, wanted %v: %v", recorded, wanted, err)
			}
			return
		}
		if wanted.Topics == all && recorded.Topics != all {
			if err == nil || !strings.Contains(err.Error(), "all topics") {
				rt.Fatalf("recorded with %v, wanted %v: %v", recorded, wanted, err)
			}
			return
		}
		if err != nil || !bytes.Equal(got, models[len(models)-1]) {
			rt.Fatalf("recorded with %v, wanted %v: another model (%v)", recorded, wanted, err)
		}
	})
}

func TestCuts(t *testing.T) {
	w := newWorld(3)
	leaps := w.leaps(t, five)
	for i, c := range []struct {
		s    Settings
		want string
	}{
		{Settings{Cut: .5}, ""}, {Settings{Cut: .5}, ""}, {Settings{Recut: true}, ""}, {Settings{Recut: true}, ""},
		{Settings{Cut: .05}, "must be .1 to .9"}, {Settings{Cut: .5, Recut: true}, "asked for"},
	} {
		by := []apprentice.Settings{bayes, logistic}[i%2]
		c.s.Recorded, c.s.Features = five, five
		b, err := w.train(t, by, leaps, c.s)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v: %v", c.s, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		m, err := apprentice.Unmarshal(b)
		if err != nil {
			t.Fatal(err)
		}
		if c.s.Cut != 0 && m.Facts().Cut != c.s.Cut {
			t.Errorf("cut %v, want %v", m.Facts().Cut, c.s.Cut)
		}
		// The median over all leaps halves them.
		if f := m.Facts(); c.s.Recut && (f.Low > f.High+1 || f.High > f.Low+1) {
			t.Errorf("cut again at %v: %d low, %d high", f.Cut, f.Low, f.High)
		}
	}
}

func TestWhatCannotBeTrained(t *testing.T) {
	w := newWorld(4)
	leaps := w.leaps(t, five)
	_, pages := plain(t, bayes, leaps)
	last := pages[len(pages)-1]
	same := Settings{Recorded: five, Features: five}
	with := func(change func(*Settings)) Settings { s := same; change(&s); return s }
	for _, c := range []struct {
		name  string
		leaps []*schemas.LeapSettled
		s     Settings
		want  string
	}{
		{"no leaps", nil, same, "no leap has come"},
		{"a boundary before the first", leaps, with(func(s *Settings) { s.Through = pages[0] - 1 }), "no boundary at or below"},
		{"a boundary behind the last", leaps, with(func(s *Settings) { s.Through = last + 1 }), fmt.Sprintf("the one before it is at %d", last)},
		{"d_max", leaps, with(func(s *Settings) { s.Features.DMax = 101 }), "d_max is 101"},
	} {
		if _, err := w.train(t, bayes, c.leaps, c.s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	learnt := apprentice.New(logistic)
	if err := learnt.Add(nil, .5); err != nil {
		t.Fatal(err)
	}
	learnt.FixCut()
	if _, err := New(learnt, Settings{Crawl: "c", Recut: true}); err == nil || !strings.Contains(err.Error(), "train from nothing") {
		t.Errorf("what logistic regression learnt is cut again: %v", err)
	}
	tr, err := New(apprentice.NewCounts(), Settings{Crawl: "c", Recorded: five, Features: linkfeature.Settings{DMax: 7}})
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range leaps {
		if _, err := tr.Leap(int64(i), l); err != nil && l.Id != nil {
			t.Fatal(err)
		}
	}
	if err := tr.Page(w.pages[0], nil); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Model(); err == nil || len(tr.Missing()) == 0 || !strings.Contains(err.Error(), tr.Missing()[0]) {
		t.Errorf("with pages missing: %v", err)
	}
	changed := proto.CloneOf(w.pages[1])
	changed.Links = nil
	if err := tr.Page(changed, nil); err == nil {
		t.Error("a page without the links that its leaps have is taken")
	}
}
