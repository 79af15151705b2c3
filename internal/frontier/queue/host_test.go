package queue

import (
	"bytes"
	"testing"

	"forager/internal/frontier/state"
)

// FuzzDecodeHost decodes what a host is stored as.
func FuzzDecodeHost(f *testing.F) {
	f.Add((&StoredHost{
		Name: "a.example", Dispatched: 3, NotBefore: 1000, Place: 2, shape: 7, backlog: state.Backlog{Queued: 300, Waiting: 1},
		Fronts: []storedFront{{Policy: 1, Generation: 9, Stored: 300, Unread: true, Bound: state.Order{Tier: 1, Tries: 2, Score: -.5, Ordinal: 70}}},
	}).append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := decodeHost(b); err == nil && !bytes.Equal(h.append(nil), b) {
			t.Errorf("host %x comes back as %x", b, h.append(nil))
		}
	})
}
