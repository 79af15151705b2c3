package warc

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var date = time.Date(2026, 11, 21, 10, 0, 0, 123000000, time.UTC)

// bare is a record without gzip.
func bare(uri, block string) string {
	return fmt.Sprintf("WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: %s\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", uri, len(block), block)
}

// zipped compresses with the standard library, which this package does not use.
func zipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, s)
	w.Close()
	return b.String()
}

// read lists the results of a reader for a file: "uri=block" a record, "damaged@offset" a damaged part.
func read(t *testing.T, file string, skipBlocks bool) []string {
	t.Helper()
	var got []string
	r := NewReader(strings.NewReader(file), int64(len(file)), Limits{})
	last := int64(-1)
	for {
		record, err := r.Next()
		var damaged *DamagedError
		switch {
		case err == io.EOF:
			return got
		case errors.As(err, &damaged):
			got = append(got, fmt.Sprintf("damaged@%d", damaged.Offset))
			continue
		case err != nil:
			t.Fatal(err)
		}
		if record.Offset < last {
			t.Fatalf("offset %d behind %d", record.Offset, last)
		}
		last = record.Offset
		if skipBlocks {
			got = append(got, record.TargetURI)
			continue
		}
		block, err := io.ReadAll(record.Block)
		if errors.As(err, &damaged) {
			got = append(got, fmt.Sprintf("damaged@%d", damaged.Offset))
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, record.TargetURI+"="+string(block))
	}
}

func TestReader(t *testing.T) {
	a, b, c := bare("a", "one"), bare("b", ""), bare("c", "three\r\n\r\nWARC/1.1\r\n")
	whole := []string{"a=one", "b=", "c=three\r\n\r\nWARC/1.1\r\n"}
	za, zb, zc := zipped(a), zipped(b), zipped(c)
	cutMember := za[:len(za)/2]
	flipped := []byte(za)
	flipped[len(flipped)-6] ^= 1 // a byte of the checksum
	badBody := []byte(za)
	badBody[12] ^= 0xff
	n := len(za)
	for _, test := range []struct {
		name, file string
		want       []string
	}{
		{"empty file", "", nil},
		{"a member a record", za + zb + zc, whole},
		{"bare", a + b + c, whole},
		{"records in one member", zipped(a + b + c), whole},
		{"members and bare records", za + b + zc, whole},
		{"an empty member", za + zipped("") + zb + zc, whole},
		{"no empty line at the end", zipped(strings.TrimRight(a, "\r\n")) + zb + zc, whole},
		{"bare line feeds", strings.ReplaceAll(a+b, "\r\n", "\n"), whole[:2]},
		{"damaged checksum", string(flipped) + zb + zc, append([]string{"damaged@0"}, whole[1:]...)},
		{"damaged deflate stream", string(badBody) + zb + zc, append([]string{"damaged@0"}, whole[1:]...)},
		{"member cut in the middle", za + cutMember + zb + zc, append([]string{"a=one", fmt.Sprint("damaged@", n)}, whole[1:]...)},
		{"file cut in a member", za + zb[:len(zb)-3], []string{"a=one", fmt.Sprint("damaged@", n)}},
		{"file cut in a gzip header", za + zb[:4], []string{"a=one", fmt.Sprint("damaged@", n)}},
		{"garbage between members", za + "garbage" + zb + zc, append([]string{"a=one", fmt.Sprint("damaged@", n)}, whole[1:]...)},
		{"garbage at the end", za + "\x1f\x8bgarbage", []string{"a=one", fmt.Sprint("damaged@", n)}},
		{"a member that is no record", zipped("<html>") + za, []string{"damaged@0", "a=one"}},
		{"bare record too long", strings.Replace(bare("x", "12"), "Length: 2", "Length: 999", 1) + a, []string{"damaged@0", "a=one"}},
		{"bare record cut", a + bare("x", "12345678")[:75], []string{"a=one", fmt.Sprint("damaged@", len(a))}},
		{"wrong length", strings.Replace(a, "Content-Length: 3", "Content-Length: 2", 1) + b, []string{"damaged@0", "b="}},
		{"wrong length in a member", zipped(strings.Replace(a, "Content-Length: 3", "Content-Length: 2", 1)) + zb, []string{"damaged@0", "b="}},
		{"negative length", strings.Replace(a, "Content-Length: 3", "Content-Length: -3", 1) + b, []string{"damaged@0", "b="}},
		{"no length", zipped(strings.Replace(a, "Content-Length: 3\r\n", "", 1)) + zb, []string{"damaged@0", "b="}},
		{"no type", zipped(strings.Replace(a, "WARC-Type: response\r\n", "", 1)) + zb, []string{"damaged@0", "b="}},
		{"later version", zipped(strings.Replace(a, "WARC/1.1", "WARC/9.0", 1)) + zb, []string{"damaged@0", "b="}},
		{"endless header", zipped("WARC/1.1\r\nX: "+strings.Repeat("x", 70<<10)) + zb, []string{"damaged@0", "b="}},
		{"continued line and odd case", strings.Replace(a, "WARC-Target-URI: a", "warc-target-uri:\r\n a", 1), whole[:1]},
		{"uri in angle brackets", bare("<a>", "one"), whole[:1]},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, read(t, test.file, false)); diff != "" {
				t.Error(diff)
			}
			// A caller that does not read the blocks gets the same damage.
			damage := func(all []string) (offsets []string) {
				for _, s := range all {
					if strings.HasPrefix(s, "damaged@") {
						offsets = append(offsets, s)
					}
				}
				return offsets
			}
			if diff := cmp.Diff(damage(test.want), damage(read(t, test.file, true))); diff != "" {
				t.Errorf("blocks not read: %s", diff)
			}
		})
	}
}

// Damage that was reported by Block is not reported again by Next.
func TestDamageIsReportedOnce(t *testing.T) {
	file := zipped(bare("a", "one"))
	file = file[:len(file)-1]
	r := NewReader(strings.NewReader(file), int64(len(file)), Limits{})
	record, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	var damaged *DamagedError
	if _, err := io.ReadAll(record.Block); !errors.As(err, &damaged) || damaged.Offset != 0 {
		t.Fatalf("block: %v", err)
	}
	if _, err := r.Next(); err != io.EOF {
		t.Fatalf("next: %v, want EOF", err)
	}
}

type failingFile struct{ after int64 }

func (f failingFile) ReadAt(p []byte, off int64) (int, error) {
	file := strings.NewReader(zipped(bare("a", strings.Repeat("x", 100))))
	if off+int64(len(p)) > f.after {
		return 0, errors.New("disk on fire")
	}
	return file.ReadAt(p, off)
}

func TestFileErrorIsNotDamage(t *testing.T) {
	r := NewReader(failingFile{}, 80, Limits{})
	for range 2 {
		var damaged *DamagedError
		if _, err := r.Next(); err == nil || errors.As(err, &damaged) || !strings.Contains(err.Error(), "disk on fire") {
			t.Errorf("error %v", err)
		}
	}
}

// TestResponses: other records of the file are skipped, damage is reported, and reading continues after it.
func TestResponses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.warc.gz")
	info := strings.Replace(bare("info", "x"), "response", "warcinfo", 1)
	file := zipped(info) + zipped(bare("a", "one")) + "damage" + zipped(bare("b", "two")) + zipped(info)
	if err := os.WriteFile(path, []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
	var got []string
	for record, err := range Responses(path) {
		var damaged *DamagedError
		switch {
		case errors.As(err, &damaged):
			got = append(got, "damaged")
		case err != nil:
			t.Fatal(err)
		default:
			got = append(got, record.TargetURI)
		}
	}
	if diff := cmp.Diff([]string{"a", "damaged", "b"}, got); diff != "" {
		t.Error(diff)
	}
	for record, err := range Responses(path) {
		if err != nil || record.TargetURI != "a" {
			t.Errorf("%v, %v", record, err)
		}
		break
	}
	n := 0
	for _, err := range Responses(path + ".not") {
		if n++; !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
	if n != 1 {
		t.Errorf("%d errors of a file that is not there", n)
	}
}

func TestLimits(t *testing.T) {
	file := zipped(bare("big", strings.Repeat("x", 101))) + zipped(bare("a", "one"))
	r := NewReader(strings.NewReader(file), int64(len(file)), Limits{Block: 100})
	var damaged *DamagedError
	if _, err := r.Next(); !errors.As(err, &damaged) || !strings.Contains(err.Error(), "limit 100") {
		t.Fatalf("error %v", err)
	}
	if record, err := r.Next(); err != nil || record.TargetURI != "a" {
		t.Fatalf("behind it: %v, %v", record, err)
	}
}

// A file full of gzip headers is read in time linear in its size.
func TestManyFalseMembers(t *testing.T) {
	file := strings.Repeat("\x1f\x8b\x08\x04\xff\xff", 1<<15) + zipped(bare("a", "one"))
	if diff := cmp.Diff([]string{"damaged@0", "a=one"}, read(t, file, false)); diff != "" {
		t.Error(diff)
	}
}

func genHeader() *rapid.Generator[[]Field] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Field {
		return Field{
			rapid.SampledFrom([]string{"Server", "X-Y", "Content-Type", "Content-Encoding", "Transfer-Encoding", "Content-Length", "Set-Cookie", "Bad Name"}).Draw(t, "name"),
			rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "gzip", "a\r\nb", "caf\xe9"})).Draw(t, "value"),
		}
	}), 0, 6)
}

// Written records are read again: by the reader over the whole file, and each record alone by its range, with its
// digest.
func TestWriteRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var file bytes.Buffer
		w := NewWriter(&file)
		if _, err := w.Info([16]byte{1}, "x.warc.gz", date, Header{{"software", "test"}}); err != nil {
			t.Fatal(err)
		}
		pages := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *Page {
			return &Page{
				ID:     [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id")),
				URL:    "http://a.test/" + rapid.StringMatching(`[a-z0-9]{0,8}`).Draw(t, "path"),
				Date:   date,
				Status: rapid.IntRange(100, 599).Draw(t, "status"),
				Reason: rapid.SampledFrom([]string{"", "OK", "Not Found", "caf\xe9"}).Draw(t, "reason"),
				Header: genHeader().Draw(t, "header"),
				Body:   rapid.SliceOfN(rapid.Byte(), 0, 3000).Draw(t, "body"),
			}
		}), 0, 5).Draw(t, "pages")
		for i, p := range pages {
			at, digest, err := w.Response(p)
			if err != nil {
				t.Fatal(err)
			}
			if digest != Digest(p.Body) {
				t.Fatalf("page %d: digest %s", i, digest)
			}
			record, _, err := ReadOne(file.Bytes()[at.Offset:at.Offset+at.Length], Limits{})
			if err != nil {
				t.Fatalf("page %d: %v", i, err)
			}
			checkPage(t, record, p)
		}
		if w.Size() != int64(file.Len()) {
			t.Fatalf("size %d, file %d", w.Size(), file.Len())
		}
		r := NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()), Limits{})
		if record, err := r.Next(); err != nil || record.Type != TypeWarcinfo {
			t.Fatalf("first record: %v, %v", record, err)
		}
		for _, p := range pages {
			record, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			checkPage(t, record, p)
		}
		if _, err := r.Next(); err != io.EOF {
			t.Fatalf("at the end: %v", err)
		}
	})
}

func checkPage(t *rapid.T, record *Record, p *Page) {
	t.Helper()
	if record.TargetURI != p.URL || !record.Date.Equal(p.Date) || record.Type != TypeResponse {
		t.Fatalf("record %+v of page %+v", record, p)
	}
	if want := strings.Trim(recordID(p.ID), "<>"); record.ID != want {
		t.Fatalf("id %s, want %s", record.ID, want)
	}
	answer, err := record.Response()
	if err != nil {
		t.Fatal(err)
	}
	if answer.Status != p.Status || answer.Reason != p.Reason || !bytes.Equal(answer.Body, p.Body) {
		t.Fatalf("answer %+v of page %+v", answer, p)
	}
	if answer.Header.Get("Content-Length") != fmt.Sprint(len(p.Body)) || answer.Header.Get("Content-Encoding") != "" || answer.Header.Get("Transfer-Encoding") != "" {
		t.Fatalf("header %v", answer.Header)
	}
	if i := slices.IndexFunc(p.Header, func(f Field) bool { return f.Name == "Content-Encoding" }); i >= 0 {
		if got, want := answer.Header.Get("X-Archive-Orig-Content-Encoding"), strings.TrimSpace(oneLine(p.Header[i].Value)); got != want && strings.TrimSpace(got) != want {
			t.Fatalf("kept coding %q, want %q", got, want)
		}
	}
}

func TestReadOneRefuses(t *testing.T) {
	var file bytes.Buffer
	w := NewWriter(&file)
	at, _, err := w.Response(&Page{URL: "http://a.test/", Date: date, Status: 200, Body: []byte("body")})
	if err != nil {
		t.Fatal(err)
	}
	member := file.Bytes()[:at.Length]
	text := bare("a", "HTTP/1.1 200 OK\r\n\r\nbody")
	for _, test := range []struct {
		name string
		b    string
		want string
	}{
		{"nothing", "", "holds no WARC record"},
		{"one byte short", string(member[:len(member)-1]), "damaged"},
		{"one byte late", string(member[1:]), "damaged"},
		{"two records", string(member) + string(member), "more than one"},
		{"block digest", strings.Replace(text, "Content-Length", "WARC-Block-Digest: sha1:AAAA\r\nContent-Length", 1), "digest"},
		{"payload digest", strings.Replace(text, "Content-Length", "WARC-Payload-Digest: sha256:"+strings.Repeat("0", 64)+"\r\nContent-Length", 1), "payload"},
	} {
		if _, _, err := ReadOne([]byte(test.b), Limits{}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", test.name, err, test.want)
		}
	}
}

func TestParseResponse(t *testing.T) {
	for _, test := range []struct {
		name, block string
		want        *Response // nil: refused
	}{
		{"plain", "HTTP/1.1 404 Not Found\r\nA: b\r\n\r\nbody", &Response{"HTTP/1.1", 404, "Not Found", Header{{"A", "b"}}, []byte("body")}},
		{"no reason", "HTTP/1.0 200\r\n\r\n", &Response{"HTTP/1.0", 200, "", nil, []byte{}}},
		{"line feeds only", "HTTP/1.0 200 OK\nA:b\n\nbody", &Response{"HTTP/1.0", 200, "OK", Header{{"A", "b"}}, []byte("body")}},
		{"lines without a name", "HTTP/1.1 200 OK\r\nServer: NCSA/1.4.cp: No match.\r\n: text/html\r\nno colon\r\nContent-Type: text/html\r\n\r\nx",
			&Response{"HTTP/1.1", 200, "OK", Header{{"Server", "NCSA/1.4.cp: No match."}, {"Content-Type", "text/html"}}, []byte("x")}},
		{"continued line", "HTTP/1.1 200 OK\r\nA: b\r\n  c\r\n\r\n", &Response{"HTTP/1.1", 200, "OK", Header{{"A", "b c"}}, []byte{}}},
		{"no end of header", "HTTP/1.1 200 OK\r\nA: b", &Response{"HTTP/1.1", 200, "OK", Header{{"A", "b"}}, []byte{}}},
		{"not http", "ICY 200 OK\r\n\r\n", nil},
		{"no status", "HTTP/1.1 OK\r\n\r\n", nil},
		{"odd status", "HTTP/1.1 42 OK\r\n\r\n", nil},
		{"empty", "", nil},
	} {
		got, err := ParseResponse([]byte(test.block))
		if (err != nil) != (test.want == nil) {
			t.Errorf("%s: error %v", test.name, err)
			continue
		}
		if got != nil && len(got.Body) == 0 {
			got.Body = []byte{}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestPayload(t *testing.T) {
	chunked := Header{{"Transfer-Encoding", "Chunked"}}
	for _, test := range []struct {
		name string
		r    Response
		want string
	}{
		{"no coding", Response{Body: []byte("3\r\nabc\r\n0\r\n\r\n")}, "3\r\nabc\r\n0\r\n\r\n"},
		{"chunks", Response{Header: chunked, Body: []byte("3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n")}, "abc0123456789"},
		{"joined already", Response{Header: chunked, Body: []byte("<html>")}, "<html>"},
		{"chunk cut", Response{Header: chunked, Body: []byte("9\r\nabc")}, "9\r\nabc"},
		{"chunk too long", Response{Header: chunked, Body: []byte("2\r\nabc\r\n0\r\n\r\n")}, "2\r\nabc\r\n0\r\n\r\n"},
	} {
		if got, err := test.r.Payload(100); err != nil || string(got) != test.want {
			t.Errorf("%s: %q, %v; want %q", test.name, got, err, test.want)
		}
	}
	if _, err := (&Response{Body: make([]byte, 101)}).Payload(100); err == nil {
		t.Error("a payload beyond the limit was returned")
	}
}

// FuzzReader: no input makes the reader panic, go back, or never end; a record alone reads as in the file.
func FuzzReader(f *testing.F) {
	a, b := bare("a", "HTTP/1.1 200 OK\r\n\r\nx"), bare("b", "")
	for _, seed := range []string{"", a, a + b, zipped(a), zipped(a) + zipped(b), zipped(a)[:30] + zipped(b), zipped(a + b), "\x1f\x8b\x08", a[:40] + b} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		r := NewReader(bytes.NewReader(file), int64(len(file)), Limits{Header: 1 << 10, Block: 1 << 16})
		last, steps := int64(-1), 0
		for {
			if steps++; steps > 2*len(file)+2 {
				// Records in one gzip member may outnumber the bytes of the file, not by much here.
				if len(file) < 1<<10 && steps > 1<<16 {
					t.Fatal("the reader does not end")
				}
			}
			record, err := r.Next()
			var damaged *DamagedError
			if errors.As(err, &damaged) {
				if damaged.Offset < last || damaged.Offset >= int64(len(file)) {
					t.Fatalf("damage at %d behind %d, file of %d", damaged.Offset, last, len(file))
				}
				last = damaged.Offset
				continue
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if record.Offset < last {
				t.Fatalf("record at %d behind %d", record.Offset, last)
			}
			last = record.Offset
			block, err := io.ReadAll(record.Block)
			if err == nil && int64(len(block)) != record.Length {
				t.Fatalf("block of %d bytes, length %d", len(block), record.Length)
			}
			if answer, err := ParseResponse(block); err == nil {
				answer.Payload(1 << 20)
			}
		}
	})
}

// FuzzReadOne: what is accepted as one record is one record to the reader of files, too.
func FuzzReadOne(f *testing.F) {
	a := bare("a", "HTTP/1.1 200 OK\r\n\r\nx")
	for _, seed := range []string{"", a, a + a, zipped(a), zipped(a) + zipped(a), zipped(a)[:20], zipped(a)[1:]} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		record, block, err := ReadOne(b, Limits{Header: 1 << 10, Block: 1 << 16})
		if err != nil {
			return
		}
		if record.Offset != 0 || int64(len(block)) != record.Length {
			t.Fatalf("record at %d, %d of %d bytes", record.Offset, len(block), record.Length)
		}
		if !bytes.HasPrefix(b, []byte(gzipMagic)) {
			return // a bare record may lack the end that another one after it needs
		}
		r := NewReader(bytes.NewReader(append(b, b...)), int64(2*len(b)), Limits{})
		if again, err := r.Next(); err != nil || again.TargetURI != record.TargetURI {
			t.Fatalf("in a file: %+v, %v", again, err)
		}
	})
}
