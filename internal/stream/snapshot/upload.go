package snapshot

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"forager/internal/platform/objects"
	"forager/internal/stream"
	"forager/internal/stream/state"
)

// Limit bounds the uploads of a process: two at once, each with a chunk in memory, and a rate.
type Limit struct {
	rate  int64 // bytes a second; 0 = any
	slots chan struct{}
	mu    sync.Mutex
	next  time.Time
}

// NewLimit returns a limit of rate bytes a second; 0 = none.
func NewLimit(rate int64) *Limit { return &Limit{rate: rate, slots: make(chan struct{}, 2)} }

// enter waits for a slot.
func (l *Limit) enter(ctx context.Context) (leave func(), err error) {
	select {
	case l.slots <- struct{}{}:
		return func() { <-l.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// pace waits until n further bytes may be sent.
func (l *Limit) pace(ctx context.Context, n int) error {
	if l.rate <= 0 {
		return ctx.Err()
	}
	l.mu.Lock()
	at := l.next
	if now := time.Now(); at.Before(now) {
		at = now
	}
	l.next = at.Add(time.Duration(float64(n) / float64(l.rate) * float64(time.Second)))
	l.mu.Unlock()
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Maker uploads the snapshots of a partition while its Store is open, and collects old ones. It is used by one goroutine at a time.
type Maker struct {
	Bucket Bucket
	Of     Of
	Limit  *Limit

	read map[string]*found
	// sent are the chunks that this Maker wrote, by digest: an upload that failed need not begin again.
	sent map[string]sent
	// tables are the digests of the chunks of files that never change, by name.
	tables map[string]table
	// time is the clock of tests.
	time func() time.Time
}

type sent struct {
	name string
	at   time.Time
}

type table struct {
	size    int64
	digests []string
}

// Report is what an upload did.
type Report struct {
	// Key of the manifest.
	Key string
	// Bytes of all files, and those of them that were sent.
	Bytes, Sent int64
}

// Upload uploads the files of a directory that Store.Checkpoint has made, as the snapshot that m describes. Chunks that are stored
// already are not sent. fast: the rate is not limited. The error is of a class of package objects, or of ctx; a later call continues.
func (k *Maker) Upload(ctx context.Context, fs vfs.FS, dir string, m Manifest, fast bool) (Report, error) {
	leave, err := k.Limit.enter(ctx)
	if err != nil {
		return Report{}, err
	}
	defer leave()
	if k.time == nil {
		k.time = time.Now
	}
	if k.read == nil {
		k.read, k.sent = make(map[string]*found), make(map[string]sent)
	}
	began := k.time()
	ctx, cancel := context.WithTimeout(ctx, uploadTime)
	defer cancel()
	u := &upload{Maker: k, fs: fs, id: rand.Text()[:12], fast: fast, buffer: make([]byte, ChunkBytes), tables: make(map[string]table)}
	if u.trusted, err = k.trusted(ctx, began); err != nil {
		return Report{}, err
	}
	names, err := fs.List(dir)
	if err != nil {
		return u.report, fmt.Errorf("snapshot: %w", err)
	}
	slices.Sort(names)
	m.Version, m.Of, m.Made, m.Files = version, k.Of, began.UTC(), nil
	for _, name := range names {
		f, err := u.file(ctx, fs.PathJoin(dir, name), name)
		if err != nil {
			return u.report, fmt.Errorf("snapshot: %s: %w", name, err)
		}
		m.Files = append(m.Files, f)
		u.report.Bytes += f.Size
	}
	k.tables = u.tables
	name, body, err := m.encode()
	if err != nil {
		return u.report, err
	}
	// The wall clock also counts the time in which the machine was suspended.
	if now := k.time(); now.Sub(began) > uploadTime || now.Round(0).Sub(began.Round(0)) > uploadTime {
		return u.report, fmt.Errorf("snapshot: the upload took %s, longer than %s: %w", now.Sub(began), uploadTime, objects.ErrUnavailable)
	}
	stream.Failpoint("snapshot-manifest")
	u.report.Key = k.Of.manifests() + name
	return u.report, put(ctx, k.Bucket, u.report.Key, body)
}

// trusted returns the names of the chunks to which an upload that begins now may refer, by digest.
func (k *Maker) trusted(ctx context.Context, now time.Time) (map[string]string, error) {
	s, err := look(ctx, k.Bucket, k.Of, k.read)
	if err != nil {
		return nil, err
	}
	trusted := make(map[string]string)
	for digest, x := range k.sent {
		if age := now.Sub(x.at); age < 0 || age >= keepTime-uploadTime {
			delete(k.sent, digest)
			continue
		}
		trusted[digest] = x.name
	}
	newest := 0
	for _, f := range s.manifests {
		if s.complete(f) != nil {
			continue
		}
		if newest++; newest > Keep {
			break
		}
		for _, x := range f.Files {
			for _, c := range x.Chunks {
				trusted[c[:min(len(c), digestLen)]] = c
			}
		}
	}
	return trusted, nil
}

// digestLen is the length of a digest in a name.
const digestLen = 64

// upload is one upload in progress.
type upload struct {
	*Maker
	fs      vfs.FS
	id      string
	fast    bool
	trusted map[string]string
	buffer  []byte
	tables  map[string]table
	report  Report
}

// file uploads what is not stored of a file.
func (u *upload) file(ctx context.Context, path, name string) (File, error) {
	info, err := u.fs.Stat(path)
	if err != nil {
		return File{}, err
	}
	x := File{Name: name, Size: info.Size()}
	if t, ok := u.Maker.tables[name]; ok && t.size == x.Size {
		for _, d := range t.digests {
			if c, ok := u.trusted[d]; ok {
				x.Chunks = append(x.Chunks, c)
			}
		}
		if len(x.Chunks) == len(t.digests) {
			u.tables[name] = t
			return x, nil
		}
		x.Chunks = nil
	}
	f, err := u.fs.Open(path, vfs.SequentialReadsOption)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	t := table{size: x.Size}
	for left := x.Size; left > 0; {
		part := u.buffer[:min(left, ChunkBytes)]
		if _, err := io.ReadFull(f, part); err != nil {
			return File{}, err
		}
		left -= int64(len(part))
		d := digest(part)
		t.digests = append(t.digests, d)
		c, err := u.chunk(ctx, d, part)
		if err != nil {
			return File{}, err
		}
		x.Chunks = append(x.Chunks, c)
	}
	if state.Immutable(name) {
		u.tables[name] = t
	}
	return x, nil
}

// chunk stores a chunk, unless it is there, and returns its name.
func (u *upload) chunk(ctx context.Context, digest string, part []byte) (string, error) {
	if c, ok := u.trusted[digest]; ok {
		return c, nil
	}
	if !u.fast {
		if err := u.Limit.pace(ctx, len(part)); err != nil {
			return "", err
		}
	}
	c := digest + "-" + u.id
	began := u.time()
	if err := put(ctx, u.Bucket, u.Of.chunks()+c, part); err != nil {
		return "", err
	}
	stream.Failpoint("snapshot-chunk")
	u.report.Sent += int64(len(part))
	u.trusted[digest], u.sent[digest] = c, sent{c, began}
	return c, nil
}

// put stores an object whose name has its digest.
func put(ctx context.Context, b Bucket, key string, body []byte) error {
	err := b.Put(ctx, key, bytes.NewReader(body), int64(len(body)))
	if errors.Is(err, objects.ErrExists) {
		return nil
	}
	return err
}

// Collect removes what no snapshot that is kept needs. mine is the key of a manifest that this Maker has just written: its time is that
// of the server. check returns why a snapshot could not be restored, as for Restore: it does not count among those to keep.
func (k *Maker) Collect(ctx context.Context, mine string, check func(context.Context, *Manifest) error) (removed int, err error) {
	s, err := look(ctx, k.Bucket, k.Of, k.read)
	if err != nil {
		return 0, err
	}
	i := slices.IndexFunc(s.manifests, func(f *found) bool { return f.key == mine })
	if i < 0 {
		return 0, nil
	}
	old := s.manifests[i].modified.Add(-keepTime)
	stream.Failpoint("snapshot-collect")
	remove := func(key string) error {
		if err := k.Bucket.Delete(ctx, key); err != nil {
			return err
		}
		removed++
		return nil
	}
	usable, unknown := 0, false
	needed := make(map[string]bool)
	for _, f := range s.manifests {
		if usable >= Keep {
			if err := remove(f.key); err != nil {
				return removed, err
			}
			continue
		}
		if f.Manifest == nil {
			unknown = true // it may need any chunk
			continue
		}
		for _, x := range f.Files {
			for _, c := range x.Chunks {
				needed[c] = true
			}
		}
		if f.modified.Before(old) && s.complete(f) == nil {
			err := fits(ctx, k.Of, f.Manifest, check)
			if err == nil {
				usable++
			} else if !errors.As(err, new(*unusable)) {
				return removed, err
			}
		}
	}
	if unknown {
		return removed, nil
	}
	for c, o := range s.chunks {
		if !needed[c] && o.Modified.Before(old) {
			if err := remove(o.Key); err != nil {
				return removed, err
			}
		}
	}
	return removed, nil
}
