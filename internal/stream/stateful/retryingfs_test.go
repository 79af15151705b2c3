package stateful_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"forager/internal/platform/pipeline"
	"forager/internal/stream/kafka"
	"forager/internal/stream/state"
	"forager/internal/stream/stateful"
)

// smallDisk has space for so many bytes; a write beyond it is truncated, as on a real disk.
type smallDisk struct {
	vfs.FS
	mu   sync.Mutex
	room int
	hits chan string // the names of files for which there was no space; all but the first are dropped
}

func newSmallDisk(room int) *smallDisk {
	return &smallDisk{FS: vfs.NewMem(), room: room, hits: make(chan string, 1)}
}

// take returns for how many of n bytes there is space.
func (d *smallDisk) take(name string, n int) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	got := min(n, d.room)
	d.room -= got
	if got == n && d.room > 0 {
		return got, nil
	}
	select {
	case d.hits <- name:
	default:
	}
	return got, fmt.Errorf("write %s: %w", name, syscall.ENOSPC)
}

func (d *smallDisk) grow(by int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room += by
}

func (d *smallDisk) file(name string, f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &smallFile{f, d, name}, nil
}

func (d *smallDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if _, err := d.take(name, 0); err != nil {
		return nil, err
	}
	f, err := d.FS.Create(name, c)
	return d.file(name, f, err)
}

func (d *smallDisk) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.ReuseForWrite(old, name, c)
	return d.file(name, f, err)
}

func (d *smallDisk) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := d.FS.OpenReadWrite(name, c, opts...)
	return d.file(name, f, err)
}

func (d *smallDisk) Rename(old, name string) error {
	if _, err := d.take(name, 0); err != nil {
		return err
	}
	return d.FS.Rename(old, name)
}

type smallFile struct {
	vfs.File
	disk *smallDisk
	name string
}

func (f *smallFile) Write(b []byte) (int, error) {
	n, full := f.disk.take(f.name, len(b))
	if n, err := f.File.Write(b[:n]); err != nil {
		return n, err
	}
	return n, full
}

func (f *smallFile) WriteAt(b []byte, offset int64) (int, error) {
	n, full := f.disk.take(f.name, len(b))
	if n, err := f.File.WriteAt(b[:n], offset); err != nil {
		return n, err
	}
	return n, full
}

func (f *smallFile) Sync() error {
	_, err := f.disk.take(f.name, 0)
	return err
}

func (f *smallFile) SyncData() error { return f.Sync() }

// patientClient returns a client that can only wait and log it.
func retryingClient(t *testing.T, log io.Writer) *kafka.Client {
	t.Helper()
	c, err := kafka.Dial(pipeline.Kafka{Brokers: []string{"127.0.0.1:1"}}, nil, slog.New(slog.NewTextHandler(log, nil)), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// A store whose disk is full again and again, at whatever write, waits each time, and holds in
// the end what was committed.
func TestStoreWaitsForSpace(t *testing.T) {
	var log bytes.Buffer
	disk := newSmallDisk(1)
	fs := stateful.RetryingFS(retryingClient(t, &log), disk)
	stop, stopped := make(chan struct{}), make(chan int)
	go func() { // free space as soon as it is needed
		n := 0
		for {
			select {
			case <-disk.hits:
				n++
				disk.grow(3000 + 137*n%1000)
			case <-stop:
				stopped <- n
				return
			}
		}
	}()
	options := state.Options{Dir: "state", FS: fs, Sync: func() bool { return true }, MemTable: 64 << 10}
	s := OpenStore(t, options)
	value := func(i int) []byte { return bytes.Repeat([]byte{byte(i), byte(i >> 3), byte(i * i)}, 40) }
	const keys = 300
	for i := range keys {
		if err := s.Set(fmt.Appendf(nil, "key %d", i), value(i)); err != nil {
			t.Fatal(err)
		}
		if err := s.Commit(state.Marks{Input: int64(i) + 1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = OpenStore(t, options)
	defer s.Close()
	if got := s.Marks().Input; got != keys {
		t.Errorf("the state is that of record %d, want %d", got, keys)
	}
	for i := range keys {
		got, ok, err := s.Get(fmt.Appendf(nil, "key %d", i))
		if err != nil || !ok || !bytes.Equal(got, value(i)) {
			t.Fatalf("key %d: %t, %v, %x", i, ok, err, got)
		}
	}
	close(stop)
	if n := <-stopped; n < 10 {
		t.Errorf("the disk was full %d times only", n)
	}
}

// A wait is logged with its reason and its length.
func TestWaitForSpaceIsReported(t *testing.T) {
	var log bytes.Buffer
	p := stateful.RetryingFS(retryingClient(t, &log), vfs.NewMem())
	tries := 0
	err := p.WhenSpace("state/p3/000007.log", func() error {
		if tries++; tries < 5 {
			return syscall.EDQUOT
		}
		return io.ErrShortWrite // no lack of space: the caller's error
	})
	if err != io.ErrShortWrite || tries != 5 {
		t.Errorf("%v after %d tries", err, tries)
	}
	for _, want := range []string{"waiting", "space on the disk of state/p3/000007.log", "disk quota exceeded", "waited"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in\n%s", want, &log)
		}
	}
}
