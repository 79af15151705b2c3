package state

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// RetryingFS is a file system on which writes to a full disk wait until there is space, however long
// that takes. Pebble ends its process when its log cannot be written, and a process that ends for a
// full disk would end again at every start. The wait cannot be cancelled; a process that is killed
// meanwhile leaves the state of the last commit.
//
// Reads and deletions are not affected.
type RetryingFS struct {
	vfs.FS
	// Wait begins a wait for space for a file: sleep pauses, over ends the wait.
	Wait func(name string) (sleep func(cause error), over func())
}

// diskFull reports whether an error is that of a full disk or an exceeded quota.
func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// WhenSpace calls f until it does not fail for lack of space.
func (p *RetryingFS) WhenSpace(name string, f func() error) error {
	sleep, over := p.Wait(name)
	defer over()
	for {
		err := f()
		if !diskFull(err) {
			return err
		}
		sleep(err)
	}
}

// file wraps the file that open returns.
func (p *RetryingFS) file(name string, open func() (vfs.File, error)) (vfs.File, error) {
	var f vfs.File
	err := p.WhenSpace(name, func() (err error) {
		f, err = open()
		return err
	})
	if err != nil {
		return nil, err
	}
	return &retryingFile{File: f, fs: p, name: name}, nil
}

// Create creates a file, once there is space for it.
func (p *RetryingFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return p.file(name, func() (vfs.File, error) { return p.FS.Create(name, c) })
}

// OpenReadWrite opens or creates a file, once there is space for it.
func (p *RetryingFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return p.file(name, func() (vfs.File, error) { return p.FS.OpenReadWrite(name, c, opts...) })
}

// ReuseForWrite reuses the space of a file.
func (p *RetryingFS) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return p.file(name, func() (vfs.File, error) { return p.FS.ReuseForWrite(old, name, c) })
}

// OpenDir opens a folder.
func (p *RetryingFS) OpenDir(name string) (vfs.File, error) {
	return p.file(name, func() (vfs.File, error) { return p.FS.OpenDir(name) })
}

// Link makes a hard link, once there is space for it.
func (p *RetryingFS) Link(old, name string) error {
	return p.WhenSpace(name, func() error { return p.FS.Link(old, name) })
}

// Rename renames a file, once there is space for it.
func (p *RetryingFS) Rename(old, name string) error {
	return p.WhenSpace(name, func() error { return p.FS.Rename(old, name) })
}

// MkdirAll makes folders, once there is space for them.
func (p *RetryingFS) MkdirAll(name string, perm os.FileMode) error {
	return p.WhenSpace(name, func() error { return p.FS.MkdirAll(name, perm) })
}

// Lock locks a file, once there is space for it.
func (p *RetryingFS) Lock(name string) (c io.Closer, err error) {
	err = p.WhenSpace(name, func() error {
		c, err = p.FS.Lock(name)
		return err
	})
	return c, err
}

// Unwrap returns the underlying file system.
func (p *RetryingFS) Unwrap() vfs.FS { return p.FS }

// retryingFile is a file of a RetryingFS.
type retryingFile struct {
	vfs.File
	fs   *RetryingFS
	name string
}

// Write continues where a full disk interrupted it.
func (f *retryingFile) Write(b []byte) (n int, err error) {
	return f.writeAll(b, func(rest []byte, _ int) (int, error) { return f.File.Write(rest) })
}

func (f *retryingFile) WriteAt(b []byte, offset int64) (n int, err error) {
	return f.writeAll(b, func(rest []byte, done int) (int, error) { return f.File.WriteAt(rest, offset+int64(done)) })
}

func (f *retryingFile) writeAll(b []byte, write func(rest []byte, done int) (int, error)) (n int, err error) {
	err = f.fs.WhenSpace(f.name, func() error {
		m, err := write(b[n:], n)
		if n += m; n > len(b) {
			return fmt.Errorf("write %s: %d bytes of %d", f.name, n, len(b))
		}
		return err
	})
	return n, err
}

func (f *retryingFile) Preallocate(offset, length int64) error {
	return f.fs.WhenSpace(f.name, func() error { return f.File.Preallocate(offset, length) })
}

func (f *retryingFile) Sync() error { return f.fs.WhenSpace(f.name, f.File.Sync) }

func (f *retryingFile) SyncData() error { return f.fs.WhenSpace(f.name, f.File.SyncData) }

func (f *retryingFile) SyncTo(length int64) (whole bool, err error) {
	err = f.fs.WhenSpace(f.name, func() error {
		whole, err = f.File.SyncTo(length)
		return err
	})
	return whole, err
}
