package frontier

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"forager/internal/frontier/storage"

	diskstate "forager/internal/stream/state"
)

// committer is a Store whose writes are committed by a call, as those of stages are after each step.
type committer interface {
	storage.Store
	commit(tb fataler)
}

type fataler interface{ Fatal(args ...any) }

// commit commits what was written to a store; what is written to NewMemory is committed at once.
func commit(tb fataler, s storage.Store) {
	if c, ok := s.(committer); ok {
		c.commit(tb)
	}
}

// lagging is a Store in memory of which ReadCommitted and ScanCommitted show the last commit.
type lagging struct {
	*storage.Memory
	last *storage.Memory
}

func newLagging() *lagging { return &lagging{Memory: storage.NewMemory(), last: storage.NewMemory()} }

func (l *lagging) ReadCommitted(keys [][]byte, f func(i int, value []byte) error) error {
	return l.last.ReadCommitted(keys, f)
}

func (l *lagging) ScanCommitted(from, to []byte, f func(key, value []byte) (bool, error)) error {
	return l.last.ScanCommitted(from, to, f)
}

func (l *lagging) commit(fataler) { l.last = l.Memory.Clone() }

// shipped is the Store of the stages, on a file system in memory.
type shipped struct {
	*diskstate.Store
	commits int64
}

// newShipped opens one; the function that it returns closes it.
func newShipped(tb fataler) (*shipped, func()) {
	s, err := diskstate.Open(diskstate.Options{Dir: "state", Identity: "test", FS: vfs.NewMem()})
	if err != nil {
		tb.Fatal(err)
	}
	return &shipped{Store: s}, func() {
		if err := s.Close(); err != nil {
			tb.Fatal(err)
		}
	}
}

func shippedFor(tb testing.TB) *shipped {
	s, closed := newShipped(tb)
	tb.Cleanup(closed)
	return s
}

func (s *shipped) commit(tb fataler) {
	s.commits++
	if err := s.Commit(diskstate.Marks{Input: s.commits}); err != nil {
		tb.Fatal(err)
	}
}

// onStores checks a property on a Store that lags, and in a tenth as many runs on the one that ships.
func onStores(t *testing.T, property func(t *rapid.T, store committer)) {
	t.Run("lagging", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) { property(t, newLagging()) })
	})
	t.Run("shipped", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			if rapid.IntRange(0, 9).Draw(t, "run") > 0 {
				return
			}
			store, closed := newShipped(t)
			defer closed()
			property(t, store)
		})
	})
}
