//go:build !linux

package clickhouse

import (
	"errors"
	"os"
)

// memoryFile is never called: the engine runs on Linux only.
func memoryFile() (*os.File, error) { return nil, errors.ErrUnsupported }
