package webarchive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"forager/internal/platform/progress"
	"forager/internal/web/contentcoding"
	"forager/internal/web/warc"
	"forager/internal/web/weburl"
)

// maxBlock bounds a stored response, bytes; larger ones count as damaged.
const maxBlock = 256 << 20

// maxShared bounds the responses that are kept in memory because their gzip member contains others too, bytes.
const maxShared = 256 << 20

// Archive is the web of one WARC file. It is safe for concurrent use.
type Archive struct {
	file    io.ReaderAt
	close   func() error
	entries map[string]entry // by canonical URL
	urls    []string
	damaged []error
	stats   Stats
	readers sync.Pool
}

// Stats are counts of the file's records.
type Stats struct {
	// Pages have status 200, Redirects 3xx, Others any other status.
	Pages, Redirects, Others int
	// Duplicates are responses for a URL that has another record already.
	Duplicates int
	// Skipped are records that are no responses of http or https URLs (warcinfo, request, dns …).
	Skipped int
}

// entry is the position of a response.
type entry struct {
	offset, length int64 // of its member in the file
	status         int
	loops          bool   // it redirects to its own canonical URL
	block          []byte // the response itself, if its member contains others too
}

// Page is a response in the archive.
type Page struct {
	// URL is canonical.
	URL    string
	Status int
	// Header as stored, in its order.
	Header warc.Header
	// Location of a redirect as stored: not resolved, not canonical.
	Location string
	// Body after transfer and content decoding.
	Body []byte
}

// Open opens a WARC file and builds its index.
func Open(ctx context.Context, path string) (*Archive, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open web archive: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("open web archive: %w", err)
	}
	ctx, end := progress.Start(ctx, "indexing "+filepath.Base(path), info.Size())
	defer end()
	a, err := New(progress.ReaderAt(ctx, file), info.Size())
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("web archive %s: %w", path, err)
	}
	a.file, a.close = file, file.Close
	return a, nil
}

// New builds the index of a WARC file of the given size. A file without a response is an error.
func New(file io.ReaderAt, size int64) (*Archive, error) {
	return index(file, size, maxShared)
}

func index(file io.ReaderAt, size, maxShared int64) (*Archive, error) {
	a := &Archive{file: file, entries: map[string]entry{}, close: func() error { return nil }}
	r := warc.NewReader(file, size, warc.Limits{Block: maxBlock})
	var last struct { // the previous response, whose end is where the next record begins
		url    string
		offset int64
		block  []byte
		shared bool
	}
	keptBytes := int64(0)
	ends := func(at int64) {
		if last.url == "" {
			return
		}
		e := a.entries[last.url]
		if e.length = at - e.offset; last.shared || e.length == 0 {
			e.block, e.length = last.block, 0
			keptBytes += int64(len(last.block))
		}
		a.entries[last.url] = e
		last.url = ""
	}
	before := int64(-1) // where the previous record began
	for {
		record, err := r.Next()
		var damaged *warc.DamagedError
		switch {
		case err == io.EOF:
			ends(size)
			return a, a.finish()
		case errors.As(err, &damaged):
			a.damaged = append(a.damaged, damaged)
			ends(damaged.Offset)
			before = damaged.Offset
			continue
		case err != nil:
			return nil, err
		}
		ends(record.Offset)
		if keptBytes > maxShared {
			return nil, fmt.Errorf("gzip members of several records hold more than %d bytes of answers; write the file with one record a member", maxShared)
		}
		shared := record.Offset == before
		before = record.Offset
		block, err := io.ReadAll(record.Block)
		if errors.As(err, &damaged) {
			a.damaged = append(a.damaged, damaged)
			continue
		}
		if err != nil {
			return nil, err
		}
		url, e, ok := a.answer(record, block)
		if !ok {
			continue
		}
		a.entries[url] = e
		last.url, last.offset, last.block, last.shared = url, record.Offset, block, shared
	}
}

// answer counts a record and reports whether it is the response for its URL.
func (a *Archive) answer(record *warc.Record, block []byte) (url string, e entry, ok bool) {
	kind := strings.ToLower(record.Header.Get("Content-Type"))
	if record.Type != warc.TypeResponse || kind != "" && !strings.HasPrefix(kind, "application/http") {
		a.stats.Skipped++
		return "", e, false
	}
	u, err := weburl.Parse(record.TargetURI)
	if err != nil {
		a.stats.Skipped++
		return "", e, false
	}
	answer, err := warc.ParseResponse(block)
	if err != nil {
		a.damaged = append(a.damaged, &warc.DamagedError{Offset: record.Offset, Err: err})
		return "", e, false
	}
	e = entry{offset: record.Offset, status: answer.Status}
	if location := answer.Header.Get("Location"); location != "" && e.redirects() {
		target, err := weburl.NewBase(u).Resolve(location)
		e.loops = err == nil && target == u
	}
	before, taken := a.entries[u.String()]
	if taken {
		a.stats.Duplicates++
		if !before.loops || e.loops {
			return "", e, false
		}
		a.stats.Redirects--
	}
	switch {
	case e.status == 200:
		a.stats.Pages++
	case e.redirects():
		a.stats.Redirects++
	default:
		a.stats.Others++
	}
	return u.String(), e, true
}

func (e entry) redirects() bool { return e.status >= 300 && e.status < 400 }

func (a *Archive) finish() error {
	if len(a.entries) == 0 {
		if len(a.damaged) > 0 {
			return fmt.Errorf("no readable HTTP answer in it: %w", a.damaged[0])
		}
		return errors.New("no HTTP answer in it")
	}
	for url, e := range a.entries {
		if e.status >= 200 && e.status < 400 {
			a.urls = append(a.urls, url)
		}
	}
	slices.Sort(a.urls)
	return nil
}

// Close closes the file that Open opened.
func (a *Archive) Close() error { return a.close() }

// URLs returns the canonical URLs of pages and redirects, sorted: the scope of a crawl that stays on this web.
func (a *Archive) URLs() []string { return a.urls }

// Stats returns counts of the file's records.
func (a *Archive) Stats() Stats { return a.stats }

// Damaged returns the places of the file that could not be read; each is a *warc.DamagedError.
func (a *Archive) Damaged() []error { return a.damaged }

// Lookup returns the response for a canonical URL, and whether there is one. The error is one of reading the file.
// A body whose content coding cannot be decoded is returned as stored.
func (a *Archive) Lookup(url string) (*Page, bool, error) {
	answer, ok, err := a.stored(url)
	if !ok || err != nil {
		return nil, false, err
	}
	body, err := answer.Payload(maxBlock)
	if err != nil {
		return nil, false, err
	}
	if coding := answer.Header.Get("Content-Encoding"); coding != "" {
		if decoded, err := decode(body, coding); err == nil {
			body = decoded
		}
	}
	return &Page{URL: url, Status: answer.Status, Header: answer.Header, Location: answer.Header.Get("Location"), Body: body}, true, nil
}

func decode(body []byte, coding string) ([]byte, error) {
	r, err := contentcoding.NewReader(bytes.NewReader(body), coding)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	decoded, err := io.ReadAll(io.LimitReader(r, maxBlock+1))
	if err == nil && len(decoded) > maxBlock {
		err = fmt.Errorf("more than %d bytes", maxBlock)
	}
	return decoded, err
}

// stored reads the response for a canonical URL as it is stored.
func (a *Archive) stored(url string) (*warc.Response, bool, error) {
	e, ok := a.entries[url]
	if !ok {
		return nil, false, nil
	}
	block := e.block
	if block == nil {
		var err error
		if block, err = a.read(e); err != nil {
			return nil, false, fmt.Errorf("read %s: %w", url, err)
		}
	}
	answer, err := warc.ParseResponse(block)
	return answer, err == nil, err
}

func (a *Archive) read(e entry) ([]byte, error) {
	section := io.NewSectionReader(a.file, e.offset, e.length)
	r, ok := a.readers.Get().(*warc.Reader)
	if ok {
		r.Reset(section, e.length)
	} else {
		r = warc.NewReader(section, e.length, warc.Limits{Block: maxBlock})
	}
	defer a.readers.Put(r)
	record, err := r.Next()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(record.Block)
}
