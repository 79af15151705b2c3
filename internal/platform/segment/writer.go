package segment

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"forager/internal/platform/objects"
	"forager/internal/web/warc"
)

// Prefix of every segment's object name.
const Prefix = "segments/"

// Settings of a Writer.
type Settings struct {
	// Bytes at which a segment is closed, compressed; the last record may exceed it.
	Bytes int64
	// Age of its first record at which a segment is closed.
	Age time.Duration
	// Linger is how long a segment waits for more pages after Flush while several pages are in
	// flight: at most Age has passed since two were packed and not stored. A page that comes alone
	// is stored at once. 0 = no wait.
	Linger time.Duration
	// Instance names the writing process in object names: letters, digits, "-" and ".".
	Instance string
	// Software is the name of the writer in warcinfo records.
	Software string
	// Uploads is the largest number of concurrent uploads; 0 = 2.
	Uploads int
	// Stored is called for every segment stored; it may be nil.
	Stored func(Stored)
	// Waiting is called when the store becomes unavailable (true) and available again (false); it
	// may be nil.
	Waiting func(bool)
}

// Stored describes one stored segment.
type Stored struct {
	Object   string
	Records  int
	Bytes    int64
	Duration time.Duration // of the upload, back-off included
	Tries    int
}

// Location is the place of a stored page.
type Location struct {
	Object         string
	Offset, Length int64 // of the gzip member, bytes
	// Digest of the body as stored (warc.Digest).
	Digest string
}

// putter is the part of *objects.Store used here.
type putter interface {
	Put(ctx context.Context, key string, r io.Reader, size int64) error
}

var _ putter = (*objects.Store)(nil)

// Writer packs pages into segments. It is safe for concurrent use.
type Writer struct {
	store putter
	set   Settings
	log   *slog.Logger
	// warc writes the open segment; used by run only.
	warc *warc.Writer

	adds  chan entry
	flush chan struct{}
	close chan struct{}
	once  sync.Once
	ended chan struct{}
	err   error // why the writer ended before Close; set before ended is closed
}

// entry is a page that was added.
type entry struct {
	page   *warc.Page
	stored func(Location, error)
}

// NewWriter starts a writer. It ends with Close, or with ctx, which discards what is not stored.
func NewWriter(ctx context.Context, store putter, set Settings, log *slog.Logger) *Writer {
	if set.Uploads <= 0 {
		set.Uploads = 2
	}
	w := &Writer{
		store: store, set: set, log: log, warc: warc.NewWriter(nil),
		adds: make(chan entry), flush: make(chan struct{}, 1), close: make(chan struct{}), ended: make(chan struct{}),
	}
	go w.run(ctx)
	return w
}

// Add packs the page into the open segment and returns; it blocks while the store does not keep up.
// stored is called once, from another goroutine, when the page is stored or never will be. If Add
// returns an error stored is not called. The page must not be changed after the call.
func (w *Writer) Add(ctx context.Context, page *warc.Page, stored func(Location, error)) error {
	select {
	case w.adds <- entry{page, stored}:
		return nil
	case <-w.ended:
		return w.endError()
	case <-w.close:
		return errClosed
	case <-ctx.Done():
		return fmt.Errorf("pack %s: %w", page.URL, ctx.Err())
	}
}

// Flush closes the open segment, if there is one, without waiting for its age (but see Linger).
func (w *Writer) Flush() {
	select {
	case w.flush <- struct{}{}:
	default: // one is pending
	}
}

// Close stores the pages that were added, and waits for that until ctx ends. Later pages are
// refused.
func (w *Writer) Close(ctx context.Context) error {
	w.once.Do(func() { close(w.close) })
	select {
	case <-w.ended:
		return w.err
	case <-ctx.Done():
		return fmt.Errorf("close segments: %w", ctx.Err())
	}
}

// Ended returns a channel that is closed when the writer has ended, by Close, by its context or by
// a permanent fault of the store.
func (w *Writer) Ended() <-chan struct{} { return w.ended }

var errClosed = errors.New("segment writer is closed")

func (w *Writer) endError() error {
	if w.err != nil {
		return w.err
	}
	return errClosed
}

// run owns the open segment.
func (w *Writer) run(ctx context.Context) {
	defer close(w.ended)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		open     *segment
		age      = time.NewTimer(time.Hour)
		due      bool // the open segment is to be closed as soon as an upload may start
		uploads  int
		packed   int             // pages not yet stored
		crowded  time.Time       // the last time there were several of them
		uploaded                 = make(chan upload)
		closing  <-chan struct{} = w.close
	)
	age.Stop()
	defer age.Stop()
	for {
		if open != nil && (due || w.warc.Size() >= w.set.Bytes) && uploads < w.set.Uploads {
			uploads++
			go func(s *segment) { uploaded <- upload{len(s.entries), w.upload(ctx, s)} }(open)
			open, due = nil, false
			age.Stop()
		}
		if closing == nil && open == nil && uploads == 0 {
			return
		}
		adds := w.adds
		if closing == nil || open != nil && w.warc.Size() >= w.set.Bytes {
			adds = nil
		}
		select {
		case e := <-adds:
			if open == nil {
				open = w.newSegment()
				age.Reset(w.set.Age)
			}
			packed += w.add(open, e)
			if packed > 1 {
				crowded = time.Now()
			}
		case <-w.flush:
			if open != nil && time.Since(crowded) < w.set.Age {
				age.Reset(min(w.set.Age, w.set.Linger) - time.Since(open.began))
			} else {
				due = open != nil
			}
		case <-age.C:
			due = open != nil
		case u := <-uploaded:
			uploads--
			packed -= u.pages
			if u.err != nil {
				cancel(u.err)
			}
		case <-closing:
			closing, due = nil, open != nil
		case <-ctx.Done():
			w.err = context.Cause(ctx)
			if open != nil {
				open.abandon(w.err)
			}
			for ; uploads > 0; uploads-- {
				<-uploaded
			}
			return
		}
	}
}

// upload is the result of an upload.
type upload struct {
	pages int
	err   error
}

// segment is the open segment.
type segment struct {
	began   time.Time
	object  string
	buf     bytes.Buffer
	entries []entry
	places  []Location
}

func (w *Writer) newSegment() *segment {
	now := time.Now()
	id, object := w.name(now)
	s := &segment{began: now, object: object}
	w.warc.Reset(&s.buf)
	_, _ = w.warc.Info(id, object, now, warc.Header{{Name: "software", Value: w.set.Software}}) // writing to a buffer does not fail
	return s
}

// name returns the name of a new object, and the id in it.
func (w *Writer) name(now time.Time) (id [16]byte, object string) {
	rand.Read(id[:])
	return id, fmt.Sprintf("%s%s/%s-%s.warc.gz", Prefix, now.UTC().Format("20060102"), w.set.Instance, hex.EncodeToString(id[:]))
}

// add packs a page into the open segment and returns the number of pages that this adds, 0 or 1.
func (w *Writer) add(s *segment, e entry) int {
	at, digest, err := w.warc.Response(e.page)
	if err != nil { // only compression can fail, and then for this page
		e.stored(Location{}, fmt.Errorf("pack %s: %w", e.page.URL, err))
		return 0
	}
	e.page = nil // the segment has its bytes
	s.entries = append(s.entries, e)
	s.places = append(s.places, Location{Object: s.object, Offset: at.Offset, Length: at.Length, Digest: digest})
	return 1
}

func (s *segment) abandon(err error) {
	for _, e := range s.entries {
		e.stored(Location{}, err)
	}
}

// Pauses between two tries of an upload.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
	sayAgain   = 30 * time.Second
)

// upload stores the segment, however long the store is unavailable, and calls stored of its pages.
// The error is that of ctx or a permanent one.
func (w *Writer) upload(ctx context.Context, s *segment) error {
	began := time.Now()
	logged := time.Time{}
	pause := firstPause
	for try := 1; ; try++ {
		err := w.store.Put(ctx, s.object, bytes.NewReader(s.buf.Bytes()), int64(s.buf.Len()))
		if errors.Is(err, objects.ErrExists) && try > 1 {
			err = nil // an earlier try arrived: no other writer has the same 128 random bits
		}
		if err == nil {
			if !logged.IsZero() {
				w.log.Info("object store is back", "object", s.object, "tries", try)
				w.waiting(false)
			}
			for i, e := range s.entries {
				e.stored(s.places[i], nil)
			}
			if w.set.Stored != nil {
				w.set.Stored(Stored{Object: s.object, Records: len(s.entries), Bytes: int64(s.buf.Len()), Duration: time.Since(began), Tries: try})
			}
			return nil
		}
		if !errors.Is(err, objects.ErrUnavailable) || ctx.Err() != nil {
			err = fmt.Errorf("store segment of %d records: %w", len(s.entries), err)
			s.abandon(err)
			if !logged.IsZero() {
				w.waiting(false)
			}
			return err
		}
		if logged.IsZero() {
			w.waiting(true)
		}
		if time.Since(logged) >= sayAgain {
			w.log.Warn("object store is away; waiting", "object", s.object, "records", len(s.entries), "tries", try, "error", err)
			logged = time.Now()
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause = min(2*pause, lastPause)
	}
}

func (w *Writer) waiting(on bool) {
	if w.set.Waiting != nil {
		w.set.Waiting(on)
	}
}
