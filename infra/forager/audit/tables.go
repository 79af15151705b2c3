package audit

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"forager/schemas"
)

// Table is a view of ClickHouse as it is read: Columns are expressions that give texts, of which
// the first is the id in hex. Numbers with a point are read by their bits.
type Table struct {
	Name    string
	Columns []string
	// Order of the rows; that of their records is "partition, offset".
	Order string
	// EveryCrawl: the rows are those of all crawls, not of one.
	EveryCrawl bool
	// Compacted: the topic keeps the newest record of a key only, so that there are rows for which there is no record any more.
	Compacted bool
}

// Named is the view of the segments that records of any crawl name.
var Named = Table{Name: "segments", Columns: []string{"object"}, Order: "object", EveryCrawl: true}

// Compared are the views whose rows are compared with records, or stand in for them.
var Compared = []Table{
	{Name: "requests", Columns: []string{
		"id", "url", "host", "toString(attempt)", bitsOf("score"), "policy", "model", "toString(ordinal)", "toString(clock)",
		"toString(shard)", "toString(hops)", "toString(depth)",
	}, Order: "partition, offset"},
	{Name: "fetches", Columns: []string{
		"id", "url", "outcome", "toString(status)", "redirect", "digest", "object", "toString(object_offset)", "toString(object_length)",
	}, Order: "partition, offset"},
	{Name: "judgements", Columns: []string{
		"id", "outcome", bitsOf("relevance"), bitsOf("tempered"), bitsOf("calibrated"), "toString(best_is_focus)", "critic",
		"toString(marking)", "degraded", shadowsOf,
	}, Order: "partition, offset"},
	{Name: "found", Columns: []string{
		"id", "toString(shard)", "url", "outcome", "toString(status)", "redirect", bitsOf("relevance"), bitsOf("tempered"), bitsOf("calibrated"), "toString(best_is_focus)", "toString(links)",
		"toString(backlink_queries)",
	}, Order: "partition, offset"},
	{Name: "links", Columns: []string{"id", "u", "v", "request"}, Order: "partition, offset, position"},
	{Name: "leaps", Columns: []string{
		"id", "u", "v", "outcome", bitsOf("target"), bitsOf("target_tempered"), bitsOf("source"), bitsOf("source_tempered"),
		bitsOf("score"), "policy", "model", "toString(trains)", "request", "toString(forward)", placesOf,
	}, Order: "partition, offset"},
	{Name: "hubs", Columns: []string{
		"concat(id, ' ', kind, ' ', toString(place))", "toString(shard)", "toString(pages)", "url", bitsOf("score"), bitsOf("relevance"), "toString(marked)",
		"toString(nodes)", "toString(edges)", "toString(raised)",
	}, Order: "partition, offset, kind, place", Compacted: true},
}

// tableOf names the view that has a row for each record of a topic, links aside.
var tableOf = map[string]string{
	schemas.TopicFetchRequested: "requests", schemas.TopicPageFetched: "fetches", schemas.TopicPageJudged: "judgements",
	schemas.TopicLinkFound: "found", schemas.TopicLeapSettled: "leaps",
}

func bitsOf(column string) string { return "toString(reinterpretAsUInt64(" + column + "))" }

// shadowsOf is what each shadow critic says, placesOf where each shadow ranker placed the target. Numbers with a point are
// bits, and texts that may hold a blank are in hex.
const (
	shadowsOf = "arrayStringConcat(arrayMap((c, r, t, k, b, f) -> concat(c, '=', toString(reinterpretAsUInt64(r)), ',', " +
		"toString(reinterpretAsUInt64(t)), ',', toString(reinterpretAsUInt64(k)), ',', toString(b), ',', lower(hex(f))), " +
		"shadow_critics, shadow_relevances, shadow_tempered, shadow_calibrated, shadow_focus, shadow_failures), ' ')"
	placesOf = "arrayStringConcat(arrayMap((p, d, t, s, m) -> concat(p, '=', toString(d), ',', toString(t), ',', " +
		"toString(reinterpretAsUInt64(s)), ',', m), shadow_policies, shadow_dropped, shadow_tiers, shadow_scores, shadow_models), ' ')"
)

// Tables are rows by the name of their view; a row is the texts of its columns.
type Tables map[string][][]string

func float(x float64) string { return strconv.FormatUint(math.Float64bits(x), 10) }

func number[N uint32 | uint64 | int](n N) string { return strconv.FormatUint(uint64(n), 10) }

func requestRow(r *schemas.FetchRequest) []string {
	return []string{
		hexOf(r.GetId()), r.GetUrl(), r.GetHost(), number(r.GetAttempt()), float(r.GetScore()), r.GetPolicy(), r.GetModel(), number(r.GetOrdinal()),
		number(r.GetClock()), number(r.GetShard()), number(r.GetHops()), number(r.GetDepth()),
	}
}

func fetchRow(f *schemas.PageFetched) []string {
	return []string{
		hexOf(f.GetId()), f.GetUrl(), schemas.OutcomeName(f.GetOutcome()), number(f.GetStatus()), f.GetRedirect(), f.GetDigest(),
		f.GetObject(), number(f.GetOffset()), number(f.GetLength()),
	}
}

func judgementRow(r *schemas.PageJudged) []string {
	g := r.GetJudgement()
	return []string{
		hexOf(r.GetId()), schemas.OutcomeName(r.GetOutcome()), float(g.GetRaw()), float(g.GetTempered()), float(g.GetCalibrated()), strconv.FormatBool(g.GetBestIsFocus()), g.GetCritic(),
		number(g.GetMarking()), g.GetDegraded(), shadowTexts(g.GetShadows()),
	}
}

func shadowTexts(shadows []*schemas.Shadow) string {
	var texts []string
	for _, s := range shadows {
		texts = append(texts, fmt.Sprintf("%s=%s,%s,%s,%t,%x", s.GetCritic(), float(s.GetRaw()), float(s.GetTempered()), float(s.GetCalibrated()), s.GetBestIsFocus(), s.GetFailure()))
	}
	return strings.Join(texts, " ")
}

func placeTexts(shadows []*schemas.ShadowPlace) string {
	var texts []string
	for _, s := range shadows {
		texts = append(texts, fmt.Sprintf("%s=%t,%d,%s,%s", s.GetPolicy(), s.GetDropped(), s.GetTier(), float(s.GetScore()), s.GetModel()))
	}
	return strings.Join(texts, " ")
}

func foundRow(v *schemas.LinkFound, links int) []string {
	g := v.GetJudgement()
	return []string{
		hexOf(v.GetId()), number(v.GetShard()), v.GetUrl(), schemas.OutcomeName(v.GetOutcome()), number(v.GetStatus()), v.GetRedirect(),
		float(g.GetRaw()), float(g.GetTempered()), float(g.GetCalibrated()), strconv.FormatBool(g.GetBestIsFocus()), number(links),
		number(g.GetBacklinks().GetQueries()),
	}
}

func linkRow(v *schemas.LinkFound, l *schemas.Link) []string {
	return []string{schemas.LeapID(v.GetCrawl(), v.GetUrl(), l.GetUrl()).String(), v.GetUrl(), l.GetUrl(), hexOf(v.GetId())}
}

func leapRow(l *schemas.LeapSettled) []string {
	return []string{
		hexOf(l.GetId()), l.GetU(), l.GetV(), schemas.OutcomeName(l.GetOutcome()), float(l.GetTargetRaw()), float(l.GetTargetTempered()),
		float(l.GetSourceRaw()), float(l.GetSourceTempered()), float(l.GetScore()), l.GetPolicy(), l.GetModel(),
		strconv.FormatBool(l.GetTrains()), hexOf(l.GetRequest()), strconv.FormatBool(l.GetForward()), placeTexts(l.GetShadows()),
	}
}

// hubRows are those of the pages of a ranking.
func hubRows(h *schemas.HubRanked) (rows [][]string) {
	add := func(kind string, pages []*schemas.RankedPage) {
		for i, p := range pages {
			rows = append(rows, []string{
				hexOf(h.GetId()) + " " + kind + " " + number(i+1), number(h.GetShard()), number(h.GetPages()), p.GetUrl(), float(p.GetScore()), float(p.GetRelevance()),
				strconv.FormatBool(p.GetMarked()), number(h.GetNodes()), number(h.GetEdges()), number(len(h.GetRaised()) / len(schemas.ID{})),
			})
		}
	}
	add("hub", h.GetHubs())
	add("authority", h.GetAuthorities())
	return rows
}

// hexOf is an id as ClickHouse shows it; a missing one is all zeros there.
func hexOf(b []byte) string {
	id, _ := schemas.ParseID(b)
	return id.String()
}

// expected are the rows that the records of a view call for, the first of an id.
func (j *judge) expected(table string) map[string][]string {
	rows := make(map[string][]string)
	add := func(row []string) {
		if rows[row[0]] == nil {
			rows[row[0]] = row
		}
	}
	switch table {
	case "requests":
		for _, r := range j.requests {
			add(requestRow(r))
		}
	case "fetches":
		for _, f := range j.fetched {
			add(fetchRow(f))
		}
	case "judgements":
		for _, r := range j.judged {
			add(judgementRow(r))
		}
	case "found":
		for _, v := range j.applied {
			add(foundRow(v, len(v.GetLinks())))
		}
	case "links":
		for _, v := range j.applied {
			for _, l := range v.GetLinks() {
				add(linkRow(v, l))
			}
		}
	case "leaps":
		for _, l := range j.leaps {
			if !l.GetBoundary() {
				add(leapRow(l))
			}
		}
	case "hubs":
		for _, h := range j.rankings {
			for _, row := range hubRows(h) {
				add(row)
			}
		}
	}
	return rows
}

// tables compares ClickHouse's rows with the records, both ways. Rows that stand in for records
// that are gone can only be doubled, or lack links; how many there must be is compared by counts.
func (j *judge) tables() {
	unreadable := make(map[string]bool)
	for topic, table := range tableOf {
		for _, id := range j.Unreadable[topic] {
			unreadable[table+id.String()] = true
		}
	}
	for _, table := range Compared {
		// The row of a link stands with the first list of seeds that has it.
		rebuiltSeeds := table.Name == "found" && j.byCounts(schemas.TopicLinkFound)
		want := j.expected(table.Name)
		have := make(map[string]bool, len(want))
		gone := 0
		for _, row := range j.Rows[table.Name] {
			id := row[0]
			if have[id] {
				j.problem("ClickHouse: %s has the row %s twice", table.Name, id)
				continue
			}
			have[id] = true
			w, ok := want[id]
			if !ok && table.Compacted && !j.retained(id) {
				gone++
				continue
			}
			if !ok {
				j.problem("ClickHouse: %s has the row %s (%s), for which there is no record", table.Name, id, strings.Join(row[1:], " "))
				continue
			}
			if !slices.Equal(w, row) && !(rebuiltSeeds && j.isSeeds(id)) {
				j.problem("ClickHouse: %s row %s says %s, the record %s", table.Name, id, strings.Join(row[1:], " "), strings.Join(w[1:], " "))
			}
		}
		for id, w := range want {
			if !have[id] && !unreadable[table.Name+id] {
				j.problem("ClickHouse: %s lacks the row %s (%s)", table.Name, id, strings.Join(w[1:], " "))
			}
		}
		j.figure("ClickHouse rows of "+table.Name, len(j.Rows[table.Name]))
		if table.Compacted {
			j.figure("… of which the topic has no record any more", gone)
		}
	}
}

// retained says whether the ranking that a row is of is still in its topic.
func (j *judge) retained(row string) bool {
	id, _, _ := strings.Cut(row, " ")
	ranking, err := schemas.ParseHex(id)
	return err == nil && j.rankings[ranking] != nil
}

func (j *judge) isSeeds(id string) bool {
	parsed, err := schemas.ParseHex(id)
	return err == nil && j.seeds[parsed] != nil
}
