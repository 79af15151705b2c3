package disk

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestFree(t *testing.T) {
	dir := t.TempDir()
	here, err := Free(dir)
	if err != nil || here == 0 {
		t.Fatalf("%d, %v", here, err)
	}
	if _, err := Free(filepath.Join(dir, "to", "be", "made")); err != nil {
		t.Error(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Free(filepath.Join(file, "below")); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("below a file: %v", err)
	}
}

func TestFolders(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	var want []string
	for _, dir := range []string{"", "local", "local/kafka", "local/s3", "state", "state/prioritize"} {
		want = append(want, filepath.Join(data, dir))
	}
	if err := os.MkdirAll(filepath.Join(data, "logs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range want {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	got := Folders(data)
	slices.Sort(got)
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// A name that is no pattern costs the folders below, not the data folder.
	if got := Folders("/none/[a"); !slices.Equal(got, []string{"/none/[a"}) {
		t.Errorf("%q", got)
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 1999: "1.9 kB", 999_999: "999.9 kB", 1_000_000: "1.0 MB",
		1 << 30: "1.0 GB", 1<<64 - 1: "18.4 EB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// space has the space of each folder of a set.
type space map[string]uint64

func (r space) free(dir string) (uint64, error) {
	n, ok := r[dir]
	if !ok {
		return 0, errors.New("unreadable")
	}
	return n, nil
}

func TestWatch(t *testing.T) {
	r := space{"a": 5000, "b": 900}
	var told []State
	var failures []error
	w := NewWatch(func() []string { return []string{"a", "b"} }, 800, r.free, func(s State, err error) {
		told, failures = append(told, s), append(failures, err)
	})
	now := time.Unix(1_000_000, 0)
	look := func(free uint64, low bool, need uint64) {
		t.Helper()
		r["b"] = free
		now = now.Add(time.Second)
		if got := w.Check(now); got.Low != low || got.Need != need || got.Free != free || got.Dir != "b" {
			t.Errorf("%d free: %+v", free, got)
		}
	}
	look(900, false, 800)
	look(800, false, 800)
	look(799, true, 800)
	r["b"] = 1000
	if got := w.Check(now.Add(999 * time.Millisecond)); got.Free != 799 {
		t.Errorf("looked again within a second: %+v", got)
	}
	look(800, true, 900)
	look(899, true, 900)
	look(900, false, 900)
	look(850, false, 800)
	if len(told) != 2 || !told[0].Low || told[1].Low || errors.Join(failures...) != nil {
		t.Errorf("reported %+v, %v", told, failures)
	}
	if s := told[0].String(); s != "disk b has 799 B free and needs 800 B; free space there, or lower disk.pause_below" {
		t.Error(s)
	}
	// The clock goes back: look all the same.
	r["b"] = 1
	if got := w.Check(now.Add(-time.Hour)); !got.Low {
		t.Errorf("%+v", got)
	}
	// A folder that cannot be read is not low, and is reported once.
	told, failures = nil, nil
	delete(r, "b")
	for range 3 {
		now = now.Add(time.Minute)
		if got := w.Check(now); got.Low || got.Dir != "a" {
			t.Errorf("%+v", got)
		}
	}
	if len(failures) != 1 || failures[0] == nil || !strings.Contains(failures[0].Error(), "unreadable") {
		t.Errorf("reported %v", failures)
	}
}

func TestWatchWithoutLimit(t *testing.T) {
	w := NewWatch(func() []string { t.Error("looked"); return nil }, 0, space{}.free, nil)
	if got := w.Check(time.Now()); got.Low {
		t.Errorf("%+v", got)
	}
}
