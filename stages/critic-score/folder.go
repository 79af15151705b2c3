package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"forager/internal/platform/modelfile"
)

// folder keeps models M on the disk of the machine, each under its digest. All processes of the
// machine map the same files, so that a model is fetched once and is in memory once.
type folder[M any] struct {
	path string
	read func(*modelfile.Mapped) (M, error)
}

// forgotten is how long a model is kept without being opened.
const forgotten = 7 * 24 * time.Hour

// open maps the model of a digest, or of the beginning of one. get fetches it if it is missing or
// damaged; the digest of the result is checked.
func (f *folder[M]) open(ctx context.Context, digest string, get func(context.Context) ([]byte, error)) (m M, err error) {
	if path := f.find(digest); path != "" {
		m, err := f.load(path)
		if err == nil || !errors.Is(err, modelfile.ErrDamaged) {
			return m, err
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return m, err
		}
	}
	b, err := get(ctx)
	if err != nil {
		return m, err
	}
	sum := sha256.Sum256(b)
	got := hex.EncodeToString(sum[:])
	if !strings.HasPrefix(got, digest) {
		return m, fmt.Errorf("its digest is %s, it should be %s", got, digest)
	}
	path := filepath.Join(f.path, got)
	if err := f.keep(path, b); err != nil {
		return m, err
	}
	return f.load(path)
}

// find returns the file of a digest; "" if there is none.
func (f *folder[M]) find(digest string) string {
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if len(e.Name()) == 2*sha256.Size && strings.HasPrefix(e.Name(), digest) {
			return filepath.Join(f.path, e.Name())
		}
	}
	return ""
}

func (f *folder[M]) load(path string) (m M, err error) {
	file, err := modelfile.Map(path)
	if err != nil {
		return m, err
	}
	now := time.Now()
	if err := os.Chtimes(path, now, now); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, err
	}
	return f.read(file)
}

// keep writes a file atomically: another process may write the same one.
func (f *folder[M]) keep(path string, b []byte) error {
	if err := os.MkdirAll(f.path, 0o777); err != nil {
		return err
	}
	f.sweep()
	temporary, err := os.CreateTemp(f.path, "new-*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(b)
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	return nil
}

// sweep removes files that were not opened for long; existing mappings stay valid. What cannot be
// removed is kept until the next time.
func (f *folder[M]) sweep() {
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > forgotten {
			_ = os.Remove(filepath.Join(f.path, e.Name()))
		}
	}
}
