package stream

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// patientFS is a file system on which writes to a full disk wait until there is space, however long
// that takes. Pebble ends its process when its log cannot be written, and a process that ends for a
// full disk would end again at every start. The wait cannot be cancelled; a process that is killed
// meanwhile leaves the state of the last commit.
//
// Reads and deletions are not affected.
type patientFS struct {
	vfs.FS
	client *Client
}

// full reports whether an error is that of a full disk or an exceeded quota.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// whenRoom calls f until it does not fail for lack of space.
func (p *patientFS) whenRoom(name string, f func() error) error {
	w := waiting{client: p.client, what: func() string { return "room on the disk of " + name }}
	defer w.over()
	for {
		err := f()
		if !full(err) {
			return err
		}
		w.sleep(err)
	}
}

// file wraps the file that open returns.
func (p *patientFS) file(name string, open func() (vfs.File, error)) (vfs.File, error) {
	var f vfs.File
	err := p.whenRoom(name, func() (err error) {
		f, err = open()
		return err
	})
	if err != nil {
		return nil, err
	}
	return &patientFile{File: f, fs: p, name: name}, nil
}

func (p *patientFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return p.file(name, func() (vfs.File, error) { return p.FS.Create(name, c) })
}

func (p *patientFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return p.file(name, func() (vfs.File, error) { return p.FS.OpenReadWrite(name, c, opts...) })
}

func (p *patientFS) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return p.file(name, func() (vfs.File, error) { return p.FS.ReuseForWrite(old, name, c) })
}

func (p *patientFS) OpenDir(name string) (vfs.File, error) {
	return p.file(name, func() (vfs.File, error) { return p.FS.OpenDir(name) })
}

func (p *patientFS) Link(old, name string) error {
	return p.whenRoom(name, func() error { return p.FS.Link(old, name) })
}

func (p *patientFS) Rename(old, name string) error {
	return p.whenRoom(name, func() error { return p.FS.Rename(old, name) })
}

func (p *patientFS) MkdirAll(name string, perm os.FileMode) error {
	return p.whenRoom(name, func() error { return p.FS.MkdirAll(name, perm) })
}

func (p *patientFS) Lock(name string) (c io.Closer, err error) {
	err = p.whenRoom(name, func() error {
		c, err = p.FS.Lock(name)
		return err
	})
	return c, err
}

// Unwrap returns the underlying file system.
func (p *patientFS) Unwrap() vfs.FS { return p.FS }

// patientFile is a file of a patientFS.
type patientFile struct {
	vfs.File
	fs   *patientFS
	name string
}

// Write continues where a full disk interrupted it.
func (f *patientFile) Write(b []byte) (n int, err error) {
	return f.writeAll(b, func(rest []byte, _ int) (int, error) { return f.File.Write(rest) })
}

func (f *patientFile) WriteAt(b []byte, offset int64) (n int, err error) {
	return f.writeAll(b, func(rest []byte, done int) (int, error) { return f.File.WriteAt(rest, offset+int64(done)) })
}

func (f *patientFile) writeAll(b []byte, write func(rest []byte, done int) (int, error)) (n int, err error) {
	err = f.fs.whenRoom(f.name, func() error {
		m, err := write(b[n:], n)
		if n += m; n > len(b) {
			return fmt.Errorf("write %s: %d bytes of %d", f.name, n, len(b))
		}
		return err
	})
	return n, err
}

func (f *patientFile) Preallocate(offset, length int64) error {
	return f.fs.whenRoom(f.name, func() error { return f.File.Preallocate(offset, length) })
}

func (f *patientFile) Sync() error { return f.fs.whenRoom(f.name, f.File.Sync) }

func (f *patientFile) SyncData() error { return f.fs.whenRoom(f.name, f.File.SyncData) }

func (f *patientFile) SyncTo(length int64) (whole bool, err error) {
	err = f.fs.whenRoom(f.name, func() error {
		whole, err = f.File.SyncTo(length)
		return err
	})
	return whole, err
}
