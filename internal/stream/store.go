package stream

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Store is the state of one partition of a stateful stage: an ordered map of byte strings on
// disk. What was written since the last commit (the transaction in hand) is read back at once
// and becomes durable as a whole, together with the Marks, or not at all. It implements
// frontier.Store.
//
// Slices handed out by Get and Scan are valid until the next call. The function given to Scan
// does not call the Store. Keys that begin with a zero byte are the Store's own. A Store is not
// safe for concurrent use. After an error it must be closed.
//
// Pebble keeps deleted keys as tombstones until a compaction. A Scan that begins below a long
// run of them steps over each: who takes entries off the head of a queue remembers the last key
// taken and scans from there.
type Store struct {
	db *pebble.DB
	// tx is what was written since the last commit; writing that commit, until it is in db, and
	// written says how that went. Both are nil while nothing is being written.
	tx      *changes
	writing *changes
	written chan error
	// changing is held by who changes tx or writing, and by who reads them beside that; open by who reads beside Close.
	changing, open sync.RWMutex
	closed         bool

	marks Marks
	fresh bool
	// parked crawls, see park.
	parked map[string]ParkedCrawl
	value  []byte
	sync   func() bool
	room   *room
}

// Marks say how far the state of a Store has come.
type Marks struct {
	// Input is the offset of the first input record that the state does not know.
	Input int64
	// Log says the same for each partition of the decision log; empty without one.
	Log []LogMark
}

// LogMark is how far the state knows one partition of the decision log.
type LogMark struct {
	// Offset of the first record that the state does not know.
	Offset int64
	// Epoch is the highest of the owner's markers below Offset; 0 = none.
	Epoch uint64
}

// StoreOptions say where a Store is and whose.
type StoreOptions struct {
	Dir string
	// Identity names what the state is of ("prioritize link.found/3"). A directory that holds
	// another one's state is refused.
	Identity string
	// FS is the file system; nil = the machine's.
	FS vfs.FS
	// Cache is shared by the Stores of a process, beside their write buffers; nil = one of its own.
	Cache *Cache
	Log   *slog.Logger
	// Sync says for each commit whether it waits for the disk; nil = never. It need not: what
	// a crash loses is rebuilt from the topics.
	Sync func() bool
	// MemTable is the size of Pebble's write buffer, bytes; 0 = 8 MiB. Up to twice that is in
	// memory. What is deleted or written again before the buffer is full costs nothing on disk.
	MemTable uint64
	// Hits says that a key that is asked for mostly is there, so that the lowest level, nine tenths
	// of all keys, needs no Bloom filters.
	Hits bool
}

// Cache is a block cache shared by Stores. Pebble counts the write buffers of a Store as part of
// its cache; a Store therefore brings room for them along, lest they leave none for blocks.
type Cache struct{ cache *pebble.Cache }

// room is what a Store has brought to its cache for its write buffers. They begin small and grow with what is
// written, as Pebble allocates them; the room does, too, lest the cache fill what they do not need: the
// buffers of a partition that is written little stay small for ever.
type room struct {
	cache      *pebble.Cache // nil = the Store has one of its own
	bytes, all int
	giveBack   func()
}

// firstBuffer is the size of Pebble's first write buffer, bytes.
const firstBuffer = 256 << 10

// newRoom brings room for the first write buffers, of which there are two, of at most so many bytes each.
func newRoom(c *Cache, buffer uint64) *room {
	r := &room{all: 2 * int(buffer), giveBack: func() {}}
	if c != nil {
		r.cache = c.cache
	}
	r.grow(2 * firstBuffer)
	return r
}

// grow brings more of the room, as so many bytes more have been written.
func (r *room) grow(written int) {
	if r.cache == nil || r.bytes == r.all {
		return
	}
	r.bytes = min(r.bytes+written, r.all)
	before := r.giveBack
	r.giveBack = r.cache.Reserve(-r.bytes)
	before()
}

// NewCache makes a cache of size bytes; release it with Close once every Store is closed.
func NewCache(size int64) *Cache { return &Cache{pebble.NewCache(size)} }

// Close releases the cache.
func (c *Cache) Close() { c.cache.Unref() }

// ErrLocked says that a directory's Store is open elsewhere: its former owner, in this process
// or another one of this machine, has not let go of it yet.
var ErrLocked = errors.New("the state directory is open elsewhere")

var (
	marksKey    = []byte("\x00marks")
	identityKey = []byte("\x00identity")
)

// storeVersion is the version of the Store's own keys; it leads Identity.
const storeVersion = "1"

// OpenStore opens the Store in a directory, made where it is missing. Errors: ErrLocked, Broken
// where the directory belongs to something else or is damaged.
func OpenStore(o StoreOptions) (*Store, error) {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := o.FS.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, Broken(fmt.Errorf("state directory: %w", err))
	}
	lock, err := pebble.LockDirectory(o.Dir, o.FS)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrLocked, o.Dir, err)
	}
	defer lock.Close() // the open DB holds a reference of its own
	opts := &pebble.Options{
		FS: o.FS, Lock: lock, Logger: storeLog{o.Log, o.Dir}, FormatMajorVersion: pebble.FormatValueSeparation,
		MemTableSize: o.MemTable,
	}
	if opts.MemTableSize == 0 {
		opts.MemTableSize = 8 << 20
	}
	room := newRoom(o.Cache, opts.MemTableSize)
	opts.Cache = room.cache
	tune(opts, o.Hits)
	db, err := pebble.Open(o.Dir, opts)
	if err != nil {
		room.giveBack()
		return nil, Broken(fmt.Errorf("open state %s: %w (to build it anew from the topics, delete the directory)", o.Dir, err))
	}
	s := &Store{db: db, tx: newChanges(), sync: o.Sync, room: room}
	if err := s.begin(o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// separateValues is from how many bytes on a value stands in a file of its own kind, and is not written again with
// its key at each compaction.
const separateValues = 512

// flushesMerged is twice the number of flushes that are written into the first level together.
const flushesMerged = 16

// tune says how Pebble keeps what it has been given.
func tune(opts *pebble.Options, hits bool) {
	// A larger buffer deserves a larger first level: a level less is a rewrite less.
	opts.LBaseMaxBytes = int64(max(64<<20, 8*opts.MemTableSize))
	// Large values stand apart, so what is flushed of a buffer is a fraction of it, and its keys lie all over the first
	// level: of that most is rewritten to take in two flushes, as Pebble would have it. It takes in eight.
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
	// The upper levels are rewritten many times and hold little; but values that stand apart are written with
	// the first of them, and stay as they are.
	opts.ApplyCompressionSettings(func() pebble.DBCompressionSettings {
		c := pebble.UniformDBCompressionSettings(block.NoCompression)
		c.Levels[0], c.Levels[len(c.Levels)-2], c.Levels[len(c.Levels)-1] = block.SnappyCompression, block.SnappyCompression, block.SnappyCompression
		return c
	})
	// Leaf tables are half of all bytes and are written once.
	opts.Experimental.ValueSeparationPolicy = func() pebble.ValueSeparationPolicy {
		return pebble.ValueSeparationPolicy{
			Enabled: true, MinimumSize: separateValues, MaxBlobReferenceDepth: 10,
			RewriteMinimumAge: 5 * time.Minute, TargetGarbageRatio: 0.5,
		}
	}
	// Whoever takes entries off the head of a queue remembers where it begins, so tombstones do not slow reads
	// down, and are not worth compactions of their own, of which there were as many as all others.
	opts.Experimental.TombstoneDenseCompactionThreshold = -1
	opts.CompactionConcurrencyRange = func() (lower, upper int) { return 1, max(1, runtime.GOMAXPROCS(0)/2) }
}

// begin reads the Store's own keys.
func (s *Store) begin(o StoreOptions) error {
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
		return Broken(fmt.Errorf("state %s is that of %q and not of %q: give the stage its own directory, or delete this one to build it anew", o.Dir, found, identity))
	}
	if value, closer, err = s.db.Get(marksKey); err != nil {
		return fmt.Errorf("state %s: marks: %w", o.Dir, err)
	}
	defer closer.Close()
	if s.marks, err = parseMarks(string(value)); err != nil {
		return Broken(fmt.Errorf("state %s: %w", o.Dir, err))
	}
	return nil
}

// Fresh says that the Store was made just now: it holds nothing and knows no offset.
func (s *Store) Fresh() bool { return s.fresh }

// Marks are those of the last commit.
func (s *Store) Marks() Marks { return s.marks.clone() }

// Get returns the value of key, also one written since the last commit.
func (s *Store) Get(key []byte) (value []byte, ok bool, err error) {
	if value, ok, err = s.Read(key, s.value[:0]); ok {
		s.value = value
	}
	return value, ok, err
}

// Read is Get, with the value appended to buf. Several goroutines may call it beside anything; behind Close it fails.
func (s *Store) Read(key, buf []byte) (value []byte, ok bool, err error) {
	if err := checkKey(key); err != nil {
		return nil, false, err
	}
	s.open.RLock()
	defer s.open.RUnlock()
	if s.closed {
		return nil, false, fmt.Errorf("state: get %x: %w", key, pebble.ErrClosed)
	}
	if x, said := s.changed(key); said {
		return append(buf, x.value...), !x.deleted, nil
	}
	v, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("state: get %x: %w", key, err)
	}
	value = append(buf, v...)
	if err := closer.Close(); err != nil {
		return nil, false, fmt.Errorf("state: get %x: %w", key, err)
	}
	return value, true, nil
}

// changed is what was said of a key that Pebble may not have yet.
func (s *Store) changed(key []byte) (x change, said bool) {
	s.changing.RLock()
	defer s.changing.RUnlock()
	if x, said = s.tx.get(key); !said && s.writing != nil {
		x, said = s.writing.get(key)
	}
	return x, said
}

// ReadCommitted calls f for those of ascending keys that were there at the last commit, with the position of the key and
// its value, which is valid during the call. Several goroutines may call it beside anything but Commit and Close.
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

// readAt calls f for a committed key that is there; the iterator goes on to it.
func (s *Store) readAt(it *pebble.Iterator, key []byte, f func(value []byte) error) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if s.writing != nil {
		if x, said := s.writing.get(key); said {
			if x.deleted {
				return nil
			}
			return f(x.value)
		}
	}
	if !it.SeekGE(key) || !bytes.Equal(it.Key(), key) {
		return nil // or it cannot be read, and closing the iterator says so
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

// Scan calls f for from ≤ key < to in ascending order while f wants more. An empty to is the end.
func (s *Store) Scan(from, to []byte, f func(key, value []byte) (more bool, err error)) error {
	return s.scan(append([]*changes{s.tx}, s.committing()...), from, to, f)
}

// ScanCommitted is Scan of what was there at the last commit. Several goroutines may call it beside anything but Commit
// and Close.
func (s *Store) ScanCommitted(from, to []byte, f func(key, value []byte) (more bool, err error)) error {
	return s.scan(s.committing(), from, to, f)
}

// scan goes through what Pebble has with changes over it, the newest first.
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

// pebbleCursor is a cursor over what Pebble has. It ends where something cannot be read, and
// closing the iterator says so.
type pebbleCursor struct{ it *pebble.Iterator }

func (c pebbleCursor) at() (change, bool) {
	if !c.it.Valid() {
		return change{}, false
	}
	value, err := c.it.ValueAndErr()
	return change{key: c.it.Key(), value: value}, err == nil
}

func (c pebbleCursor) next() { c.it.Next() }

// committing are the changes that were committed and may not be in Pebble yet.
func (s *Store) committing() []*changes {
	if s.writing == nil {
		return nil
	}
	return []*changes{s.writing}
}

// Commit makes what was written since the last one durable together with the marks. It does
// not wait for the disk; after a crash the state is that of some commit, not always the last.
// Where a commit cannot be written, the next one or Close says so.
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
		return Broken(fmt.Errorf("state: commit: %w", err))
	}
	s.changing.Lock()
	s.writing = nil
	s.changing.Unlock()
	return nil
}

// write gives changes to Pebble.
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
		s.room.grow(batch.Len())
		err = batch.Commit(opts)
	}
	return errors.Join(err, batch.Close())
}

// Close drops what was not committed and closes the Store. Everything committed is on disk then.
func (s *Store) Close() error {
	err := s.wait()
	s.open.Lock() // whoever reads beside it is done then
	s.closed = true
	s.open.Unlock()
	err = errors.Join(err, s.db.Close())
	s.room.giveBack()
	if err != nil {
		return fmt.Errorf("close state: %w", err)
	}
	return nil
}

func checkKey(key []byte) error {
	if len(key) == 0 || key[0] == 0 {
		return Broken(fmt.Errorf("state: key %x is empty or begins with a zero byte", key))
	}
	return nil
}

func (m Marks) clone() Marks {
	m.Log = append([]LogMark(nil), m.Log...)
	return m
}

// String writes the marks as they are stored: "i17 120:18 97:18", the input's offset and then
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

func parseMarks(text string) (Marks, error) {
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

// storeLog gives Pebble's messages to slog. Pebble calls Fatalf where it cannot go on (a log
// that cannot be written): the process must end, and a panic says where.
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
