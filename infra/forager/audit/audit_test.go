package audit

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"forager/schemas"
)

// TestASoundCrawlHasNoDifferences looks for false alarms: redirects, failures, depths, caps and
// windows of every sort.
func TestASoundCrawlHasNoDifferences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if r := crawled(t).Judge(); !r.OK {
			t.Fatal(problems(r))
		}
	})
}

// TestEveryLeapIsMissed takes one leap away, also one through redirects, and wants its link named.
func TestEveryLeapIsMissed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := crawled(t)
		leaps := slices.DeleteFunc(slices.Clone(e.Leaps), (*schemas.LeapSettled).GetBoundary)
		if len(leaps) == 0 {
			return
		}
		gone := rapid.SampledFrom(leaps).Draw(t, "gone")
		e.Leaps = slices.DeleteFunc(e.Leaps, func(l *schemas.LeapSettled) bool { return l == gone })
		fates := newJudge(e).fates()
		target := fates.target(gone.GetV())
		if target == gone.GetU() || fates.mayBeCapped(gone.GetV()) {
			return // such a link may have been none
		}
		if fates.of[target] == nil && e.Control.GetScope().GetHostCap() > 0 {
			return // a target that was never asked for may have met its host's cap, or be in the frontier
		}
		want := "from " + gone.GetU() + " to " + gone.GetV() + " was never settled"
		if r := e.Judge(); !strings.Contains(problems(r), want) {
			t.Fatalf("no %q in:\n%s", want, problems(r))
		}
	})
}

// TestRowsStandInForRecords makes the records anew from their rows.
func TestRowsStandInForRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := crawled(t)
		var found [][]string // in the order of the records; the others' does not matter
		for _, v := range newJudge(e).applied {
			found = append(found, foundRow(v, len(v.GetLinks())))
		}
		e.Rows["found"] = found
		topic := rapid.SampledFrom(audited).Draw(t, "gone")
		before := proto.CloneOf(e.Statuses[0])
		switch topic {
		case schemas.TopicFetchRequested:
			e.Requests = nil
		case schemas.TopicPageFetched:
			e.Fetched = nil
		case schemas.TopicPageJudged:
			e.Judged = nil
		case schemas.TopicLinkFound:
			e.Verdicts = nil
		case schemas.TopicLeapSettled:
			e.Leaps = nil
		}
		for i := range e.Topics {
			if e.Topics[i].Topic == topic {
				e.Topics[i] = Topic{Topic: topic, Way: ByCounts, Gone: "all of it"}
			}
		}
		if err := e.rebuild(topic); err != nil {
			t.Fatal(err)
		}
		if r := e.Judge(); !r.OK {
			t.Fatalf("without %s:\n%s", topic, problems(r))
		}
		for _, span := range before.GetSpans() {
			if span.GetCount() == 0 {
				return
			}
		}
		if len(e.Rows[tableOf[topic]]) == 0 {
			return
		}
		e.Rows["books"] = slices.Clone(e.Rows["books"])
		at := slices.IndexFunc(e.Rows["books"], func(row []string) bool { return row[0] == topic })
		e.Rows["books"][at] = []string{topic, "1000", e.Rows["books"][at][2]}
		if r := e.Judge(); !strings.Contains(problems(r), topic+": ClickHouse has 1000 records") {
			t.Fatalf("a count of 1000 was not named:\n%s", problems(r))
		}
	})
}

// TestARecordThatNobodyCanDecode stands in page.fetched: parse-dom has answered for it, and
// ClickHouse has no row.
func TestARecordThatNobodyCanDecode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := crawled(t)
		at := slices.IndexFunc(e.Fetched, func(f *schemas.PageFetched) bool { return f.GetOutcome() == schemas.Outcome_OUTCOME_FAILED_PARSE_DOM })
		if at < 0 {
			return
		}
		id := schemas.ID(e.Fetched[at].GetId())
		e.Rows["fetches"] = slices.DeleteFunc(slices.Clone(e.Rows["fetches"]), func(row []string) bool { return row[0] == id.String() })
		books := slices.IndexFunc(e.Rows["books"], func(row []string) bool { return row[0] == schemas.TopicPageFetched })
		count := e.Topics[slices.IndexFunc(e.Topics, func(t Topic) bool { return t.Topic == schemas.TopicPageFetched })].Found
		xor := schemas.ID(id.Xor(count.Xor[:]))
		e.Rows["books"][books] = []string{schemas.TopicPageFetched, number(count.N - 1), xor.String()}
		if e.Judge().OK {
			t.Fatal("a row is missing, and nobody says so")
		}
		e.Unreadable = map[string][]schemas.ID{schemas.TopicPageFetched: {id}}
		if r := e.Judge(); !r.OK {
			t.Fatal(problems(r))
		}
	})
}

// TestWhatIsSaidOfHubsAndShadows alters one thing of a ranking, or of what shadows said, and wants it named; rows of rankings
// that the topic has no more are no difference.
func TestWhatIsSaidOfHubsAndShadows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := crawled(t)
		ranked := slices.DeleteFunc(slices.Clone(e.Rankings), func(h *schemas.HubRanked) bool { return len(h.GetHubs()) == 0 })
		shadowed := slices.DeleteFunc(slices.Clone(e.Leaps), func(l *schemas.LeapSettled) bool { return len(l.GetShadows()) == 0 })
		var want string
		switch what := rapid.SampledFrom([]string{"page", "relevance", "order", "row", "lost row", "compacted", "place", "dispatch", "critic"}).Draw(t, "what"); what {
		case "place", "dispatch":
			if len(shadowed) == 0 {
				return
			}
			l := rapid.SampledFrom(shadowed).Draw(t, "leap")
			if want = "says that shadows placed it"; what == "place" {
				l.Shadows[1].Tier++
			} else {
				at := slices.IndexFunc(e.Requests, func(r *schemas.FetchRequest) bool { return string(r.GetId()) == string(l.GetRequest()) })
				e.Requests[at] = proto.CloneOf(e.Requests[at])
				e.Requests[at].Shadows[0].Dropped = !e.Requests[at].Shadows[0].Dropped
			}
		case "critic":
			at := slices.IndexFunc(e.Judged, func(r *schemas.PageJudged) bool { return len(r.GetJudgement().GetShadows()) > 0 })
			if at < 0 {
				return
			}
			want = "judgements row " + hexOf(e.Judged[at].GetId())
			row := slices.IndexFunc(e.Rows["judgements"], func(row []string) bool { return row[0] == hexOf(e.Judged[at].GetId()) })
			e.Rows["judgements"][row] = slices.Clone(e.Rows["judgements"][row])
			e.Rows["judgements"][row][9] = strings.Replace(e.Rows["judgements"][row][9], ",false,", ",true,", 1)
		default:
			if len(ranked) == 0 {
				return
			}
			h := rapid.SampledFrom(ranked).Draw(t, "ranking")
			row := slices.IndexFunc(e.Rows["hubs"], func(row []string) bool { return strings.HasPrefix(row[0], hexOf(h.GetId())) })
			switch what {
			case "page":
				h.Hubs[0].Url, want = "http://elsewhere.example/", "which was not delivered"
			case "relevance":
				h.Hubs[0].Relevance, want = h.Hubs[0].Relevance/2, "the verdict on it said"
			case "order":
				h.Hubs[0].Score, want = 0, "has a higher score than the one before"
				if len(h.Hubs) == 1 {
					want = "hubs row"
				}
			case "row":
				e.Rows["hubs"][row], want = slices.Clone(e.Rows["hubs"][row]), "hubs row"
				e.Rows["hubs"][row][9] += "1"
			case "lost row":
				e.Rows["hubs"], want = slices.Delete(slices.Clone(e.Rows["hubs"]), row, row+1), "hubs lacks the row"
			case "compacted":
				e.Rankings = slices.DeleteFunc(slices.Clone(e.Rankings), func(x *schemas.HubRanked) bool { return x == h })
			}
		}
		if r := e.Judge(); r.OK != (want == "") || !strings.Contains(problems(r), want) {
			t.Fatalf("no %q in:\n%s", want, problems(r))
		}
	})
}
