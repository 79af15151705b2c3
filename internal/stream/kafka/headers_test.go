package kafka

import (
	"maps"
	"testing"

	"github.com/segmentio/kafka-go"
	"pgregory.net/rapid"
)

func TestHeadersOnTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "headers")
		if got := headersOf(wireHeaders(m)); !maps.Equal(got, m) {
			t.Fatalf("%q, want %q", got, m)
		}
	})
	// Of a name that comes twice, as other programs may send it, the last one counts.
	if got := headersOf([]kafka.Header{{Key: "a", Value: []byte("first")}, {Key: "b"}, {Key: "a", Value: []byte("last")}}); !maps.Equal(got, map[string]string{"a": "last", "b": ""}) {
		t.Errorf("%q", got)
	}
}
