package modelfile

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
)

// Mapped is a file mapped into memory, which all processes of a machine share. Its bytes are valid
// while the Mapped is reachable; they must not be changed.
type Mapped struct{ b []byte }

// Map maps a file, which must not be changed any more.
func Map(path string) (*Mapped, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 {
		return new(Mapped), nil
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	m := &Mapped{b}
	runtime.AddCleanup(m, func(b []byte) {
		_ = syscall.Munmap(b) // cannot fail for a mapping made above
	}, b)
	return m, nil
}

// Bytes returns the bytes of the file. The caller keeps the Mapped reachable while it uses them
// (runtime.KeepAlive).
func (m *Mapped) Bytes() []byte { return m.b }
