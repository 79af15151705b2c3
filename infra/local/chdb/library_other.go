//go:build !(linux && amd64)

package chdb

import (
	"errors"
	"fmt"
	"runtime"
)

// Conn is a connection to the engine, which this platform does not support.
type Conn struct{}

// Connect returns an error: the engine cannot run on this platform.
func Connect(dir string, args ...string) (*Conn, error) {
	return nil, fmt.Errorf("the embedded ClickHouse engine runs on Linux x64 with glibc only, this is %s on %s: "+
		"set clickhouse.url in pipeline.yaml to a server of your own", runtime.GOOS, runtime.GOARCH)
}

// Confine returns errors.ErrUnsupported: the engine does not run on this platform.
func Confine(dir string) error { return errors.ErrUnsupported }

// Close does nothing.
func (c *Conn) Close() {}

// Query is never reached: there is no Conn.
func (c *Conn) Query(sql, format string, params ...Param) (*Result, error) {
	return nil, fmt.Errorf("no ClickHouse engine on %s", runtime.GOOS)
}
