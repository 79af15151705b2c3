package crashtest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	"forager/internal/stream"
)

// Faults are the probabilities of faults, each in [0, 1].
type Faults struct {
	// Double: after a message was appended, the acknowledgement is lost and the producer sends a
	// run of its last messages again.
	Double float64
	// Late: a copy of some messages of a call arrives again some time after it; and, of a
	// process that is killed while it sends, the rest arrives.
	Late float64
	// Sync: a commit is on disk when it returns. Others are lost in a crash, together.
	Sync float64
}

// World is a broker, a clock and the processes that use them.
type World struct {
	Rand *rand.Rand
	// Now is the virtual time; only the test changes it.
	Now time.Time
	// OnAppend is called for every message appended to any topic, in order.
	OnAppend func(stream.Record)

	faults Faults
	topics map[string][][]stream.Record
	late   []lateMessages
}

// lateMessages are messages in flight to one partition.
type lateMessages struct {
	topic     string
	partition int
	outs      []stream.Out
}

// New returns a World with topics (name → number of partitions).
func New(seed uint64, topics map[string]int, f Faults) *World {
	w := &World{
		Rand:   rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)),
		Now:    time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC),
		faults: f, topics: map[string][][]stream.Record{},
	}
	for name, n := range topics {
		w.topics[name] = make([][]stream.Record, n)
	}
	return w
}

// Chance returns true with probability p.
func (w *World) Chance(p float64) bool { return p > 0 && w.Rand.Float64() < p }

// Records returns the records of a partition, in order; the caller must not change them.
func (w *World) Records(topic string, partition int) []stream.Record {
	return w.topics[topic][partition]
}

// Partitions returns the number of partitions of a topic.
func (w *World) Partitions(topic string) int { return len(w.topics[topic]) }

// Append writes a message at once, outside of the schedule.
func (w *World) Append(out stream.Out) stream.Position {
	partitions, ok := w.topics[out.Topic]
	if !ok {
		panic("crashtest: no topic " + out.Topic)
	}
	p := out.PartitionOf(len(partitions))
	offset := int64(len(partitions[p]))
	r := stream.Record{
		Topic: out.Topic, Partition: p, Offset: offset,
		Key: out.Key, Value: out.Value, Headers: maps.Clone(out.Headers), Time: w.Now,
	}
	partitions[p] = append(partitions[p], r)
	if w.OnAppend != nil {
		w.OnAppend(r)
	}
	return stream.Position{Partition: p, Offset: offset}
}

// later adds messages for a later Deliver.
func (w *World) later(topic string, partition int, outs []stream.Out) {
	if len(outs) > 0 {
		w.late = append(w.late, lateMessages{topic, partition, outs})
	}
}

// Late returns the number of runs of messages in flight.
func (w *World) Late() int { return len(w.late) }

// Deliver appends one run of late messages.
func (w *World) Deliver() {
	if len(w.late) == 0 {
		return
	}
	i := w.Rand.IntN(len(w.late))
	l := w.late[i]
	w.late = append(w.late[:i], w.late[i+1:]...)
	for _, out := range l.outs {
		out.Partition = l.partition
		w.Append(out)
	}
}

func (w *World) read(topic string, partition int, from, to int64, f func(stream.Record) error) error {
	if from >= to {
		return nil
	}
	records := w.topics[topic][partition]
	if from < 0 || to > int64(len(records)) {
		return &stream.OffsetError{Topic: topic, Partition: partition, Offset: from, End: int64(len(records))}
	}
	for _, r := range records[from:to] {
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

func (w *World) String() string {
	return fmt.Sprintf("%s, %d late", w.Now.Format(time.TimeOnly), len(w.late))
}
