package clickhouse

import (
	"os"

	"golang.org/x/sys/unix"
)

// memoryFile creates a file in memory, which the engine opens by /proc/self/fd.
func memoryFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("rows", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "rows"), nil
}
