package modelfile

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
)

// Mapped is a file in memory that all processes of a machine share. Its bytes are there for as long
// as somebody holds it; they must not be changed.
type Mapped struct{ b []byte }

// Map maps a file, which must not be written to any more.
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
		_ = syscall.Munmap(b) // it was mapped above: nothing can be wrong with it
	}, b)
	return m, nil
}

// Bytes are the file's. Whoever looks at them holds the Mapped (runtime.KeepAlive).
func (m *Mapped) Bytes() []byte { return m.b }
