package archive

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/web/weburl"
	"forager/schemas"
	"forager/schemas/column"
)

// place has the columns of every file, and all that a reader needs.
type place struct {
	Offset    int64    `parquet:"offset,delta"`
	Partition int32    `parquet:"partition"`
	Topic     string   `parquet:"topic,dict"`
	Time      int64    `parquet:"time,timestamp(millisecond),delta"`
	Key       []byte   `parquet:"key"`
	Headers   []header `parquet:"headers,list"`
	// Record is the value of the message, unchanged.
	Record []byte `parquet:"record"`
	// Problem is the reason why the record could not be decoded; the columns below are then empty.
	Problem string `parquet:"problem,dict"`
}

type header struct {
	Name  string `parquet:"name,dict"`
	Value string `parquet:"value"`
}

// placeOf returns the place of a record, with headers in the order of their names.
func placeOf(r *Record) place {
	p := place{
		Offset: r.Offset, Partition: int32(r.Partition), Topic: r.Topic, Time: r.Time.UnixMilli(), Key: r.Key, Record: r.Value,
	}
	if len(r.Headers) > 0 {
		p.Headers = make([]header, 0, len(r.Headers))
	}
	for name, value := range r.Headers {
		p.Headers = append(p.Headers, header{name, value})
	}
	slices.SortFunc(p.Headers, func(a, b header) int { return strings.Compare(a.Name, b.Name) })
	return p
}

// record returns the record of a row.
func (p *place) record() Record {
	r := Record{
		Topic: p.Topic, Partition: int(p.Partition), Offset: p.Offset, Time: time.UnixMilli(p.Time), Key: p.Key, Value: p.Record,
		Headers: make(map[string]string, len(p.Headers)),
	}
	for _, h := range p.Headers {
		r.Headers[h.Name] = h.Value
	}
	return r
}

// needs has what is decoded of page.judged and link.found. The rest, the words of pages, is most of a record.
var needs = sync.OnceValue(func() (n struct{ judged, found column.Need }) {
	tables, err := column.Archives(schemas.Files())
	if err != nil {
		panic("archive: " + err.Error())
	}
	n.judged, n.found = column.Needs(tables, "PageJudged"), column.Needs(tables, "LinkFound")
	return n
})

func judgedRowOf(in place) judgedRow {
	m, parsed := new(schemas.PageJudged), new(schemas.PageParsed)
	if err := proto.Unmarshal(needs().judged.Of(in.Record), m); err != nil {
		in.Problem = schemas.DetailOf(err)
		return judgedRow{place: in}
	}
	if err := proto.Unmarshal(m.Parsed, parsed); err != nil {
		in.Problem = schemas.DetailOf(fmt.Errorf("the page in it: %w", err))
		return judgedRow{place: in}
	}
	return newJudgedRow(m, parsed, in)
}

func foundRowOf(in place) foundRow {
	m := new(schemas.LinkFound)
	if err := proto.Unmarshal(needs().found.Of(in.Record), m); err != nil {
		in.Problem = schemas.DetailOf(err)
		return foundRow{place: in}
	}
	return newFoundRow(m, in)
}

func settledRowOf(in place) settledRow {
	m := new(schemas.LeapSettled)
	if err := proto.Unmarshal(in.Record, m); err != nil {
		in.Problem = schemas.DetailOf(err)
		return settledRow{place: in}
	}
	return newSettledRow(m, in)
}

// The functions below compute the columns that are no field of a record, as the options of the messages name them.

// optional returns a value; nil if it is not set.
func optional[T any](set bool, value T) *T {
	if !set {
		return nil
	}
	return &value
}

// unless returns a number of a critic; nil if it failed.
func unless(failure string, value float64) *float64 { return optional(failure == "", value) }

// passed returns a number of a ranker; nil if its gate dropped the URL.
func passed[T any](dropped bool, value T) *T { return optional(!dropped, value) }

// page returns a number of a page; nil where the outcome is none.
func page(outcome schemas.Outcome, value float64) *float64 {
	return optional(schemas.Outcomes[outcome].Page, value)
}

// verdict returns the outcome of a record of link.found; what is no verdict has its role instead.
func verdict(outcome schemas.Outcome, role schemas.LinkRole) string {
	switch role {
	case schemas.LinkRole_LINK_ROLE_LINKS:
		return "links"
	case schemas.LinkRole_LINK_ROLE_NOTE:
		return "note"
	}
	return schemas.OutcomeName(outcome)
}

// host returns the politeness key of a canonical URL; "" for "".
func host(url string) string { return weburl.Host(url) }
