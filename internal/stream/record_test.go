package stream

import (
	"testing"

	"github.com/segmentio/kafka-go"
	"pgregory.net/rapid"
)

func TestAlongKeepsThePartition(t *testing.T) {
	for n := 1; n <= 9; n++ {
		for p := range 40 {
			o := Out{Partition: Along(p), Key: []byte("its key does not matter")}
			if got := o.PartitionOf(n); got != p%n {
				t.Errorf("from partition %d to a topic of %d: %d", p, n, got)
			}
			if o = (Out{Partition: p}); o.PartitionOf(n) != p {
				t.Errorf("partition %d that was asked for became %d", p, o.PartitionOf(n))
			}
		}
	}
}

func TestPartitionOfIsKafkasHash(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SliceOf(rapid.Byte()).Draw(t, "key")
		n := rapid.IntRange(1, 64).Draw(t, "partitions")
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		if key == nil {
			key = []byte{}
		}
		if want, got := new(kafka.Hash).Balance(kafka.Message{Key: key}, all...), PartitionOf(key, n); got != want {
			t.Fatalf("partition %d, by kafka.Hash %d", got, want)
		}
	})
}
