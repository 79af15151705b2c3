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
