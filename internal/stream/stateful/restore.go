package stateful

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"forager/internal/stream"
	"forager/internal/stream/snapshot"
	"forager/internal/stream/state"
)

// restorePatience is how long a start waits for an unavailable bucket where it can also replay the topics.
const restorePatience = 20 * time.Second

// farBehind is the number of records of the input beyond which a snapshot is preferred to a directory that is older.
const farBehind = 50_000

// OtherLayout marks the error of Stage.Open of state that another version of the stage has written, and this one cannot read.
func OtherLayout(err error) error { return &otherLayout{err} }

type otherLayout struct{ err error }

func (o *otherLayout) Error() string { return o.err.Error() }
func (o *otherLayout) Unwrap() error { return o.err }

// open opens the partition's Store. A directory that is empty, damaged, of another layout, far behind or from before the records that the
// topics still have is replaced by the newest snapshot that fits, if there is one. Without one, state of another layout is removed if
// the topics have everything to rebuild it.
func (s *statefulClaim) open(ctx context.Context) (*Store, error) {
	store, err := s.openFolder(ctx)
	if s.other == nil && s.stage.Snapshots == nil || err != nil && !errors.Is(err, state.ErrDamaged) {
		return store, err
	}
	if store == nil {
		s.other = nil // it is damaged meanwhile
	}
	keep := func(cause error) (*Store, error) {
		if store == nil && cause == nil {
			return nil, err
		}
		if store == nil {
			return nil, cause
		}
		if cause != nil {
			return nil, errors.Join(cause, store.Close())
		}
		return store, nil
	}
	why, must, werr := s.lacks(ctx, store)
	if werr != nil || why == "" {
		return keep(werr)
	}
	began := time.Now()
	m, rerr := s.download(ctx, store, must)
	none := errors.Is(rerr, snapshot.ErrNone)
	switch {
	case none && s.other != nil && must:
		return keep(stream.Broken(fmt.Errorf("%w, there is no snapshot of this layout, and the topics do not have all records to rebuild it: %s", s.other, otherAdvice)))
	case none && s.other == nil:
		return keep(nil)
	case rerr != nil && must:
		return keep(stream.Unavailable(rerr))
	case rerr != nil && !none:
		if ctx.Err() == nil {
			s.client.Log.Warn("the state is not restored from a snapshot but from the topics", "partition", s.claim.Partition, "error", rerr)
		}
		if s.other == nil || ctx.Err() != nil {
			return keep(nil)
		}
	}
	if store != nil {
		if err := store.Close(); err != nil {
			return nil, err
		}
	}
	if err := s.replace(store == nil, rerr == nil); err != nil {
		return nil, err
	}
	s.other = nil
	if rerr != nil {
		s.client.Log.Info("the state is rebuilt from the topics", "partition", s.claim.Partition)
		return s.openFolder(ctx)
	}
	s.client.Metrics.StateRestored.Inc()
	s.client.Log.Info("restored from a snapshot", "partition", s.claim.Partition, "directory", why,
		"marks", m.Marks, "epoch", m.Epoch, "made", m.Made, "seconds", time.Since(began).Seconds())
	return s.openFolder(ctx)
}

// otherAdvice is what to do where state of another layout cannot be replaced.
const otherAdvice = "go on with the version that wrote it until its crawls have finished; or, if no crawl that still runs began before the records that are gone, put an empty file named " +
	AcceptLossFile + " into the stage's state directory and start again"

// lacks returns why a directory should be replaced by a snapshot, empty = it should not. must: the topics alone do not suffice.
// store is nil if the directory is damaged.
func (s *statefulClaim) lacks(ctx context.Context, store *Store) (why string, must bool, err error) {
	if store == nil {
		return "damaged", true, nil
	}
	_, end, err := s.client.Offsets(ctx, s.stage.Input, s.claim.Partition)
	if err != nil {
		return "", false, err
	}
	marks := store.Marks()
	begins := store.Fresh() || s.other != nil
	if begins {
		marks = state.Marks{}
	}
	if begins && s.stage.Log != "" {
		n, err := s.client.Partitions(ctx, s.stage.Log)
		if err != nil {
			return "", false, err
		}
		marks.Log = make([]state.LogMark, n)
	}
	err = s.ranges(ctx, marks)
	gone := snapshot.IsUnfit(err, snapshot.Expired)
	if err != nil && !gone {
		if snapshot.IsUnfit(err, "") {
			err = nil // the owner reports it
		}
		return "", false, err
	}
	_, serr := os.Stat(filepath.Join(s.dir, AcceptLossFile))
	switch {
	case s.other != nil:
		return "of another layout", gone && serr != nil, nil
	case store.Fresh() && end == 0 && !gone:
		return "", false, nil
	case store.Fresh():
		return "empty", gone && serr != nil, nil
	case gone:
		return "expired", true, nil
	case end-marks.Input > farBehind:
		return "far behind", false, nil
	}
	return "", false, nil
}

// download makes the directory of the newest snapshot that fits next to that of the partition, whose lock is held.
func (s *statefulClaim) download(ctx context.Context, store *Store, must bool) (*snapshot.Manifest, error) {
	if s.stage.Snapshots == nil {
		return nil, snapshot.ErrNone
	}
	o := s.options(s.folder() + restoreSuffix)
	least := int64(-1)
	if store == nil {
		lock, err := pebble.LockDirectory(s.folder(), o.FS)
		if err != nil {
			return nil, stream.Unavailable(fmt.Errorf("%w: %w", state.ErrLocked, err))
		}
		defer lock.Close()
	} else if !store.Fresh() && s.other == nil {
		least = store.Marks().Input
	}
	w := s.client.Waiting(func() string { return "the snapshots below " + s.of().Prefix() })
	defer w.Over()
	var away time.Time
	return snapshot.Restore(ctx, snapshot.RestoreOptions{
		Bucket: s.stage.Snapshots.Bucket, Of: s.of(), FS: o.FS, Dir: o.Dir,
		Check: func(ctx context.Context, m *snapshot.Manifest) error {
			if marks, err := state.ParseMarks(m.Marks); err == nil && marks.Input <= least {
				return snapshot.ErrNone // what follows is older still
			}
			return s.fits(ctx, m)
		},
		Open: func(m *snapshot.Manifest) error { return s.whole(o, m) },
		Skipped: func(key, reason string, err error) {
			s.client.Metrics.SnapshotsUnfit.WithLabelValues(reason).Inc()
			s.client.Log.Warn("a snapshot is not used", "snapshot", key, "reason", reason, "error", err)
		},
		Wait: func(ctx context.Context, cause error) error {
			if away.IsZero() {
				away = time.Now()
			}
			if !must && time.Since(away) > restorePatience {
				return fmt.Errorf("no answer for %s: %w", restorePatience, cause)
			}
			return w.Wait(ctx, cause)
		},
		Over: func() { away = time.Time{}; w.Over() },
	})
}

// whole opens a restored directory, to see that it has the state of its manifest.
func (s *statefulClaim) whole(o state.Options, m *snapshot.Manifest) error {
	o.ReadOnly = true // closing it would wait for compactions
	store, err := OpenStore(o)
	if err != nil {
		return err
	}
	found := store.Marks().String()
	if err := store.Close(); err != nil {
		return err
	}
	if found != m.Marks {
		return fmt.Errorf("the state has marks %q, the manifest %q", found, m.Marks)
	}
	return nil
}

// replace replaces the partition's directory by the restored one, or removes it; a damaged one is kept next to it.
func (s *statefulClaim) replace(damaged, restored bool) error {
	dir := s.folder()
	aside := dir + replacedSuffix
	if damaged {
		aside = dir + damagedSuffix
	}
	lock, err := pebble.LockDirectory(dir, vfs.Default)
	if err != nil {
		return stream.Unavailable(fmt.Errorf("%w: %w", state.ErrLocked, err))
	}
	defer lock.Close()
	if err := os.RemoveAll(aside); err != nil {
		return stream.Broken(err)
	}
	if err := os.Rename(dir, aside); err != nil {
		return stream.Broken(err)
	}
	stream.Failpoint("snapshot-aside")
	if restored {
		if err := os.Rename(dir+restoreSuffix, dir); err != nil {
			return stream.Broken(err)
		}
	}
	stream.Failpoint("snapshot-restored")
	if damaged {
		s.client.Log.Warn("the damaged state is kept aside; delete it", "dir", aside)
		return nil
	}
	return os.RemoveAll(aside)
}
