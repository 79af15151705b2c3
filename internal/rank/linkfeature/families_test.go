package linkfeature

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"forager/schemas"
)

var genFamilies = rapid.Custom(func(t *rapid.T) Families {
	var f Families
	for _, bit := range []Families{Offsets, nearText, anchor, rel, position, sameSite, urlTokens, urlGrams, cited, far, tagPath, pathLength, ancestor} {
		if rapid.Bool().Draw(t, bit.String()) {
			f |= bit
		}
	}
	return f
})

// TestFamiliesAreTheDefinition makes the features of every link from all ⟨t, d⟩ and from the link.
func TestFamiliesAreTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genPage.Draw(t, "page")
		for i, l := range p.Links {
			l.Url = rapid.SampledFrom([]string{"http://h/a/Bee-2", "http://h/", "http://h/a/", "http://other/a/x?q=a/b", "http://h/a/é"}).Draw(t, "target")
			l.Position, l.Nofollow = uint32(i*i), rapid.Bool().Draw(t, "nofollow")
			l.TagPath = rapid.SliceOfN(rapid.Uint32Range(0, 4), 0, 5).Draw(t, "tag path")
		}
		if rapid.Bool().Draw(t, "tree") {
			n := len(p.LeafLengths)
			p.LeafDepths = rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "depths")
			p.LeafJoins = rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "joins")
		}
		p.Url = "http://h/a/page.html"
		dMax, f := rapid.IntRange(0, 6).Draw(t, "d_max"), genFamilies.Draw(t, "families")
		record, links, _, err := Extract(p, nil, Settings{DMax: dMax, Families: f})
		if err != nil {
			t.Fatal(err)
		}
		open, err := genStored(t, record)
		if err != nil {
			t.Fatal(err)
		}
		begun := make(map[uint32]bool)
		for _, l := range links {
			if begun[l.FirstLeaf] {
				continue // another link has these terms
			}
			begun[l.FirstLeaf] = true
			count := make(map[string]map[int32]uint32)
			add := func(term string, d int32, n uint32) {
				if count[term] == nil {
					count[term] = make(map[int32]uint32)
				}
				count[term][d] += n
			}
			for _, x := range brute(p, l, dMax) {
				if f == 0 || f&Offsets != 0 || f&anchor != 0 && x.Offset == 0 {
					add(x.Term, x.Offset, x.Count)
				}
				if f&nearText != 0 {
					add(x.Term, schemas.NoOffset, x.Count)
				}
			}
			if f.Far() {
				beyond := make(map[string]uint32)
				for _, x := range brute(p, l, 1000) {
					beyond[x.Term] += x.Count
				}
				for _, x := range brute(p, l, dMax) {
					beyond[x.Term] -= x.Count
				}
				for term, n := range beyond {
					if n > 0 {
						add("far:"+term, schemas.NoOffset, n)
					}
				}
			}
			for _, term := range sourceOf(p, Settings{DMax: dMax, Families: f}).terms(l, f) {
				add(term, schemas.NoOffset, 1)
			}
			var want []*schemas.Feature
			for term, offsets := range count {
				for d, n := range offsets {
					want = append(want, feature(term, d, n))
				}
			}
			slices.SortFunc(want, func(a, b *schemas.Feature) int {
				if a.Term != b.Term {
					return strings.Compare(a.Term, b.Term)
				}
				return int(a.Offset - b.Offset)
			})
			got := open.FeaturesOf(l, dMax, f)
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Fatalf("%v of %v: %s", f, l, diff)
			}
			if slices.ContainsFunc(got, func(x *schemas.Feature) bool { return !f.Keep(x) }) {
				t.Fatalf("%v do not keep their own features %v", f, got)
			}
		}
	})
}

func TestTermsOfLinks(t *testing.T) {
	s := sourceOf(&schemas.Page{Url: "http://h/a/page.html"}, Settings{})
	for _, c := range []struct {
		f    Families
		l    *schemas.Link
		want string
	}{
		{rel, &schemas.Link{Url: "http://h/", Nofollow: true}, "rel:nofollow"},
		{rel, &schemas.Link{Url: "http://h/"}, ""},
		{position, &schemas.Link{Url: "http://h/"}, "pos:0"},
		{position, &schemas.Link{Url: "http://h/", Position: 9}, "pos:4"},
		{sameSite, &schemas.Link{Url: "http://h/a/x?u=/b/"}, "host:same dir:same"},
		{sameSite, &schemas.Link{Url: "http://h/"}, "host:same dir:other"},
		{sameSite, &schemas.Link{Url: "http://x/a/"}, "host:other"},
		{tagPath, &schemas.Link{Url: "http://h/", TagPath: []uint32{0xbeef0123, 7, 7}}, "tag:beef0123 tag:00000007 tag:00000007"},
		{tagPath, &schemas.Link{Url: "http://h/"}, ""},
		{urlTokens, &schemas.Link{Url: "http://h.org/CS-401/"}, "url:h url:org url:cs url:401"},
		{urlGrams, &schemas.Link{Url: "http://h/abc"}, "gram:h/ab gram:/abc"},
		{urlGrams, &schemas.Link{Url: "http://h/"}, ""},
	} {
		if got := strings.Join(s.terms(c.l, c.f), " "); got != c.want {
			t.Errorf("%v of %v: %q, want %q", c.f, c.l, got, c.want)
		}
	}
	long := s.terms(&schemas.Link{Url: "http://h/" + strings.Repeat("a/", 500)}, urlTokens|urlGrams)
	if len(long) != 2*mostTerms {
		t.Errorf("a long URL has %d terms", len(long))
	}
}

func TestNamesOfFamilies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := genFamilies.Draw(t, "families").orOffsets()
		named, err := FamiliesNamed(strings.Split(f.String(), "+"))
		listed, bad := FamiliesOf(f.List())
		if err != nil || bad != nil || named != f || listed != f || CheckFamilies(f) != nil || !f.Within(f) {
			t.Fatalf("%v came back as %v (%v) and %v (%v)", f, named, err, listed, bad)
		}
		if f.ReadsURLs() != strings.Contains(f.String(), "url") && !strings.Contains(f.String(), "same-site") {
			t.Fatalf("%v read URLs: %v", f, f.ReadsURLs())
		}
	})
	for name, err := range map[string]error{
		"unknown": second(FamiliesNamed([]string{"smell"})), "twice": second(FamiliesNamed([]string{"rel", "rel"})),
		"unknown number": second(FamiliesOf([]schemas.FeatureFamily{40})), "number twice": second(FamiliesOf([]schemas.FeatureFamily{1, 1})),
		"none": CheckFamilies(0), "bits of none": CheckFamilies(1),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if anchor.Within(nearText) || !anchor.Within(Offsets) || nearText.Within(Offsets) {
		t.Error("families are made of what they cannot be made of")
	}
}

func second[T any](_ T, err error) error { return err }

// TestTermsOfLinksAreBounded: the table of a page with many links and long URLs is cut, and reported as cut.
func TestTermsOfLinksAreBounded(t *testing.T) {
	p := page(slices.Repeat([]string{"a"}, 2000))
	for i := range uint32(2000) {
		l := link(i, i)
		l.Url = "http://h/" + strings.Repeat(string(rune('a'+i%26)), 1+int(i)%60) + strings.Repeat("/x", 40)
		for j := range 40 {
			l.Url += "/" + string(rune('a'+(int(i)*7+j*j)%26)) + string(rune('a'+(int(i)/26+j)%26)) + string(rune('a'+(int(i)/676+3*j)%26))
		}
		p.Links = append(p.Links, l)
	}
	record, _, cut, err := Extract(p, nil, Settings{DMax: 1, Families: urlTokens | urlGrams})
	if err != nil || !cut {
		t.Fatalf("cut %v, %v", cut, err)
	}
	if n := len(record.LinkLeaves); n < 100 || n >= 2000 {
		t.Errorf("%d links have terms", n)
	}
	if _, err := Open(record); err != nil {
		t.Error(err)
	}
}

func TestTablesOfOtherLinksAreRefused(t *testing.T) {
	good := func() *schemas.LeafTable {
		return &schemas.LeafTable{LinkNames: []string{"rel:nofollow"}, LinkLeaves: []uint32{1, 4}, LinkLengths: []uint32{1, 1}, LinkTerms: []uint32{0, 0}}
	}
	for name, change := range map[string]func(*schemas.LeafTable){
		"a term that it lacks": func(t *schemas.LeafTable) { t.LinkTerms[1] = 1 },
		"leaves not in order":  func(t *schemas.LeafTable) { t.LinkLeaves[0] = 4 },
		"a length too much":    func(t *schemas.LeafTable) { t.LinkLengths[0] = 2 },
		"a length missing":     func(t *schemas.LeafTable) { t.LinkLengths = t.LinkLengths[:1] },
	} {
		table := good()
		change(table)
		if _, err := Open(table); err == nil || !strings.Contains(err.Error(), "terms of links") {
			t.Errorf("%s: %v", name, err)
		}
	}
	checkDamage(t, good())
}
