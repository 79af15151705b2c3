package stream

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"forager/schemas"
)

// Record is a message that was read. Key and Value belong to the reader; a nil Value is a
// tombstone.
type Record struct {
	Topic     string
	Partition int
	Offset    int64
	Key       []byte
	Value     []byte
	Headers   map[string]string
	// Time is the message's time stamp (when its producer sent it), milliseconds.
	Time time.Time
}

// Out is a message to write. Key, Value and Headers must not be changed after it was passed on.
type Out struct {
	Topic string
	// Partition to write to; -1 = PartitionOf(Key), Along(p) = that of the record it was made of.
	Partition int
	Key       []byte
	Value     []byte
	Headers   map[string]string
}

// Onward returns a message for the next topic with the headers of the record, to whose trail the
// record's place is added.
func (r *Record) Onward(topic string, key, value []byte) Out {
	at := schemas.Place{Topic: r.Topic, Partition: uint32(r.Partition), Offset: r.Offset}
	return Out{Topic: topic, Partition: -1, Key: key, Value: value, Headers: schemas.WithTrail(r.Headers, at)}
}

// Position is the place where a message was written.
type Position struct {
	Partition int
	Offset    int64
}

// Along returns the Out.Partition of a message that follows from a record of partition p: the one
// with the same number, modulo the number of partitions of the topic. Records of one batch then go
// out in one batch, where a hash of ids would spread them over all partitions.
func Along(p int) int { return -2 - p }

// PartitionOf returns the partition of a message in a topic of n partitions.
func (o *Out) PartitionOf(n int) int {
	switch {
	case o.Partition == -1:
		return PartitionOf(o.Key, n)
	case o.Partition < -1:
		return Along(o.Partition) % n // its own inverse
	}
	return o.Partition
}

// PartitionOf returns the partition, of n, of a key: FNV-1a, as kafka.Hash and Sarama compute it.
func PartitionOf(key []byte, n int) int {
	h := fnv.New32a()
	h.Write(key)
	p := int32(h.Sum32()) % int32(n)
	if p < 0 {
		p = -p
	}
	return int(p)
}

// recordOverhead is more than a batch with one record adds to its key, value and headers, and
// more than a codec adds to bytes that do not compress (lz4 frames: 4 bytes in 64 KiB).
const recordOverhead = 512

// Size is an upper bound of the bytes of the message in a batch of its own, compressed or not.
func (o *Out) Size() int {
	n := recordOverhead + len(o.Key) + len(o.Value) + len(o.Value)>>12
	for k, v := range o.Headers {
		n += len(k) + len(v) + 10
	}
	return n
}

// Size is the memory that a record holds.
func (r *Record) Size() int64 {
	n := recordOverhead + len(r.Key) + len(r.Value)
	for k, v := range r.Headers {
		n += len(k) + len(v)
	}
	return int64(n)
}

// HasVersion reports whether the record has a schema version. A record without one was written by another
// program.
func (r *Record) HasVersion() bool {
	v, err := strconv.Atoi(r.Headers[schemas.HeaderVersion])
	return err == nil && v > 0
}

// CheckVersion returns a Broken error for a record of a newer schema version than this program
// supports. A record without a version is left to the caller.
func (r *Record) CheckVersion() error {
	text := r.Headers[schemas.HeaderVersion]
	if v, err := strconv.Atoi(text); err == nil && v > schemas.Version {
		return Broken(fmt.Errorf("%s/%d offset %d: schema version %q, and this program reads 1 to %d: run the version of Forager that wrote it, or a newer one",
			r.Topic, r.Partition, r.Offset, text, schemas.Version))
	}
	return nil
}

// Skipped reports whether the record made a Processor fail. Its value is empty then, and the header has
// the reason.
func (r *Record) Skipped() bool { return r.Headers[schemas.HeaderSkipped] != "" }

// ErrNoVersion is the cause in the dead letter of a record of another program.
var ErrNoVersion = errors.New("the record has no header " + strconv.Quote(schemas.HeaderVersion) + " with a schema version: no program of Forager wrote it")
