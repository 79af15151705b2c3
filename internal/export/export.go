package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"forager/internal/page/dom"
	"forager/internal/platform/analytics"
	"forager/internal/platform/objects"
	"forager/internal/platform/progress"
	"forager/internal/web/warc"
)

// Format of an export.
type Format string

// The formats.
const (
	WARC  Format = "warc"
	JSONL Format = "jsonl"
	URLs  Format = "urls"
)

// Options of an export.
type Options struct {
	Format Format
	Gzip   bool
	// Date is the WARC-Date of the file, Name its WARC-Filename.
	Date time.Time
	Name string
	// Damaged is called for each page that cannot be read, which is then left out; nil = the first one ends the export.
	Damaged func(url string, err error)

	texts bool // pages are written as their text
}

// Rows is the source of the rows; *analytics.DB implements it.
type Rows interface {
	Pages(ctx context.Context, sel analytics.Selection, f func(*analytics.StoredPage) error) error
}

// Store is the source of the bytes; *objects.Store implements it.
type Store interface {
	Range(ctx context.Context, key string, offset, length int64) ([]byte, error)
}

// page is a page with its bytes.
type page struct {
	*analytics.StoredPage
	record       []byte // its gzip member, once read
	answer       *warc.Response
	text, digest string // once prepared
	err          error
	done         chan struct{}
}

// ErrDamaged means that the stored bytes are not those of the page.
var ErrDamaged = errors.New("stored page is damaged")

// ahead is the number of pages that are read from the store concurrently, before they are written.
const ahead = 8

// maxRecord bounds the block of a stored page, bytes.
const maxRecord = 256 << 20

// Write writes the selected pages to w and returns their number. After an error that many are complete in w,
// unless the output is compressed as a whole.
func Write(ctx context.Context, w io.Writer, rows Rows, store Store, sel analytics.Selection, o Options) (pages int, err error) {
	if o.Format == WARC && sel.Outcome != "delivered" {
		return 0, fmt.Errorf("only delivered pages have bytes, not those with outcome %q", sel.Outcome)
	}
	form, err := newForm(w, &sel, &o)
	if err != nil {
		return 0, err
	}
	o.texts = o.Format == JSONL
	sel.URLsOnly = o.Format == URLs
	pages, err = each(ctx, rows, store, &sel, &o, form.page)
	if err == nil {
		err = form.end()
	}
	return pages, err
}

// WriteRows writes rows that are no pages, as JSON Lines or URLs, and returns their number. each calls its argument with the URL of each row
// and what is known of it.
func WriteRows(ctx context.Context, w io.Writer, o Options, each func(put func(url string, row any) error) error) (rows int, err error) {
	l, err := newLines(w, &o)
	if err != nil {
		return 0, err
	}
	err = each(func(url string, row any) error {
		if err := l.row(url, row); err != nil {
			return err
		}
		rows++
		return progress.Add(ctx, 1)
	})
	if err == nil {
		err = l.end()
	}
	return rows, err
}

// Page is a selected page as it was fetched.
type Page struct {
	URL         string
	ContentType string
	Body        []byte
}

// Each calls f with the selected pages that have bytes, in order.
func Each(ctx context.Context, rows Rows, store Store, sel analytics.Selection, f func(Page) error) error {
	_, err := each(ctx, rows, store, &sel, &Options{Format: JSONL}, func(p *page) error {
		if p.answer == nil {
			return nil
		}
		return f(Page{URL: p.URL, ContentType: p.answer.Header.Get("Content-Type"), Body: p.answer.Body})
	})
	return err
}

// each calls f with the selected pages and returns how many it accepted.
func each(ctx context.Context, rows Rows, store Store, sel *analytics.Selection, o *Options, f func(*page) error) (pages int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	queue := make(chan *page, ahead)
	listed := make(chan error, 1)
	go func() {
		defer close(queue)
		listed <- list(ctx, queue, rows, store, sel, o)
	}()
	for p := range queue {
		<-p.done
		if p.err != nil && o.Damaged != nil && !errors.Is(p.err, objects.ErrUnavailable) && ctx.Err() == nil {
			o.Damaged(p.URL, p.err)
			continue
		}
		if err = p.err; err == nil {
			err = f(p)
		}
		if err == nil {
			err = progress.Add(ctx, 1)
		}
		if err != nil {
			break
		}
		pages++
	}
	cancel()
	for range queue { // those that were listed already
	}
	if listErr := <-listed; err == nil {
		err = listErr
	}
	return pages, err
}

// list puts the selected pages into the queue, in order; each is read from the store concurrently.
func list(ctx context.Context, queue chan<- *page, rows Rows, store Store, sel *analytics.Selection, o *Options) error {
	return rows.Pages(ctx, *sel, func(stored *analytics.StoredPage) error {
		p := &page{StoredPage: stored, done: make(chan struct{})}
		if o.Format == URLs || p.Object == "" {
			close(p.done)
		} else {
			go func() {
				defer close(p.done)
				if p.err = p.read(ctx, store); p.err != nil {
					p.err = fmt.Errorf("page %s: %w", p.URL, p.err)
				} else if o.texts {
					p.text, p.digest = dom.Text(p.answer.Body, p.answer.Header.Get("Content-Type")), warc.Digest(p.answer.Body)
					p.answer, p.record = nil, nil
				}
			}()
		}
		select {
		case queue <- p:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// read reads the page's record and checks it.
func (p *page) read(ctx context.Context, store Store) error {
	b, err := store.Range(ctx, p.Object, int64(p.Offset), int64(p.Length))
	if err != nil {
		return err
	}
	record, block, err := warc.ReadOne(b, warc.Limits{Block: maxRecord})
	if err != nil {
		return fmt.Errorf("%w: object %s at %d+%d: %w", ErrDamaged, p.Object, p.Offset, p.Length, err)
	}
	if record.TargetURI != p.URL {
		return fmt.Errorf("%w: object %s at %d+%d holds %s", ErrDamaged, p.Object, p.Offset, p.Length, record.TargetURI)
	}
	if p.answer, err = warc.ParseResponse(block); err != nil {
		return fmt.Errorf("%w: object %s at %d+%d: %w", ErrDamaged, p.Object, p.Offset, p.Length, err)
	}
	p.record = b
	return nil
}
