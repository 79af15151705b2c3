package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/net/netutil"

	"forager/infra/local/chdb"
	"forager/internal/platform/disk"
)

const (
	displayName = "forager-local"
	// maxResultBytes is the default of the setting max_result_bytes.
	maxResultBytes = 256 << 20
	readsAtOnce    = 8
	writesAtOnce   = 4
	// closeWait is how long Close lets queries continue.
	closeWait = 10 * time.Second
	// maxConnections is the number of open connections; more wait until one is closed.
	maxConnections = 256
	// maxHeaderBytes bounds the header of a request, with a statement in its URL.
	maxHeaderBytes = 1 << 20
	// headerTime is the time for a header to arrive, idleTime that for which an idle connection is kept, and
	// bodyTime that of a body, and of a response.
	headerTime = 20 * time.Second
	idleTime   = 2 * time.Minute
	bodyTime   = 10 * time.Minute
)

// EngineBytes is the memory that the engine takes in addition to Settings.MemoryBytes: the resident pages of its library.
const EngineBytes = 192 << 20

// Settings of the server; the zero value is that of tests.
type Settings struct {
	// MemoryBytes bounds the memory of inserts, merges, queries and caches; what would need more is refused
	// (MEMORY_LIMIT_EXCEEDED), and merges wait. 0 = half of the machine's memory.
	MemoryBytes int64
	// Password of the user default; empty = none is required.
	Password string
	// Archive is the address of a folder in S3, "http://host:port/bucket/folder", that queries may read with
	// the function s3; empty = none.
	Archive string
	// Confine restricts the engine to its folder until the process ends, so that the process can serve no other folder later.
	Confine bool
	// Free returns the free space on the disk, in bytes; nil queries the file system.
	Free func() (uint64, error)
	// Log receives messages about parts broken by a full disk; nil is slog.Default().
	Log *slog.Logger
}

// config limits the resources of the engine, which shares the machine with other programs. Every stream of
// every column of a part that is being written has a buffer. With the default size the array columns would take
// a hundred megabytes a merge, mostly unused: buffers begin small and end at 128 KiB. No insert and no merge
// starts with less than 64 MiB free, as one that fails on a full disk may leave a part without its marks
// (docs/decisions/0520, 0521). A table whose merge or mutation finds the pool full tries again after .1 s and a random
// time, which is up to 1 s by default: too long for a mutation of several parts, which forager crawl delete waits for.
const config = `<clickhouse>
  <users_config>%s</users_config>
  <user_scripts_path>/dev/null/none/</user_scripts_path>
  <dictionaries_lib_path>/dev/null/none/</dictionaries_lib_path>
  <max_server_memory_usage>%d</max_server_memory_usage>
  <max_server_memory_usage_to_ram_ratio>0.5</max_server_memory_usage_to_ram_ratio>
  <memory_worker_use_cgroup>0</memory_worker_use_cgroup>
  <mark_cache_size>16777216</mark_cache_size>
  <index_mark_cache_size>8388608</index_mark_cache_size>
  <primary_index_cache_size>16777216</primary_index_cache_size>
  <uncompressed_cache_size>0</uncompressed_cache_size>
  <background_pool_size>2</background_pool_size>
  <background_merges_mutations_concurrency_ratio>1</background_merges_mutations_concurrency_ratio>
  <background_processing_pool_thread_sleep_seconds_random_part>0.05</background_processing_pool_thread_sleep_seconds_random_part>
  <background_processing_pool_task_sleep_seconds_when_no_work_random_part>0.05</background_processing_pool_task_sleep_seconds_when_no_work_random_part>
  <background_schedule_pool_size>4</background_schedule_pool_size>
  <max_parts_cleaning_thread_pool_size>2</max_parts_cleaning_thread_pool_size>
  <max_thread_pool_free_size>16</max_thread_pool_free_size>
  <storage_configuration>
    <disks><default><keep_free_space_bytes>%d</keep_free_space_bytes></default></disks>
  </storage_configuration>
  <merge_tree>
    <merge_max_block_size_bytes>2097152</merge_max_block_size_bytes>
    <max_parts_to_merge_at_once>10</max_parts_to_merge_at_once>
    <min_columns_to_activate_adaptive_write_buffer>1</min_columns_to_activate_adaptive_write_buffer>
    <max_compress_block_size>131072</max_compress_block_size>
    <number_of_free_entries_in_pool_to_execute_mutation>1</number_of_free_entries_in_pool_to_execute_mutation>
    <number_of_free_entries_in_pool_to_lower_max_size_of_merge>1</number_of_free_entries_in_pool_to_lower_max_size_of_merge>
  </merge_tree>
</clickhouse>
`

// Server is a running ClickHouse.
type Server struct {
	dir, address      string
	args              []string
	engine            *chdb.Conn // keeps the folder open
	version, timezone string
	http              *http.Server
	ended             chan struct{}
	reads, writes     chan struct{} // slots
	sessions          sessions
	password          string
	free              func() (uint64, error)
	log               *slog.Logger
	stopWatch         func() // returns when watch has ended
}

// Start serves the contents of the folder on address (host:port, loopback; port 0 selects a free one); the
// folder is created if necessary. It returns when clients can connect. ctx bounds the start only. A process can
// serve one folder at a time.
func Start(ctx context.Context, dir, address string, set Settings) (*Server, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	tcp, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("clickhouse: address %q: %w", address, err)
	}
	if !tcp.IP.IsLoopback() {
		return nil, fmt.Errorf("clickhouse: address %q: the embedded ClickHouse serves loopback addresses only", address)
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("clickhouse: %w", err)
	}
	settings, err := writeConfig(dir, set)
	if err != nil {
		return nil, fmt.Errorf("clickhouse: %w", err)
	}
	listener, err := net.ListenTCP("tcp", tcp)
	if err != nil {
		return nil, fmt.Errorf("clickhouse: %w", err)
	}
	s := &Server{
		dir: dir, address: listener.Addr().String(), args: []string{"--config-file=" + settings},
		ended: make(chan struct{}),
		reads: make(chan struct{}, readsAtOnce), writes: make(chan struct{}, writesAtOnce),
		free: set.Free, log: set.Log, password: set.Password,
	}
	if s.free == nil {
		s.free = func() (uint64, error) { return disk.Free(dir) }
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	if set.Confine {
		err = chdb.Confine(dir)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		s.log.Warn("queries with the password can read the operator's files by an expression inside a statement", "part", "clickhouse", "error", err)
		err = nil
	}
	if err == nil {
		err = s.open()
	}
	if err != nil {
		_ = listener.Close()
		return nil, fmt.Errorf("clickhouse: %w", err)
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeaderBytes}
	go func() {
		defer close(s.ended)
		s.http.Serve(netutil.LimitListener(listener, maxConnections)) // ends with Close
	}()
	watching, cancel := context.WithCancel(context.Background())
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		s.watch(watching)
	}()
	s.stopWatch = func() { cancel(); <-watched }
	return s, nil
}

func (s *Server) open() (err error) {
	if s.engine, err = chdb.Connect(s.dir, s.args...); err != nil {
		return err
	}
	r, err := s.engine.Query("SELECT version(), timezone()", "TabSeparated")
	if err != nil {
		s.engine.Close()
		return fmt.Errorf("ask the engine for its version: %w", err)
	}
	defer r.Free()
	s.version, s.timezone, _ = strings.Cut(strings.TrimSpace(string(r.Data)), "\t")
	return nil
}

// Address returns host:port.
func (s *Server) Address() string { return s.address }

// URL returns the address with its scheme.
func (s *Server) URL() string { return "http://" + s.address }

// Close lets queries continue for up to ten seconds, kills those that still run and closes the folder.
func (s *Server) Close() error {
	s.stopWatch()
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		if r, killErr := s.engine.Query("KILL QUERY WHERE query NOT LIKE 'KILL %'", "Null"); killErr == nil {
			r.Free()
		}
		again, cancel := context.WithTimeout(context.Background(), closeWait)
		defer cancel()
		err = s.http.Shutdown(again)
	}
	<-s.ended
	if err != nil {
		s.http.Close()
		return fmt.Errorf("clickhouse: a query does not end: %w", err)
	}
	s.sessions.closeAll()
	s.engine.Close()
	return nil
}

// ServeHTTP handles one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-ClickHouse-Server-Display-Name", displayName)
	if err := fromBrowser(r); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodPost && r.Method != http.MethodHead && r.Method != http.MethodPut:
		http.Error(w, "the method "+r.Method+" is not served", http.StatusMethodNotAllowed)
	case r.URL.Path == "/ping" || r.URL.Path == "/replicas_status":
		_, _ = io.WriteString(w, "Ok.\n")
	case r.URL.Path != "/" && r.URL.Path != "":
		http.Error(w, "There is no handle "+r.URL.Path+"\n\nUse / or /ping for health checks.\nSend queries with POST / or GET /?query=…", http.StatusNotFound)
	default:
		if err := s.checkUser(r); err != nil {
			s.fail(w, err)
			return
		}
		// A body is read before the statement runs.
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime))
		s.query(w, r)
	}
}

// fromBrowser is an error for a request that a web page made: otherwise any page could send statements to this address.
func fromBrowser(r *http.Request) error {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "none" && site != "same-origin" {
		return errors.New("the embedded ClickHouse takes no requests of web pages")
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || !loopbackHost(u.Host) {
			return errors.New("the embedded ClickHouse takes no requests of web pages")
		}
	}
	if !loopbackHost(r.Host) {
		return fmt.Errorf("the embedded ClickHouse serves loopback addresses only, not %q", r.Host)
	}
	return nil
}

func loopbackHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}
