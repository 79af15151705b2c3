package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

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

// Selection chooses pages.
type Selection struct {
	Crawl string
	// Outcome of the request, as schemas.OutcomeName has it. Only delivered ones have bytes.
	Outcome string
	// Above is the least relevance R(u), raw.
	Above float64
	// Topic that is the best topic of a page, or above it; empty = any.
	Topic string
	// Among are the URLs of the wanted pages, of all crawls if Crawl is empty, each page once; nil = any.
	Among []string
	// Sample is the number of pages to draw, by a hash of their URLs; 0 = all of them.
	Sample int
}

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
	Each(ctx context.Context, sql string, params analytics.Params, f func(row []any) error) error
}

// Store is the source of the bytes; *objects.Store implements it.
type Store interface {
	Range(ctx context.Context, key string, offset, length int64) ([]byte, error)
}

// page is a row of the view pages.
type page struct {
	url, outcome    string
	status          uint32
	relevance       float64
	tempered        float64
	topics          []string
	posteriors      []float64
	title, language string
	depth           uint32
	via             string
	fetched         time.Time
	object          string
	offset, length  uint64
	record          []byte // its gzip member, once read
	answer          *warc.Response
	text, digest    string // once prepared
	err             error
	done            chan struct{}
}

const columns = "url, outcome, status, relevance, tempered, topics, posteriors, title, language, depth, via, fetched_at, object, object_offset, object_length"

func (s *Selection) query(format Format) (sql string, params analytics.Params) {
	params = analytics.Params{"crawl": s.Crawl, "outcome": s.Outcome, "above": s.Above}
	sql = " FROM pages WHERE (crawl = {crawl:String} OR {crawl:String} = '') AND outcome = {outcome:String} AND relevance >= {above:Float64}"
	// A page that is being loaded may have a verdict and no position of its bytes yet.
	sql += " AND (outcome != 'delivered' OR object != '')"
	if s.Topic != "" {
		sql += " AND (topics[1] = {topic:String} OR startsWith(topics[1], concat({topic:String}, '/')))"
		params["topic"] = s.Topic
	}
	if s.Among != nil {
		sql += " AND url IN {among:Array(String)} ORDER BY url, fetched_at, id LIMIT 1 BY url"
		params["among"] = s.Among
		return "SELECT " + columns + sql, params
	}
	if s.Sample > 0 {
		sql += " ORDER BY sipHash64(url), applied, id LIMIT 1 BY url LIMIT {sample:UInt64}"
		params["sample"] = uint64(s.Sample)
		return "SELECT " + columns + sql, params
	}
	sql += " ORDER BY shard, applied, id"
	if format == URLs { // of several attempts at one URL one is enough
		return "SELECT url" + sql + " LIMIT 1 BY url", params
	}
	return "SELECT " + columns + sql, params
}

// Count returns the number of pages that Write would write.
func (s *Selection) Count(ctx context.Context, rows Rows, format Format) (n int64, err error) {
	sql, params := s.query(format)
	err = rows.Each(ctx, "SELECT count() FROM ("+sql+")", params, func(row []any) error {
		n = int64(row[0].(uint64))
		return nil
	})
	return n, err
}

func newPage(row []any) *page {
	p := &page{url: row[0].(string)}
	if len(row) > 1 {
		p.outcome, p.status, p.relevance, p.tempered = row[1].(string), row[2].(uint32), row[3].(float64), row[4].(float64)
		p.topics, p.posteriors, p.title, p.language = row[5].([]string), row[6].([]float64), row[7].(string), row[8].(string)
		p.depth, p.via, p.fetched = row[9].(uint32), row[10].(string), row[11].(time.Time)
		p.object, p.offset, p.length = row[12].(string), row[13].(uint64), row[14].(uint64)
	}
	return p
}

// ErrDamaged: the stored bytes are not those of the page.
var ErrDamaged = errors.New("stored page is damaged")

// ahead is the number of pages that are read from the store concurrently, before they are written.
const ahead = 8

// maxRecord bounds the block of a stored page, bytes.
const maxRecord = 256 << 20

// Write writes the selected pages to w and returns their number. After an error that many are complete in w,
// unless the output is compressed as a whole.
func Write(ctx context.Context, w io.Writer, rows Rows, store Store, sel Selection, o Options) (pages int, err error) {
	if o.Format == WARC && sel.Outcome != "delivered" {
		return 0, fmt.Errorf("only delivered pages have bytes, not those with outcome %q", sel.Outcome)
	}
	form, err := newForm(w, &sel, &o)
	if err != nil {
		return 0, err
	}
	o.texts = o.Format == JSONL
	pages, err = each(ctx, rows, store, &sel, &o, form.page)
	if err == nil {
		err = form.end()
	}
	return pages, err
}

// Page is a selected page as it was fetched.
type Page struct {
	URL         string
	ContentType string
	Body        []byte
}

// Each calls f with the selected pages that have bytes, in order.
func Each(ctx context.Context, rows Rows, store Store, sel Selection, f func(Page) error) error {
	_, err := each(ctx, rows, store, &sel, &Options{Format: JSONL}, func(p *page) error {
		if p.answer == nil {
			return nil
		}
		return f(Page{URL: p.url, ContentType: p.answer.Header.Get("Content-Type"), Body: p.answer.Body})
	})
	return err
}

// each calls f with the selected pages and returns how many it accepted.
func each(ctx context.Context, rows Rows, store Store, sel *Selection, o *Options, f func(*page) error) (pages int, err error) {
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
			o.Damaged(p.url, p.err)
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
func list(ctx context.Context, queue chan<- *page, rows Rows, store Store, sel *Selection, o *Options) error {
	sql, params := sel.query(o.Format)
	return rows.Each(ctx, sql, params, func(row []any) error {
		p := newPage(row)
		p.done = make(chan struct{})
		if o.Format == URLs || p.object == "" {
			close(p.done)
		} else {
			go func() {
				defer close(p.done)
				if p.err = p.read(ctx, store); p.err != nil {
					p.err = fmt.Errorf("page %s: %w", p.url, p.err)
				} else if o.texts {
					p.prepare()
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
	b, err := store.Range(ctx, p.object, int64(p.offset), int64(p.length))
	if err != nil {
		return err
	}
	record, block, err := warc.ReadOne(b, warc.Limits{Block: maxRecord})
	if err != nil {
		return fmt.Errorf("%w: object %s at %d+%d: %w", ErrDamaged, p.object, p.offset, p.length, err)
	}
	if record.TargetURI != p.url {
		return fmt.Errorf("%w: object %s at %d+%d holds %s", ErrDamaged, p.object, p.offset, p.length, record.TargetURI)
	}
	if p.answer, err = warc.ParseResponse(block); err != nil {
		return fmt.Errorf("%w: object %s at %d+%d: %w", ErrDamaged, p.object, p.offset, p.length, err)
	}
	p.record = b
	return nil
}
