package audit

import (
	"context"
	"slices"
	"strings"

	"forager/internal/frontier"
	"forager/internal/stream"
	"forager/schemas"
)

// What tests outside of the package use.
var (
	HexOf                              = hexOf
	RequestRow, FetchRow, JudgementRow = requestRow, fetchRow, judgementRow
	FoundRow, LeapRow, HubRows         = foundRow, leapRow, hubRows
	RejudgedRow                        = rejudgedRow
)

// TableOf names the table with a row for each record of a topic, apart from links; empty = there is none.
func TableOf(topic string) string {
	i := slices.IndexFunc(Compared, func(t Table) bool { return t.Topic == topic && t.Name != "links" })
	if i < 0 {
		return ""
	}
	return Compared[i].Name
}

// memory is a Store for small crawls.
type memory struct{ frontier.Store }

func (memory) Commit() error { return nil }

// NewMemoryStore returns an empty Store in memory.
func NewMemoryStore() Store { return memory{frontier.NewMemory()} }

// SpanOf sums the positions that the shards report for a topic.
func SpanOf(c *Case, topic string) Count {
	count, _, _ := c.spanOf(topic)
	return count
}

// Take reads a record of a topic as that of a crawl.
func Take(crawl string, r stream.Record, found func(*Record) error) error {
	return (&reading{crawl: crawl, epochs: make(map[string]uint64), found: found}).take(r)
}

// FateOf follows redirects from a URL, by the records themselves, and reports whether there is a verdict on the last one.
func FateOf(ctx context.Context, c Case, src Source, url string) (target string, known bool, err error) {
	j := &judge{Case: c, Result: new(Result), scratch: scratch{ctx: ctx, kv: NewMemoryStore()}, src: src, rows: make(map[string]int),
		found: make(map[string]Count), unreadable: make(map[string]Count), books: make(map[string]Count), distinct: make(map[string]int), copies: make(map[string]int)}
	if err := j.load(); err != nil {
		return "", false, err
	}
	fates := newFates(&j.Case, &j.scratch)
	fates.read()
	target = fates.target(url)
	f := fates.fate(target)
	return target, f != nil && f.last != schemas.ID{}, nil
}

// Problems are the differences that an audit found, one a line.
func Problems(r *Result) string { return strings.Join(r.Problems, "\n") }

// LinkRow is the row of a link.
func LinkRow(v *schemas.LinkFound, l *schemas.Link) []string {
	return []string{schemas.LeapID(v.GetCrawl(), v.GetUrl(), l.GetUrl()).String(), v.GetUrl(), l.GetUrl(), hexOf(v.GetId())}
}
