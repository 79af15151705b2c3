package audit

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"forager/schemas"
)

// The audit has SQL of its own. Package analytics converts records to the rows that are audited; if it also read them for the audit, a
// mistake in a column would be on both sides of the comparison. The expressions here and the functions below that make the same
// texts of records are to be changed together.

// Table is a table or a view of ClickHouse as it is read: Columns are expressions that give text; the first is
// the id in hex. Floating-point numbers are read as their bits.
type Table struct {
	Name    string
	Columns []string
	// Topic has the records that the rows are made of.
	Topic string
	// From is the source of the rows.
	From string
	// Place are the expressions for partition, offset and position of a row's record; empty = it has none.
	Place [3]string
	// Key is the column by whose ranges rows are read; nil = all rows at once.
	Key *Key
	// EveryCrawl: the rows of all crawls are read.
	EveryCrawl bool
	// Expiring: the topic may have lost records of rows, by compaction or because they are old, whose loss is no difference.
	Expiring bool
}

// Key is a sorting column of a table: Select gives its values as text, Bound converts the parameter to a value to compare.
type Key struct{ Column, Select, Bound string }

var (
	byHex = &Key{"id", "id", "%s"}
	byID  = &Key{"id", hexID, "toFixedString(unhex(%s), 16)"}
	byURL = &Key{"u", "u", "%s"}
)

const hexID = "lower(hex(id))"

// ofRow and ofView are the columns with the places of records, for tables and for views.
var (
	ofRow  = [3]string{"partition", "bitNot(precedence)", "0"}
	ofView = [3]string{"partition", "offset", "0"}
)

// Named is the view of the segments that records of any crawl name, Books that of ClickHouse's counts by topic.
var (
	Named = Table{Name: "segments", From: "segments", Columns: []string{"object"}, EveryCrawl: true}
	Books = Table{Name: "books", From: "books", Columns: []string{"topic", "toString(records)", "ids"}}
)

// Compared are the tables whose rows are compared with records, or replace them.
var Compared = []Table{
	{Name: "requests", Topic: schemas.TopicFetchRequested, From: "requests_between(from = {from:String}, to = {to:String})", Place: ofView, Key: byHex, Columns: []string{
		"id", "url", "host", "toString(attempt)", bitsOf("score"), "policy", "model", "toString(ordinal)", "toString(clock)",
		"toString(shard)", "toString(hops)", "toString(depth)",
	}},
	{Name: "fetches", Topic: schemas.TopicPageFetched, From: "fetches_rows FINAL", Place: ofRow, Key: byID, Columns: []string{
		hexID, "url", "outcome", "toString(status)", "redirect", "digest", "object", "toString(object_offset)", "toString(object_length)",
	}},
	{Name: "judgements", Topic: schemas.TopicPageJudged, From: "judgements_rows FINAL", Place: ofRow, Key: byID, Columns: []string{
		hexID, "outcome", bitsOf("relevance"), bitsOf("tempered"), bitsOf("calibrated"), "toString(best_is_focus)", "critic",
		"toString(marking)", "degraded", shadowsOf,
	}},
	{Name: "found", Topic: schemas.TopicLinkFound, From: "verdicts_rows FINAL", Place: ofRow, Key: byID, Columns: []string{
		hexID, "toString(shard)", "url", "outcome", "toString(status)", "redirect", bitsOf("relevance"), bitsOf("tempered"), bitsOf("calibrated"), "toString(best_is_focus)", "toString(links)",
		"toString(backlink_queries)",
	}},
	{Name: "links", Topic: schemas.TopicLinkFound, From: "links_rows FINAL", Place: [3]string{"partition", "bitNot(precedence)", "position"}, Key: byURL,
		Columns: []string{hexID, "u", "v", "lower(hex(request))"}},
	{Name: "leaps", Topic: schemas.TopicLeapSettled, From: "(SELECT * FROM leaps_rows FINAL WHERE NOT boundary)", Place: ofRow, Key: byID, Columns: []string{
		hexID, "u", "v", "outcome", bitsOf("target"), bitsOf("target_tempered"), bitsOf("source"), bitsOf("source_tempered"),
		bitsOf("score"), "policy", "model", "toString(trains)", "lower(hex(request))", "toString(forward)", placesOf,
	}},
	{Name: "hubs", Topic: schemas.TopicHubRanked, From: "hubs", Place: ofView, Expiring: true, Columns: []string{
		"concat(id, ' ', kind, ' ', toString(place))", "toString(shard)", "toString(pages)", "url", bitsOf("score"), bitsOf("relevance"), "toString(marked)",
		"toString(nodes)", "toString(edges)", "toString(raised)",
	}},
	{Name: "rejudgements", Topic: schemas.TopicPageRejudged, From: "(SELECT *, request AS id FROM rejudgements_rows FINAL)", Place: ofRow, Key: byID, Expiring: true,
		Columns: []string{
			"concat(" + hexID + ", ' ', critic, ' ', focus)", bitsOf("relevance"), bitsOf("tempered"), bitsOf("calibrated"), "toString(best_is_focus)",
			"arrayStringConcat(arrayMap((t, p) -> concat(t, ' ', toString(reinterpretAsUInt64(p))), topics, posteriors), ' ')",
		}},
}

func bitsOf(column string) string { return "toString(reinterpretAsUInt64(" + column + "))" }

// shadowsOf is the judgements of shadow critics, placesOf the positions given by shadow rankers. Floating-point
// numbers are bits; texts that may contain a blank are in hex.
const (
	shadowsOf = "arrayStringConcat(arrayMap((c, r, t, k, b, f) -> concat(c, '=', toString(reinterpretAsUInt64(r)), ',', " +
		"toString(reinterpretAsUInt64(t)), ',', toString(reinterpretAsUInt64(k)), ',', toString(b), ',', lower(hex(f))), " +
		"shadow_critics, shadow_relevances, shadow_tempered, shadow_calibrated, shadow_focus, shadow_failures), ' ')"
	placesOf = "arrayStringConcat(arrayMap((p, d, t, s, m) -> concat(p, '=', toString(d), ',', toString(t), ',', " +
		"toString(reinterpretAsUInt64(s)), ',', m), shadow_policies, shadow_dropped, shadow_tiers, shadow_scores, shadow_models), ' ')"
)

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

func leapRow(l *schemas.LeapSettled) []string {
	return []string{
		hexOf(l.GetId()), l.GetU(), l.GetV(), schemas.OutcomeName(l.GetOutcome()), float(l.GetTargetRaw()), float(l.GetTargetTempered()),
		float(l.GetSourceRaw()), float(l.GetSourceTempered()), float(l.GetScore()), l.GetPolicy(), l.GetModel(),
		strconv.FormatBool(l.GetTrains()), hexOf(l.GetRequest()), strconv.FormatBool(l.GetForward()), placeTexts(l.GetShadows()),
	}
}

// hubRows returns the rows of the pages of a ranking.
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

func rejudgedRow(m *schemas.PageRejudged) []string {
	g := m.GetJudgement()
	row := []string{
		hexOf(m.GetRequest()) + " " + g.GetCritic() + " " + m.GetFocus(), float(g.GetRaw()), float(g.GetTempered()), float(g.GetCalibrated()), strconv.FormatBool(g.GetBestIsFocus()),
	}
	for _, t := range g.GetTopics() {
		row = append(row, t.GetTopic(), float(t.GetTempered()))
	}
	return append(row[:5], strings.Join(row[5:], " "))
}

// hexOf is an id as ClickHouse shows it, in which a missing one is all zeros.
func hexOf(b []byte) string {
	id, _ := schemas.ParseID(b)
	return id.String()
}

// side yields rows in the order of their ids: those expected from records, or ClickHouse's.
type side struct {
	next func() (id string, row func() []string, ok bool)
	id   string
	row  func() []string
	ok   bool
}

func (s *side) step() { s.id, s.row, s.ok = s.next() }

// expected returns the rows expected from the records of a table, the first of an id.
func (j *judge) expected(table string) *side {
	simple := func(kind byte, rowOf func(e entry) []string) *side {
		c := j.each(kind)
		return &side{next: func() (string, func() []string, bool) {
			for e, ok := c.next(); ok; e, ok = c.next() {
				if j.Sample.has(e.key) {
					return e.id().String(), func() []string { return rowOf(e) }, true
				}
			}
			return "", nil, false
		}}
	}
	switch table {
	case "requests":
		return simple(kindRequest, func(e entry) []string { m := new(schemas.FetchRequest); j.decode(e.value, m); return requestRow(m) })
	case "fetches":
		return simple(kindFetched, func(e entry) []string { m := new(schemas.PageFetched); j.decode(e.value, m); return fetchRow(m) })
	case "judgements":
		return simple(kindJudged, func(e entry) []string { m := new(schemas.PageJudged); j.decode(e.value, m); return judgementRow(m) })
	case "found":
		return simple(kindVerdict, func(e entry) []string {
			links := 0
			j.linksOf(e.id(), func(uint32, string) { links++ })
			return foundRow(j.verdict(e.id()), links)
		})
	case "links":
		return j.firsts(kindFound, func(e entry) []string { x := edgeOf(e); return []string{"", x.u, x.v, x.request.String()} })
	case "leaps":
		return j.firsts(kindLeap, func(e entry) []string {
			m := new(schemas.LeapSettled)
			if j.decode(e.value, m); m.GetBoundary() {
				return nil
			}
			return leapRow(m)
		})
	}
	c := j.each(kindExpected, named(table))
	return &side{next: func() (string, func() []string, bool) {
		for e, ok := c.next(); ok; e, ok = c.next() {
			id := []string{string(e.key[len(table)+1:])}
			if j.Sample.HasRow(id) {
				return id[0], func() []string { return append(id, unpack(e.value)...) }, true
			}
		}
		return "", nil, false
	}}
}

// firsts yields the first entry of each id, except those without a row.
func (j *judge) firsts(kind byte, rowOf func(e entry) []string) *side {
	c := j.each(kind)
	var before []byte
	return &side{next: func() (string, func() []string, bool) {
		for e, ok := c.next(); ok; e, ok = c.next() {
			id := e.key[:len(schemas.ID{})]
			if bytes.Equal(id, before) || !j.Sample.has(id) {
				continue
			}
			before = id
			if row := rowOf(e); row != nil {
				row[0] = schemas.ID(id).String()
				return row[0], func() []string { return row }, true
			}
		}
		return "", nil, false
	}}
}

// rowsOf yields ClickHouse's rows.
func (j *judge) rowsOf(table string) *side {
	c := j.each(kindRow, named(table))
	prefix := len(table) + 1
	return &side{next: func() (string, func() []string, bool) {
		e, ok := c.next()
		if !ok {
			return "", nil, false
		}
		id, _, _ := bytes.Cut(e.key[prefix:], []byte{0})
		return string(id), func() []string { return append([]string{string(id)}, unpack(e.value)...) }, true
	}}
}

// tables compares ClickHouse's rows with the records, in both directions. Rows that replace records that are
// not retained can only be duplicated or lack links; their number is compared by counts.
func (j *judge) tables() {
	for _, table := range Compared {
		gone := j.table(table)
		if j.err != nil {
			return
		}
		j.figure("ClickHouse rows of "+table.Name, j.rows[table.Name])
		if table.Expiring {
			j.figure("… of which the topic has no record any more", gone)
		}
		if j.byCounts(table.Topic) {
			j.Themselves = append(j.Themselves, table.Name)
		}
	}
}

// table compares the rows of one table, and counts those whose records were compacted away.
func (j *judge) table(table Table) (gone int) {
	want, have := j.expected(table.Name), j.rowsOf(table.Name)
	// The row of a link belongs to the first list of seeds that contains it.
	rebuiltSeeds := table.Name == "found" && j.byCounts(table.Topic)
	before := ""
	want.step()
	have.step()
	for (want.ok || have.ok) && j.err == nil {
		switch {
		case have.ok && have.id == before && before != "":
			j.problem("ClickHouse: %s has the row %s twice", table.Name, have.id)
			have.step()
		case have.ok && (!want.ok || have.id < want.id):
			before = have.id
			if table.Expiring && !j.retained(have.id) {
				gone++
			} else {
				j.problem("ClickHouse: %s has the row %s (%s), for which there is no record", table.Name, have.id, strings.Join(have.row()[1:], " "))
			}
			have.step()
		case !have.ok || want.id < have.id:
			if !j.isUnreadable(table.Topic, want.id) {
				j.problem("ClickHouse: %s lacks the row %s (%s)", table.Name, want.id, strings.Join(want.row()[1:], " "))
			}
			want.step()
		default:
			before = have.id
			if w, h := want.row(), have.row(); !slices.Equal(w, h) && !(rebuiltSeeds && j.isSeeds(have.id)) {
				j.problem("ClickHouse: %s row %s has %s, the record %s", table.Name, have.id, strings.Join(h[1:], " "), strings.Join(w[1:], " "))
			}
			want.step()
			have.step()
		}
	}
	return gone
}

func (j *judge) isUnreadable(topic, hex string) bool {
	id, err := schemas.ParseHex(hex)
	return err == nil && j.has(keyOf(kindUnread, named(topic), id[:]))
}

// retained reports whether the ranking of a row is still in its topic.
func (j *judge) retained(row string) bool {
	id, _, _ := strings.Cut(row, " ")
	ranking, err := schemas.ParseHex(id)
	return err == nil && j.has(keyOf(kindRanking, ranking[:]))
}

func (j *judge) isSeeds(hex string) bool {
	id, err := schemas.ParseHex(hex)
	return err == nil && schemas.Virtual(j.verdict(id).GetOutcome())
}
