package schemas

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
)

// ID is the 128-bit name of a request, a leap or a URL: the first 16 bytes of the SHA-256
// of its length-prefixed parts.
type ID [16]byte

// String returns the id in lower-case hex.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// Bytes returns the 16 bytes.
func (id ID) Bytes() []byte { return id[:] }

// Xor returns the XOR of the id and the bytes of another one; missing bytes are 0. The XOR of a set
// of ids does not depend on their order.
func (id ID) Xor(other []byte) []byte {
	for i := range min(len(id), len(other)) {
		id[i] ^= other[i]
	}
	return id.Bytes()
}

// ParseID returns the id of 16 bytes.
func ParseID(b []byte) (ID, error) {
	if len(b) != len(ID{}) {
		return ID{}, fmt.Errorf("id of %d bytes, want 16", len(b))
	}
	return ID(b), nil
}

// ParseHex parses the form of String.
func ParseHex(s string) (ID, error) {
	b, err := hex.DecodeString(s)
	if err != nil {
		return ID{}, fmt.Errorf("id %q is not hexadecimal: %w", s, err)
	}
	return ParseID(b)
}

// RequestID is the id of an attempt (from 1) to fetch a canonical URL for a crawl.
func RequestID(crawl, url string, attempt uint32) ID {
	return makeID("request", crawl, url, strconv.FormatUint(uint64(attempt), 10))
}

// LeapID is the id of the link from u to v (canonical URLs) in a crawl.
func LeapID(crawl, u, v string) ID { return makeID("leap", crawl, u, v) }

// HubsID is the id of the ranking of a shard's hubs after pages delivered pages.
func HubsID(crawl string, shard uint32, pages uint64) ID {
	return makeID("hubs", crawl, strconv.FormatUint(uint64(shard), 10), strconv.FormatUint(pages, 10))
}

// URLID is the id of a canonical URL; the set of known URLs consists of these.
func URLID(url string) ID { return makeID("url", url) }

func makeID(parts ...string) ID {
	var buf [512]byte
	b := buf[:0]
	for _, p := range parts {
		b = binary.AppendUvarint(b, uint64(len(p)))
		b = append(b, p...)
	}
	sum := sha256.Sum256(b)
	return ID(sum[:16])
}
