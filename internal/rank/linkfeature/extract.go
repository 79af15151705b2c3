package linkfeature

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"forager/schemas"
)

// MaxTable is the size of the largest table, bytes of the record.
const MaxTable = 3 << 19

// MaxOffset is the largest d_max.
const MaxOffset = 100

// Settings of Extract.
type Settings struct {
	// DMax is the largest |DOM offset| of a feature, 0 to MaxOffset.
	DMax int
	// Topics selects whether classes of u become terms.
	Topics schemas.TopicFeatures
	// Families of features; 0 = Offsets.
	Families Families
}

// SettingsOf returns the settings of a crawl. The error names the field that is out of range.
func SettingsOf(l *schemas.Learning) (Settings, error) {
	s := Settings{DMax: int(l.GetDMax()), Topics: l.GetTopics()}
	if s.DMax > MaxOffset {
		return s, fmt.Errorf("learning.d_max is %d, must be 0 to %d", s.DMax, MaxOffset)
	}
	var err error
	s.Families, err = FamiliesOf(l.GetFeatures())
	return s, err
}

// Within reports whether a link's features by these settings are a subset of those by others. The distance of terms without
// offsets is not known and not used.
func (s Settings) Within(others Settings) bool {
	return s.DMax <= others.DMax && (s.DMax == others.DMax || s.Families&(nearText|far|ofTree) == 0) && s.Families.Within(others.Families) &&
		(s.Topics == others.Topics || s.Topics == schemas.TopicFeatures_TOPIC_FEATURES_NONE)
}

// Extract returns the links of a page and the table of the leaves around them, which holds the features of each. cut
// reports whether the table lacks leaves within d_max, or terms of some links. A page that asks not to follow its links
// (nofollow) has none; the table of a page without links is nil. j is the judgement of the page, or nil. The links are the
// page's own, not copies. The error is an inconsistent page.
func Extract(p *schemas.Page, j *schemas.Judgement, s Settings) (table *schemas.LeafTable, links []*schemas.Link, cut bool, err error) {
	if s.DMax < 0 || s.DMax > MaxOffset {
		return nil, nil, false, fmt.Errorf("d_max is %d, must be 0 to %d", s.DMax, MaxOffset)
	}
	if err := check(p); err != nil {
		return nil, nil, false, fmt.Errorf("page %s: %w", p.GetUrl(), err)
	}
	if p.GetNofollow() || len(p.GetLinks()) == 0 {
		return nil, nil, false, nil
	}
	links = p.GetLinks()
	e := &extraction{page: p, near: distances(p, s.DMax)}
	e.pageTerms, e.pageCounts = topicTerms(j, s.Topics)
	wanted := s.DMax
	if s.Families.Far() {
		wanted = beyond
	}
	reach := e.reach(wanted)
	table = e.table(reach)
	cut = linkTerms(table, p, s)
	return table, links, cut || reach < wanted, nil
}

// check returns an error for a page whose lists do not match.
func check(p *schemas.Page) error {
	var sum uint64
	for _, n := range p.GetLeafLengths() {
		sum += uint64(n)
	}
	if sum != uint64(len(p.GetTokens())) {
		return fmt.Errorf("its leaves have %d tokens, it has %d", sum, len(p.GetTokens()))
	}
	if d, j := len(p.GetLeafDepths()), len(p.GetLeafJoins()); d != j || d > 0 && d != len(p.GetLeafLengths()) {
		return fmt.Errorf("its %d leaves have %d depths and %d of common ancestors", len(p.GetLeafLengths()), d, j)
	}
	for _, t := range p.GetTokens() {
		if int(t) >= len(p.GetTerms()) {
			return fmt.Errorf("token of term %d, it has %d terms", t, len(p.GetTerms()))
		}
	}
	for _, l := range p.GetLinks() {
		if l.GetFirstLeaf() > l.GetLastLeaf() {
			return fmt.Errorf("link to %s has leaves %d to %d", l.GetUrl(), l.GetFirstLeaf(), l.GetLastLeaf())
		}
	}
	return nil
}

// beyond is the distance of leaves outside the reach of all links.
const beyond = MaxOffset + 1

// distances returns, for every leaf, its distance to the nearest link, beyond if that is more than dMax.
func distances(p *schemas.Page, dMax int) []uint8 {
	n := len(p.LeafLengths)
	begin := make([]int32, n+1) // links that begin at a leaf, minus those that ended before it
	near := make([]uint8, n)
	for _, l := range p.Links {
		if int(l.FirstLeaf) < n {
			begin[l.FirstLeaf]++
			begin[min(int(l.LastLeaf), n-1)+1]--
		}
	}
	open, d := int32(0), beyond
	for i := range near {
		open += begin[i]
		if open > 0 {
			d = 0
		} else if d < beyond {
			d++
		}
		near[i] = uint8(d)
	}
	d = beyond
	for i := n - 1; i >= 0; i-- {
		d = min(d+1, int(near[i]))
		near[i] = uint8(d)
		if d > dMax {
			near[i] = beyond
		}
	}
	// A link after the last leaf (of a truncated page) still reaches back.
	for _, l := range p.Links {
		for i := max(0, int(l.FirstLeaf)-dMax); int(l.FirstLeaf) >= n && i < n; i++ {
			near[i] = min(near[i], uint8(int(l.FirstLeaf)-i))
		}
	}
	return near
}

type extraction struct {
	page       *schemas.Page
	near       []uint8
	pageTerms  []string
	pageCounts []uint32 // of pageTerms; nil = 1 each
}

// reach returns the largest distance, at most dMax, up to which the leaves fit a table; −1 if not even the leaves of the
// links fit.
func (e *extraction) reach(dMax int) int {
	tokenSize := protowire.SizeVarint(uint64(len(e.page.Terms)))
	fixed := 64 // tags and lengths of the lists
	for _, t := range e.pageTerms {
		fixed += termSize(t) + 3 // and its count
	}
	all := fixed
	for i, n := range e.page.LeafLengths {
		if int(e.near[i]) <= dMax && n > 0 {
			all += leafSize(i, n, tokenSize)
		}
	}
	for _, t := range e.page.Terms {
		all += termSize(t)
	}
	if all <= MaxTable {
		return dMax
	}
	// The exact set of terms needed at each distance.
	var size [beyond + 1]int
	first := make([]uint8, len(e.page.Terms))
	for i := range first {
		first[i] = beyond
	}
	at := 0
	for i, n := range e.page.LeafLengths {
		size[e.near[i]] += leafSize(i, n, tokenSize)
		for _, t := range e.page.Tokens[at : at+int(n)] {
			first[t] = min(first[t], e.near[i])
		}
		at += int(n)
	}
	for i, d := range first {
		size[d] += termSize(e.page.Terms[i])
	}
	reach, sum := -1, fixed
	for d := 0; d <= dMax; d++ {
		if sum += size[d]; sum > MaxTable {
			break
		}
		reach = d
	}
	return reach
}

func leafSize(number int, tokens uint32, tokenSize int) int {
	return protowire.SizeVarint(uint64(number)) + protowire.SizeVarint(uint64(tokens)) + int(tokens)*tokenSize
}

func termSize(t string) int { return 1 + protowire.SizeBytes(len(t)) }

// table lists the leaves at most reach away from a link.
func (e *extraction) table(reach int) *schemas.LeafTable {
	var leaves, words int
	for i, n := range e.page.LeafLengths {
		if n > 0 && int(e.near[i]) <= reach {
			leaves, words = leaves+1, words+int(n)
		}
	}
	t := &schemas.LeafTable{
		PageTerms: e.pageTerms, PageCounts: e.pageCounts,
		Leaves: make([]uint32, 0, leaves), LeafLengths: make([]uint32, 0, leaves), Tokens: make([]uint32, 0, words),
	}
	number := make([]uint32, len(e.page.Terms)) // in the table, from 1
	at := 0
	for i, n := range e.page.LeafLengths {
		tokens := e.page.Tokens[at : at+int(n)]
		at += int(n)
		if n == 0 || int(e.near[i]) > reach {
			continue
		}
		t.Leaves = append(t.Leaves, uint32(i))
		t.LeafLengths = append(t.LeafLengths, n)
		for _, term := range tokens {
			if number[term] == 0 {
				t.Terms = append(t.Terms, e.page.Terms[term])
				number[term] = uint32(len(t.Terms))
			}
			t.Tokens = append(t.Tokens, number[term]-1)
		}
	}
	return t
}
