package chdb

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// symbols are the C functions of libchdb that this package uses.
type symbols struct {
	setSignalHandlers func(on int32)
	connect           func(argc int32, argv unsafe.Pointer) unsafe.Pointer
	closeConn         func(conn unsafe.Pointer)
	query             func(conn, query unsafe.Pointer, queryLen uintptr, format unsafe.Pointer, formatLen uintptr,
		names, nameLens, values, valueLens unsafe.Pointer, params uintptr) unsafe.Pointer
	buffer   func(result unsafe.Pointer) unsafe.Pointer
	length   func(result unsafe.Pointer) uintptr
	failure  func(result unsafe.Pointer) unsafe.Pointer
	elapsed  func(result unsafe.Pointer) float64
	readRows func(result unsafe.Pointer) uint64
	readSize func(result unsafe.Pointer) uint64
	written  func(result unsafe.Pointer) uint64
	destroy  func(result unsafe.Pointer)
}

var load = sync.OnceValues(func() (*symbols, error) {
	path, err := Find()
	if err != nil {
		return nil, err
	}
	var handle uintptr
	keepSignals(func() { handle, err = purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL) })
	if err != nil {
		return nil, fmt.Errorf("load the ClickHouse engine (it needs Linux x64 with glibc): %w", err)
	}
	lib := new(symbols)
	for name, f := range map[string]any{
		"chdb_set_signal_handlers_enabled": &lib.setSignalHandlers,
		"chdb_connect":                     &lib.connect,
		"chdb_close_conn":                  &lib.closeConn,
		"chdb_query_with_params_n":         &lib.query,
		"chdb_result_buffer":               &lib.buffer,
		"chdb_result_length":               &lib.length,
		"chdb_result_error":                &lib.failure,
		"chdb_result_elapsed":              &lib.elapsed,
		"chdb_result_storage_rows_read":    &lib.readRows,
		"chdb_result_storage_bytes_read":   &lib.readSize,
		"chdb_result_rows_written":         &lib.written,
		"chdb_destroy_query_result":        &lib.destroy,
	} {
		address, err := purego.Dlsym(handle, name)
		if err != nil {
			return nil, fmt.Errorf("%s is not a libchdb that this program supports: %w", path, err)
		}
		purego.RegisterFunc(f, address)
	}
	keepSignals(func() { lib.setSignalHandlers(0) })
	return lib, nil
})

// Conn is a connection to the engine of this process. It runs one query at a time; settings and the current
// database set by a query persist until it is closed.
type Conn struct {
	lib *symbols
	mu  sync.Mutex
	ptr unsafe.Pointer // chdb_connection*
}

// Connect opens the database in dir. All connections of a process must name the same folder; the first one
// opens it, closing the last one closes it. args are further command-line arguments of the engine
// ("--config-file=…").
func Connect(dir string, args ...string) (*Conn, error) {
	lib, err := load()
	if err != nil {
		return nil, err
	}
	all := append([]string{"clickhouse", "--path=" + dir}, args...)
	argv := make([]unsafe.Pointer, len(all)+1)
	for i, a := range all {
		b := append([]byte(a), 0)
		argv[i] = unsafe.Pointer(&b[0])
	}
	var ptr unsafe.Pointer
	keepSignals(func() { ptr = lib.connect(int32(len(all)), unsafe.Pointer(&argv[0])) })
	runtime.KeepAlive(argv)
	if ptr == nil {
		return nil, fmt.Errorf("the ClickHouse engine cannot open %s: the folder is damaged, not writable, or another process (or other arguments in this one) has it open", dir)
	}
	return &Conn{lib: lib, ptr: ptr}, nil
}

// Close ends the connection; it waits for a running query.
func (c *Conn) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ptr != nil {
		keepSignalStack(func() { c.lib.closeConn(c.ptr) })
		c.ptr = nil
	}
}

// Query runs one or more statements and returns the output of the last, in the format that the statement names,
// or else in format. params are the values of {name:Type} parameters, escaped like a TabSeparated field. An
// error of the engine is an *Exception.
func (c *Conn) Query(sql, format string, params ...Param) (*Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ptr == nil {
		return nil, errors.New("query on a closed connection")
	}
	r, err := c.query(sql, format, params)
	if err == nil {
		return r, nil
	}
	// Otherwise the output of the failed query would precede the next result.
	if rest, flushErr := c.query("SELECT 1", "Null", nil); flushErr == nil {
		rest.Free()
	}
	return nil, err
}

func (c *Conn) query(sql, format string, params []Param) (*Result, error) {
	q, qLen := text(sql)
	f, fLen := text(format)
	n := len(params)
	names, values := make([]unsafe.Pointer, n+1), make([]unsafe.Pointer, n+1)
	nameLens, valueLens := make([]uintptr, n+1), make([]uintptr, n+1)
	for i, p := range params {
		names[i], nameLens[i] = text(p.Name)
		values[i], valueLens[i] = text(p.Value)
	}
	var r unsafe.Pointer
	keepSignalStack(func() {
		r = c.lib.query(*(*unsafe.Pointer)(c.ptr), q, qLen, f, fLen,
			unsafe.Pointer(&names[0]), unsafe.Pointer(&nameLens[0]), unsafe.Pointer(&values[0]), unsafe.Pointer(&valueLens[0]), uintptr(n))
	})
	runtime.KeepAlive(names)
	runtime.KeepAlive(values)
	if r == nil {
		return nil, errors.New("the ClickHouse engine returned nothing")
	}
	if e := c.lib.failure(r); e != nil {
		message := goString(e)
		c.lib.destroy(r)
		return nil, newException(message)
	}
	res := &Result{
		Seconds:   c.lib.elapsed(r),
		ReadRows:  c.lib.readRows(r),
		ReadBytes: c.lib.readSize(r),
		Written:   c.lib.written(r),
		free:      func() { c.lib.destroy(r) },
	}
	if n := c.lib.length(r); n > 0 {
		res.Data = unsafe.Slice((*byte)(c.lib.buffer(r)), n)
	}
	return res, nil
}

// text returns s as a C string; it has at least one byte, so that it is never nil.
func text(s string) (unsafe.Pointer, uintptr) {
	b := append([]byte(s), 0)
	return unsafe.Pointer(&b[0]), uintptr(len(s))
}

func goString(p unsafe.Pointer) string {
	var b strings.Builder
	for ; *(*byte)(p) != 0; p = unsafe.Add(p, 1) {
		b.WriteByte(*(*byte)(p))
	}
	return b.String()
}
