package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"forager/internal/testkit/filled"
	"forager/schemas"
)

// draw makes n records of a topic from an offset on; every seventh offset is skipped and every
// fifth record is no record of the topic.
func draw(random *rand.Rand, topic string, partition int, from int64, n int) []Record {
	var all []Record
	for o := from; len(all) < n; o++ {
		if o%7 == 6 {
			continue
		}
		r := Record{
			Topic: topic, Partition: partition, Offset: o, Time: time.UnixMilli(1_700_000_000_000 + 13*o).UTC(), Key: fmt.Append(nil, "key", o%3),
			Headers: map[string]string{schemas.HeaderVersion: "1", schemas.HeaderCrawl: "c", schemas.HeaderURL: fmt.Sprint("http://h.example/", o)},
		}
		if o%5 == 4 {
			r.Value, r.Headers = []byte("\xff\xff garbage"), map[string]string{}
		} else {
			r.Value = message(random, topic, o)
		}
		all = append(all, r)
	}
	return all
}

func message(random *rand.Rand, topic string, o int64) []byte {
	url := fmt.Sprint("http://h.example/", o)
	j := &schemas.Judgement{Raw: random.Float64(), Tempered: random.Float64(), Calibrated: random.Float64(), BestIsFocus: o%2 == 0, Critic: "c/1", KnownTokens: uint64(o),
		Topics:  []*schemas.TopicScore{{Topic: "/a", Tempered: .5}, {Topic: "/b", Tempered: .25}},
		Marking: uint64(o % 3), Shadows: []*schemas.Shadow{{Critic: "d/1", Raw: random.Float64(), BestIsFocus: true, KnownTokens: 3}, {Critic: "e/1", Failure: "timeout"}},
		Guidance: []*schemas.Guidance{{Guide: "g/1", Scores: []float64{random.NormFloat64(), 3}, States: [][]byte{{0, 1}}}, {Guide: "h/1", Failure: "timeout"}}}
	id := schemas.RequestID("c", url, 1).Bytes()
	var m proto.Message
	switch topic {
	case schemas.TopicPageJudged:
		parsed, err := proto.Marshal(&schemas.PageParsed{Crawl: "c", Id: id, Outcome: schemas.Outcome_OUTCOME_DELIVERED, Status: 200,
			Page: &schemas.Page{Url: url, Title: "ünï", Terms: []string{"a", "b"}, Tokens: []uint32{0, 1, 1}, LeafLengths: []uint32{1, 2}}})
		if err != nil {
			panic(err)
		}
		m = &schemas.PageJudged{Id: id, Crawl: "c", Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: j, Parsed: parsed}
	case schemas.TopicLinkFound:
		m = &schemas.LinkFound{Id: id, Crawl: "c", Url: url, Outcome: schemas.Outcome_OUTCOME_DELIVERED, Judgement: j, Fingerprint: random.Uint64(),
			Links: []*schemas.Link{{Url: url + "/x", FirstLeaf: 1, LastLeaf: 2}, {Url: url + "/y", Position: 1, Nofollow: true}}}
	case schemas.TopicLeapSettled:
		leap := &schemas.LeapSettled{Id: schemas.LeapID("c", url, "v").Bytes(), Crawl: "c", U: url, V: "http://v.example/", Outcome: schemas.Outcome_OUTCOME_DELIVERED,
			TargetRaw: random.Float64(), Trains: true, Score: random.Float64(),
			Shadows: []*schemas.ShadowPlace{{Policy: "p", Tier: 2, Score: random.Float64(), Model: "c/3"}, {Policy: "q", Dropped: true}}}
		for i := range random.IntN(30) {
			leap.Features = append(leap.Features, &schemas.Feature{Term: fmt.Sprint("t", i), Offset: int32(i - 9), Count: uint32(1 + i%3)})
		}
		m = leap
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

func file(t testing.TB, records []Record) (Name, []byte) {
	t.Helper()
	var b bytes.Buffer
	n, err := Write(&b, records)
	if err != nil {
		t.Fatal(err)
	}
	return n, b.Bytes()
}

func TestRecordsComeBackAsTheyWere(t *testing.T) {
	for _, topic := range Topics {
		want := draw(rand.New(rand.NewPCG(1, 2)), topic, 3, 40, 500)
		n, data := file(t, want)
		got, err := Read(n, data)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			got[i].Time = got[i].Time.UTC()
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("%s: record %d is %+v, want %+v", topic, i, got[i], want[i])
			}
		}
		if len(got) != len(want) || n.First != want[0].Offset || n.Last != want[len(want)-1].Offset {
			t.Errorf("%s: %d records, name %+v", topic, len(got), n)
		}
		if again, _ := file(t, want); again != n {
			t.Errorf("%s: the same records gave %s and %s", topic, n.Key(), again.Key())
		}
	}
}

func TestColumnsEqualRecord(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	leaps := draw(random, schemas.TopicLeapSettled, 0, 0, 50)
	_, data := file(t, leaps)
	rows, err := parquet.Read[settledRow](bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		m := new(schemas.LeapSettled)
		if proto.Unmarshal(leaps[i].Value, m) != nil {
			if row.Problem == "" || row.Crawl != "" {
				t.Errorf("row %d does not report its garbage: %+v", i, row)
			}
			continue
		}
		if row.Problem != "" || row.U != m.U || row.V != m.V || *row.Target != m.TargetRaw || row.Score != m.Score || row.VHost != "v.example" ||
			row.Outcome != "delivered" || !row.Trains || len(row.Features) != len(m.Features) {
			t.Errorf("row %d: %+v of %v", i, row, m)
		}
		want := []settledRowShadows{{"p", &m.Shadows[0].Tier, &m.Shadows[0].Score, "c/3"}, {Policy: "q"}}
		if !reflect.DeepEqual(row.Shadows, want) {
			t.Errorf("row %d: shadows %+v, want %+v", i, row.Shadows, want)
		}
		for j, f := range m.Features {
			if row.Features[j] != (settledRowFeatures{f.Term, f.Offset, f.Count}) {
				t.Errorf("row %d, feature %d: %+v of %v", i, j, row.Features[j], f)
			}
		}
	}
}

// TestRowsAreThoseOfTheWholeRecord: what is decoded of a record is enough for its columns, and is less than the record.
func TestRowsAreThoseOfTheWholeRecord(t *testing.T) {
	found, judged, parsed := new(schemas.LinkFound), new(schemas.PageJudged), new(schemas.PageParsed)
	encoded := func(m proto.Message) []byte {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, m := range []proto.Message{found, judged, parsed} {
		filled.Message(m.ProtoReflect())
	}
	found.Url, parsed.Page.Url = "http://found.example/", "http://parsed.example/" // they have hosts
	judged.Parsed = encoded(parsed)
	p := place{Record: encoded(found)}
	if got, want := foundRowOf(p), newFoundRow(found, p); !reflect.DeepEqual(got, want) {
		t.Errorf("row %+v, want %+v", got, want)
	}
	if n := len(needs().found.Of(p.Record)); n >= len(p.Record) {
		t.Errorf("of %d bytes of link.found %d are decoded", len(p.Record), n)
	}
	p.Record = encoded(judged)
	if got, want := judgedRowOf(p), newJudgedRow(judged, parsed, p); !reflect.DeepEqual(got, want) {
		t.Errorf("row %+v, want %+v", got, want)
	}
	if n := len(needs().judged.Of(p.Record)); n >= len(p.Record) {
		t.Errorf("of %d bytes of page.judged %d are decoded", len(p.Record), n)
	}
}

func TestGuidanceHasColumns(t *testing.T) {
	records := draw(rand.New(rand.NewPCG(1, 2)), schemas.TopicPageJudged, 0, 0, 50)
	_, data := file(t, records)
	rows, err := parquet.Read[judgedRow](bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		m := new(schemas.PageJudged)
		if proto.Unmarshal(records[i].Value, m) != nil {
			continue
		}
		want := []judgedRowGuidance{{Guide: "g/1", Scores: m.Judgement.Guidance[0].Scores}, {Guide: "h/1", Failure: "timeout"}}
		if len(row.Guidance) != 2 || !reflect.DeepEqual(row.Guidance[0], want[0]) || row.Guidance[1].Failure != "timeout" || len(row.Guidance[1].Scores) > 0 {
			t.Errorf("row %d: guidance %+v, want %+v", i, row.Guidance, want)
		}
	}
}

// TestColumnsOfVersion1: there are the columns of testdata/columns.txt, as the files of version 1 had them at first, in their order; further
// ones may be after them.
func TestColumnsOfVersion1(t *testing.T) {
	b, err := os.ReadFile("testdata/columns.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, schema := range []*parquet.Schema{parquet.SchemaOf(judgedRow{}), parquet.SchemaOf(foundRow{}), parquet.SchemaOf(settledRow{})} {
		text := strings.TrimSuffix(schema.String(), "}")
		_, want, _ := strings.Cut(string(b), "message "+schema.Name()+" ")
		want, _, ok := strings.Cut(want, "\n}\n")
		if !ok || !strings.HasPrefix(text, "message "+schema.Name()+" "+want) {
			t.Errorf("the columns are\n%s\nwant\n%s", text, want)
		}
	}
}

// named is the name that a file of the records must have.
func named(records []Record, data []byte) Name {
	sum := sha256.Sum256(data)
	return Name{Topic: records[0].Topic, First: records[0].Offset, Last: records[len(records)-1].Offset, Digest: hex.EncodeToString(sum[:])[:digestLength]}
}

// TestOlderFilesAreRead: files from before a column was added have their records, whatever columns they lack.
func TestOlderFilesAreRead(t *testing.T) {
	for _, topic := range Topics {
		want := draw(rand.New(rand.NewPCG(1, 2)), topic, 0, 7, 100)
		var b bytes.Buffer
		if err := writeRows(&b, want, func(p place) place { return p }); err != nil {
			t.Fatal(err)
		}
		got, err := Read(named(want, b.Bytes()), b.Bytes())
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s: %d records of %d, %v", topic, len(got), len(want), err)
		}
		for i := range want {
			if got[i].Time = got[i].Time.UTC(); !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("%s: record %d is %+v, want %+v", topic, i, got[i], want[i])
			}
		}
	}
}

func TestWriteRefusesWhatIsNoPartOfOnePartition(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	a := draw(random, schemas.TopicLeapSettled, 0, 0, 3)
	b := draw(random, schemas.TopicLeapSettled, 1, 100, 3)
	c := draw(random, schemas.TopicLinkFound, 0, 100, 3)
	other := draw(random, schemas.TopicLinkFound, 0, 100, 3)
	for i := range other {
		other[i].Topic = schemas.TopicPageFetched
	}
	for name, records := range map[string][]Record{
		"none": nil, "two partitions": slices.Concat(a, b), "two topics": slices.Concat(a, c), "backwards": {a[1], a[0]}, "twice": {a[0], a[0]},
		"another topic": other,
	} {
		if n, err := Write(&bytes.Buffer{}, records); err == nil {
			t.Errorf("%s: written as %s", name, n.Key())
		}
	}
}

// Damage anywhere is found, whether or not the name's digest is mended to fit.
func TestDamageIsFound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	n, data := file(t, draw(random, schemas.TopicLeapSettled, 0, 0, 200))
	check := func(what string, b []byte) {
		t.Helper()
		if _, err := Read(n, b); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, cut := range []int{0, 1, 4, len(data) / 2, len(data) - 9, len(data) - 1} {
		check(fmt.Sprint("cut at ", cut), data[:cut])
		if err := decode(data[:cut], func(*place) {}); err == nil {
			t.Errorf("a file cut at %d is read", cut)
		}
	}
	for range 200 {
		b := bytes.Clone(data)
		b[random.IntN(len(b))] ^= byte(1 + random.IntN(255))
		check("a changed byte", b)
	}
	longer := n
	longer.Last++
	if _, err := Read(longer, data); !errors.Is(err, ErrDamaged) {
		t.Errorf("a name that claims more: %v", err)
	}
	if err := Verify(n, data, 199); !errors.Is(err, ErrDamaged) {
		t.Errorf("another number of rows: %v", err)
	}
	if err := Verify(n, data, 200); err != nil {
		t.Error(err)
	}
	moved := n
	moved.Partition++
	if _, err := Read(moved, data); !errors.Is(err, ErrDamaged) {
		t.Errorf("a name of another partition: %v", err)
	}
}

// TestOtherRecordsAreFound: a complete file, whose footer has the digest of other records than its
// rows.
func TestOtherRecordsAreFound(t *testing.T) {
	for what, change := range map[string]func(*place){
		"record": func(p *place) { p.Record = append(bytes.Clone(p.Record), 0) }, "key": func(p *place) { p.Key = []byte("another") },
		"time": func(p *place) { p.Time++ }, "headers": func(p *place) { p.Headers = append(p.Headers, header{"x", ""}) },
	} {
		records := draw(rand.New(rand.NewPCG(1, 2)), schemas.TopicLeapSettled, 0, 0, 20)
		var b bytes.Buffer
		if err := writeRows(&b, records, func(p place) place {
			if p.Offset == records[7].Offset {
				change(&p)
			}
			return p
		}); err != nil {
			t.Fatal(err)
		}
		if err := Verify(named(records, b.Bytes()), b.Bytes(), len(records)); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "their digest differs") {
			t.Errorf("another %s: %v", what, err)
		}
	}
}

// TestRowGroupsAreBounded: what is held while a file is written does not grow with the file.
func TestRowGroupsAreBounded(t *testing.T) {
	var records []Record
	for o := range int64(12) {
		records = append(records, Record{Topic: schemas.TopicPageJudged, Offset: o, Value: bytes.Repeat([]byte("page"), groupBytes/16)})
	}
	_, data := file(t, records)
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range f.RowGroups() {
		if g.NumRows() != 4 { // of a quarter each
			t.Errorf("row group %d has %d rows", i, g.NumRows())
		}
	}
	if len(f.RowGroups()) != 3 {
		t.Errorf("%d row groups, want 3", len(f.RowGroups()))
	}
}

func TestNames(t *testing.T) {
	n := Name{Topic: schemas.TopicLeapSettled, Partition: 3, First: 40, Last: 1234, Digest: "0123456789abcdef", Copy: 2}
	if want := "archive/v1/leap.settled/3/00000000000000000040-00000000000000001234-0123456789abcdef-2.parquet"; n.Key() != want {
		t.Errorf("a file is called %s, want %s", n.Key(), want)
	}
	if want := fmt.Sprint("archive/v", Version); Folder != want {
		t.Errorf("version %d lies in %s, want %s", Version, Folder, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Int64Range(0, 1<<62).Draw(t, "first")
		n := Name{
			Topic: rapid.SampledFrom(Topics).Draw(t, "topic"), Partition: rapid.IntRange(0, 9999).Draw(t, "partition"), First: first,
			Last:   first + rapid.Int64Range(0, 1<<61).Draw(t, "length"),
			Digest: rapid.StringMatching("[0-9a-f]{16}").Draw(t, "digest"), Copy: rapid.IntRange(0, 12).Draw(t, "copy"),
		}
		if got, err := ParseName(n.Key()); err != nil || got != n {
			t.Fatalf("%s is read as %+v, %v", n.Key(), got, err)
		}
	})
}

func FuzzParseName(f *testing.F) {
	f.Add(Name{Topic: Topics[0], Partition: 3, First: 4, Last: 17, Digest: "0123456789abcdef"}.Key())
	f.Add("archive/v1/leap.settled/0/x.parquet")
	f.Add("archive/v1/leap.settled/0/00000000000000000000--0000000000000000001-0123456789abcdef.parquet")
	f.Fuzz(func(t *testing.T, key string) {
		if n, err := ParseName(key); err == nil && (n.Key() != key || n.First < 0 || n.Last < n.First) {
			t.Errorf("%q is read as %+v", key, n)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, topic := range Topics {
		_, data := file(f, draw(rand.New(rand.NewPCG(1, 2)), topic, 0, 0, 3))
		f.Add(data)
	}
	f.Add([]byte("PAR1PAR1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		last := int64(-1)
		_ = decode(data, func(p *place) { // for any bytes, an error or rows with ascending offsets
			if p.Offset <= last {
				t.Errorf("offset %d behind %d", p.Offset, last)
			}
			last = p.Offset
		})
	})
}

var errGone = errors.New("gone")

// TestReplay writes random overlapping files of one partition, deletes and damages some, and
// compares what a replay gives with the records that some good file holds.
func TestReplay(t *testing.T) {
	all := draw(rand.New(rand.NewPCG(5, 6)), schemas.TopicLeapSettled, 2, 0, 120)
	rapid.Check(t, func(t *rapid.T) {
		objects := make(map[string][]byte)
		keys := []string{"archive/v1/leap.settled/2/readme.txt", Name{Topic: schemas.TopicLeapSettled, Partition: 1, First: 0, Last: 9, Digest: "0123456789abcdef"}.Key()}
		covered := make(map[int64]bool)
		for range rapid.IntRange(1, 9).Draw(t, "files") {
			i := rapid.IntRange(0, len(all)-1).Draw(t, "from")
			j := rapid.IntRange(i+1, min(len(all), i+40)).Draw(t, "to")
			var b bytes.Buffer
			n, err := Write(&b, all[i:j])
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, n.Key())
			switch rapid.SampledFrom([]string{"good", "good", "good", "deleted", "damaged"}).Draw(t, "fate") {
			case "good":
				objects[n.Key()] = b.Bytes()
				for o := n.First; o <= n.Last; o++ {
					covered[o] = true
				}
			case "damaged":
				if objects[n.Key()] == nil {
					objects[n.Key()] = b.Bytes()[:b.Len()/2]
				}
			}
		}
		// The same file drawn twice may be good and damaged: what is stored decides.
		covered = map[int64]bool{}
		for key, b := range objects {
			n, err := ParseName(key)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Read(n, b); err == nil {
				for o := n.First; o <= n.Last; o++ {
					covered[o] = true
				}
			}
		}
		s := NewPartitionFiles(schemas.TopicLeapSettled, 2, keys)
		if len(s.Foreign) != 1 {
			t.Fatalf("foreign: %v", s.Foreign)
		}
		first, end := s.Span()
		from := rapid.Int64Range(first, end).Draw(t, "first")
		to := rapid.Int64Range(from, end).Draw(t, "end")
		var want []int64
		hole := to
		for o := from; o < to; o++ {
			if !covered[o] {
				hole = o
				break
			}
			if slices.ContainsFunc(all, func(r Record) bool { return r.Offset == o }) {
				want = append(want, o)
			}
		}
		var got []int64
		get := func(_ context.Context, key string) ([]byte, error) {
			if b, ok := objects[key]; ok {
				return b, nil
			}
			return nil, fmt.Errorf("%s: %w", key, errGone)
		}
		report, err := s.Replay(context.Background(), from, to, get, func(err error) bool { return errors.Is(err, errGone) }, func(r Record) error {
			got = append(got, r.Offset)
			i := slices.IndexFunc(all, func(a Record) bool { return a.Offset == r.Offset })
			if i < 0 || !bytes.Equal(all[i].Value, r.Value) || !maps.Equal(all[i].Headers, r.Headers) {
				t.Fatalf("record at %d is %+v", r.Offset, r)
			}
			return nil
		})
		if !slices.Equal(got, want) || report.Records != len(want) {
			t.Fatalf("replayed %v, want %v (%v)", got, want, err)
		}
		var lost *MissingError
		if hole < to {
			if !errors.As(err, &lost) || lost.First != hole || lost.Last < hole || lost.Last >= to {
				t.Fatalf("hole at %d of %d–%d: %v", hole, from, to, err)
			}
			for o := lost.First; o <= lost.Last; o++ {
				if covered[o] {
					t.Fatalf("offset %d is reported as lost: %v", o, err)
				}
			}
		} else if err != nil {
			t.Fatal(err)
		}
	})
}

func TestRecreatedTopicIsDetected(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	old, rewritten := draw(random, schemas.TopicLeapSettled, 0, 0, 30), draw(random, schemas.TopicLeapSettled, 0, 0, 50)
	objects := make(map[string][]byte)
	for _, records := range [][]Record{old, rewritten[20:]} {
		n, b := file(t, records)
		objects[n.Key()] = b
	}
	s := NewPartitionFiles(schemas.TopicLeapSettled, 0, slices.Collect(maps.Keys(objects)))
	_, end := s.Span()
	_, err := s.Replay(t.Context(), 0, end, func(_ context.Context, key string) ([]byte, error) { return objects[key], nil }, func(error) bool { return false }, func(Record) error { return nil })
	var conflict *ConflictError
	if !errors.As(err, &conflict) || conflict.Offset < rewritten[20].Offset || conflict.Offset > old[29].Offset {
		t.Errorf("error %v", err)
	}
}

func TestSpan(t *testing.T) {
	name := func(first, last int64) string {
		return Name{Topic: schemas.TopicLinkFound, First: first, Last: last, Digest: "0123456789abcdef"}.Key()
	}
	s := NewPartitionFiles(schemas.TopicLinkFound, 0, []string{name(50, 60), name(5, 20), name(10, 30), name(31, 40), name(12, 14)})
	if first, end := s.Span(); first != 5 || end != 61 {
		t.Errorf("span %d–%d", first, end)
	}
}
