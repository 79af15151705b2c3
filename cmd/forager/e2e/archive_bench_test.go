package e2e

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	"forager/cmd/forager/deploy"
	"forager/internal/platform/archive"
	"forager/internal/stream"
	"forager/schemas"
)

// words are drawn as in a text: few are frequent.
type words struct {
	random *rand.Rand
	zipf   *rand.Zipf
}

func newWords() *words {
	random := rand.New(rand.NewPCG(5, 7))
	return &words{random, rand.NewZipf(random, 1.1, 4, 50_000)}
}

func (w *words) word() string {
	return "w" + strconv.FormatUint(w.zipf.Uint64()*2654435761%(1<<30), 36)
}

// archived returns the records of the three topics for a page of a crawl: one each of page.judged and
// link.found, and seven leaps of 50 features.
func (w *words) archived(n int) []stream.Out {
	url := func(n int) string { return fmt.Sprintf("http://h%d.example/%s/%d.html", n%97, w.word(), n) }
	u := url(n)
	id := schemas.RequestID("bench", u, 1)
	judgement := &schemas.Judgement{Raw: w.random.Float64(), Tempered: w.random.Float64(), Critic: "schools/0123456789ab",
		Topics: []*schemas.TopicScore{{Topic: "Science/Chemistry", Tempered: .5}, {Topic: "Arts/Music", Tempered: .2}}}
	page := &schemas.Page{Url: u, Title: w.word() + " " + w.word()}
	index := make(map[string]uint32)
	for range 40 {
		length := uint32(w.random.IntN(16))
		page.LeafLengths = append(page.LeafLengths, length)
		for range length {
			t := w.word()
			if _, ok := index[t]; !ok {
				index[t] = uint32(len(page.Terms))
				page.Terms = append(page.Terms, t)
			}
			page.Tokens = append(page.Tokens, index[t])
		}
	}
	for i := range 12 {
		page.Links = append(page.Links, &schemas.Link{Url: url(n*12 + i), FirstLeaf: uint32(i), LastLeaf: uint32(i), Position: uint32(i)})
	}
	table := &schemas.LeafTable{Terms: page.Terms, Tokens: page.Tokens, LeafLengths: page.LeafLengths}
	for i := range page.LeafLengths {
		table.Leaves = append(table.Leaves, uint32(i))
	}
	headers := schemas.RequestHeaders(&schemas.FetchRequest{Id: id.Bytes(), Crawl: "bench", Url: u, Host: "h.example", Epoch: 7})
	out := func(topic, key string, m proto.Message) stream.Out {
		b, err := proto.Marshal(m)
		if err != nil {
			panic(err) // it was made here
		}
		return stream.Out{Topic: topic, Partition: -1, Key: []byte(key), Value: b, Headers: headers}
	}
	delivered := schemas.Outcome_OUTCOME_DELIVERED
	parsed := out("", "", &schemas.PageParsed{Crawl: "bench", Id: id.Bytes(), Outcome: delivered, Status: 200, Page: page})
	all := []stream.Out{
		out(schemas.TopicPageJudged, string(id.Bytes()), &schemas.PageJudged{Id: id.Bytes(), Crawl: "bench", Outcome: delivered, Judgement: judgement, Parsed: parsed.Value}),
		out(schemas.TopicLinkFound, schemas.ShardKey("bench", uint32(n%4)), &schemas.LinkFound{Id: id.Bytes(), Crawl: "bench", Url: u, Outcome: delivered, Judgement: judgement, Links: page.Links, Table: table}),
	}
	for i := range 7 {
		leap := &schemas.LeapSettled{Id: schemas.LeapID("bench", u, fmt.Sprint(i)).Bytes(), Crawl: "bench", U: u, V: url(n*7 + i), Outcome: delivered,
			TargetRaw: w.random.Float64(), Score: w.random.Float64(), Policy: "apprentice", Model: "bench/100-0123456789ab", Trains: true, Request: id.Bytes(), Pages: uint64(n)}
		for j := range 50 {
			leap.Features = append(leap.Features, &schemas.Feature{Term: w.word(), Offset: int32(j%11) - 5, Count: 1})
		}
		all = append(all, out(schemas.TopicLeapSettled, fmt.Sprint("bench", n%4), leap))
	}
	return all
}

// BenchmarkArchive gives archive-parquet a backlog of the records of 24,000 pages, about 300 MB, as a process
// with an embedded broker and S3 server, and measures its CPU time and its peak resident size against
// memory_bytes. The floor is decoding and compressing (zstd, fastest) the same records.
func BenchmarkArchive(b *testing.B) {
	const pages = 24_000
	for b.Loop() {
		r := newRig(b, nil)
		r.parts()
		w := newWords()
		var size int64
		var records int
		var floor time.Duration
		encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
		if err != nil {
			b.Fatal(err)
		}
		var packed []byte
		for n := 0; n < pages; n += 100 {
			var outs []stream.Out
			for i := range 100 {
				outs = append(outs, w.archived(n+i)...)
			}
			begun := time.Now()
			for _, o := range outs {
				size += int64(len(o.Value))
				if err := proto.Unmarshal(o.Value, schemas.Record(o.Topic)); err != nil {
					b.Fatal(err)
				}
			}
			var raw []byte
			for _, o := range outs {
				raw = append(raw, o.Value...)
			}
			packed = encoder.EncodeAll(raw, packed[:0])
			floor += time.Since(begun)
			records += len(outs)
			if _, err := r.books.Client.Produce(r.s, outs); err != nil {
				b.Fatal(err)
			}
		}
		r.start([]string{"archive-parquet"})
		pid := r.pid("archive-parquet-0")
		for end := time.Now().Add(4 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
			lag, err := r.books.Client.Lag(r.s, "archive-parquet", archive.Topics...)
			if err != nil {
				b.Fatal(err)
			}
			if lag == 0 {
				break
			}
			if err := r.stack.Ended(); err != nil || time.Now().After(end) {
				b.Fatalf("%d records are left: %v", lag, err)
			}
		}
		spent, err := deploy.CPUTime(pid)
		if err != nil {
			b.Fatal(err)
		}
		peak, err := deploy.PeakMemory(pid)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(records)/spent.Seconds(), "records/CPU-s")
		b.ReportMetric(float64(size)/1e6/spent.Seconds(), "MB/CPU-s")
		b.ReportMetric(spent.Seconds()/floor.Seconds(), "x-floor")
		b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
		b.ReportMetric(float64(r.cfg.Stages.ArchiveParquet.MemoryBytes)/(1<<20), "bound-MiB")
		b.ReportMetric(0, "ns/op")
		if log := deploy.LastLines(r.stack.Processes.List[len(r.stack.Processes.List)-1].Log, 3); !strings.Contains(log, "archived") {
			b.Errorf("the log ends\n%s", log)
		}
	}
}
