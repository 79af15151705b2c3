package state

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"forager/internal/stream"
	"forager/internal/stream/streamtest"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"
)

func openStore(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStoreIsAnOrderedMap compares random operations with a plain map, over commits, closes and
// crashes; after a crash the store must have the state of some commit since the last synced one.
func TestStoreIsAnOrderedMap(t *testing.T) {
	key := rapid.SampledFrom([]string{"a", "b", "ba", "bb", "c\x00", "c\xff", "d", "e"})
	rapid.Check(t, func(t *rapid.T) {
		fs := vfs.NewCrashableMem()
		synced := false
		o := Options{Dir: "state", Identity: "test/0", FS: fs, MemTable: 64 << 10, Sync: func() bool { return synced }}
		s, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { s.Close() }()
		type version struct {
			entries map[string]string
			marks   Marks
		}
		now := map[string]string{}
		history := []version{{map[string]string{}, Marks{}}} // since the last one known to be on disk
		commits := int64(0)
		check := func() {
			t.Helper()
			got := map[string]string{}
			var order []string
			if err := s.Scan([]byte{1}, nil, func(k, v []byte) (bool, error) {
				got[string(k)] = string(v)
				order = append(order, string(k))
				return true, nil
			}); err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(got, now) || !slices.IsSorted(order) {
				t.Fatalf("scan gives %v in order %v, want %v", got, order, now)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				k, v := key.Draw(t, "key"), rapid.String().Draw(t, "value")
				v = strings.Repeat(v, rapid.SampledFrom([]int{1, 1, separateValues}).Draw(t, "times"))
				if err := s.Set([]byte(k), []byte(v)); err != nil {
					t.Fatal(err)
				}
				now[k] = v
			},
			"get": func(t *rapid.T) {
				k := key.Draw(t, "key")
				v, ok, err := s.Get([]byte(k))
				want, there := now[k]
				if err != nil || ok != there || string(v) != want {
					t.Fatalf("Get(%q) = %q, %v, %v, want %q, %v", k, v, ok, err, want, there)
				}
			},
			"delete": func(t *rapid.T) {
				k := key.Draw(t, "key")
				if err := s.Delete([]byte(k)); err != nil {
					t.Fatal(err)
				}
				delete(now, k)
			},
			"delete range": func(t *rapid.T) {
				from, to := key.Draw(t, "from"), key.Draw(t, "to")
				if err := s.DeleteRange([]byte(from), []byte(to)); err != nil {
					t.Fatal(err)
				}
				maps.DeleteFunc(now, func(k, _ string) bool { return k >= from && k < to })
			},
			"scan": func(t *rapid.T) {
				from, to, most := key.Draw(t, "from"), key.Draw(t, "to"), rapid.IntRange(1, 4).Draw(t, "most")
				var got, want []string
				if err := s.Scan([]byte(from), []byte(to), func(k, v []byte) (bool, error) {
					got = append(got, string(k)+"="+string(v))
					return len(got) < most, nil
				}); err != nil {
					t.Fatal(err)
				}
				for _, k := range slices.Sorted(maps.Keys(now)) {
					if k >= from && k < to && len(want) < most {
						want = append(want, k+"="+now[k])
					}
				}
				if !slices.Equal(got, want) {
					t.Fatalf("Scan(%q, %q) = %q, want %q", from, to, got, want)
				}
			},
			"read what is committed": func(t *rapid.T) {
				last, got, scanned := history[len(history)-1].entries, map[string]string{}, map[string]string{}
				var keys [][]byte
				for _, k := range slices.Compact(slices.Sorted(slices.Values(rapid.SliceOf(key).Draw(t, "keys")))) {
					keys = append(keys, []byte(k))
				}
				var group errgroup.Group // with concurrent writes
				group.Go(func() error {
					return s.ReadCommitted(keys, func(i int, value []byte) error {
						got[string(keys[i])] = string(value)
						return nil
					})
				})
				group.Go(func() error {
					return s.ScanCommitted([]byte{1}, nil, func(k, value []byte) (bool, error) {
						scanned[string(k)] = string(value)
						return true, nil
					})
				})
				k := key.Draw(t, "key")
				if err := errors.Join(s.Set([]byte(k), []byte("new")), group.Wait()); err != nil {
					t.Fatal(err)
				}
				now[k] = "new"
				want := maps.Clone(last)
				maps.DeleteFunc(want, func(k, _ string) bool {
					return !slices.ContainsFunc(keys, func(asked []byte) bool { return string(asked) == k })
				})
				if !maps.Equal(got, want) || !maps.Equal(scanned, last) {
					t.Fatalf("of %q there is committed %v, and in all %v; want %v and %v", keys, got, scanned, want, last)
				}
			},
			"commit": func(t *rapid.T) {
				synced = rapid.Bool().Draw(t, "synced")
				commits++
				m := Marks{Input: commits, Log: []LogMark{{commits * 2, uint64(commits * 3)}, {commits, 1}}}
				if err := s.Commit(m); err != nil {
					t.Fatal(err)
				}
				if synced {
					history = history[:0]
				}
				history = append(history, version{maps.Clone(now), m})
			},
			"close": func(t *rapid.T) {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if s, err = Open(o); err != nil {
					t.Fatal(err)
				}
				last := history[len(history)-1]
				now, history = maps.Clone(last.entries), []version{last}
				if s.Marks().String() != last.marks.String() || s.Fresh() != (commits == 0) {
					t.Fatalf("marks %v, want %v", s.Marks(), last.marks)
				}
				check()
			},
			"crash": func(t *rapid.T) {
				left := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rapid.IntRange(0, 100).Draw(t, "kept"), RNG: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))})
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				fs, o.FS = left, left
				if s, err = Open(o); err != nil {
					t.Fatal(err)
				}
				got := s.Marks().String()
				i := slices.IndexFunc(history, func(v version) bool { return v.marks.String() == got })
				if i < 0 {
					t.Fatalf("marks %s after the crash, and none of %v was committed", got, history)
				}
				now, history = maps.Clone(history[i].entries), []version{history[i]}
				commits = history[0].marks.Input
				check()
			},
			"": func(t *rapid.T) { check() },
		})
	})
}

func TestStoreIsOpenOnce(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, Options{Dir: dir, Identity: "x"})
	if _, err := Open(Options{Dir: dir, Identity: "x"}); !errors.Is(err, ErrLocked) {
		t.Errorf("second open: %v, want ErrLocked", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, Options{Dir: dir, Identity: "x"})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestStoreRefusesAnotherOwner(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "p0")
	s := openStore(t, Options{Dir: dir, Identity: "prioritize link.found/0"})
	if !s.Fresh() {
		t.Error("a new store is not fresh")
	}
	if err := s.Commit(Marks{Input: 3}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: dir, Identity: "prioritize link.found/1"}); !stream.IsBroken(err) {
		t.Errorf("another partition's state: %v, want broken", err)
	}
	s = openStore(t, Options{Dir: dir, Identity: "prioritize link.found/0"})
	if s.Fresh() || s.Marks().Input != 3 {
		t.Errorf("fresh %v, marks %v", s.Fresh(), s.Marks())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestStoreKeepsItsKeysToItself(t *testing.T) {
	s := openStore(t, Options{Dir: "d", FS: vfs.NewMem()})
	defer s.Close()
	for _, key := range []string{"", "\x00marks"} {
		k := []byte(key)
		if err := s.Set(k, nil); !stream.IsBroken(err) {
			t.Errorf("Set(%q): %v", key, err)
		}
		if _, _, err := s.Get(k); !stream.IsBroken(err) {
			t.Errorf("Get(%q): %v", key, err)
		}
		if err := s.Delete(k); !stream.IsBroken(err) {
			t.Errorf("Delete(%q): %v", key, err)
		}
		if err := s.DeleteRange(k, []byte("z")); !stream.IsBroken(err) {
			t.Errorf("DeleteRange(%q): %v", key, err)
		}
		if err := s.Scan(k, nil, nil); !stream.IsBroken(err) {
			t.Errorf("Scan(%q): %v", key, err)
		}
		if err := s.ReadCommitted([][]byte{k}, nil); !stream.IsBroken(err) {
			t.Errorf("ReadCommitted(%q): %v", key, err)
		}
		if err := s.ScanCommitted(k, nil, nil); !stream.IsBroken(err) {
			t.Errorf("ScanCommitted(%q): %v", key, err)
		}
	}
}

func TestStoreSharesACache(t *testing.T) {
	cache := NewCache(1 << 20)
	defer cache.Close()
	for p := range 3 {
		s := openStore(t, Options{Dir: fmt.Sprint("p", p), FS: vfs.NewMem(), Cache: cache})
		defer s.Close()
		if err := s.Set([]byte("k"), bytes.Repeat([]byte{byte(p)}, 100)); err != nil {
			t.Fatal(err)
		}
		if err := s.Commit(Marks{}); err != nil {
			t.Fatal(err)
		}
	}
}

// Pebble takes write buffers out of its cache; full ones must leave the cache its size, also those into which a log was replayed, and empty ones no
// more than that.
func TestStoreLeavesTheCacheItsSize(t *testing.T) {
	const size, buffer = 4 << 20, 4 << 20
	cache := NewCache(size)
	defer cache.Close()
	for i := range 3 {
		o := Options{Dir: fmt.Sprint("idle", i), FS: vfs.NewMem(), Cache: cache, MemTable: buffer}
		idle := openStore(t, o)
		for n := range i * 150 {
			if err := errors.Join(idle.Set([]byte{1, byte(n)}, make([]byte, 10_000)), idle.Commit(Marks{})); err != nil {
				t.Fatal(err)
			}
		}
		if err := idle.Close(); err != nil {
			t.Fatal(err)
		}
		defer openStore(t, o).Close()
	}
	for round := range 3 { // what one Store takes must come back at its end
		s := openStore(t, Options{Dir: fmt.Sprint("p", round), FS: vfs.NewMem(), Cache: cache, MemTable: buffer})
		key := func(i int) []byte { return fmt.Appendf(nil, "k%06d", i*7919%10_000) }
		const keys = 10_000
		for i := range keys {
			if err := s.Set(key(i), bytes.Repeat([]byte{byte(i)}, 2000)); err != nil {
				t.Fatal(err)
			}
			if i%100 == 99 {
				if err := s.Commit(Marks{}); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i := range keys {
			if _, ok, err := s.Get(key(i)); err != nil || !ok {
				t.Fatalf("key %d: %v, %v", i, ok, err)
			}
		}
		if held := s.db.Metrics().BlockCache.Size; held < size/2 || held > size+2*buffer {
			t.Errorf("round %d: a cache of %d bytes holds %d", round, size, held)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStoreOpensWithoutCompaction: where a compaction is due, none is made before Open returns, which would wait for its end; the next
// flush begins it.
func TestStoreOpensWithoutCompaction(t *testing.T) {
	o := Options{Dir: "state", Identity: "test", FS: vfs.NewMem()}
	s := openStore(t, o)
	if err := errors.Join(s.Set([]byte("a"), nil), s.Commit(Marks{}), s.Close()); err != nil {
		t.Fatal(err)
	}
	opts := &pebble.Options{FS: o.FS, FormatMajorVersion: pebble.FormatValueSeparation, DisableAutomaticCompactions: true}
	tune(opts, false)
	db, err := pebble.Open(o.Dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	for range flushesMerged / 2 {
		if err := errors.Join(db.Set([]byte("a"), nil, nil), db.Set([]byte("z"), nil, nil), db.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(db.Set([]byte("z"), nil, nil), db.Close()); err != nil { // a log to be replayed
		t.Fatal(err)
	}

	s = openStore(t, o)
	defer func() { s.Close() }()
	if m := s.db.Metrics(); m.Compact.Count+m.Compact.NumInProgress > 0 || m.Levels[0].TablesCount < flushesMerged/2 {
		t.Errorf("%d compactions, %d in progress, %d tables in the first level", m.Compact.Count, m.Compact.NumInProgress, m.Levels[0].TablesCount)
	}
	if err := errors.Join(s.Set([]byte("a"), nil), s.Commit(Marks{Input: 1})); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	streamtest.Eventually(t, func() bool { return s.db.Metrics().Compact.Count > 0 })
}

func TestMarksAreStoredAsText(t *testing.T) {
	for _, m := range []Marks{{}, {Input: 17, Log: []LogMark{{120, 18}, {97, 0}}}} {
		got, err := ParseMarks(m.String())
		if err != nil || got.String() != m.String() {
			t.Errorf("%q is read as %q, %v", m, got, err)
		}
	}
	for _, text := range []string{"", "17", "ix", "i1 2", "i1 2:x", "i1 :3", "i1  2:3", "i01"} {
		if m, err := ParseMarks(text); err == nil {
			t.Errorf("%q is read as %v", text, m)
		}
	}
}

// BenchmarkStoreQueueHead takes entries off the head of a queue of a million deleted keys, from
// the last key taken, as the frontier does; the figure must not grow with the run of tombstones.
func BenchmarkStoreQueueHead(b *testing.B) {
	s := openStore(b, Options{Dir: b.TempDir()})
	defer s.Close()
	put := func(i int) {
		if err := s.Set(fmt.Appendf(nil, "q%012d", i), []byte("entry")); err != nil {
			b.Fatal(err)
		}
	}
	const ahead = 1000
	for i := range ahead {
		put(i)
	}
	from := []byte("q")
	for i := 0; b.Loop(); i++ {
		if err := s.Scan(from, []byte("r"), func(k, _ []byte) (bool, error) {
			from = append(from[:0], k...)
			return false, nil
		}); err != nil {
			b.Fatal(err)
		}
		if err := s.Delete(from); err != nil {
			b.Fatal(err)
		}
		put(i + ahead)
		if i%50 == 0 {
			if err := s.Commit(Marks{}); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// TestStoreIsReadWhileWritten: a read that is concurrent with changes of a Store returns a value that the key
// has had, no older than the one when the read began; after Close it is an error.
func TestStoreIsReadWhileWritten(t *testing.T) {
	s := openStore(t, Options{Dir: t.TempDir(), Identity: "a", FS: vfs.NewMem()})
	const keys, rounds = 16, 400
	var written [keys]atomic.Int64
	var readers errgroup.Group
	for range 3 {
		readers.Go(func() error {
			for n := 0; ; n++ {
				k := n % keys
				least := written[k].Load()
				b, ok, err := s.Read([]byte{'k', byte(k)}, nil)
				switch {
				case errors.Is(err, pebble.ErrClosed):
					return nil
				case err != nil:
					return err
				case !ok && least > 0:
					return fmt.Errorf("key %d has lost its value", k)
				}
				if got, _ := strconv.ParseInt(string(b), 10, 64); got < least {
					return fmt.Errorf("key %d has %d behind %d", k, got, least)
				}
			}
		})
	}
	for n := range int64(rounds) {
		for k := range keys {
			if err := s.Set([]byte{'k', byte(k)}, strconv.AppendInt(nil, n, 10)); err != nil {
				t.Fatal(err)
			}
			written[k].Store(n)
		}
		if err := s.Commit(Marks{Input: n}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := readers.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestSnapshot: a snapshot has the state of one commit, whatever is written meanwhile, and Close waits for it.
func TestSnapshot(t *testing.T) {
	s := openStore(t, Options{Dir: t.TempDir(), Identity: "a", FS: vfs.NewMem()})
	const keys, rounds = 16, 300
	var readers errgroup.Group
	for range 3 {
		readers.Go(func() error {
			for {
				x, err := s.Snapshot()
				if errors.Is(err, pebble.ErrClosed) {
					return nil
				}
				if err != nil {
					return err
				}
				var all []string
				err = x.Scan([]byte("k"), []byte("l"), func(_, v []byte) (bool, error) {
					all = append(all, string(v))
					return true, nil
				})
				if err == nil && len(all) > 0 {
					last, _, readErr := x.Get([]byte{'k', keys - 1})
					if err = readErr; err == nil && (len(all) != keys || len(slices.Compact(append(all, string(last)))) != 1) {
						err = fmt.Errorf("of several commits: %q and %q", all, last)
					}
				}
				if err = errors.Join(err, x.Close()); err != nil {
					return err
				}
			}
		})
	}
	for n := range int64(rounds) {
		for k := range keys {
			if err := s.Set([]byte{'k', byte(k)}, strconv.AppendInt(nil, n, 10)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Commit(Marks{Input: n}); err != nil {
			t.Fatal(err)
		}
	}
	x, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if x.Set([]byte("k"), nil) == nil || x.Delete([]byte("k")) == nil || x.DeleteRange([]byte("k"), nil) == nil {
		t.Error("a snapshot was changed")
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := readers.Wait(); err != nil {
		t.Fatal(err)
	}
}
