package archive

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"time"
)

// Record is one message of a topic, as it was read and as Read returns it.
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

// digest is the SHA-256 of records: of offset, time, key, value and headers (by name) of each, so that
// it does not depend on the encoding of a file.
type digest struct {
	hash hash.Hash
	buf  []byte
}

func newDigest() *digest { return &digest{hash: sha256.New()} }

func (d *digest) add(p *place) {
	b := binary.BigEndian.AppendUint64(d.buf[:0], uint64(p.Offset))
	b = binary.BigEndian.AppendUint64(b, uint64(p.Time))
	b = appendField(b, p.Key)
	b = binary.AppendUvarint(b, uint64(len(p.Headers)))
	for _, h := range p.Headers {
		b = appendField(b, h.Name)
		b = appendField(b, h.Value)
	}
	b = binary.AppendUvarint(b, uint64(len(p.Record)))
	d.hash.Write(b)
	d.hash.Write(p.Record)
	d.buf = b
}

func appendField[S string | []byte](b []byte, s S) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func (d *digest) String() string { return hex.EncodeToString(d.hash.Sum(nil)) }

// fingerprint returns the digest of one record.
func fingerprint(r *Record) [8]byte {
	d, p := newDigest(), placeOf(r)
	d.add(&p)
	return [8]byte(d.hash.Sum(nil))
}
