package kafka

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"testing"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"

	"forager/internal/platform/pipeline"
)

// roundTripper responds to fetches with the result of a function of the requested offset.
type roundTripper func(from int64) []kafka.Record

func (f roundTripper) RoundTrip(_ context.Context, _ net.Addr, req kafka.Request) (kafka.Response, error) {
	r, ok := req.(*fetch.Request)
	if !ok {
		return nil, fmt.Errorf("%T is not answered", req)
	}
	var records kafka.RecordReader
	if rs := f(r.Topics[0].Partitions[0].FetchOffset); len(rs) > 0 {
		records = kafka.NewRecordReader(rs...)
	}
	return &fetch.Response{Topics: []fetch.ResponseTopic{{Topic: r.Topics[0].Topic, Partitions: []fetch.ResponsePartition{{
		HighWatermark: 30, RecordSet: protocol.RecordSet{Records: records},
	}}}}}, nil
}

// A topic with gaps in its offsets, as compaction leaves them, also at the end of a batch: each
// record must be read once, and the reader must not stop before a gap.
func TestReadPassesHoles(t *testing.T) {
	t.Parallel()
	c, err := Dial(pipeline.Kafka{Brokers: []string{"127.0.0.1:1"}}, nil, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	// The broker's response to any fetch: the whole batch with the requested offset.
	log := []struct{ base, last int64 }{{0, 9}, {10, 19}, {20, 29}}
	kept := map[int64]bool{0: true, 3: true, 12: true, 13: true, 29: true}
	c.kafka.Transport = roundTripper(func(from int64) []kafka.Record {
		for _, b := range log {
			if from > b.last {
				continue
			}
			var rs []kafka.Record
			for o := b.base; o <= b.last; o++ {
				if kept[o] {
					rs = append(rs, kafka.Record{Offset: o, Value: kafka.NewBytes(fmt.Appendf(nil, "%d", o))})
				}
			}
			return rs
		}
		return nil
	})
	var got []int64
	if err := c.Consume(t.Context(), Source{Topic: "t", From: 0, To: 30}, func(ch Chunk) error {
		for _, r := range ch.Records {
			got = append(got, r.Offset)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != "[0 3 12 13 29]" {
		t.Errorf("read %v", got)
	}
}
