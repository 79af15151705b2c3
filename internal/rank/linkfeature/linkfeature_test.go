package linkfeature

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"forager/internal/page/dom"
	"forager/schemas"
)

// page makes a page of leaves, each a text of words.
func page(leaves []string, links ...*schemas.Link) *schemas.Page {
	p := &schemas.Page{Url: "http://h/u", Links: links}
	index := make(map[string]uint32)
	for _, leaf := range leaves {
		words := strings.Fields(leaf)
		p.LeafLengths = append(p.LeafLengths, uint32(len(words)))
		for _, w := range words {
			i, ok := index[w]
			if !ok {
				i = uint32(len(p.Terms))
				index[w] = i
				p.Terms = append(p.Terms, w)
			}
			p.Tokens = append(p.Tokens, i)
		}
	}
	return p
}

func link(first, last uint32) *schemas.Link {
	return &schemas.Link{Url: fmt.Sprintf("http://h/v%d-%d", first, last), FirstLeaf: first, LastLeaf: last}
}

func extract(t testing.TB, p *schemas.Page, j *schemas.Judgement, s Settings) (*schemas.LeafTable, []*schemas.Link) {
	t.Helper()
	table, links, cut, err := Extract(p, j, s)
	if err != nil || cut {
		t.Fatalf("cut %v, %v", cut, err)
	}
	return table, links
}

func feature(term string, offset int32, count uint32) *schemas.Feature {
	return &schemas.Feature{Term: term, Offset: offset, Count: count}
}

func TestFigure3(t *testing.T) {
	const html = "<ul><li><tt>A</tt></li><li>B</li><li><a href=v>C<font>D</font></a>E<em>F</em></li><li>G</li></ul>"
	p, err := dom.Parse([]byte(html), "text/html", "http://h/u", dom.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	table, links := extract(t, p, nil, Settings{DMax: 5})
	want := []*schemas.Feature{
		feature("a", -2, 1), feature("b", -1, 1), feature("c", 0, 1), feature("d", 0, 1), feature("e", 1, 1), feature("f", 2, 1), feature("g", 3, 1),
	}
	if diff := cmp.Diff(want, Features(table, links[0], 5), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[1:5], Features(table, links[0], 1), protocmp.Transform()); diff != "" {
		t.Errorf("d_max 1: %s", diff)
	}
}

func TestLeavesWithoutTextCount(t *testing.T) {
	p := page([]string{"before", "", "", "anchor text anchor", "", "after before"}, link(3, 3))
	table, links := extract(t, p, nil, Settings{DMax: 3})
	want := []*schemas.Feature{
		feature("after", 2, 1), feature("anchor", 0, 2), feature("before", -3, 1), feature("before", 2, 1), feature("text", 0, 1),
	}
	if diff := cmp.Diff(want, Features(table, links[0], 3), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]uint32{0, 3, 5}, table.Leaves); diff != "" {
		t.Errorf("leaves without tokens are listed: %s", diff)
	}
}

func TestOnlyLeavesNearALinkTravel(t *testing.T) {
	var leaves []string
	for i := range 40 {
		leaves = append(leaves, fmt.Sprint("w", i))
	}
	table, _ := extract(t, page(leaves, link(10, 12), link(30, 30)), nil, Settings{DMax: 2})
	if diff := cmp.Diff([]uint32{8, 9, 10, 11, 12, 13, 14, 28, 29, 30, 31, 32}, table.Leaves); diff != "" {
		t.Error(diff)
	}
	if len(table.Terms) != 12 || table.Terms[0] != "w8" {
		t.Errorf("terms %v", table.Terms)
	}
}

func TestTopicFeatures(t *testing.T) {
	j := &schemas.Judgement{Topics: []*schemas.TopicScore{
		{Topic: "Computers/Software/Linux"}, {Topic: "Computers/Other"}, {Topic: "Arts"},
	}}
	p := page([]string{"anchor"}, link(0, 0))
	table, links := extract(t, p, j, Settings{DMax: 1, Topics: schemas.TopicFeatures_TOPIC_FEATURES_TOP2})
	want := []*schemas.Feature{feature("anchor", 0, 1)}
	for _, name := range []string{"c:/", "c:/Computers", "c:/Computers/Other", "c:/Computers/Software", "c:/Computers/Software/Linux"} {
		want = append(want, feature(name, schemas.NoOffset, 1))
	}
	if diff := cmp.Diff(want, Features(table, links[0], 1), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	for _, j := range []*schemas.Judgement{nil, {}} {
		if table, _ := extract(t, p, j, Settings{Topics: schemas.TopicFeatures_TOPIC_FEATURES_TOP2}); len(table.PageTerms) != 0 {
			t.Errorf("a page without a judgement has %v", table.PageTerms)
		}
	}
	if table, _ := extract(t, p, j, Settings{}); len(table.PageTerms) != 0 {
		t.Errorf("topics are off: %v", table.PageTerms)
	}
}

func TestPosteriorsOfAllTopics(t *testing.T) {
	j := &schemas.Judgement{Topics: []*schemas.TopicScore{{Topic: "Arts"}}, Posteriors: []*schemas.TopicScore{
		{Topic: "Arts", Tempered: .004}, {Topic: "Computers/Other", Tempered: .25}, {Topic: "Computers/Software/Linux", Tempered: .74},
		{Topic: "Sports", Tempered: .001}, {Topic: "Games", Tempered: math.NaN()}, {Topic: "Home", Tempered: -1}, {Topic: "News", Tempered: 2},
	}}
	all := Settings{DMax: 1, Topics: schemas.TopicFeatures_TOPIC_FEATURES_ALL}
	table, links := extract(t, page([]string{"anchor"}, link(0, 0)), j, all)
	want := []*schemas.Feature{feature("anchor", 0, 1)}
	for _, x := range []struct {
		name  string
		parts uint32
	}{{"", 254}, {"Arts", 1}, {"Computers", 253}, {"Computers/Other", 64}, {"Computers/Software", 189}, {"Computers/Software/Linux", 189}} {
		want = append(want, feature("p:/"+x.name, schemas.NoOffset, x.parts))
	}
	got := Features(table, links[0], 1)
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	open, err := Open(table)
	if err != nil {
		t.Fatal(err)
	}
	part, err := Open(open.Cut(links, 1, Offsets))
	if err != nil || !reflect.DeepEqual(part, open) {
		t.Errorf("the part of all links is another table: %v", err)
	}
	checkDamage(t, table, links...)
	if _, err := Open(&schemas.LeafTable{PageTerms: []string{"p:/"}, PageCounts: []uint32{0}}); err == nil {
		t.Error("a term of the page counts 0")
	}
	if _, err := Open(&schemas.LeafTable{PageTerms: []string{"p:/"}, PageCounts: []uint32{1, 1}}); err == nil {
		t.Error("counts of more terms than there are")
	}
	top := Settings{DMax: 1, Topics: schemas.TopicFeatures_TOPIC_FEATURES_TOP2}
	for i, x := range got {
		if !all.Keep(x) || top.Keep(x) != (i == 0) {
			t.Errorf("%v is kept: %v, of the top two: %v", x, all.Keep(x), top.Keep(x))
		}
	}
	if top.Within(all) || all.Within(top) || !(Settings{DMax: 1}).Within(all) {
		t.Error("topic features are made of others")
	}
}

func TestPagesWithoutLinks(t *testing.T) {
	nofollow := page([]string{"a"}, link(0, 0))
	nofollow.Nofollow = true
	for name, p := range map[string]*schemas.Page{"nil": nil, "no link": page([]string{"a", "b"}), "nofollow": nofollow} {
		table, links := extract(t, p, nil, Settings{DMax: 5})
		if table != nil || links != nil {
			t.Errorf("%s: %v %v", name, table, links)
		}
		if f := Features(table, link(0, 0), 5); len(f) != 0 {
			t.Errorf("%s: features %v", name, f)
		}
	}
}

// brute is the definition of ⟨t, d⟩, leaf by leaf, token by token.
func brute(p *schemas.Page, l *schemas.Link, dMax int) []*schemas.Feature {
	count := make(map[string]map[int32]uint32)
	at := 0
	for leaf, n := range p.LeafLengths {
		for range n {
			term := p.Terms[p.Tokens[at]]
			at++
			var d int32
			switch {
			case leaf < int(l.FirstLeaf):
				d = int32(leaf) - int32(l.FirstLeaf)
			case leaf > int(l.LastLeaf):
				d = int32(leaf) - int32(l.LastLeaf)
			}
			if int(max(d, -d)) > dMax {
				continue
			}
			if count[term] == nil {
				count[term] = make(map[int32]uint32)
			}
			count[term][d]++
		}
	}
	var all []*schemas.Feature
	for term, offsets := range count {
		for d, n := range offsets {
			all = append(all, feature(term, d, n))
		}
	}
	slices.SortFunc(all, func(a, b *schemas.Feature) int {
		if a.Term != b.Term {
			return strings.Compare(a.Term, b.Term)
		}
		return int(a.Offset - b.Offset)
	})
	return all
}

var genPage = rapid.Custom(func(t *rapid.T) *schemas.Page {
	leaves := rapid.SliceOfN(rapid.StringMatching(`([abc] ){0,4}`), 0, 30).Draw(t, "leaves")
	p := page(leaves)
	for range rapid.IntRange(1, 5).Draw(t, "links") {
		first := rapid.Uint32Range(0, uint32(len(leaves))+3).Draw(t, "first")
		p.Links = append(p.Links, link(first, first+rapid.Uint32Range(0, 6).Draw(t, "length")))
	}
	return p
})

func TestFeaturesAreTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genPage.Draw(t, "page")
		dMax := rapid.IntRange(0, 12).Draw(t, "d_max")
		table, links, cut, err := Extract(p, nil, Settings{DMax: dMax})
		if err != nil || cut || len(links) != len(p.Links) {
			t.Fatalf("%d links, cut %v, %v", len(links), cut, err)
		}
		for _, l := range links {
			for d := range dMax + 1 {
				if diff := cmp.Diff(brute(p, l, d), Features(table, l, d), protocmp.Transform()); diff != "" {
					t.Fatalf("%s, d_max %d: %s", l.Url, d, diff)
				}
			}
		}
	})
}

func TestTableOfAHugePage(t *testing.T) {
	// 20,000 leaves of 12 long words of their own, a link in every fiftieth leaf.
	var leaves []string
	p := new(schemas.Page)
	for i := range 20_000 {
		var leaf strings.Builder
		for j := range 12 {
			fmt.Fprintf(&leaf, "a-rather-long-word-%d-%d ", i, j)
		}
		leaves = append(leaves, leaf.String())
		if i%50 == 0 {
			p.Links = append(p.Links, link(uint32(i), uint32(i)))
		}
	}
	p = page(leaves, p.Links...)
	const dMax = 20
	table, links, cut, err := Extract(p, nil, Settings{DMax: dMax})
	if err != nil || !cut || len(links) != len(p.Links) {
		t.Fatalf("%d links, cut %v, %v", len(links), cut, err)
	}
	if size := proto.Size(table); size > MaxTable || size < MaxTable/2 {
		t.Errorf("table of %d bytes, at most %d", size, MaxTable)
	}
	// Every link keeps the same window.
	reach := -1
	for _, l := range []*schemas.Link{links[1], links[len(links)/2], links[len(links)-1]} {
		d := int32(0)
		for _, f := range Features(table, l, dMax) {
			d = max(d, -f.Offset)
		}
		if reach >= 0 && int(d) != reach {
			t.Errorf("link at leaf %d reaches %d leaves, another one %d", l.FirstLeaf, d, reach)
		}
		reach = int(d)
		if diff := cmp.Diff(brute(p, l, reach), Features(table, l, dMax), protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
	}
	if reach < 1 || reach >= dMax {
		t.Errorf("links reach %d leaves of %d", reach, dMax)
	}
}

func TestLinksThatFitNoTable(t *testing.T) {
	leaves := make([]string, 2000)
	for i := range leaves {
		leaves[i] = strings.Repeat(fmt.Sprintf("w%d ", i), 600)
	}
	table, links, cut, err := Extract(page(leaves, link(0, 1999)), nil, Settings{DMax: 1})
	if err != nil || !cut || len(links) != 1 || len(table.Leaves) != 0 || len(table.Terms) != 0 {
		t.Errorf("cut %v, %d links, %d leaves, %v", cut, len(links), len(table.Leaves), err)
	}
}

func TestExtractRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		p *schemas.Page
		s Settings
	}{
		"d_max below 0":              {page(nil), Settings{DMax: -1}},
		"d_max above 100":            {page(nil), Settings{DMax: 101}},
		"a token too many":           {&schemas.Page{Terms: []string{"a"}, Tokens: []uint32{0}}, Settings{}},
		"a token too few":            {&schemas.Page{LeafLengths: []uint32{1}}, Settings{}},
		"lengths that overflow":      {&schemas.Page{LeafLengths: []uint32{1 << 31, 1 << 31}}, Settings{}},
		"a term that is not there":   {&schemas.Page{Terms: []string{"a"}, Tokens: []uint32{1}, LeafLengths: []uint32{1}}, Settings{}},
		"a link that ends too early": {page([]string{"a", "b"}, link(1, 0)), Settings{}},
	} {
		if _, _, _, err := Extract(c.p, nil, c.s); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, table := range map[string]*schemas.LeafTable{
		"lengths missing":       {Leaves: []uint32{1}},
		"leaves that go back":   {Leaves: []uint32{2, 1}, LeafLengths: []uint32{0, 0}},
		"leaves that repeat":    {Leaves: []uint32{2, 2}, LeafLengths: []uint32{0, 0}},
		"tokens missing":        {Leaves: []uint32{2}, LeafLengths: []uint32{1}},
		"tokens left over":      {Terms: []string{"a"}, Leaves: []uint32{2}, LeafLengths: []uint32{1}, Tokens: []uint32{0, 0}},
		"a term that is absent": {Terms: []string{"a"}, Leaves: []uint32{2}, LeafLengths: []uint32{1}, Tokens: []uint32{1}},
		"lengths that overflow": {Leaves: []uint32{1, 2, 3}, LeafLengths: []uint32{1 << 31, 1 << 31, 1}, Tokens: []uint32{0}},
	} {
		if _, err := Open(table); err == nil {
			t.Errorf("%s: no error", name)
		}
		if f := Features(table, link(0, 9), 5); f != nil {
			t.Errorf("%s: features %v", name, f)
		}
	}
}

func TestReadingALinkAllocatesNothing(t *testing.T) {
	leaves := make([]string, 50)
	for i := range leaves {
		leaves[i] = "some words of a leaf"
	}
	table, links := extract(t, page(leaves, link(20, 22)), nil, Settings{DMax: 5})
	open, err := Open(table)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	if n := testing.AllocsPerRun(100, func() {
		for term, offset := range open.Tokens(links[0], 5) {
			sum += int(term) + offset
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzOpen: whatever bytes a table is made of, reading it ends and stays within it.
func FuzzOpen(f *testing.F) {
	table, _ := extract(f, page([]string{"a b", "c", "", "a"}, link(1, 2)), &schemas.Judgement{Topics: []*schemas.TopicScore{{Topic: "A/B"}}},
		Settings{DMax: 2, Topics: schemas.TopicFeatures_TOPIC_FEATURES_TOP2})
	b, err := proto.Marshal(table)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b, uint32(1), uint32(2), 5)
	table.PageCounts = make([]uint32, len(table.PageTerms))
	for i := range table.PageCounts {
		table.PageCounts[i] = uint32(1000 * (i + 1))
	}
	if b, err = proto.Marshal(table); err != nil {
		f.Fatal(err)
	}
	f.Add(b, uint32(1), uint32(2), 5)
	f.Add([]byte{}, uint32(0), uint32(1<<31), 100)
	f.Fuzz(func(t *testing.T, b []byte, first, last uint32, dMax int) {
		table := new(schemas.LeafTable)
		if proto.Unmarshal(b, table) != nil {
			return
		}
		open, err := Open(table)
		if err != nil {
			return
		}
		for _, f := range open.Features(link(first, last), dMax%(MaxOffset+1)) {
			if f.Offset != schemas.NoOffset && (f.Offset < -MaxOffset || f.Offset > MaxOffset) {
				t.Errorf("offset %d", f.Offset)
			}
		}
	})
}

// FuzzExtract: a page made of any bytes is refused or gives a table that can be read.
func FuzzExtract(f *testing.F) {
	b, err := proto.Marshal(page([]string{"a b", "c", "", "a"}, link(1, 2), link(0, 9)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b, 3)
	f.Fuzz(func(t *testing.T, b []byte, dMax int) {
		p := new(schemas.Page)
		if proto.Unmarshal(b, p) != nil {
			return
		}
		table, links, _, err := Extract(p, nil, Settings{DMax: dMax})
		if err != nil {
			return
		}
		open, err := Open(table)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range links {
			open.Features(l, dMax)
		}
	})
}

func BenchmarkExtract(b *testing.B) {
	var leaves []string
	var links []*schemas.Link
	for i := range 600 {
		leaves = append(leaves, fmt.Sprintf("w%d some words of leaf %d", i, i%7))
		if i%6 == 0 {
			links = append(links, link(uint32(i), uint32(i+1)))
		}
	}
	p := page(leaves, links...)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, _, err := Extract(p, nil, Settings{DMax: 5}); err != nil {
			b.Fatal(err)
		}
	}
}
