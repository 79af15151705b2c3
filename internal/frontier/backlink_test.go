package frontier

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"forager/schemas"
)

// asksFor reports whether the request for a URL lets the source of backlinks be queried.
func (s *script) asksFor(url string) string {
	s.t.Helper()
	path := new(schemas.Path)
	if err := proto.Unmarshal(s.last[url].GetPathState(), path); err != nil {
		s.t.Fatal(err)
	}
	return path.GetBacklinks()
}

// asked is the verdict on a page about which the source was queried.
func (s *script) asked(url string, links ...*schemas.Link) *schemas.LinkFound {
	rec := s.judged(url, []*schemas.Guidance{{Guide: "layers/1", Scores: []float64{1}, Layer: 1}})
	rec.Judgement.Backlinks = &schemas.Backlinks{Source: "engine/1", Queries: 1}
	rec.Links = append(rec.Links, links...)
	return rec
}

func backlinkTo(url string) *schemas.Link {
	return &schemas.Link{Url: url, FirstLeaf: schemas.NoLeaf, LastLeaf: schemas.NoLeaf, Backlink: true}
}

// TestQueriesAreReservedAndCharged: of a ration of 2 no third query is allowed, also if two are in flight, and
// none if the budget does not allow it in addition to its request.
func TestQueriesAreReservedAndCharged(t *testing.T) {
	s := newScript(t, func(c *schemas.CrawlControl) {
		c.Policies[0].Ranker, c.Policies[0].Guide = schemas.Ranker_RANKER_GUIDE, "layers/1"
		c.Window, c.Budget = 10, &schemas.Budget{Requests: 7}
		c.Backlinks = &schemas.BacklinkSource{Source: "engine/1", Ration: 2}
	})
	want := func(url, source string) {
		t.Helper()
		if got := s.asksFor(onA(url)); got != source {
			t.Errorf("about %s %q may be asked, want %q", url, got, source)
		}
	}
	s.seed(onA("a"), onA("b"), onA("c"), onA("d"), onA("e"), onA("f"), onA("g"))
	s.want(s.dispatch(3), onA("a"), onA("b"), onA("c"))
	want("a", "engine/1")
	want("b", "engine/1")
	want("c", "")
	s.open() // what is reserved is in the store
	s.apply(s.judged(onA("b"), nil))
	s.want(s.dispatch(1), onA("d"))
	want("d", "engine/1") // b's query was not made
	s.apply(s.asked(onA("a")))
	s.apply(s.asked(onA("d")))
	s.deliver(onA("c"), 0, false)
	if st := s.shard.Status(s.now); st.GetRequests() != 6 || st.GetRequestsLeft() != 1 {
		t.Errorf("%d requests are charged, %d are left", st.GetRequests(), st.GetRequestsLeft())
	}
	s.want(s.dispatch(9), onA("e"))
	want("e", "")
	s.deliver(onA("e"), 0, false)
	s.ended(EndRequests)
}

// TestNoQueryBeyondTheBudget: the last request of a budget is a page's.
func TestNoQueryBeyondTheBudget(t *testing.T) {
	s := newScript(t, func(c *schemas.CrawlControl) {
		c.Policies[0].Ranker, c.Policies[0].Guide = schemas.Ranker_RANKER_GUIDE, "layers/1"
		c.Window, c.Budget = 10, &schemas.Budget{Requests: 3}
		c.Backlinks = &schemas.BacklinkSource{Source: "engine/1", Ration: 100}
	})
	s.seed(onA("a"), onA("b"), onA("c"))
	s.want(s.dispatch(9), onA("a"), onA("b"))
	if s.asksFor(onA("a")) == "" || s.asksFor(onA("b")) != "" {
		t.Error("the budget of 3 should suffice for two requests and one query")
	}
}

// TestBacklinksAreFollowedAndNotLearnt: parents come with the page's score, and do not train.
func TestBacklinksAreFollowedAndNotLearnt(t *testing.T) {
	s := guided(t)
	s.seed(onA("target"), onA("s"))
	s.dispatch(1)
	s.apply(s.asked(onA("target"), backlinkTo(onA("parent")), &schemas.Link{Url: onA("child")}))
	s.want(s.dispatch(1), onA("s"))
	s.deliver(onA("s"), 0, false)
	s.want(s.dispatch(1), onA("parent"))
	if r := s.last[onA("parent")]; r.GetScore() != 1 || r.GetVia() != onA("target") || r.GetDepth() != 1 {
		t.Errorf("the parent is asked for with %v", r)
	}
	for i, want := range []bool{false, true} {
		url := onA([]string{"parent", "child"}[i])
		if i == 1 {
			s.want(s.dispatch(1), url)
		}
		leaps := s.deliver(url, 1, true)
		if len(leaps) != 1 || leaps[0].GetTrains() != want || len(leaps[0].GetFeatures()) > 0 {
			t.Errorf("%s: leaps %v", url, leaps)
		}
	}
}

// TestAPageIsExpandedWholly: links of the page under way come before better ones, seeds after what scores above 0,
// also when the state is opened again.
func TestAPageIsExpandedWholly(t *testing.T) {
	for _, expand := range []schemas.Expand{schemas.Expand_EXPAND_LINK, schemas.Expand_EXPAND_PAGE} {
		s := newScript(t, func(c *schemas.CrawlControl) {
			c.Policies[0].Ranker, c.Policies[0].Guide, c.Policies[0].Expand = schemas.Ranker_RANKER_GUIDE, "layers/1", expand
		})
		layer := func(url string, score float64, links ...string) {
			s.apply(s.judged(onA(url), []*schemas.Guidance{{Guide: "layers/1", Scores: []float64{score}}}, links...))
		}
		s.seed(onA("s"), onA("t"))
		s.want(s.dispatch(1), onA("s"))
		layer("s", -.5, onA("x"), onA("y"), onA("z"), onA("x"))
		s.want(s.dispatch(1), onA("t"))
		layer("t", .25, onA("u"), onA("w"))
		s.want(s.dispatch(1), onA("u"))
		s.open()
		layer("u", .75, onA("good"))
		order := []string{"good", "w", "x", "y", "z"}
		if expand == schemas.Expand_EXPAND_PAGE {
			order[0], order[1] = "w", "good" // w is of t, as u is
		}
		for _, next := range order {
			s.want(s.dispatch(1), onA(next))
			s.deliver(onA(next), 0, false)
		}
		s.ended(EndEmpty)
	}
}
