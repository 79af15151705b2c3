package kafka_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"forager/internal/stream"
	"forager/internal/stream/kafka"
	"forager/internal/stream/streamtest"
	"forager/schemas"
)

func bulk(topic string, n, size int) []stream.Out {
	outs := make([]stream.Out, n)
	for i := range outs {
		v := kafka.Payload(size, uint64(i))
		outs[i] = stream.Out{Topic: topic, Partition: -1, Key: []byte(strconv.Itoa(i)), Value: v, Headers: map[string]string{schemas.HeaderVersion: "1"}}
	}
	return outs
}

// BenchmarkProduce writes 1 KiB records into 4 partitions, 2,000 a call.
func BenchmarkProduce(b *testing.B) {
	w := streamtest.NewWorld(streamtest.Start(b))
	topic := w.Topic(b, "bulk", 4)
	c, _ := w.Dial(b)
	outs := bulk(topic, 2000, 1024)
	for b.Loop() {
		if _, err := c.Produce(b.Context(), outs); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*len(outs))/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkRead reads a partition of 1 KiB records from end to end.
func BenchmarkRead(b *testing.B) {
	w := streamtest.NewWorld(streamtest.Start(b))
	topic := w.Topic(b, "bulk", 1)
	c, _ := w.Dial(b)
	const n = 40000
	outs := bulk(topic, 2000, 1024)
	for range n / len(outs) {
		if _, err := c.Produce(b.Context(), outs); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		got := 0
		if err := c.Read(b.Context(), topic, 0, 0, n, func(stream.Record) error { got++; return nil }); err != nil || got != n {
			b.Fatal(got, err)
		}
	}
	b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkHop is the time from the call of Produce, through a stage that sends a record on, to
// a consumer that reads it; the floor is the same way without the stage.
func BenchmarkHop(b *testing.B) {
	w := streamtest.NewWorld(streamtest.Start(b))
	in, out := w.Topic(b, "in", 1), w.Topic(b, "out", 1)
	c, _ := w.Dial(b)
	seen := map[string]chan int64{in: make(chan int64, 1), out: make(chan int64, 1)}
	for topic, ch := range seen {
		f, err := c.Follow(b.Context(), topic, func(r stream.Record) error { ch <- r.Offset; return nil })
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
	}
	r := streamtest.Run(b, func(ctx context.Context) error { return streamtest.CopyTo("hop", in, out).Run(ctx, c) })
	value := kafka.Payload(20<<10, 1)
	var floor, hop time.Duration
	once := func() {
		began := time.Now()
		if _, err := c.Produce(b.Context(), []stream.Out{{Topic: in, Value: value, Headers: map[string]string{schemas.HeaderVersion: "1"}}}); err != nil {
			b.Fatal(err)
		}
		<-seen[in]
		floor += time.Since(began)
		<-seen[out]
		hop += time.Since(began)
	}
	once() // joins the group
	floor, hop = 0, 0
	for b.Loop() {
		once()
	}
	b.ReportMetric(floor.Seconds()*1e3/float64(b.N), "ms/produce+read")
	b.ReportMetric(hop.Seconds()*1e3/float64(b.N), "ms/produce+stage+read")
	b.ReportMetric(hop.Seconds()/floor.Seconds(), "ratio")
	if err := r.End(); err != nil {
		b.Fatal(err)
	}
}
