package segment_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"forager/internal/platform/objects"
	"forager/internal/platform/objects/objectstest"
	"forager/internal/platform/segment"
	"forager/internal/web/warc"
	"forager/schemas"
)

func TestMain(m *testing.M) { objectstest.Main(m) }

// memory is a store that can be unavailable, for tests under virtual time.
type memory struct {
	mu      sync.Mutex
	stored  map[string][]byte
	puts    []time.Duration // since began, of every try
	began   time.Time
	fail    func(try int) error // nil = the try works
	perPut  time.Duration
	after   bool // the failing try arrives all the same
	working int
	most    int
}

func newMemory() *memory { return &memory{stored: map[string][]byte{}, began: time.Now()} }

func (m *memory) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.puts = append(m.puts, time.Since(m.began))
	m.working++
	m.most = max(m.most, m.working)
	defer func() { m.working-- }()
	m.mu.Unlock()
	select {
	case <-time.After(m.perPut):
	case <-ctx.Done():
	}
	m.mu.Lock()
	if err := ctx.Err(); err != nil {
		return err
	}
	var err error
	if m.fail != nil {
		err = m.fail(len(m.puts))
	}
	if err == nil || m.after {
		if _, taken := m.stored[key]; taken {
			return objects.ErrExists
		}
		b, readErr := io.ReadAll(r)
		if readErr != nil || int64(len(b)) != size {
			return fmt.Errorf("%d bytes, size %d: %w", len(b), size, readErr)
		}
		m.stored[key] = b
	}
	return err
}

func (m *memory) Range(_ context.Context, key string, offset, length int64) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.stored[key]
	if !ok {
		return nil, objects.ErrNotFound
	}
	return b[offset : offset+length], nil
}

var settings = segment.Settings{Bytes: 1 << 20, Age: 250 * time.Millisecond, Instance: "fetch-0", Software: "forager"}

func page(i int, body string) *warc.Page {
	return &warc.Page{ID: [16]byte{byte(i), byte(i >> 8)}, URL: fmt.Sprintf("http://a.test/%d", i), Date: time.Now(), Status: 200, Body: []byte(body)}
}

// result collects what stored was called with.
type result struct {
	mu    sync.Mutex
	calls map[int]int
	at    map[int]segment.Location
	when  map[int]time.Time
	errs  map[int]error
}

func newResult() *result {
	return &result{calls: map[int]int{}, at: map[int]segment.Location{}, when: map[int]time.Time{}, errs: map[int]error{}}
}

func (r *result) stored(i int) func(segment.Location, error) {
	return func(at segment.Location, err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.calls[i]++
		r.at[i], r.errs[i], r.when[i] = at, err, time.Now()
	}
}

var quiet = slog.New(slog.DiscardHandler)

func add(t *testing.T, w *segment.Writer, r *result, from, to int, body string) {
	t.Helper()
	for i := from; i < to; i++ {
		if err := w.Add(t.Context(), page(i, body), r.stored(i)); err != nil {
			t.Fatal(err)
		}
	}
}

// check reads every page back from its location.
func (r *result) check(t *testing.T, store interface {
	Range(context.Context, string, int64, int64) ([]byte, error)
}, n int, body string) {
	t.Helper()
	for i := range n {
		if r.calls[i] != 1 || r.errs[i] != nil {
			t.Fatalf("page %d: %d calls, error %v", i, r.calls[i], r.errs[i])
		}
		at := r.at[i]
		p, err := segment.Read(t.Context(), store, at.Object, uint64(at.Offset), uint64(at.Length))
		if err != nil {
			t.Fatalf("page %d: %v", i, err)
		}
		if want := fmt.Sprintf("http://a.test/%d", i); p.Record.TargetURI != want || string(p.Body) != body || at.Digest != warc.Digest(p.Body) {
			t.Errorf("page %d: %s with %q", i, p.Record.TargetURI, p.Body)
		}
	}
}

func TestSegmentCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newMemory(), newResult()
		w := segment.NewWriter(t.Context(), m, settings, quiet)
		began := time.Now()
		add(t, w, r, 0, 3, "by age")
		time.Sleep(100 * time.Millisecond)
		add(t, w, r, 3, 5, "by age")
		time.Sleep(150 * time.Millisecond)
		synctest.Wait()
		r.check(t, m, 5, "by age")
		for i := range 5 {
			if d := r.when[i].Sub(began); d != settings.Age {
				t.Errorf("page %d was stored after %v", i, d)
			}
		}
		if len(m.stored) != 1 {
			t.Errorf("%d segments by age, want 1", len(m.stored))
		}

		began = time.Now()
		add(t, w, r, 5, 6, "by age")
		w.Flush()
		synctest.Wait()
		if d := r.when[5].Sub(began); d != 0 {
			t.Errorf("flush took %v", d)
		}
		w.Flush() // nothing is open
		synctest.Wait()
		if len(m.stored) != 2 {
			t.Errorf("%d segments, want 2", len(m.stored))
		}

		add(t, w, r, 6, 8, "by age")
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.check(t, m, 8, "by age")
		if err := w.Add(t.Context(), page(9, ""), r.stored(9)); err == nil {
			t.Error("a closed writer took a page")
		}
		if err := w.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// While several pages are in flight a segment waits for more, for Linger since it was begun; a page
// that comes alone does not wait, and none waits once pages have come alone for Age.
func TestSegmentLingers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newMemory(), newResult()
		set := settings
		set.Linger = 20 * time.Millisecond
		w := segment.NewWriter(t.Context(), m, set, quiet)
		began := time.Now()
		flush := func() {
			w.Flush()
			synctest.Wait()
		}
		stored := func(page int, after time.Duration) {
			t.Helper()
			if d := r.when[page].Sub(began); r.calls[page] != 1 || d != after {
				t.Errorf("page %d was stored %d times, after %v, want %v", page, r.calls[page], d, after)
			}
		}
		add(t, w, r, 0, 1, "x")
		flush()
		stored(0, 0)

		add(t, w, r, 1, 3, "x")
		flush()
		time.Sleep(5 * time.Millisecond)
		add(t, w, r, 3, 4, "x") // rides along
		flush()
		time.Sleep(15 * time.Millisecond)
		synctest.Wait()
		for i := 1; i < 4; i++ {
			stored(i, set.Linger)
		}

		add(t, w, r, 4, 5, "x") // alone, but there were several a moment ago
		flush()
		time.Sleep(set.Linger)
		synctest.Wait()
		stored(4, 2*set.Linger)

		time.Sleep(set.Age)
		add(t, w, r, 5, 6, "x")
		flush()
		stored(5, 2*set.Linger+set.Age)
		if len(m.stored) != 4 {
			t.Errorf("%d segments, want 4", len(m.stored))
		}
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.check(t, m, 6, "x")
	})
}

func TestSegmentClosesBySize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newMemory(), newResult()
		set := settings
		set.Bytes = 2000
		w := segment.NewWriter(t.Context(), m, set, quiet)
		add(t, w, r, 0, 50, "x")
		synctest.Wait()
		if len(m.stored) < 5 {
			t.Errorf("%d segments before any age, want more", len(m.stored))
		}
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.check(t, m, 50, "x")
		for name, b := range m.stored {
			if len(b) > 2*2000 {
				t.Errorf("segment %s has %d bytes", name, len(b))
			}
		}
	})
}

// While the store is unavailable the writer waits with back-off, accepts no more than one segment
// in addition to those being uploaded, and loses nothing.
func TestStoreAway(t *testing.T) {
	for _, arrives := range []bool{false, true} {
		t.Run(fmt.Sprint("tries arrive ", arrives), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, r := newMemory(), newResult()
				m.after = arrives
				back := time.Now().Add(time.Minute)
				m.fail = func(int) error {
					if time.Now().Before(back) {
						return fmt.Errorf("put: %w", objects.ErrUnavailable)
					}
					return nil
				}
				set := settings
				set.Bytes = 2000
				var away []bool
				set.Waiting = func(on bool) { r.mu.Lock(); away = append(away, on); r.mu.Unlock() }
				w := segment.NewWriter(t.Context(), m, set, quiet)
				taken := 0
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				if !arrives {
					for w.Add(ctx, page(taken, "x"), r.stored(taken)) == nil {
						taken++
					}
					if taken < 3 || taken > 30 {
						t.Errorf("%d pages taken while the store is away", taken)
					}
					m.mu.Lock()
					if n := len(m.puts); n > 20 {
						t.Errorf("%d tries in 10 s", n)
					}
					m.mu.Unlock()
				} else {
					add(t, w, r, 0, 1, "x")
					taken = 1
				}
				if err := w.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				r.check(t, m, taken, "x")
				if !arrives && (len(away) < 2 || !away[0] || away[len(away)-1]) {
					t.Errorf("waiting reported as %v", away)
				}
				if m.most > 2 {
					t.Errorf("%d uploads at a time", m.most)
				}
			})
		})
	}
}

// A permanent fault ends the writer; stored is called for every page.
func TestStoreDenies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newMemory(), newResult()
		m.fail = func(int) error { return fmt.Errorf("put: %w", objects.ErrDenied) }
		w := segment.NewWriter(t.Context(), m, settings, quiet)
		add(t, w, r, 0, 3, "x")
		<-w.Ended()
		for i := range 3 {
			if r.calls[i] != 1 || !errors.Is(r.errs[i], objects.ErrDenied) {
				t.Errorf("page %d: %d calls, error %v", i, r.calls[i], r.errs[i])
			}
		}
		if err := w.Add(t.Context(), page(9, ""), r.stored(9)); !errors.Is(err, objects.ErrDenied) {
			t.Errorf("add behind it: %v", err)
		}
		if err := w.Close(t.Context()); !errors.Is(err, objects.ErrDenied) {
			t.Errorf("close: %v", err)
		}
	})
}

// A name that is taken at the first try is another writer's: nothing was stored, the writer ends.
func TestNameTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newMemory(), newResult()
		m.fail = func(int) error { return objects.ErrExists }
		w := segment.NewWriter(t.Context(), m, settings, quiet)
		add(t, w, r, 0, 1, "x")
		<-w.Ended()
		if !errors.Is(r.errs[0], objects.ErrExists) {
			t.Errorf("error %v", r.errs[0])
		}
	})
}

func TestAbandon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newMemory(), newResult()
		m.fail = func(int) error { return objects.ErrUnavailable }
		ctx, cancel := context.WithCancel(t.Context())
		w := segment.NewWriter(ctx, m, settings, quiet)
		add(t, w, r, 0, 3, "x")
		w.Flush()
		synctest.Wait()
		add(t, w, r, 3, 5, "x")
		cancel()
		<-w.Ended()
		for i := range 5 {
			if r.calls[i] != 1 || !errors.Is(r.errs[i], context.Canceled) {
				t.Errorf("page %d: %d calls, error %v", i, r.calls[i], r.errs[i])
			}
		}
	})
}

func TestReadDamaged(t *testing.T) {
	m, r := newMemory(), newResult()
	w := segment.NewWriter(t.Context(), m, settings, quiet)
	add(t, w, r, 0, 2, "x")
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	at := r.at[0]
	for name, place := range map[string][2]uint64{
		"one byte late":  {uint64(at.Offset) + 1, uint64(at.Length)},
		"one byte short": {uint64(at.Offset), uint64(at.Length) - 1},
		"two records":    {uint64(at.Offset), uint64(at.Length + r.at[1].Length)},
		"the warcinfo":   {0, uint64(at.Offset)},
		"beyond numbers": {1 << 63, 1},
	} {
		if _, err := segment.Read(t.Context(), m, at.Object, place[0], place[1]); !errors.Is(err, segment.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := segment.Read(t.Context(), m, "segments/none", 0, 1); !errors.Is(err, objects.ErrNotFound) {
		t.Errorf("no such object: %v", err)
	}
}

// The same with the S3 server, which is killed in the middle.
func TestRealStore(t *testing.T) {
	server := objectstest.Start(t)
	store, r := server.Store(t), newResult()
	set := settings
	set.Age = time.Millisecond
	ended := make(chan segment.Stored, 100)
	set.Stored = func(s segment.Stored) { ended <- s }
	away := make(chan bool, 100)
	set.Waiting = func(on bool) { away <- on }
	w := segment.NewWriter(t.Context(), store, set, quiet)
	body := strings.Repeat("<p>text</p>", 100)
	add(t, w, r, 0, 20, body)
	first := <-ended
	server.Down(t)
	add(t, w, r, 20, 40, body)
	for !<-away {
	}
	server.Up(t)
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.check(t, store, 40, body)
	b, err := store.Get(t.Context(), first.Object)
	if err != nil || int64(len(b)) != first.Bytes || !strings.HasPrefix(first.Object, segment.Prefix) {
		t.Errorf("%+v: %d bytes, %v", first, len(b), err)
	}
	records := 0
	for reader := warc.NewReader(bytes.NewReader(b), int64(len(b)), warc.Limits{}); ; records++ {
		if _, err := reader.Next(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if records != first.Records+1 {
		t.Errorf("%d records in the segment, want %d and warcinfo", records, first.Records)
	}
}

func TestHolds(t *testing.T) {
	var file bytes.Buffer
	w := warc.NewWriter(&file)
	add := func(crawl, url string, attempt uint32) {
		t.Helper()
		id := schemas.RequestID(crawl, url, attempt)
		if _, _, err := w.Response(&warc.Page{ID: id, URL: url, Status: 200, Reason: "OK", Body: []byte(url)}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, want bool, crawls ...string) {
		t.Helper()
		if got := segment.Holds(file.Bytes(), crawls); got != want {
			t.Errorf("%s: %t", what, got)
		}
	}
	if _, err := w.Info([16]byte{1}, "name", time.Now(), nil); err != nil {
		t.Fatal(err)
	}
	want("no page", true, "a")
	add("a", "http://h.example/", 1)
	add("a", "http://h.example/x", 40)
	want("pages of one crawl", true, "a")
	want("the other crawl", false, "b")
	add("b", "http://h.example/", 1)
	want("two crawls, one of them given", false, "a")
	want("both", true, "b", "a")
	whole := file.Bytes()
	if segment.Holds(whole[:len(whole)-5], []string{"a", "b"}) {
		t.Error("a segment that is cut short")
	}
	add("a", "http://h.example/far", 1001)
	want("an attempt out of reach", false, "a", "b")
}
