package export

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"forager/internal/classify/examples"
	"forager/internal/page/dom"
	"forager/internal/page/text"
	"forager/internal/platform/analytics"
	"forager/internal/platform/objects"
	"forager/internal/web/warc"
	"forager/internal/web/webarchive"
	"forager/schemas"
)

// shelf is a store of one segment, with the rows of its pages.
type shelf struct {
	segment bytes.Buffer
	writer  *warc.Writer
	rows    []analytics.StoredPage
	bodies  []string
	// away makes Range fail for the n-th page.
	away   func(n int) error
	out    atomic.Int32 // responses that were not taken yet
	most   atomic.Int32
	listed int
}

func newShelf(t interface{ Fatal(...any) }, pages int) *shelf {
	s := &shelf{}
	s.writer = warc.NewWriter(&s.segment)
	if _, err := s.writer.Info([16]byte{1}, "segment", time.Unix(1, 0), nil); err != nil {
		t.Fatal(err)
	}
	for i := range pages {
		url := fmt.Sprintf("http://h%d.example/%d", i%3, i)
		body := fmt.Sprintf("<title>Page %d</title><p>Some <b>words</b> of page %d<p>and <a href=/>a link</a>", i, i)
		at, _, err := s.writer.Response(&warc.Page{
			ID: schemas.RequestID("c", url, 1), URL: url, Date: time.Unix(int64(i), 0), Status: 200, Reason: "OK",
			Header: warc.Header{{Name: "Content-Type", Value: "text/html; charset=utf-8"}}, Body: []byte(body),
		})
		if err != nil {
			t.Fatal(err)
		}
		s.bodies = append(s.bodies, body)
		s.rows = append(s.rows, analytics.StoredPage{
			URL: url, Outcome: "delivered", Status: 200, Relevance: .75, Tempered: .5, Topics: []string{"A/B", "C"}, Posteriors: []float64{.7, .2},
			Title: fmt.Sprint("Page ", i), Language: "en", Depth: 2, Via: "http://via.example/",
			Fetched: time.UnixMilli(int64(i)), Object: "segment", Offset: uint64(at.Offset), Length: uint64(at.Length),
		})
	}
	return s
}

func (s *shelf) Pages(_ context.Context, sel analytics.Selection, f func(*analytics.StoredPage) error) error {
	for _, row := range s.rows {
		if sel.URLsOnly {
			row = analytics.StoredPage{URL: row.URL}
		}
		s.listed++
		if err := f(&row); err != nil {
			return err
		}
	}
	return nil
}

func (s *shelf) Range(_ context.Context, key string, offset, length int64) ([]byte, error) {
	s.most.Store(max(s.most.Load(), s.out.Add(1)))
	n := slices.IndexFunc(s.rows, func(row analytics.StoredPage) bool { return row.Offset == uint64(offset) })
	if s.away != nil {
		if err := s.away(n); err != nil {
			return nil, err
		}
	}
	if key != "segment" {
		return nil, objects.ErrNotFound
	}
	return s.segment.Bytes()[offset : offset+length], nil
}

var options = Options{Date: time.Unix(5, 0), Name: "c.warc.gz"}

func (s *shelf) write(t *testing.T, format Format, gz bool) []byte {
	t.Helper()
	var b bytes.Buffer
	o := options
	o.Format, o.Gzip = format, gz
	n, err := Write(t.Context(), &b, s, s, analytics.Selection{Crawl: "c", Outcome: "delivered"}, o)
	if err != nil || n != len(s.rows) {
		t.Fatalf("%d pages, %v", n, err)
	}
	return b.Bytes()
}

func unzip(t *testing.T, b []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWARCIsAWebAgain(t *testing.T) {
	s := newShelf(t, 50)
	zipped, bare := s.write(t, WARC, true), s.write(t, WARC, false)
	if !bytes.Equal(unzip(t, zipped), bare) {
		t.Error("the bare file is not what the compressed one holds")
	}
	if !bytes.Equal(zipped, s.write(t, WARC, true)) {
		t.Error("the same export gives other bytes")
	}
	for _, file := range [][]byte{zipped, bare} {
		a, err := webarchive.New(bytes.NewReader(file), int64(len(file)))
		if err != nil || len(a.Damaged()) > 0 || len(a.URLs()) != 50 {
			t.Fatalf("%v, %v, %d URLs", err, a.Damaged(), len(a.URLs()))
		}
		for i, row := range s.rows {
			p, ok, err := a.Lookup(row.URL)
			if err != nil || !ok || string(p.Body) != s.bodies[i] || p.Status != 200 {
				t.Fatalf("page %d: %+v, %v", i, p, err)
			}
		}
	}
	r := warc.NewReader(bytes.NewReader(zipped), int64(len(zipped)), warc.Limits{})
	for i := -1; ; i++ {
		record, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if i < 0 && record.Type != warc.TypeWarcinfo || i >= 0 && record.TargetURI != s.rows[i].URL {
			t.Fatalf("record %d is %s of %s", i, record.Type, record.TargetURI)
		}
	}
}

func TestLinesTrainACritic(t *testing.T) {
	s := newShelf(t, 5)
	file := s.write(t, JSONL, false)
	if !bytes.Equal(unzip(t, s.write(t, JSONL, true)), file) {
		t.Error("compressed, it is another file")
	}
	in, err := examples.NewIntake(examples.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := examples.ReadLines(t.Context(), bytes.NewReader(file), "export", in); err != nil {
		t.Fatal(err)
	}
	if sum, err := in.Finish(func(*examples.Example) error { return nil }); err != nil || sum.Examples != 5 || sum.Refusals() > 0 {
		t.Fatalf("as examples: %+v, %v", sum, err)
	}
	for i, l := range strings.Split(strings.TrimSpace(string(file)), "\n") {
		var x line
		if err := json.Unmarshal([]byte(l), &x); err != nil {
			t.Fatal(err)
		}
		page, err := dom.Parse([]byte(s.bodies[i]), "text/html", x.URL, dom.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, n := range page.Tokens {
			want = append(want, page.Terms[n])
		}
		if x.URL != s.rows[i].URL || !slices.Equal(x.Topics, []string{"A/B"}) || x.Posteriors["C"] != .2 || x.Relevance != .75 || !slices.Equal(text.Tokens(nil, x.Text), want) {
			t.Errorf("line %d: %s", i, l)
		}
	}
}

func TestURLsReadNothing(t *testing.T) {
	s := newShelf(t, 3)
	s.away = func(int) error { return errors.New("read") }
	if got, want := string(s.write(t, URLs, false)), "http://h0.example/0\nhttp://h1.example/1\nhttp://h2.example/2\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Rows that are no pages are written in the formats of lines, as many as are counted.
func TestWriteRows(t *testing.T) {
	put := func(n int, then error) func(put func(string, any) error) error {
		return func(put func(string, any) error) error {
			for i := range n {
				if err := put(fmt.Sprint("http://a.example/", i), map[string]int{"n": i}); err != nil {
					return err
				}
			}
			return then
		}
	}
	for _, c := range []struct {
		format Format
		gz     bool
		want   string
	}{{JSONL, false, "{\"n\":0}\n{\"n\":1}\n"}, {URLs, true, "http://a.example/0\nhttp://a.example/1\n"}} {
		var b bytes.Buffer
		n, err := WriteRows(t.Context(), &b, Options{Format: c.format, Gzip: c.gz}, put(2, nil))
		got := b.Bytes()
		if c.gz {
			got = unzip(t, got)
		}
		if err != nil || n != 2 || string(got) != c.want {
			t.Errorf("%s: %d rows, %v: %q", c.format, n, err, got)
		}
	}
	if n, err := WriteRows(t.Context(), io.Discard, Options{Format: URLs}, put(3, io.ErrUnexpectedEOF)); n != 3 || err != io.ErrUnexpectedEOF {
		t.Errorf("broken off: %d rows, %v", n, err)
	}
	if _, err := WriteRows(t.Context(), io.Discard, Options{Format: WARC}, put(0, nil)); err == nil {
		t.Error("a WARC file of rows that are no pages")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := WriteRows(ctx, io.Discard, Options{Format: URLs}, put(1000, nil)); n > 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("called off: %d rows, %v", n, err)
	}
}

// taker accepts pages one by one.
type taker struct {
	s *shelf
	t *testing.T
}

func (w taker) Write(b []byte) (int, error) {
	w.s.out.Add(-1)
	return len(b), nil
}

func TestFewPagesAreReadAhead(t *testing.T) {
	s := newShelf(t, 2000)
	s.out.Store(1) // the first write is the warcinfo record
	o := options
	o.Format, o.Gzip = WARC, true
	if n, err := Write(t.Context(), taker{s, t}, s, s, analytics.Selection{Crawl: "c", Outcome: "delivered"}, o); err != nil || n != 2000 {
		t.Fatal(n, err)
	}
	if most := s.most.Load(); most > ahead+3 {
		t.Errorf("%d pages were held at once", most)
	}
}

// Pages that cannot be read end an export, or are left out and named; the rest is complete and in order.
func TestDamagedPages(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newShelf(rt, rapid.IntRange(1, 40).Draw(rt, "pages"))
		bad := rapid.SliceOfDistinct(rapid.IntRange(0, len(s.rows)-1), rapid.ID).Draw(rt, "bad")
		s.away = func(n int) error {
			if slices.Contains(bad, n) {
				return objects.ErrNotFound
			}
			return nil
		}
		var want, got, lost []string
		for i, row := range s.rows {
			if !slices.Contains(bad, i) {
				want = append(want, row.URL)
			}
		}
		o := options
		o.Format = JSONL
		read := func(b []byte) (urls []string) {
			for l := range bytes.Lines(b) {
				var x line
				if err := json.Unmarshal(l, &x); err != nil {
					rt.Fatal(err)
				}
				urls = append(urls, x.URL)
			}
			return urls
		}
		var b bytes.Buffer
		n, err := Write(context.Background(), &b, s, s, analytics.Selection{Crawl: "c", Outcome: "delivered"}, o)
		first := len(s.rows)
		if len(bad) > 0 {
			first = slices.Min(bad)
		}
		if got = read(b.Bytes()); n != first || len(got) != first || (err != nil) != (len(bad) > 0) || err != nil && !errors.Is(err, objects.ErrNotFound) {
			rt.Fatalf("%d pages, %d lines, %v; page %d is the first bad one", n, len(got), err, first)
		}
		b.Reset()
		o.Damaged = func(url string, err error) { lost = append(lost, url) }
		n, err = Write(context.Background(), &b, s, s, analytics.Selection{Crawl: "c", Outcome: "delivered"}, o)
		if got = read(b.Bytes()); err != nil || n != len(want) || !slices.Equal(got, want) || len(lost) != len(bad) {
			rt.Fatalf("%d pages %v, %d left out, %v", n, got, len(lost), err)
		}
	})
}

func TestDamageIsSeen(t *testing.T) {
	s := newShelf(t, 3)
	at := s.rows[1].Offset
	s.segment.Bytes()[at+30] ^= 0xff
	o := options
	o.Format = WARC
	n, err := Write(t.Context(), io.Discard, s, s, analytics.Selection{Crawl: "c", Outcome: "delivered"}, o)
	if n != 1 || !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "http://h1.example/1") {
		t.Errorf("%d pages, %v", n, err)
	}
	s = newShelf(t, 3)
	s.rows[1].Offset, s.rows[1].Length = s.rows[2].Offset, s.rows[2].Length // the position of another page
	if n, err := Write(t.Context(), io.Discard, s, s, analytics.Selection{Crawl: "c", Outcome: "delivered"}, o); n != 1 || !errors.Is(err, ErrDamaged) {
		t.Errorf("%d pages, %v", n, err)
	}
	if _, err := Write(t.Context(), io.Discard, s, s, analytics.Selection{Crawl: "c", Outcome: "timeout"}, o); err == nil {
		t.Error("a WARC file of pages that were not delivered")
	}
}

func TestAnExportThatIsCalledOff(t *testing.T) {
	s := newShelf(t, 5000)
	ctx, cancel := context.WithCancel(t.Context())
	s.away = func(n int) error {
		if n == 20 {
			cancel()
			return ctx.Err()
		}
		return nil
	}
	o := options
	o.Format = URLs
	o.Format = JSONL
	n, err := Write(ctx, io.Discard, s, s, analytics.Selection{Crawl: "c", Outcome: "delivered"}, o)
	if !errors.Is(err, context.Canceled) || n > 20 || s.listed > 100 {
		t.Errorf("%d pages of %d listed, %v", n, s.listed, err)
	}
}

func TestTarget(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.urls")
	left := func(want ...string) {
		t.Helper()
		var names []string
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			names = append(names, e.Name())
		}
		if !slices.Equal(names, want) {
			t.Errorf("the folder holds %q, want %q", names, want)
		}
	}
	create := func(replace bool) *Target {
		t.Helper()
		target, err := Create(t.Context(), path, replace)
		if err != nil || target.Streaming() {
			t.Fatal(target, err)
		}
		return target
	}
	target := create(false)
	fmt.Fprint(target, "half")
	target.Abort()
	left()
	target = create(false)
	fmt.Fprint(target, "whole")
	if _, err := os.Stat(path); err == nil {
		t.Error("the file is there before it is whole")
	}
	if err := target.Commit(); err != nil {
		t.Fatal(err)
	}
	left("out.urls")
	if _, err := Create(t.Context(), path, false); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Errorf("a file that is there: %v", err)
	}
	target = create(true)
	fmt.Fprint(target, "new")
	target.Abort()
	if b, err := os.ReadFile(path); err != nil || string(b) != "whole" {
		t.Errorf("after a replacement that failed the file holds %q, %v", b, err)
	}
	target = create(true)
	fmt.Fprint(target, "new")
	if err := target.Commit(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "new" {
		t.Errorf("replaced, it holds %q, %v", b, err)
	}
	left("out.urls")
	for _, bad := range []string{dir, filepath.Join(dir, "none", "x"), filepath.Join(path, "x")} {
		if _, err := Create(t.Context(), bad, true); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	// Two at once: the second gets an error.
	os.Remove(path)
	first, second := create(false), create(false)
	fmt.Fprint(first, "first")
	fmt.Fprint(second, "second")
	if err := first.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := second.Commit(); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Errorf("the second of two at once: %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "first" {
		t.Errorf("of two at once the file holds %q, %v", b, err)
	}
	left("out.urls")
	// The target of a symbolic link is replaced, not the link.
	real := path
	path = filepath.Join(dir, "link.urls")
	if err := os.Symlink("out.urls", path); err != nil {
		t.Fatal(err)
	}
	target = create(true)
	fmt.Fprint(target, "linked")
	if err := target.Commit(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(real); err != nil || string(b) != "linked" {
		t.Errorf("behind the link there is %q, %v", b, err)
	}
	left("link.urls", "out.urls")
	path = real
	// The folder is removed before the file is complete.
	target = create(true)
	if err := os.Rename(dir, dir+"-gone"); err != nil {
		t.Fatal(err)
	}
	if err := target.Commit(); err == nil {
		t.Error("committed into a folder that is gone")
	}
}

func TestFullDevice(t *testing.T) {
	target, err := Create(t.Context(), "/dev/full", false)
	if err != nil || !target.Streaming() {
		t.Fatal(target, err)
	}
	defer target.Abort()
	s := newShelf(t, 3)
	for _, format := range []Format{WARC, JSONL, URLs} {
		o := options
		o.Format = format
		n, err := Write(t.Context(), target, s, s, analytics.Selection{Crawl: "c", Outcome: "delivered"}, o)
		if n != 0 || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %d pages, %v", format, n, err)
		}
	}
}
