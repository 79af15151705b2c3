//go:build !(linux && amd64)

package chdb

import (
	"errors"
	"fmt"
	"runtime"
)

// Conn is one connection to the engine; on this platform there is none.
type Conn struct{}

// Connect says that the engine cannot run here.
func Connect(dir string, args ...string) (*Conn, error) {
	return nil, fmt.Errorf("the embedded ClickHouse engine runs on Linux x64 with glibc only, this is %s on %s: "+
		"set clickhouse.url in pipeline.yaml to a server of your own", runtime.GOOS, runtime.GOARCH)
}

// Confine is not needed: the engine does not run here.
func Confine(dir string) error { return errors.ErrUnsupported }

// Close does nothing.
func (c *Conn) Close() {}

// Query is never reached: there is no Conn.
func (c *Conn) Query(sql, format string, params ...Param) (*Result, error) {
	return nil, fmt.Errorf("no ClickHouse engine on %s", runtime.GOOS)
}
