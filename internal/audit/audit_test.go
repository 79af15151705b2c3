package audit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"forager/internal/audit"
	"forager/internal/audit/audittest"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// TestASoundCrawlHasNoDifferences looks for false alarms, with redirects, failures, depths, caps and windows.
func TestASoundCrawlHasNoDifferences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if r := judged(t, crawled(t)); !r.OK {
			t.Fatal(audit.Problems(r))
		}
	})
}

// TestEveryLeapIsMissed removes one leap, also one through redirects; the audit must name its link.
func TestEveryLeapIsMissed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := crawled(t)
		leaps := slices.DeleteFunc(slices.Clone(e.Leaps), (*schemas.LeapSettled).GetBoundary)
		if len(leaps) == 0 {
			return
		}
		gone := rapid.SampledFrom(leaps).Draw(t, "gone")
		e.Leaps = slices.DeleteFunc(e.Leaps, func(l *schemas.LeapSettled) bool { return l == gone })
		target, known, err := audit.FateOf(t.Context(), e.Case, e, gone.GetV())
		if err != nil {
			t.Fatal(err)
		}
		if target == gone.GetU() || mayBeCapped(e, gone.GetV()) {
			return // such a link may not have been one
		}
		if !known && e.Control.GetScope().GetHostCap() > 0 {
			return // a target that was never requested may have met its host's cap, or be in the frontier
		}
		want := "from " + gone.GetU() + " to " + gone.GetV() + " was never settled"
		if r := judged(t, e); !strings.Contains(audit.Problems(r), want) {
			t.Fatalf("no %q in:\n%s", want, audit.Problems(r))
		}
	})
}

// TestRowsReplaceRecords reconstructs the records from their rows.
func TestRowsReplaceRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := crawled(t)
		topic := rapid.SampledFrom(audit.Audited).Draw(t, "gone")
		before := proto.CloneOf(e.Statuses[0])
		switch topic {
		case schemas.TopicPageParsed:
			e.Parsed = nil
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
				e.Topics[i] = audit.Topic{Topic: topic, Way: audit.ByCounts, Gone: "all of it"}
			}
		}
		if r := judged(t, e); !r.OK {
			t.Fatalf("without %s:\n%s", topic, audit.Problems(r))
		}
		for _, span := range before.GetSpans() {
			if span.GetCount() == 0 {
				return
			}
		}
		if len(e.Tables[audit.TableOf(topic)]) == 0 {
			return
		}
		e.Tables["books"] = slices.Clone(e.Tables["books"])
		at := slices.IndexFunc(e.Tables["books"], func(row []string) bool { return row[0] == topic })
		e.Tables["books"][at] = []string{topic, "1000", e.Tables["books"][at][2]}
		if r := judged(t, e); !strings.Contains(audit.Problems(r), topic+": ClickHouse has 1000 records") {
			t.Fatalf("a count of 1000 was not named:\n%s", audit.Problems(r))
		}
	})
}

// TestUndecodableRecord is in page.fetched: parse-dom has failed its request, and ClickHouse has no row.
func TestUndecodableRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := crawled(t)
		at := slices.IndexFunc(e.Fetched, func(f *schemas.PageFetched) bool { return f.GetOutcome() == schemas.Outcome_OUTCOME_FAILED_PARSE_DOM })
		if at < 0 {
			return
		}
		id := schemas.ID(e.Fetched[at].GetId())
		e.Tables["fetches"] = slices.DeleteFunc(slices.Clone(e.Tables["fetches"]), func(row []string) bool { return row[0] == id.String() })
		books := slices.IndexFunc(e.Tables["books"], func(row []string) bool { return row[0] == schemas.TopicPageFetched })
		count := audit.SpanOf(&e.Case, schemas.TopicPageFetched)
		xor := schemas.ID(id.Xor(count.Xor[:]))
		e.Tables["books"][books] = []string{schemas.TopicPageFetched, fmt.Sprint(count.N - 1), xor.String()}
		if judged(t, e).OK {
			t.Fatal("a missing row is not reported")
		}
		e.Unreadable = map[string][]schemas.ID{schemas.TopicPageFetched: {id}}
		if r := judged(t, e); !r.OK {
			t.Fatal(audit.Problems(r))
		}
	})
}

// TestRowsOfHubsAndShadows alters one value of a ranking, of a shadow or of a later judgement; the audit must name it. Rows of
// records that the topic no longer retains are no difference.
func TestRowsOfHubsAndShadows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := crawled(t)
		ranked := slices.DeleteFunc(slices.Clone(e.Rankings), func(h *schemas.HubRanked) bool { return len(h.GetHubs()) == 0 })
		shadowed := slices.DeleteFunc(slices.Clone(e.Leaps), func(l *schemas.LeapSettled) bool { return len(l.GetShadows()) == 0 })
		var want string
		switch what := rapid.SampledFrom([]string{"page", "relevance", "order", "row", "lost row", "compacted", "place", "dispatch", "critic", "rejudged", "rejudged lost", "rejudged expired"}).Draw(t, "what"); what {
		case "place", "dispatch":
			if len(shadowed) == 0 {
				return
			}
			l := rapid.SampledFrom(shadowed).Draw(t, "leap")
			if want = "has the shadow placements"; what == "place" {
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
			want = "judgements row " + audit.HexOf(e.Judged[at].GetId())
			row := slices.IndexFunc(e.Tables["judgements"], func(row []string) bool { return row[0] == audit.HexOf(e.Judged[at].GetId()) })
			e.Tables["judgements"][row] = slices.Clone(e.Tables["judgements"][row])
			e.Tables["judgements"][row][9] = strings.Replace(e.Tables["judgements"][row][9], ",false,", ",true,", 1)
		case "rejudged", "rejudged lost", "rejudged expired":
			rows := slices.Clone(e.Tables["rejudgements"])
			if len(rows) == 0 {
				return
			}
			at := rapid.IntRange(0, len(rows)-1).Draw(t, "row")
			switch what {
			case "rejudged":
				rows[at], want = slices.Clone(rows[at]), "rejudgements row "+rows[at][0]
				rows[at][rapid.IntRange(1, 5).Draw(t, "column")] += "1"
			case "rejudged lost":
				want = "rejudgements lacks the row " + rows[at][0]
				rows = slices.Delete(rows, at, at+1)
			default:
				e.Rejudged = slices.DeleteFunc(slices.Clone(e.Rejudged), func(m *schemas.PageRejudged) bool { return audit.RejudgedRow(m)[0] == rows[at][0] })
			}
			e.Tables["rejudgements"] = rows
		default:
			if len(ranked) == 0 {
				return
			}
			h := rapid.SampledFrom(ranked).Draw(t, "ranking")
			row := slices.IndexFunc(e.Tables["hubs"], func(row []string) bool { return strings.HasPrefix(row[0], audit.HexOf(h.GetId())) })
			switch what {
			case "page":
				h.Hubs[0].Url, want = "http://elsewhere.example/", "which was not delivered"
			case "relevance":
				h.Hubs[0].Relevance, want = h.Hubs[0].Relevance/2, "the verdict on it has"
			case "order":
				h.Hubs[0].Score, want = 0, "has a higher score than the one before"
				if len(h.Hubs) == 1 {
					want = "hubs row"
				}
			case "row":
				e.Tables["hubs"][row], want = slices.Clone(e.Tables["hubs"][row]), "hubs row"
				e.Tables["hubs"][row][9] += "1"
			case "lost row":
				e.Tables["hubs"], want = slices.Delete(slices.Clone(e.Tables["hubs"]), row, row+1), "hubs lacks the row"
			case "compacted":
				e.Rankings = slices.DeleteFunc(slices.Clone(e.Rankings), func(x *schemas.HubRanked) bool { return x == h })
			}
		}
		if r := judged(t, e); r.OK != (want == "") || !strings.Contains(audit.Problems(r), want) {
			t.Fatalf("no %q in:\n%s", want, audit.Problems(r))
		}
	})
}

func mayBeCapped(e *audittest.Evidence, url string) bool {
	host, most, all, deferred := weburl.Host(url), int(e.Control.GetScope().GetHostCap()), 0, false
	for _, r := range e.Requests {
		if r.GetHost() != host {
			continue
		}
		all++
		i := slices.IndexFunc(e.Verdicts, func(v *schemas.LinkFound) bool { return string(v.GetId()) == string(r.GetId()) })
		deferred = deferred || i >= 0 && schemas.Deferred(e.Verdicts[i].GetOutcome())
	}
	return most > 0 && deferred && all >= most
}
