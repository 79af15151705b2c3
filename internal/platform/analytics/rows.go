package analytics

import (
	"math"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"forager/internal/rank/guide"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// Place is the position of a row's record. Of rows with one id the one with the highest precedence
// is kept: the first record.
type Place struct {
	Partition  uint32    `ch:"partition"`
	Precedence uint64    `ch:"precedence"`
	RecordedAt time.Time `ch:"recorded_at"`
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
func silent(j *schemas.Judgement) map[string]string {
	why := make(map[string]string)
	for _, g := range j.GetGuidance() {
		if g.GetFailure() != "" {
			why[g.GetGuide()] = g.GetFailure()
		}
	}
	if b := j.GetBacklinks(); b.GetFailure() != "" {
		why[b.GetSource()] = b.GetFailure()
	}
	return why
}

// anchor returns R of a link's text; nil if it was not judged.
func anchor(j *schemas.Judgement, link int) *float64 {
	if link >= len(j.GetAnchors()) {
		return nil
	}
	r := float64(j.GetAnchors()[link]) / schemas.AnchorSteps
	return &r
}

// guidance returns the scores of a link by guides, by their versions.
func guidance(j *schemas.Judgement, link int) map[string]float64 {
	if len(j.GetGuidance()) == 0 {
		return nil
	}
	by := make(map[string]float64, len(j.GetGuidance()))
	for _, g := range j.GetGuidance() {
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
