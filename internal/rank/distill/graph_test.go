package distill

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/btree"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"forager/schemas"
)

// memory is a Store. (That of the frontier, which imports this package, cannot be had here.)
type memory struct{ tree btree.Map[string, []byte] }

func (m *memory) Get(key []byte) ([]byte, bool, error) {
	v, ok := m.tree.Get(string(key))
	return v, ok, nil
}

func (m *memory) Set(key, value []byte) error {
	m.tree.Set(string(key), slices.Clone(value))
	return nil
}

func (m *memory) DeleteRange(from, to []byte) error {
	for _, k := range m.tree.Keys() {
		if k >= string(from) && k < string(to) {
			m.tree.Delete(k)
		}
	}
	return nil
}

func (m *memory) Scan(from, to []byte, f func(key, value []byte) (bool, error)) (err error) {
	m.tree.Ascend(string(from), func(k string, v []byte) bool {
		more := k < string(to)
		if more {
			more, err = f([]byte(k), v)
		}
		return more && err == nil
	})
	return err
}

// drawRecord makes a record of link.found: verdicts of all kinds, and what other shards send.
func drawRecord(t *rapid.T) *schemas.LinkFound {
	url := rapid.Custom(func(t *rapid.T) string {
		return fmt.Sprintf("http://%s.test/%d", rapid.SampledFrom([]string{"a.one", "b.one", "two", "three"}).Draw(t, "host"), rapid.IntRange(0, 3).Draw(t, "path"))
	})
	u := url.Draw(t, "u")
	rec := &schemas.LinkFound{Crawl: "c", Url: u, Id: schemas.RequestID("c", u, uint32(rapid.IntRange(1, 2).Draw(t, "attempt"))).Bytes()}
	switch rapid.SampledFrom([]string{"page", "page", "page", "page", "redirect", "failure", "foreign", "seeds", "note", "moved"}).Draw(t, "kind") {
	case "redirect":
		rec.Outcome, rec.Redirect = schemas.Outcome_OUTCOME_REDIRECTED, url.Draw(t, "target")
		return rec
	case "failure":
		rec.Outcome = schemas.Outcome_OUTCOME_TIMEOUT
		return rec
	case "seeds":
		rec.Outcome, rec.Url = schemas.Outcome_OUTCOME_SEEDS, ""
	case "note":
		return schemas.NoteTo("c", 0, 1, &schemas.ShardNote{Lease: &schemas.ShardLease{}})
	case "moved":
		rec.Role, rec.Outcome, rec.Url = schemas.LinkRole_LINK_ROLE_LINKS, schemas.Outcome_OUTCOME_SEEDS, ""
		rec.Moved, rec.Links = &schemas.MovedLink{Linkless: true}, []*schemas.Link{{Url: u}}
		return rec
	case "foreign":
		rec.Role = schemas.LinkRole_LINK_ROLE_LINKS
		fallthrough
	default:
		rec.Outcome = schemas.Outcome_OUTCOME_DELIVERED
		rec.Judgement = &schemas.Judgement{Raw: rapid.SampledFrom([]float64{0, .1, .5, .75, 1}).Draw(t, "r")}
	}
	for _, v := range rapid.SliceOfN(url, 0, 6).Draw(t, "links") {
		rec.Links = append(rec.Links, &schemas.Link{Url: v})
	}
	return rec
}

// plainHubs ranks records by maps over URLs.
func plainHubs(t *rapid.T, recs []*schemas.LinkFound, s Settings) *schemas.HubRanked {
	out := &schemas.HubRanked{Crawl: "c", Through: -1}
	taken, number, alias := map[string]bool{}, map[string]uint32{}, map[string]string{}
	var pages []Page
	var urls []string
	links := map[string]map[string]bool{}
	for i, rec := range recs {
		foreign := rec.Role == schemas.LinkRole_LINK_ROLE_LINKS
		delivered := rec.Outcome == schemas.Outcome_OUTCOME_DELIVERED
		if taken[string(rec.Id)] || rec.Role == schemas.LinkRole_LINK_ROLE_NOTE || rec.Outcome == schemas.Outcome_OUTCOME_SEEDS {
			continue
		}
		taken[string(rec.Id)] = true
		out.Through = int64(i)
		if rec.Outcome == schemas.Outcome_OUTCOME_REDIRECTED {
			alias[rec.Url] = rec.Redirect
		}
		if !delivered {
			continue
		}
		if !foreign {
			out.Pages++
		}
		if _, known := number[rec.Url]; !known {
			number[rec.Url] = uint32(len(pages))
			host := strings.Split(rec.Url, "/")[2]
			if !s.ByHost && strings.HasSuffix(host, ".one.test") {
				host = "one.test"
			}
			site := slices.Index([]string{"one.test", "a.one.test", "b.one.test", "two.test", "three.test"}, host)
			pages, urls = append(pages, Page{Site: uint32(site), R: rec.Judgement.Raw}), append(urls, rec.Url)
			links[rec.Url] = map[string]bool{}
		}
		for _, l := range rec.Links {
			if l.Url != rec.Url {
				links[rec.Url][l.Url] = true
			}
		}
	}
	resolve := func(u string) (uint32, bool) {
		for range 11 {
			if n, ok := number[u]; ok {
				return n, true
			}
			next, ok := alias[u]
			if !ok {
				break
			}
			u = next
		}
		return 0, false
	}
	r, err := Rank(pages, func(yield func(Link, error) bool) {
		for from, u := range urls {
			for v := range links[u] {
				if to, ok := resolve(v); ok && !yield(Link{uint32(from), to}, nil) {
					return
				}
			}
		}
	}, s)
	if err != nil {
		t.Fatal(err)
	}
	raised := map[string]bool{}
	for i, h := range r.Hubs {
		out.Hubs = append(out.Hubs, &schemas.RankedPage{Url: urls[h.Page], Score: h.Score, Relevance: pages[h.Page].R, Marked: i < s.Marked})
		for v := range links[urls[h.Page]] {
			if _, visited := resolve(v); i < s.Marked && !visited {
				id := schemas.URLID(v)
				raised[string(id[:])] = true
			}
		}
	}
	for _, a := range r.Authorities {
		out.Authorities = append(out.Authorities, &schemas.RankedPage{Url: urls[a.Page], Score: a.Score, Relevance: pages[a.Page].R})
	}
	for id := range raised {
		out.Raised = append(out.Raised, id...)
	}
	out.Id = schemas.HubsID("c", 0, out.Pages).Bytes()
	out.Nodes, out.Edges, out.Rounds, out.Change = uint64(len(pages)), uint64(r.Edges), uint32(r.Rounds), r.Change
	return out
}

func (i ids) all() (all []schemas.ID) {
	i.each(func(id schemas.ID) { all = append(all, id) })
	return all
}

// TestGraphRanksByMaps notes records, some of them twice, over restarts.
func TestGraphRanksByMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store, s := new(memory), Default
		s.ByHost, s.Marked = rapid.Bool().Draw(t, "by host"), rapid.IntRange(0, 3).Draw(t, "marked")
		open := func(prefix string) *Graph {
			g, err := OpenGraph(store, []byte(prefix))
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		g, neighbour := open("g1"), open("g2")
		var told []*schemas.LinkFound
		for range rapid.IntRange(0, 40).Draw(t, "records") {
			rec := drawRecord(t)
			if len(told) > 0 && rapid.IntRange(0, 9).Draw(t, "again") == 0 {
				rec = rapid.SampledFrom(told).Draw(t, "copy")
			}
			if rapid.IntRange(0, 9).Draw(t, "reopen") == 0 {
				g = open("g1")
			}
			if err := g.Note(rec, int64(len(told))); err != nil {
				t.Fatal(err)
			}
			if rapid.IntRange(0, 9).Draw(t, "beside") == 0 {
				if err := neighbour.Note(rec, 7); err != nil {
					t.Fatal(err)
				}
			}
			told = append(told, rec)
		}
		got, err := g.Hubs(context.Background(), "c", 0, s)
		if err != nil {
			t.Fatal(err)
		}
		want := plainHubs(t, told, s)
		raised, err := Raised(got)
		if err != nil || !slices.IsSortedFunc(raised, func(a, b schemas.ID) int { return strings.Compare(string(a[:]), string(b[:])) }) {
			t.Fatalf("raised %x, %v", got.Raised, err)
		}
		if diff := cmp.Diff(sorted(ids(want.Raised).all()), raised); diff != "" {
			t.Fatalf("raised (-by maps +got):\n%s", diff)
		}
		got.Raised, want.Raised = nil, nil
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Fatalf("ranked (-by maps +got):\n%s", diff)
		}
		if g.Pages() != want.Pages {
			t.Fatalf("%d pages, want %d", g.Pages(), want.Pages)
		}
		// What is dropped leaves nothing, and nothing of others.
		before := store.tree.Len()
		if err := g.Drop(); err != nil {
			t.Fatal(err)
		}
		if _, left, _ := store.Get([]byte("g1c")); left || store.tree.Len() > before || g.Pages() != 0 {
			t.Fatalf("%d of %d keys are left", store.tree.Len(), before)
		}
		for _, k := range store.tree.Keys() {
			if !strings.HasPrefix(k, "g2") {
				t.Fatalf("key %q is left", k)
			}
		}
	})
}

func sorted(all []schemas.ID) []schemas.ID {
	slices.SortFunc(all, func(a, b schemas.ID) int { return strings.Compare(string(a[:]), string(b[:])) })
	return append([]schemas.ID{}, all...)
}

func TestGraphRefuses(t *testing.T) {
	g, err := OpenGraph(new(memory), []byte("g"))
	if err != nil {
		t.Fatal(err)
	}
	id := schemas.RequestID("c", "u", 1).Bytes()
	for _, c := range []struct {
		rec  *schemas.LinkFound
		want string
	}{
		{&schemas.LinkFound{Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: &schemas.Judgement{}}, "id of 0 bytes"},
		{&schemas.LinkFound{Id: id, Outcome: schemas.Outcome_OUTCOME_DELIVERED}, "needs a judgement"},
		{&schemas.LinkFound{Id: id, Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: &schemas.Judgement{Raw: math.NaN()}}, "needs a judgement"},
	} {
		if err := g.Note(c.rec, 1); !errors.Is(err, ErrRecord) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.rec, err, c.want)
		}
	}
	if g.Pages() != 0 {
		t.Error("it counts what it refuses")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Note(&schemas.LinkFound{Id: id, Url: "http://u.test/", Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: &schemas.Judgement{Raw: 1}}, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Hubs(gone, "c", 0, Default); !errors.Is(err, context.Canceled) {
		t.Errorf("ranked though its time was over: %v", err)
	}
	if _, err := Raised(&schemas.HubRanked{Raised: make([]byte, 17)}); err == nil || !strings.Contains(err.Error(), "17 bytes") {
		t.Errorf("ids of 17 bytes: %v", err)
	}
}

func TestSites(t *testing.T) {
	for url, want := range map[string][2]string{
		"http://www.example.co.uk/a":    {"example.co.uk", "www.example.co.uk"},
		"http://a.b.example.org:8080/":  {"example.org", "a.b.example.org:8080"},
		"http://192.0.2.7:80/":          {"192.0.2.7:80", "192.0.2.7:80"},
		"http://[2001:db8::1]:8080/":    {"[2001:db8::1]:8080", "[2001:db8::1]:8080"},
		"http://localhost/":             {"localhost", "localhost"},
		"http://someone.github.io/page": {"someone.github.io", "someone.github.io"},
	} {
		if got := [2]string{site(url, false), site(url, true)}; got != want {
			t.Errorf("%s is of %q, want %q", url, got, want)
		}
	}
}

// FuzzStored: any bytes are a page, a redirect or an error, and what was read is written as it was.
func FuzzStored(f *testing.F) {
	f.Add((&noted{url: "http://u/", r: .5, links: ids{}.with(schemas.ID{1})}).append(nil))
	f.Add((&noted{url: "http://u/", redirect: true, links: ids{}.with(schemas.ID{1})}).append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var n noted
		if err := n.read(b); err != nil {
			return
		}
		var again noted
		if err := again.read(n.append(nil)); err != nil || again.url != n.url || again.r != n.r || again.redirect != n.redirect || string(again.links) != string(n.links) {
			t.Errorf("%x is %+v and, written and read, %+v (%v)", b, n, again, err)
		}
	})
}

// TestOnlyTheNewestPagesAreRanked: where a graph is larger than a ranking may be, it is the ranking of what was noted last.
func TestOnlyTheNewestPagesAreRanked(t *testing.T) {
	const pages = 64
	url := func(i int) string { return fmt.Sprintf("http://host-%d.test/", i) }
	graphOf := func(from int) *Graph {
		g, err := OpenGraph(new(memory), []byte("g"))
		if err != nil {
			t.Fatal(err)
		}
		for i := from; i < pages; i++ {
			rec := &schemas.LinkFound{
				Crawl: "c", Url: url(i), Id: schemas.RequestID("c", url(i), 1).Bytes(), Outcome: schemas.Outcome_OUTCOME_DELIVERED,
				Judgement: &schemas.Judgement{Raw: .2 + float64(i%7)/10},
			}
			for back := 1; back <= 3; back++ {
				rec.Links = append(rec.Links, &schemas.Link{Url: url(i - back)})
			}
			if err := g.Note(rec, int64(i)); err != nil {
				t.Fatal(err)
			}
		}
		return g
	}
	for _, x := range []struct {
		most  uint64
		edges int
		left  int
	}{{16, 0, 16}, {0, 40, 8}, {16, 41, 8}, {pages, 3 * pages, pages}} {
		s := Default
		s.MostNoted, s.MostEdges = x.most, x.edges
		got, err := graphOf(0).Hubs(t.Context(), "c", 0, s)
		if err != nil {
			t.Fatal(err)
		}
		want, err := graphOf(pages-x.left).Hubs(t.Context(), "c", 0, Default)
		if err != nil {
			t.Fatal(err)
		}
		if got.Pages != pages || got.Nodes != uint64(x.left) || len(got.Hubs) == 0 {
			t.Errorf("%d pages, %d edges: ranked %d of %d", x.most, x.edges, got.Nodes, got.Pages)
		}
		want.Id, want.Pages = got.Id, got.Pages
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%d pages, %d edges: %s", x.most, x.edges, diff)
		}
	}
}
