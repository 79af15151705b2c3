package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"forager/internal/platform/objects"
	"forager/internal/platform/objects/objectstest"
	"forager/internal/stream/state"
)

func open(fs vfs.FS, dir string) (*state.Store, error) {
	return state.Open(state.Options{FS: fs, Dir: dir, Identity: "lots in/2", MemTable: 256 << 10})
}

func content(s *state.Store) (map[string]string, error) {
	all := make(map[string]string)
	return all, s.ScanCommitted([]byte("a"), nil, func(k, v []byte) (bool, error) {
		all[string(k)] = string(v)
		return true, nil
	})
}

// restoring are the options of a restore without waits.
func restoring(b Bucket, fs vfs.FS, dir string, skipped *[]string) RestoreOptions {
	return RestoreOptions{
		Bucket: b, Of: here, FS: fs, Dir: dir, Check: fine,
		Open: func(m *Manifest) error {
			s, err := open(fs, dir)
			if err != nil {
				return err
			}
			if s.Marks().String() != m.Marks {
				err = fmt.Errorf("marks %s", s.Marks())
			}
			return errors.Join(err, s.Close())
		},
		Skipped: func(_, reason string, _ error) { *skipped = append(*skipped, reason) },
		Wait:    func(_ context.Context, cause error) error { return cause },
		Over:    func() {},
	}
}

// A snapshot is the state at the commit at which it was made, whatever comes later; and what has not changed is not sent again.
func TestRestoredStateIsThatOfACommit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fs := vfs.NewMem()
		b := newBucket()
		s, err := open(fs, "p2")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { s.Close() }()
		k := Maker{Bucket: b, Of: here, Limit: NewLimit(0)}
		model := make(map[string]string)
		var made []map[string]string // the states of the snapshots
		for i := range int64(rapid.IntRange(1, 12).Draw(t, "commits")) {
			for range rapid.IntRange(0, 40).Draw(t, "changes") {
				key := fmt.Sprintf("key %03d", rapid.IntRange(0, 200).Draw(t, "key"))
				if rapid.IntRange(0, 4).Draw(t, "deleted") == 0 {
					delete(model, key)
					err = s.Delete([]byte(key))
				} else {
					model[key] = strings.Repeat(key, rapid.IntRange(0, 300).Draw(t, "length"))
					err = s.Set([]byte(key), []byte(model[key]))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Commit(state.Marks{Input: i + 1, Log: []state.LogMark{{Offset: i, Epoch: 7}}}); err != nil {
				t.Fatal(err)
			}
			if err := s.Set([]byte("uncommitted"), []byte("x")); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "snapshot") {
				if rapid.Bool().Draw(t, "flush") {
					done, err := s.Flush()
					if err != nil {
						t.Fatal(err)
					}
					<-done
				}
				ck := fmt.Sprint("checkpoint", i)
				if err := s.Checkpoint(ck); err != nil {
					t.Fatal(err)
				}
				if _, err := k.Upload(context.Background(), fs, ck, Manifest{Epoch: 7, Marks: s.Marks().String()}, true); err != nil {
					t.Fatal(err)
				}
				made = append(made, maps.Clone(model))
			}
			if err := s.Delete([]byte("uncommitted")); err != nil {
				t.Fatal(err)
			}
		}
		var skipped []string
		const dir = "p2.restore"
		for n := len(made) - 1; n >= 0; n-- {
			m, err := Restore(context.Background(), restoring(b, fs, dir, &skipped))
			if err != nil {
				t.Fatal(err)
			}
			r, err := open(fs, dir)
			if err != nil {
				t.Fatal(err)
			}
			got, err := content(r)
			if err = errors.Join(err, r.Close()); err != nil || !maps.Equal(got, made[n]) || m.Epoch != 7 {
				t.Fatalf("snapshot %d: %d keys, want %d: %v", n, len(got), len(made[n]), err)
			}
			last := b.keys(here.manifests()) // the one before is next
			delete(b.objects, here.manifests()+last[len(last)-1])
		}
		if _, err := Restore(context.Background(), restoring(b, fs, dir, &skipped)); !errors.Is(err, ErrNone) || len(skipped) > 0 {
			t.Fatalf("without snapshots: %v, skipped %v", err, skipped)
		}
	})
}

// fill commits n keys of a size, and uploads a snapshot.
func fill(t *testing.T, s *state.Store, k *Maker, home string, from, n, size int) Report {
	t.Helper()
	for i := from; i < from+n; i++ {
		if err := s.Set(fmt.Appendf(nil, "key %06d", i), bytes.Repeat(fmt.Appendf(nil, "%d,", i*i), size/8)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Commit(state.Marks{Input: int64(from + n)}); err != nil {
		t.Fatal(err)
	}
	done, err := s.Flush()
	if err != nil {
		t.Fatal(err)
	}
	<-done
	ck := filepath.Join(home, fmt.Sprint("checkpoint", from))
	if err := s.Checkpoint(ck); err != nil {
		t.Fatal(err)
	}
	r, err := k.Upload(t.Context(), vfs.Default, ck, Manifest{Marks: s.Marks().String()}, true)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Snapshots that cannot be restored are named, and the one before is taken.
func TestUnfitSnapshotsAreNamed(t *testing.T) {
	home := t.TempDir()
	s, err := open(vfs.Default, filepath.Join(home, "p2"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := newBucket()
	k := Maker{Bucket: b, Of: here, Limit: NewLimit(0)}
	fill(t, s, &k, home, 0, 100, 100)
	good := maps.Clone(b.objects)
	newest := fill(t, s, &k, home, 100, 100, 100)
	all := maps.Clone(b.objects)
	m, unfit := decode(newest.Key[len(here.manifests()):], b.objects[newest.Key].body)
	if unfit != nil {
		t.Fatal(unfit)
	}
	fresh := func() string { // a chunk of the newest only
		for _, f := range m.Files {
			for _, c := range f.Chunks {
				if _, ok := good[here.chunks()+c]; !ok && f.Size > 2 {
					return here.chunks() + c
				}
			}
		}
		t.Fatal("nothing is new")
		return ""
	}()
	again := func(change func(m *Manifest)) {
		x := *m
		x.Files = slices.Clone(m.Files)
		change(&x)
		name, body, err := x.encode()
		if err != nil {
			t.Fatal(err)
		}
		delete(b.objects, newest.Key)
		b.objects[here.manifests()+name] = stored{body, b.now}
	}
	content := func(key string, change func(body []byte) []byte) {
		o := b.objects[key]
		b.objects[key] = stored{change(slices.Clone(o.body)), o.modified}
	}
	flip := func(body []byte) []byte { body[len(body)/2] ^= 1; return body }
	for name, c := range map[string]struct {
		want string
		harm func()
	}{
		"manifest damaged":   {Damaged, func() { content(newest.Key, flip) }},
		"manifest truncated": {Damaged, func() { content(newest.Key, func(body []byte) []byte { return body[:len(body)/2] }) }},
		"manifest empty":     {Damaged, func() { content(newest.Key, func(body []byte) []byte { return nil }) }},
		"chunk damaged":      {Damaged, func() { content(fresh, flip) }},
		"chunk truncated":    {Partial, func() { content(fresh, func(body []byte) []byte { return body[:len(body)-1] }) }},
		"chunk missing":      {Partial, func() { delete(b.objects, fresh) }},
		"file missing":       {Damaged, func() { again(func(m *Manifest) { m.Files = m.Files[1:] }) }},
		"files elsewhere":    {Damaged, func() { again(func(m *Manifest) { m.Files[0].Name = "../p1/x" }) }},
		"later program":      {Version, func() { again(func(m *Manifest) { m.Version++ }) }},
		"another layout":     {Layout, func() { again(func(m *Manifest) { m.Layout = "2" }) }},
		"another stage":      {Foreign, func() { again(func(m *Manifest) { m.Stage = "other" }) }},
		"another partition":  {Foreign, func() { again(func(m *Manifest) { m.Partition = 3 }) }},
		"other marks":        {Damaged, func() { again(func(m *Manifest) { m.Marks = "i999" }) }},
	} {
		t.Run(name, func(t *testing.T) {
			b.objects = maps.Clone(all)
			c.harm()
			var skipped []string
			got, err := Restore(t.Context(), restoring(b, vfs.Default, filepath.Join(t.TempDir(), "p2.restore"), &skipped))
			if err != nil || got.Marks != "i100" || !slices.Equal(skipped, []string{c.want}) {
				t.Errorf("%v, skipped %v: %v", got, skipped, err)
			}
			if name == "later program" || strings.HasPrefix(name, "manifest") {
				// What an unknown manifest needs is not known: no chunk is removed.
				before := len(b.keys(here.chunks()))
				b.now = b.now.Add(10 * keepTime)
				r := fill(t, s, &Maker{Bucket: b, Of: here, Limit: NewLimit(0)}, t.TempDir(), 200, 1, 1)
				if _, err := k.Collect(t.Context(), r.Key, fine); err != nil || len(b.keys(here.chunks())) < before {
					t.Errorf("%d chunks of %d: %v", len(b.keys(here.chunks())), before, err)
				}
			}
		})
	}
}

// An upload and a restore go on where the store was away; only what has changed is sent.
func TestTheStoreIsAway(t *testing.T) {
	server := objectstest.Start(t)
	b := &faulty{server.Store(t), -1}
	home := t.TempDir()
	s, err := open(vfs.Default, filepath.Join(home, "p2"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	k := Maker{Bucket: b, Of: here, Limit: NewLimit(0)}
	first := fill(t, s, &k, home, 0, 3000, 4000)
	if first.Sent < 5<<20 {
		t.Fatalf("%d bytes only", first.Sent)
	}
	second := fill(t, s, &k, home, 3000, 10, 4000)
	if second.Sent > first.Sent/10 {
		t.Errorf("%d bytes sent after %d for a small change", second.Sent, first.Sent)
	}
	// A server that goes away at any request: the next try sends the rest.
	other := Maker{Bucket: b, Of: Of{Stage: "lots", Topic: "in", Partition: 3}, Limit: NewLimit(0)}
	ck := filepath.Join(home, "checkpoint3000")
	var sent int64
	tries := 0
	for ; ; tries++ {
		b.left = 3 + tries
		r, err := other.Upload(t.Context(), vfs.Default, ck, Manifest{Marks: s.Marks().String()}, true)
		sent += r.Sent
		if err == nil {
			break
		}
		if !errors.Is(err, objects.ErrUnavailable) {
			t.Fatal(err)
		}
		if b.left != 0 {
			t.Fatalf("%d requests left", b.left)
		}
	}
	if sent > second.Bytes || tries < 2 {
		t.Errorf("%d bytes in the last of %d tries, of %d", sent, tries, second.Bytes)
	}
	b.left = -1
	server.Down(t)
	var skipped []string
	o := restoring(b, vfs.Default, filepath.Join(home, "p2.restore"), &skipped)
	waits := 0
	o.Wait = func(context.Context, error) error {
		if waits++; waits == 2 {
			server.Up(t)
		}
		return nil
	}
	m, err := Restore(t.Context(), o)
	if err != nil || m.Marks != "i3010" || waits < 2 || len(skipped) > 0 {
		t.Errorf("%v after %d waits, skipped %v: %v", m, waits, skipped, err)
	}
	if at, err := Newest(t.Context(), b, here); err != nil || time.Since(at) > time.Minute {
		t.Errorf("newest at %v, %v", at, err)
	}
}

// faulty fails after so many requests; -1 = never.
type faulty struct {
	Bucket
	left int
}

func (f *faulty) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	if f.left == 0 {
		return objects.ErrUnavailable
	}
	f.left--
	return f.Bucket.Put(ctx, key, r, size)
}
