package archive

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	"forager/schemas"
)

// BenchmarkWrite writes 5,000 leaps of some 50 features as a file and reads them back. The floor is
// to decode them and to compress their bytes as fast as zstd does.
func BenchmarkWrite(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 4, 50_000)
	var records []Record
	var raw []byte
	for o := range int64(5000) {
		leap := &schemas.LeapSettled{Id: schemas.LeapID("c", "u", fmt.Sprint(o)).Bytes(), Crawl: "c", U: fmt.Sprint("http://h.example/", o/7),
			V: fmt.Sprint("http://v.example/", random.Uint32()), Outcome: schemas.Outcome_OUTCOME_DELIVERED, TargetRaw: random.Float64(), Trains: true}
		for i := range 50 {
			leap.Features = append(leap.Features, &schemas.Feature{Term: fmt.Sprint("term", zipf.Uint64()), Offset: int32(i%11) - 5, Count: 1})
		}
		value, err := proto.Marshal(leap)
		if err != nil {
			b.Fatal(err)
		}
		records = append(records, Record{Topic: schemas.TopicLeapSettled, Offset: o, Value: value, Time: time.UnixMilli(o), Headers: map[string]string{schemas.HeaderVersion: "1"}})
		raw = append(raw, value...)
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(raw)))
	var write, read, floor time.Duration
	var file bytes.Buffer
	for b.Loop() {
		begun := time.Now()
		file.Reset()
		n, err := Write(&file, records)
		if err != nil {
			b.Fatal(err)
		}
		written := time.Now()
		if err := Verify(n, file.Bytes(), len(records)); err != nil {
			b.Fatal(err)
		}
		verified := time.Now()
		for i := range records {
			if err := proto.Unmarshal(records[i].Value, new(schemas.LeapSettled)); err != nil {
				b.Fatal(err)
			}
		}
		encoder.EncodeAll(raw, nil)
		write, read, floor = write+written.Sub(begun), read+verified.Sub(written), floor+time.Since(verified)
	}
	b.ReportMetric(float64(len(records)*b.N)/write.Seconds(), "written/s")
	b.ReportMetric(float64(len(records)*b.N)/read.Seconds(), "verified/s")
	b.ReportMetric((write+read).Seconds()/floor.Seconds(), "x-floor")
	b.ReportMetric(float64(file.Len())/float64(len(raw)), "size-ratio")
}
