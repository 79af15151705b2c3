package snapshot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"forager/internal/platform/objects"
	"forager/internal/stream"
)

// downloads is the number of files that are restored at once, each with a chunk in memory.
const downloads = 4

// RestoreOptions are the settings of Restore.
type RestoreOptions struct {
	Bucket Bucket
	Of     Of
	// FS is the file system, Dir the directory to make; what is there is removed.
	FS  vfs.FS
	Dir string
	// Check returns why the state of a manifest is not one to continue from (Unfit), or another error.
	Check func(ctx context.Context, m *Manifest) error
	// Open opens the restored directory, to see that it is whole, and closes it.
	Open func(m *Manifest) error
	// Skipped is called for each snapshot that is not used, with the reason.
	Skipped func(key, reason string, err error)
	// Wait waits for a bucket that is unavailable; its error ends Restore.
	Wait func(ctx context.Context, cause error) error
	// Over is called when something was read again.
	Over func()
}

// ErrNone reports that there is no snapshot to restore.
var ErrNone = errors.New("there is no snapshot that can be restored")

// Unfit is the error of a check: the reason (one of those above) and what is wrong.
func Unfit(reason, format string, args ...any) error { return unfit(reason, format, args...) }

// IsUnfit reports whether an error is that of Unfit with a reason; empty = any.
func IsUnfit(err error, reason string) bool {
	var u *unusable
	return errors.As(err, &u) && (reason == "" || u.reason == reason)
}

// Restore makes the directory of the newest snapshot that can be restored; ErrNone if there is none.
func Restore(ctx context.Context, o RestoreOptions) (*Manifest, error) {
	r := &restore{RestoreOptions: o}
	var s *survey
	read := make(map[string]*found)
	if err := r.retry(ctx, func() (err error) {
		s, err = look(ctx, o.Bucket, o.Of, read)
		return err
	}); err != nil {
		return nil, err
	}
	for _, f := range s.manifests {
		err := r.one(ctx, s, f)
		if err == nil {
			return f.Manifest, nil
		}
		var u *unusable
		if !errors.As(err, &u) {
			return nil, err
		}
		o.Skipped(f.key, u.reason, u.err)
	}
	return nil, errors.Join(ErrNone, o.FS.RemoveAll(o.Dir))
}

type restore struct {
	RestoreOptions
	waiting sync.Mutex
}

// retry calls f until the bucket is available.
func (r *restore) retry(ctx context.Context, f func() error) error {
	for {
		err := f()
		r.waiting.Lock()
		if err == nil {
			r.Over()
		}
		away := errors.Is(err, objects.ErrUnavailable)
		if away {
			if werr := r.Wait(ctx, err); werr != nil {
				away, err = false, werr
			}
		}
		r.waiting.Unlock()
		if !away {
			return err
		}
	}
}

// one restores one snapshot.
func (r *restore) one(ctx context.Context, s *survey, f *found) error {
	if u := s.complete(f); u != nil {
		return u
	}
	if err := fits(ctx, r.Of, f.Manifest, r.Check); err != nil {
		return err
	}
	if err := r.FS.RemoveAll(r.Dir); err != nil {
		return err
	}
	if err := r.FS.MkdirAll(r.Dir, 0o755); err != nil {
		return err
	}
	if err := r.files(ctx, f.Files); err != nil {
		return err
	}
	if err := r.Open(f.Manifest); err != nil {
		return &unusable{Damaged, err}
	}
	return nil
}

// fits returns why a manifest is not one of a state to continue from.
func fits(ctx context.Context, of Of, m *Manifest, check func(context.Context, *Manifest) error) error {
	found := m.Of
	found.Layout = of.Layout
	switch {
	case found != of:
		return unfit(Foreign, "it is that of %s, partition %d of %s", m.Stage, m.Partition, m.Topic)
	case m.Layout != of.Layout:
		return unfit(Layout, "the state has layout %q, this program reads %q", m.Layout, of.Layout)
	}
	return check(ctx, m)
}

// files downloads files, some at once; the first error ends it.
func (r *restore) files(ctx context.Context, files []File) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	next := make(chan File)
	for range downloads {
		group.Go(func() {
			for f := range next {
				if err := r.file(ctx, f); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, f := range files {
		select {
		case next <- f:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	group.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	dir, err := r.FS.OpenDir(r.Dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (r *restore) file(ctx context.Context, x File) (err error) {
	f, err := r.FS.Create(r.FS.PathJoin(r.Dir, x.Name), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for i, c := range x.Chunks {
		want := min(x.Size-int64(i)*ChunkBytes, ChunkBytes)
		var b []byte
		stream.Failpoint("snapshot-download")
		err := r.retry(ctx, func() (err error) {
			b, err = r.Bucket.Get(ctx, r.Of.chunks()+c)
			return err
		})
		switch {
		case errors.Is(err, objects.ErrNotFound):
			return unfit(Partial, "%s: chunk %s is missing", x.Name, c)
		case err != nil:
			return err
		case int64(len(b)) != want || digest(b) != c[:min(len(c), digestLen)]:
			return unfit(Damaged, "%s: chunk %s has other content", x.Name, c)
		}
		if _, err := f.Write(b); err != nil {
			return fmt.Errorf("restore %s: %w", x.Name, err)
		}
	}
	return f.Sync()
}

// Newest returns when the newest snapshot of a partition was stored, by the clock of the server; zero = there is none.
func Newest(ctx context.Context, b Bucket, of Of) (at time.Time, err error) {
	for o, err := range b.List(ctx, of.manifests()) {
		if err != nil {
			return time.Time{}, err
		}
		at = o.Modified // names are in the order of the states
	}
	return at, nil
}
