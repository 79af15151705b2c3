package kafka

import (
	"cmp"
	"slices"
	"strings"

	"github.com/segmentio/kafka-go"
)

// wireHeaders sorts headers by name, so that equal messages are equal bytes.
func wireHeaders(h map[string]string) []kafka.Header {
	if len(h) == 0 {
		return nil
	}
	hs := make([]kafka.Header, 0, len(h))
	for k, v := range h {
		hs = append(hs, kafka.Header{Key: k, Value: []byte(v)})
	}
	slices.SortFunc(hs, func(a, b kafka.Header) int { return cmp.Compare(a.Key, b.Key) })
	return hs
}

func headersOf(hs []kafka.Header) map[string]string {
	if len(hs) == 0 {
		return nil
	}
	size := 0
	for _, h := range hs {
		size += len(h.Value)
	}
	var values strings.Builder // one string for all: a record has a dozen headers
	values.Grow(size)
	for _, h := range hs {
		values.Write(h.Value)
	}
	rest := values.String()
	m := make(map[string]string, len(hs))
	for _, h := range hs {
		m[h.Key], rest = rest[:len(h.Value)], rest[len(h.Value):]
	}
	return m
}
