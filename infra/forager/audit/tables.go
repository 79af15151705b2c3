package audit

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"forager/schemas"
)

// Table is a view of ClickHouse as it is compared: Columns are expressions that give texts, of
// which the first is the id in hex. Numbers with a point are compared by their bits.
type Table struct {
	Name    string
	Columns []string
}

// Compared are the views that an audit reads, each WHERE crawl = the crawl.
var Compared = []Table{
	{"requests", []string{"id", "url", "host", "toString(attempt)", bitsOf("score"), "policy", "model", "toString(ordinal)"}},
	{"fetches", []string{"id", "url", "outcome", "toString(status)", "digest", "object", "toString(object_offset)", "toString(object_length)"}},
	{"judgements", []string{"id", "outcome", bitsOf("relevance"), bitsOf("tempered"), "critic"}},
	{"verdicts", []string{"id", "url", "outcome", bitsOf("relevance"), bitsOf("tempered"), "toString(links)"}},
	{"links", []string{"id", "u", "v"}},
	{"leaps", []string{"id", "u", "v", "outcome", bitsOf("target"), bitsOf("source"), bitsOf("score"), "policy", "model", "toString(trains)"}},
}

func bitsOf(column string) string { return "toString(reinterpretAsUInt64(" + column + "))" }

// Tables are rows by the name of their view; a row is the texts of its columns.
type Tables map[string][][]string

func float(x float64) string { return strconv.FormatUint(math.Float64bits(x), 10) }

func number[N uint32 | uint64 | int](n N) string { return strconv.FormatUint(uint64(n), 10) }

// expected are the rows that the records call for.
func (j *judge) expected() Tables {
	t := make(Tables)
	add := func(table string, row ...string) { t[table] = append(t[table], row) }
	for id, r := range j.requests {
		add("requests", id.String(), r.GetUrl(), r.GetHost(), number(r.GetAttempt()), float(r.GetScore()), r.GetPolicy(), r.GetModel(), number(r.GetOrdinal()))
	}
	for id, f := range j.fetched {
		add("fetches", id.String(), f.GetUrl(), schemas.OutcomeName(f.GetOutcome()), number(f.GetStatus()), f.GetDigest(), f.GetObject(), number(f.GetOffset()), number(f.GetLength()))
	}
	for id, r := range j.judged {
		g := r.GetJudgement()
		add("judgements", id.String(), schemas.OutcomeName(r.GetOutcome()), float(g.GetRaw()), float(g.GetTempered()), g.GetCritic())
	}
	links := func(r *schemas.LinkFound) {
		for _, l := range r.GetLinks() {
			add("links", schemas.LeapID(j.Crawl, r.GetUrl(), l.GetUrl()).String(), r.GetUrl(), l.GetUrl())
		}
	}
	for id, v := range j.verdicts {
		g := v.GetJudgement()
		add("verdicts", id.String(), v.GetUrl(), schemas.OutcomeName(v.GetOutcome()), float(g.GetRaw()), float(g.GetTempered()), number(len(v.GetLinks())))
		links(v)
	}
	for _, s := range j.seeds {
		links(s)
	}
	for id, l := range j.leaps {
		if !l.GetBoundary() {
			add("leaps", id.String(), l.GetU(), l.GetV(), schemas.OutcomeName(l.GetOutcome()), float(l.GetTargetRaw()), float(l.GetSourceRaw()),
				float(l.GetScore()), l.GetPolicy(), l.GetModel(), strconv.FormatBool(l.GetTrains()))
		}
	}
	return t
}

// tables compares ClickHouse's rows with the records, both ways.
func (j *judge) tables() {
	expected := j.expected()
	for _, table := range Compared {
		want := make(map[string][]string, len(expected[table.Name]))
		for _, row := range expected[table.Name] {
			want[row[0]] = row
		}
		have := make(map[string]bool, len(want))
		for _, row := range j.Rows[table.Name] {
			id := row[0]
			if have[id] {
				j.problem("ClickHouse: %s has the row %s twice", table.Name, id)
				continue
			}
			have[id] = true
			w, ok := want[id]
			if !ok {
				j.problem("ClickHouse: %s has the row %s (%s), for which there is no record", table.Name, id, strings.Join(row[1:], " "))
				continue
			}
			if !slices.Equal(w, row) {
				j.problem("ClickHouse: %s row %s says %s, the record %s", table.Name, id, strings.Join(row[1:], " "), strings.Join(w[1:], " "))
			}
		}
		for id, w := range want {
			if !have[id] {
				j.problem("ClickHouse: %s lacks the row %s (%s)", table.Name, id, strings.Join(w[1:], " "))
			}
		}
		j.figure("ClickHouse rows of "+table.Name, len(j.Rows[table.Name]))
	}
}
