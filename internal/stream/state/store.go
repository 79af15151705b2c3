package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"forager/internal/stream"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Store is the state of one partition of a stateful stage: an ordered map of byte strings on disk.
// Writes since the last commit are visible to reads at once; they become durable together, with the
// Marks, or not at all. It implements frontier.Store.
//
// Slices returned by Get and passed by Scan are valid until the next call. The function given to
// Scan must not call the Store. Keys that begin with a zero byte are reserved. A Store is not safe
// for concurrent use. After an error it must be closed.
//
// Pebble keeps deleted keys as tombstones until a compaction. A Scan that begins below a long run
// of them steps over each: a caller that removes entries from the head of a queue has to keep
// the last key removed and scan from there.
type Store struct {
	db *pebble.DB
	// tx has the changes since the last commit; writing has those of that commit until they are in
	// db, and written receives the result. Both are nil while nothing is being written.
	tx      *changes
	writing *changes
	written chan error
	// changing guards tx and writing against concurrent reads; open is held by reads that are concurrent with Close.
	changing, open sync.RWMutex
	closed         bool

	marks       Marks
	fresh       bool
	value       []byte
	sync        func() bool
	reservation *reservation
}

// Marks are the offsets up to which a Store's state reflects the topics.
type Marks struct {
	// Input is the offset of the first input record that the state does not include.
	Input int64
	// Log is the same for each partition of the decision log; empty without one.
	Log []LogMark
}

// LogMark is the position of the state in one partition of the decision log.
type LogMark struct {
	// Offset of the first record that the state does not include.
	Offset int64
	// Epoch is the highest of the owner's markers below Offset; 0 = none.
	Epoch uint64
}

// Options are the settings of a Store.
type Options struct {
	Dir string
	// Identity names the stage and the partition of the state ("prioritize link.found/3"). A
	// directory with the state of another one is refused.
	Identity string
	// FS is the file system; nil = the machine's.
	FS vfs.FS
	// Cache is the block cache that the Stores of a process share; nil = one of its own.
	Cache *Cache
	Log   *slog.Logger
	// Sync decides for each commit whether it waits for the disk; nil = never. This is not
	// necessary: what a crash loses is rebuilt from the topics.
	Sync func() bool
	// MemTable is the size of Pebble's write buffer, bytes; 0 = 8 MiB. Up to twice that is in
	// memory. Keys that are deleted or overwritten before the buffer is full cost nothing on disk.
	MemTable uint64
	// Hits: most keys that are read exist, so that the lowest level, nine tenths of all keys, needs
	// no Bloom filters.
	Hits bool
	// ReadOnly: the directory is not changed, not even by compactions.
	ReadOnly bool
}

// Cache is a block cache shared by Stores. Pebble counts the write buffers of a Store as part of
// its cache; therefore a Store adds capacity for them, so that they leave enough for blocks.
type Cache struct{ cache *pebble.Cache }

// reservation is the capacity that a Store has added to its cache for its write buffers. The buffers begin small and
// grow with the writes, as Pebble allocates them, and the capacity grows with them; otherwise the cache would
// use what they do not need: the buffers of a partition with few writes stay small.
type reservation struct {
	cache      *pebble.Cache // nil = the Store has a cache of its own
	bytes, all int
	release    func()
}

// firstBuffer is the size of Pebble's first write buffer, bytes.
const firstBuffer = 256 << 10

// reserve adds capacity for the first two write buffers; buffer is the most bytes that one may have.
func reserve(c *Cache, buffer uint64) *reservation {
	r := &reservation{all: 2 * int(buffer), release: func() {}}
	if c != nil {
		r.cache = c.cache
	}
	r.grow(2 * firstBuffer)
	return r
}

// grow adds capacity after so many bytes have been written.
func (r *reservation) grow(written int) {
	if r.cache == nil || r.bytes == r.all {
		return
	}
	r.bytes = min(r.bytes+written, r.all)
	before := r.release
	r.release = r.cache.Reserve(-r.bytes)
	before()
}

// NewCache returns a cache of size bytes; Close releases it, once every Store is closed.
func NewCache(size int64) *Cache { return &Cache{pebble.NewCache(size)} }

// Close releases the cache.
func (c *Cache) Close() { c.cache.Unref() }

// ErrLocked reports that a directory's Store is open elsewhere: its previous owner, in this process
// or another one of this machine, has not closed it yet.
var ErrLocked = errors.New("the state directory is open elsewhere")

// ErrDamaged reports that a directory holds files that are no complete state: some are missing or were changed.
var ErrDamaged = errors.New("the state directory is damaged")

var (
	marksKey    = []byte("\x00marks")
	identityKey = []byte("\x00identity")
)

// storeVersion is the version of the Store's own keys; it is written before Identity.
const storeVersion = "1"

// Open opens the Store in a directory, which is created if it is missing. The error is
// ErrLocked, or Broken (package stream) if the directory belongs to another Identity or is damaged (ErrDamaged).
func Open(o Options) (*Store, error) {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := o.FS.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, stream.Broken(fmt.Errorf("state directory: %w", err))
	}
	lock, err := pebble.LockDirectory(o.Dir, o.FS)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrLocked, o.Dir, err)
	}
	defer lock.Close() // the open DB holds a reference of its own
	opts := &pebble.Options{
		FS: o.FS, Lock: lock, Logger: storeLog{o.Log, o.Dir}, FormatMajorVersion: pebble.FormatValueSeparation,
		MemTableSize: o.MemTable, ReadOnly: o.ReadOnly,
	}
	if opts.MemTableSize == 0 {
		opts.MemTableSize = 8 << 20
	}
	reservation := reserve(o.Cache, opts.MemTableSize)
	opts.Cache = reservation.cache
	tune(opts, o.Hits)
	// Pebble would wait for the end of a compaction that begins while it opens. The next one begins after the next flush, or
	// at once if the first level is deep.
	var lower atomic.Int32
	opts.CompactionConcurrencyRange = func() (int, int) { return int(lower.Load()), max(1, runtime.GOMAXPROCS(0)/2) }
	db, err := pebble.Open(o.Dir, opts)
	lower.Store(1)
	if err != nil {
		reservation.release()
		if !errors.Is(err, os.ErrPermission) && !diskFull(err) {
			err = fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		return nil, stream.Broken(fmt.Errorf("open state %s: %w (to rebuild it from the topics, delete the directory)", o.Dir, err))
	}
	buffers := db.Metrics().MemTable // those into which a log was replayed are large already
	reservation.grow(int(buffers.Size + buffers.ZombieSize))
	s := &Store{db: db, tx: newChanges(), sync: o.Sync, reservation: reservation}
	if err := s.begin(o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// separateValues is the least size of a value, in bytes, that is stored in a separate file and not rewritten with
// its key at each compaction.
const separateValues = 512

// flushesMerged is twice the number of flushes that are written into the first level together.
const flushesMerged = 16

// tune sets Pebble's options for compaction, files and compression.
func tune(opts *pebble.Options, hits bool) {
	// With a larger buffer the first level is larger: one level less is one rewrite less.
	opts.LBaseMaxBytes = int64(max(64<<20, 8*opts.MemTableSize))
	// Large values are stored apart, so a flush is a fraction of its buffer, with keys all over the first level, most
	// of which is rewritten for two flushes, Pebble's default. Here it is rewritten for eight.
	opts.L0CompactionThreshold, opts.L0StopWritesThreshold = flushesMerged, 3*flushesMerged
	// Files as large as a buffer: with Pebble's 2 MiB a state of a gigabyte is hundreds of open files.
	opts.TargetFileSizes[0] = int64(opts.MemTableSize)
	opts.FlushSplitBytes = 2 * opts.TargetFileSizes[0]
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	if hits {
		opts.Levels[len(opts.Levels)-1].FilterPolicy = pebble.NoFilterPolicy
	}
	// The upper levels are small and rewritten many times; but values that are stored apart are written with
	// the first of them, and are not rewritten.
	opts.ApplyCompressionSettings(func() pebble.DBCompressionSettings {
		c := pebble.UniformDBCompressionSettings(block.NoCompression)
		c.Levels[0], c.Levels[len(c.Levels)-2], c.Levels[len(c.Levels)-1] = block.SnappyCompression, block.SnappyCompression, block.SnappyCompression
		return c
	})
	// Values stored apart are half of all bytes and are written once.
	opts.Experimental.ValueSeparationPolicy = func() pebble.ValueSeparationPolicy {
		return pebble.ValueSeparationPolicy{
			Enabled: true, MinimumSize: separateValues, MaxBlobReferenceDepth: 10,
			RewriteMinimumAge: 5 * time.Minute, TargetGarbageRatio: 0.5,
		}
	}
	// Readers of a queue keep the position of its head, so tombstones do not slow reads down and need no
	// compactions of their own, which would be as many as all others.
	opts.Experimental.TombstoneDenseCompactionThreshold = -1
}

// begin reads the reserved keys.
func (s *Store) begin(o Options) error {
	identity := storeVersion + " " + o.Identity
	value, closer, err := s.db.Get(identityKey)
	if errors.Is(err, pebble.ErrNotFound) {
		s.fresh = true
		s.tx.set(identityKey, []byte(identity))
		return nil
	}
	if err != nil {
		return fmt.Errorf("state %s: %w", o.Dir, err)
	}
	found := string(value)
	if err := closer.Close(); err != nil {
		return fmt.Errorf("state %s: %w", o.Dir, err)
	}
	if found != identity {
		return stream.Broken(fmt.Errorf("state %s is that of %q and not of %q: give the stage its own directory, or delete this one to rebuild it", o.Dir, found, identity))
	}
	if value, closer, err = s.db.Get(marksKey); err != nil {
		return fmt.Errorf("state %s: marks: %w", o.Dir, err)
	}
	defer closer.Close()
	if s.marks, err = ParseMarks(string(value)); err != nil {
		return stream.Broken(fmt.Errorf("state %s: %w", o.Dir, err))
	}
	return nil
}

// Fresh reports whether the Store was created by Open: it is empty and has no Marks.
func (s *Store) Fresh() bool { return s.fresh }

// Marks returns those of the last commit.
func (s *Store) Marks() Marks { return s.marks.clone() }

// Get returns the value of key, including one written since the last commit.
func (s *Store) Get(key []byte) (value []byte, ok bool, err error) {
	if value, ok, err = s.Read(key, s.value[:0]); ok {
		s.value = value
	}
	return value, ok, err
}

// Read is Get, with the value appended to buf. It may be called by several goroutines, concurrently with any other
// method; after Close it fails.
func (s *Store) Read(key, buf []byte) (value []byte, ok bool, err error) {
	if err := checkKey(key); err != nil {
		return nil, false, err
	}
	s.open.RLock()
	defer s.open.RUnlock()
	if s.closed {
		return nil, false, fmt.Errorf("state: get %x: %w", key, pebble.ErrClosed)
	}
	if x, found := s.changed(key); found {
		return append(buf, x.value...), !x.deleted, nil
	}
	return read(s.db, key, buf)
}

// changed returns the change of a key that Pebble may not have yet.
func (s *Store) changed(key []byte) (x change, found bool) {
	s.changing.RLock()
	defer s.changing.RUnlock()
	if x, found = s.tx.get(key); !found && s.writing != nil {
		x, found = s.writing.get(key)
	}
	return x, found
}

// ReadCommitted calls f for those of ascending keys that existed at the last commit, with the index of the key and its
// value, which is valid during the call. Several goroutines may call it, concurrently with any method but Commit and
// Close.
func (s *Store) ReadCommitted(keys [][]byte, f func(i int, value []byte) error) error {
	if len(keys) == 0 {
		return nil
	}
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: keys[0]})
	if err != nil {
		return fmt.Errorf("state: read from %x: %w", keys[0], err)
	}
	for i, key := range keys {
		if err := s.readAt(it, key, func(value []byte) error { return f(i, value) }); err != nil {
			return errors.Join(err, it.Close())
		}
	}
	if err := it.Close(); err != nil {
		return fmt.Errorf("state: read from %x: %w", keys[0], err)
	}
	return nil
}

// readAt calls f for a committed key if it exists; the iterator is moved to it.
func (s *Store) readAt(it *pebble.Iterator, key []byte, f func(value []byte) error) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if s.writing != nil {
		if x, found := s.writing.get(key); found {
			if x.deleted {
				return nil
			}
			return f(x.value)
		}
	}
	if !it.SeekGE(key) || !bytes.Equal(it.Key(), key) {
		return nil // or it cannot be read, which closing the iterator reports
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return fmt.Errorf("state: read %x: %w", key, err)
	}
	return f(value)
}

// Set writes key.
func (s *Store) Set(key, value []byte) error {
	if err := checkKey(key); err != nil {
		return err
	}
	s.changing.Lock()
	s.tx.set(key, value)
	s.changing.Unlock()
	return nil
}

// Delete deletes key, which need not exist.
func (s *Store) Delete(key []byte) error {
	if err := checkKey(key); err != nil {
		return err
	}
	s.changing.Lock()
	s.tx.delete(key)
	s.changing.Unlock()
	return nil
}

// DeleteRange deletes from ≤ key < to.
func (s *Store) DeleteRange(from, to []byte) error {
	if err := checkKey(from); err != nil {
		return err
	}
	s.changing.Lock()
	s.tx.clear(span{from, to})
	s.changing.Unlock()
	return nil
}

// Scan calls f for from ≤ key < to in ascending order until f returns false. An empty to is the
// end.
func (s *Store) Scan(from, to []byte, f func(key, value []byte) (more bool, err error)) error {
	return s.scan(append([]*changes{s.tx}, s.committing()...), from, to, f)
}

// ScanCommitted is Scan of the state at the last commit. Several goroutines may call it, concurrently with any method
// but Commit and Close.
func (s *Store) ScanCommitted(from, to []byte, f func(key, value []byte) (more bool, err error)) error {
	return s.scan(s.committing(), from, to, f)
}

// scan iterates over the keys in Pebble with the changes applied, the newest first.
func (s *Store) scan(over []*changes, from, to []byte, f func(key, value []byte) (more bool, err error)) error {
	if err := checkKey(from); err != nil {
		return err
	}
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return fmt.Errorf("state: scan %x to %x: %w", from, to, err)
	}
	it.First()
	if err := merge(over, pebbleCursor{it}, span{from, to}, f); err != nil {
		return errors.Join(err, it.Close())
	}
	if err := it.Close(); err != nil {
		return fmt.Errorf("state: scan %x to %x: %w", from, to, err)
	}
	return nil
}

// pebbleCursor is a cursor over the keys in Pebble. It ends where something cannot be read, which
// closing the iterator reports.
type pebbleCursor struct{ it *pebble.Iterator }

func (c pebbleCursor) at() (change, bool) {
	if !c.it.Valid() {
		return change{}, false
	}
	value, err := c.it.ValueAndErr()
	return change{key: c.it.Key(), value: value}, err == nil
}

func (c pebbleCursor) next() { c.it.Next() }

// committing returns the changes that were committed and may not be in Pebble yet.
func (s *Store) committing() []*changes {
	if s.writing == nil {
		return nil
	}
	return []*changes{s.writing}
}

// Commit commits the writes since the last one together with the marks. Without Sync it does not
// wait for the disk; after a crash the state is that of some commit, not always the last. If a
// commit cannot be written, the next one or Close returns the error.
func (s *Store) Commit(m Marks) error {
	if err := s.wait(); err != nil {
		return err
	}
	s.changing.Lock()
	s.tx.set(marksKey, []byte(m.String()))
	s.writing, s.tx, s.written = s.tx, newChanges(), make(chan error, 1)
	s.changing.Unlock()
	s.marks = m.clone()
	opts := pebble.NoSync
	if s.sync != nil && s.sync() {
		opts = pebble.Sync
	}
	go func(c *changes, written chan<- error) { written <- s.write(c, opts) }(s.writing, s.written)
	if opts.Sync {
		return s.wait()
	}
	return nil
}

// wait waits until the last commit is written.
func (s *Store) wait() error {
	if s.written == nil {
		return nil
	}
	err := <-s.written
	s.written = nil
	if err != nil {
		return stream.Broken(fmt.Errorf("state: commit: %w", err))
	}
	s.changing.Lock()
	s.writing = nil
	s.changing.Unlock()
	return nil
}

// write writes changes to Pebble.
func (s *Store) write(c *changes, opts *pebble.WriteOptions) error {
	batch := s.db.NewBatch()
	for _, x := range c.cleared {
		if err := batch.DeleteRange(x.from, x.to, nil); err != nil {
			return errors.Join(err, batch.Close())
		}
	}
	var err error
	c.keys.Scan(func(x change) bool {
		if x.deleted {
			err = batch.Delete(x.key, nil)
		} else {
			err = batch.Set(x.key, x.value, nil)
		}
		return err == nil
	})
	if err == nil {
		s.reservation.grow(batch.Len())
		err = batch.Commit(opts)
	}
	return errors.Join(err, batch.Close())
}

// Flush begins to write what is in memory only to tables, for a Checkpoint with a short log; done is closed once they are written.
func (s *Store) Flush() (done <-chan struct{}, err error) {
	if err := s.wait(); err != nil {
		return nil, err
	}
	if done, err = s.db.AsyncFlush(); err != nil {
		return nil, stream.Broken(fmt.Errorf("state: flush: %w", err))
	}
	return done, nil
}

// Checkpoint makes a directory, which must not exist, with the state at the last commit; Open opens it. Tables are hard links, the log since
// the last flush is copied.
func (s *Store) Checkpoint(dir string) error {
	if err := s.wait(); err != nil {
		return err
	}
	if err := s.db.Checkpoint(dir, pebble.WithFlushedWAL()); err != nil {
		return fmt.Errorf("state: checkpoint %s: %w", dir, err)
	}
	return nil
}

// Immutable reports whether a file of a directory, by its name, never changes.
func Immutable(name string) bool {
	return strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")
}

// Close discards uncommitted writes and closes the Store. Everything committed is then on disk.
func (s *Store) Close() error {
	err := s.wait()
	s.open.Lock() // waits for concurrent reads
	s.closed = true
	s.open.Unlock()
	err = errors.Join(err, s.db.Close())
	s.reservation.release()
	if err != nil {
		return fmt.Errorf("close state: %w", err)
	}
	return nil
}

func checkKey(key []byte) error {
	if len(key) == 0 || key[0] == 0 {
		return stream.Broken(fmt.Errorf("state: key %x is empty or begins with a zero byte", key))
	}
	return nil
}

func (m Marks) clone() Marks {
	m.Log = append([]LogMark(nil), m.Log...)
	return m
}

// String returns the marks as they are stored: "i17 120:18 97:18", the input's offset and then
// offset:epoch of each partition of the log.
func (m Marks) String() string {
	b := strconv.AppendInt([]byte{'i'}, m.Input, 10)
	for _, l := range m.Log {
		b = append(b, ' ')
		b = strconv.AppendInt(b, l.Offset, 10)
		b = append(b, ':')
		b = strconv.AppendUint(b, l.Epoch, 10)
	}
	return string(b)
}

// ParseMarks parses the form of String.
func ParseMarks(text string) (Marks, error) {
	var m Marks
	for i, field := range strings.Fields(text) {
		var err error
		if i == 0 {
			input, ok := strings.CutPrefix(field, "i")
			if !ok {
				return Marks{}, fmt.Errorf("marks %q do not begin with i", text)
			}
			if m.Input, err = strconv.ParseInt(input, 10, 64); err != nil {
				return Marks{}, fmt.Errorf("marks %q: input: %w", text, err)
			}
			continue
		}
		var l LogMark
		offset, epoch, _ := strings.Cut(field, ":")
		if l.Offset, err = strconv.ParseInt(offset, 10, 64); err != nil {
			return Marks{}, fmt.Errorf("marks %q: offset in the log's partition %d: %w", text, i-1, err)
		}
		if l.Epoch, err = strconv.ParseUint(epoch, 10, 64); err != nil {
			return Marks{}, fmt.Errorf("marks %q: epoch in the log's partition %d: %w", text, i-1, err)
		}
		m.Log = append(m.Log, l)
	}
	if m.String() != text {
		return Marks{}, fmt.Errorf("marks %q are not in the form that is written", text)
	}
	return m, nil
}

// storeLog passes Pebble's messages to slog. Pebble calls Fatalf where it cannot continue (a log
// that cannot be written): the process must end, and a panic shows where.
type storeLog struct {
	log *slog.Logger
	dir string
}

func (storeLog) Infof(string, ...any) {}

func (l storeLog) Errorf(format string, args ...any) {
	l.log.Error("pebble", "dir", l.dir, "message", fmt.Sprintf(format, args...))
}

func (l storeLog) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf("state %s: %s", l.dir, fmt.Sprintf(format, args...)))
}

// Own decodes the value, in JSON, that SetOwn has committed under a reserved key: a zero byte and a name. v stays as it is if
// there is none.
func (s *Store) Own(key []byte, v any) error {
	value, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("state: %q: %w", key[1:], err)
	}
	defer closer.Close()
	if err := json.Unmarshal(value, v); err != nil {
		return stream.Broken(fmt.Errorf("state: %q: %w", key[1:], err))
	}
	return nil
}

// SetOwn sets the value of a reserved key, in JSON.
func (s *Store) SetOwn(key []byte, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("state: %q: %w", key[1:], err)
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	s.tx.set(key, b)
	return nil
}
