package archive

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"slices"
	"time"
)

// Record is one message of a topic, as it was read and as it comes back.
type Record struct {
	Topic     string
	Partition int
	Offset    int64
	Key       []byte
	Value     []byte
	Headers   map[string]string
	// Time is the message's time stamp, milliseconds.
	Time time.Time
}

// digest is the SHA-256 of records: of offset, time, key, value and headers of each, so that it
// does not depend on how a file is encoded.
type digest struct {
	hash hash.Hash
	buf  []byte
}

func newDigest() *digest { return &digest{hash: sha256.New()} }

func (d *digest) add(r *Record) {
	b := binary.BigEndian.AppendUint64(d.buf[:0], uint64(r.Offset))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Time.UnixMilli()))
	field := func(s []byte) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	field(r.Key)
	b = binary.AppendUvarint(b, uint64(len(r.Headers)))
	for _, k := range slices.Sorted(maps.Keys(r.Headers)) {
		field([]byte(k))
		field([]byte(r.Headers[k]))
	}
	b = binary.AppendUvarint(b, uint64(len(r.Value)))
	d.hash.Write(b)
	d.hash.Write(r.Value)
	d.buf = b
}

func (d *digest) String() string { return hex.EncodeToString(d.hash.Sum(nil)) }

// fingerprint is the digest of one record.
func fingerprint(r *Record) [8]byte {
	d := newDigest()
	d.add(r)
	return [8]byte(d.hash.Sum(nil))
}
