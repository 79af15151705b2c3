package export

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"forager/internal/platform/progress"
)

// Target is the destination of an export: a file that appears under its name when it is complete, or a stream (docs/decisions/0510).
type Target struct {
	to     io.Writer
	buffer *bufio.Writer // of a file
	file   *os.File
	path   string // "" for a stream

	replace bool // an existing file
	done    func()
}

// Stream returns a target that cannot be undone.
func Stream(w io.Writer) *Target { return &Target{to: w} }

// Create makes a target of a path. An existing file is an error, unless replace is set; a device or a pipe is a stream.
func Create(ctx context.Context, path string, replace bool) (*Target, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a folder; name a file in it", path)
	case err == nil && !info.Mode().IsRegular():
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		t := Stream(f)
		t.file = f
		return t, nil
	case err == nil && !replace:
		return nil, errExists(path)
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a symbolic link remains one
	}
	var f *os.File
	done, err := progress.Leave(ctx, func() (func(), error) {
		f, err = os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".partial-*")
		return func() { os.Remove(f.Name()) }, err
	})
	if err != nil {
		return nil, fmt.Errorf("%s cannot be written: %w", path, err)
	}
	mode := fs.FileMode(0o644)
	if info != nil {
		mode = info.Mode().Perm()
	}
	if err := f.Chmod(mode); err != nil {
		_ = f.Close()
		os.Remove(f.Name())
		done()
		return nil, err
	}
	buffer := bufio.NewWriterSize(f, 1<<20)
	return &Target{to: buffer, buffer: buffer, file: f, path: path, replace: replace, done: done}, nil
}

func errExists(path string) error {
	return fmt.Errorf("%s exists already; --force replaces it", path)
}

// Streaming reports whether written bytes cannot be undone.
func (t *Target) Streaming() bool { return t.path == "" }

// Write writes to the target.
func (t *Target) Write(b []byte) (int, error) { return t.to.Write(b) }

// Commit ends the target: a file gets its name once its bytes are on disk. After an error the file is removed.
func (t *Target) Commit() error {
	if t.Streaming() {
		if t.file != nil {
			return t.file.Close()
		}
		return nil
	}
	defer t.done()
	err := t.buffer.Flush()
	if err == nil {
		err = t.file.Sync()
	}
	if closeErr := t.file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = t.name()
	}
	if err != nil {
		os.Remove(t.file.Name())
	}
	return err
}

// name gives the file its name. A file that was created there since Create is replaced only if replace is set,
// or if the file system does not support links.
func (t *Target) name() error {
	if !t.replace {
		switch err := os.Link(t.file.Name(), t.path); {
		case err == nil:
			return os.Remove(t.file.Name())
		case errors.Is(err, fs.ErrExist):
			return errExists(t.path)
		}
	}
	return os.Rename(t.file.Name(), t.path)
}

// Abort removes an incomplete file.
func (t *Target) Abort() {
	if t.file != nil {
		_ = t.file.Close()
	}
	if !t.Streaming() {
		os.Remove(t.file.Name())
		t.done()
	}
}
