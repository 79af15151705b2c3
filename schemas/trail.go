package schemas

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// Place is the position of a record in Kafka.
type Place struct {
	Topic     string
	Partition uint32
	Offset    int64
}

// String returns the place in the form of a trail: "page.fetched/3/1207".
func (p Place) String() string {
	return p.Topic + "/" + strconv.FormatUint(uint64(p.Partition), 10) + "/" + strconv.FormatInt(p.Offset, 10)
}

// WithTrail returns the headers for the record that follows from the one at a place: HeaderTrail
// has that place appended.
func WithTrail(h map[string]string, at Place) map[string]string {
	on := make(map[string]string, len(h)+1)
	maps.Copy(on, h)
	if trail := h[HeaderTrail]; trail != "" {
		on[HeaderTrail] = trail + " " + at.String()
	} else {
		on[HeaderTrail] = at.String()
	}
	return on
}

// ParseTrail parses the value of a HeaderTrail, oldest place first; "" is none.
func ParseTrail(s string) ([]Place, error) {
	var places []Place
	for field := range strings.SplitSeq(s, " ") {
		if s == "" {
			break
		}
		topic, rest, _ := strings.Cut(field, "/")
		partition, offset, ok := strings.Cut(rest, "/")
		p, perr := strconv.ParseUint(partition, 10, 32)
		at, oerr := strconv.ParseInt(offset, 10, 64)
		if !ok || topic == "" || perr != nil || oerr != nil || at < 0 {
			return nil, fmt.Errorf("header %q: %q is no topic/partition/offset", HeaderTrail, field)
		}
		places = append(places, Place{Topic: topic, Partition: uint32(p), Offset: at})
	}
	return places, nil
}
