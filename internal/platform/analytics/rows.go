package analytics

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"forager/internal/rank/guide"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// Row is a row, R, of one of the tables.
type Row[R any] interface {
	table() string
	columns() []values[R]
}

// values are those of rows in one column. With its type an insert needs no request for those of the table.
type values[R any] struct {
	clickhouse.ColumnNameAndType
	append func(driver.BatchColumn, []R) error
}

// byColumn appends all values of a column at once: by row the driver makes a map of each row, and a copy of each value.
func byColumn[R, T any](name, kind string, of func(*R) T) values[R] {
	return values[R]{clickhouse.ColumnNameAndType{Name: name, Type: kind}, func(c driver.BatchColumn, rows []R) error {
		all := make([]T, len(rows))
		for i := range rows {
			all[i] = of(&rows[i])
		}
		return c.Append(all)
	}}
}

// byRow appends arrays or maps one by one, which is faster for them.
func byRow[R, T any](name, kind string, of func(*R) T) values[R] {
	return values[R]{clickhouse.ColumnNameAndType{Name: name, Type: kind}, func(c driver.BatchColumn, rows []R) error {
		for i := range rows {
			if err := c.AppendRow(of(&rows[i])); err != nil {
				return fmt.Errorf("row %d: %w", i, err)
			}
		}
		return nil
	}}
}

// Place is the position of a row's record. Of rows with one id the one with the highest precedence
// is kept: the first record.
type Place struct {
	Partition  uint32
	Precedence uint64
	RecordedAt time.Time
}

// PlaceOf returns the place of a record.
func PlaceOf(partition int, offset int64, at time.Time) Place {
	return Place{Partition: uint32(partition), Precedence: math.MaxUint64 - uint64(offset), RecordedAt: at}
}

// Millis returns the time of Unix milliseconds; 0 is 1970.
func Millis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// IDString returns an id as a value of a FixedString(16); "" for none.
func IDString(b []byte) string {
	if len(b) != len(schemas.ID{}) {
		return string(make([]byte, len(schemas.ID{})))
	}
	return string(b)
}

// These functions compute the columns that are no field of a record, as the options of the messages name them.

// lower returns a value of an enumeration in readable form.
func lower(name, prefix string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, prefix)), "_", "-")
}

// host returns the host of a canonical URL; empty for an empty one.
func host(url string) string { return weburl.Host(url) }

// leap returns the id of the leap from u to v.
func leap(crawl, u, v string) string { return string(schemas.LeapID(crawl, u, v).Bytes()) }

// silent returns the guides and sources of backlinks that failed on the page, with the reasons.
func silent(guides []*schemas.Guidance, b *schemas.Backlinks) map[string]string {
	why := make(map[string]string)
	for _, g := range guides {
		if g.GetFailure() != "" {
			why[g.GetGuide()] = g.GetFailure()
		}
	}
	if b.GetFailure() != "" {
		why[b.GetSource()] = b.GetFailure()
	}
	return why
}

// anchor returns R of a link's text; nil if it was not judged.
func anchor(anchors []uint32, link int) *float64 {
	if link >= len(anchors) {
		return nil
	}
	r := float64(anchors[link]) / schemas.AnchorSteps
	return &r
}

// guidance returns the scores of a link by guides, by their versions.
func guidance(guides []*schemas.Guidance, link int) map[string]float64 {
	if len(guides) == 0 {
		return nil
	}
	by := make(map[string]float64, len(guides))
	for _, g := range guides {
		if score, ok := guide.Score(g, link); ok {
			by[g.GetGuide()] = score
		}
	}
	return by
}

// rank returns the place of an element in its list, from 1.
func rank(i int) uint16 { return uint16(i + 1) }

// ids returns how many ids are written one after another.
func ids(b []byte) uint32 { return uint32(len(b) / len(schemas.ID{})) }

// json returns a message as JSON, with the names of fields as they are in the .proto.
func json(m proto.Message) string { return protojson.MarshalOptions{UseProtoNames: true}.Format(m) }
