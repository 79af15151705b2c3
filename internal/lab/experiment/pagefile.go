package experiment

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"forager/internal/lab/storedpage"
	"forager/internal/page/dom"
	"forager/internal/platform/modelfile"
	"forager/internal/platform/progress"
	"forager/internal/web/webarchive"
	"forager/schemas"
)

// Parsing is how the pages of a web are parsed.
type Parsing struct {
	Leaves schemas.LeafMode
	// Blank is a regular expression: of what it matches in a body the texts between tags are removed, and links are kept; "" = nothing.
	Blank string
}

var betweenTags = regexp.MustCompile(`>[^<>]*<`)

// Loader opens a web: LoadWeb, or Cache.Load.
type Loader func(ctx context.Context, path string, by Parsing) (*Web, error)

// Cache is a directory of parsed webs, one page file for each web and numbering of leaves, so that a web is parsed once. A
// file is valid for one WARC file, byte for byte, and for the program that wrote it, as another program may parse
// differently. It does not contain labels.
type Cache struct {
	Folder string
	// Tell is called for each web that was opened; nil = no call.
	Tell func(Opened)
}

// Opened describes how a web was opened.
type Opened struct {
	Web   string // its WARC file
	Pages int
	// Cached: its pages were parsed before. Damage is why an existing file could not be used; Unkept is why the new one
	// could not be written.
	Cached         bool
	Damage, Unkept error
	Took           time.Duration
}

const (
	pageFileName  = "forager parsed web "
	pageFileMagic = pageFileName + "3\n"
	// maxStored bounds a page in a page file, bytes: more than the largest page of parse-dom.
	maxStored = 256 << 20
	// parsedAtOnce is the number of pages that are parsed before they are written.
	parsedAtOnce = 256
)

// errStale: the file belongs to another web or another program.
var errStale = errors.New("of another program")

// Load is LoadWeb with the page file of the cache, which it writes if it is missing, damaged or stale.
func (c *Cache) Load(ctx context.Context, path string, by Parsing) (*Web, error) {
	begun := time.Now()
	key, name, err := c.names(path, by)
	if err != nil {
		return nil, fmt.Errorf("read the web %s: %w", path, err)
	}
	opened := Opened{Web: path}
	pages, err := openPageFile(name, key)
	if err == nil {
		opened.Cached = true
	} else {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errStale) {
			opened.Damage = fmt.Errorf("%s: %w", name, err)
		}
		if pages, err = c.parse(ctx, path, by, name, key); errors.Is(err, errUnkept) {
			opened.Unkept = err
			pages, err = parseAside(ctx, path, by)
		}
		if err != nil {
			return nil, fmt.Errorf("read the web %s: %w", path, err)
		}
	}
	w, err := pages.web(path)
	if err == nil && c.Tell != nil {
		opened.Pages, opened.Took = len(pages.pages), time.Since(begun)
		c.Tell(opened)
	}
	return w, err
}

// names returns the key that a file must have, and its name.
func (c *Cache) names(path string, by Parsing) (key [sha256.Size]byte, name string, err error) {
	program, err := os.Executable()
	if err != nil {
		return key, "", fmt.Errorf("find this program: %w", err)
	}
	all := sha256.New()
	var web []byte
	for _, file := range []string{path, program} {
		sum := sha256.New()
		if err := copyFile(sum, file); err != nil {
			return key, "", err
		}
		all.Write(sum.Sum(nil))
		if web == nil {
			web = sum.Sum(nil)
		}
	}
	fmt.Fprintf(all, "%s%d%s", pageFileMagic, by.Leaves, by.Blank)
	all.Sum(key[:0])
	return key, filepath.Join(c.Folder, fmt.Sprintf("%s-%d-%x.web", hex.EncodeToString(web[:12]), by.Leaves, by.Blank[:min(16, len(by.Blank))])), nil
}

func copyFile(to io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(to, f)
	return err
}

// errUnkept: the directory of the cache cannot be written.
var errUnkept = errors.New("not kept")

// parse parses a web into a file of the cache, which appears complete or not at all.
func (c *Cache) parse(ctx context.Context, path string, by Parsing, name string, key [sha256.Size]byte) (_ *pageFile, err error) {
	unkept := func(err error) error {
		if err == nil {
			return nil
		}
		return fmt.Errorf("%w: %w", errUnkept, err)
	}
	if err := os.MkdirAll(c.Folder, 0o755); err != nil {
		return nil, unkept(err)
	}
	var f *os.File
	done, err := progress.Leave(ctx, func() (func(), error) {
		f, err = os.CreateTemp(c.Folder, ".web-*")
		return func() { os.Remove(f.Name()) }, err
	})
	if err != nil {
		return nil, unkept(err)
	}
	defer done()
	defer func() {
		if err != nil {
			_ = f.Close()
			os.Remove(f.Name())
		}
	}()
	w := newPageWriter(f, key)
	if err := w.parse(ctx, path, by); err != nil {
		return nil, err
	}
	if err := unkept(errors.Join(w.end(), f.Sync())); err != nil {
		return nil, err
	}
	if err := unkept(os.Rename(f.Name(), name)); err != nil {
		return nil, err
	}
	return w.made, nil
}

// parseAside parses a web into an unlinked file, which is deleted when the process ends.
func parseAside(ctx context.Context, path string, by Parsing) (*pageFile, error) {
	f, err := os.CreateTemp("", "forager-web-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close()
		return nil, err
	}
	w := newPageWriter(f, [sha256.Size]byte{})
	if err := errors.Join(w.parse(ctx, path, by), w.end()); err != nil {
		_ = f.Close()
		return nil, err
	}
	return w.made, nil
}

// pageFile is a parsed web: its pages in the order of the archive, and by name the strays, which have no URL (readStrays).
//
// The file: magic, key (SHA-256 of all that it depends on), then pages and strays as records, each a byte (recordPage,
// recordStray), its length and its bytes; at the end recordEnd and the SHA-256 of all before it. A page's new terms are in its record,
// so that the records in their order have the terms of the web.
type pageFile struct {
	pages  []*page
	strays map[string]*page
	terms  *storedpage.Terms
}

// Kinds of records of a page file.
const (
	recordEnd byte = iota
	recordPage
	recordStray
)

// pageWriter writes a page file.
type pageWriter struct {
	file *os.File
	out  *bufio.Writer
	sum  hash.Hash
	at   int64 // bytes written
	made *pageFile
}

func newPageWriter(f *os.File, key [sha256.Size]byte) *pageWriter {
	w := &pageWriter{file: f, sum: sha256.New(), made: &pageFile{strays: make(map[string]*page), terms: new(storedpage.Terms)}}
	w.out = bufio.NewWriterSize(io.MultiWriter(f, w.sum), 1<<20)
	w.write([]byte(pageFileMagic))
	w.write(key[:])
	return w
}

// write counts the bytes; the Writer keeps its error until Flush.
func (w *pageWriter) write(b []byte) {
	w.out.Write(b)
	w.at += int64(len(b))
}

// parse adds the pages of a WARC file, as many at once as there are processors.
func (w *pageWriter) parse(ctx context.Context, path string, by Parsing) error {
	archive, err := webarchive.Open(ctx, path)
	if err != nil {
		return err
	}
	defer archive.Close()
	settings := dom.Settings{Leaves: by.Leaves, TagPaths: true, Tree: true}
	blank, err := regexp.Compile(by.Blank)
	if err != nil {
		return fmt.Errorf("what is to be blanked: %w", err)
	}
	for urls := range slices.Chunk(archive.URLs(), parsedAtOnce) {
		if err := ctx.Err(); err != nil {
			return err
		}
		pages, bodies, errs := make([]*page, len(urls)), make([]*storedpage.Encoded, len(urls)), make([]error, len(urls))
		each(len(urls), func(i int) {
			stored, _, err := archive.Lookup(urls[i])
			if err == nil {
				if by.Blank != "" {
					stored.Body = blank.ReplaceAllFunc(stored.Body, func(part []byte) []byte { return betweenTags.ReplaceAll(part, []byte("> <")) })
				}
				pages[i], bodies[i], err = newPage(stored, settings)
			}
			errs[i] = err
		})
		if err := errors.Join(errs...); err != nil {
			return err
		}
		for i, p := range pages {
			w.add(recordPage, p, bodies[i])
			w.made.pages = append(w.made.pages, p)
		}
	}
	strays, err := readStrays(path)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(strays)) {
		s := strays[name]
		w.add(recordStray, s.page, s.body)
		w.made.strays[name] = s.page
	}
	return nil
}

// add writes a page with its parsed form, nil if it has none.
func (w *pageWriter) add(kind byte, p *page, parsed *storedpage.Encoded) {
	head := p.encode(parsed != nil)
	var body []byte
	if parsed != nil {
		body = w.made.terms.Put(head, parsed)
	}
	w.write([]byte{kind})
	w.write(binary.AppendUvarint(nil, uint64(len(head.Bytes())+len(body))))
	w.write(head.Bytes())
	if parsed != nil {
		p.stored = storedpage.Section{File: w.file, Terms: w.made.terms, At: w.at, Size: len(body)}
	}
	w.write(body)
}

func (w *pageWriter) end() error {
	w.made.terms.Complete()
	w.write([]byte{recordEnd})
	if err := w.out.Flush(); err != nil {
		return err
	}
	_, err := w.file.Write(w.sum.Sum(nil))
	return err
}

// encode returns the part of a record before the new terms of the parsed page.
func (p *page) encode(parsed bool) *modelfile.Encoder {
	e := new(modelfile.Encoder)
	e.String(p.url)
	e.Uint(uint64(p.outcome))
	e.Uint(uint64(p.status))
	e.String(p.redirect)
	e.String(p.detail)
	e.Uint(uint64(p.size))
	if parsed {
		e.Uint(1)
	} else {
		e.Uint(0)
	}
	return e
}

// decodePage reads a record of a page file, whose new terms it adds; file contains the last bytes of it up to the offset end.
func decodePage(b []byte, file io.ReaderAt, end int64, terms *storedpage.Terms) (*page, error) {
	d := modelfile.NewDecoder(b)
	p := &page{
		url: d.String("URL"), outcome: schemas.Outcome(d.Uint("outcome", 1<<16)), status: int(d.Uint("status", 1<<16)),
		redirect: d.String("redirect"), detail: d.String("detail"), size: int(d.Uint("size", 1<<40)),
	}
	switch has := d.Uint("page", 1); {
	case d.Err() != nil:
		return nil, d.Err()
	case has == 0:
		return p, d.End()
	}
	terms.Take(d)
	n := len(d.Rest())
	p.stored = storedpage.Section{File: file, Terms: terms, At: end - int64(n), Size: n}
	return p, d.Err()
}

// openPageFile opens a page file and reads all but the parsed pages. errStale is no damage.
func openPageFile(name string, key [sha256.Size]byte) (*pageFile, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	p, err := readPageFile(f, key)
	if err != nil {
		_ = f.Close()
	}
	return p, err
}

// readPageFile checks and indexes a page file.
func readPageFile(f io.ReaderAt, key [sha256.Size]byte) (*pageFile, error) {
	in := &pageReader{in: bufio.NewReaderSize(io.NewSectionReader(f, 0, 1<<62), 1<<20), sum: sha256.New()}
	head, err := in.next(uint64(len(pageFileMagic) + len(key)))
	switch {
	case err != nil:
		return nil, err
	case !bytes.HasPrefix(head, []byte(pageFileName)):
		return nil, errors.New("it is not a parsed web")
	case !bytes.Equal(head, append([]byte(pageFileMagic), key[:]...)):
		return nil, errStale
	}
	p := &pageFile{strays: make(map[string]*page), terms: new(storedpage.Terms)}
	for {
		kind, x, err := in.record(f, p.terms)
		switch {
		case err != nil:
			return nil, err
		case kind == recordPage:
			p.pages = append(p.pages, x)
			continue
		case kind == recordStray:
			p.strays[x.url] = x
			continue
		}
		want, got := in.sum.Sum(nil), make([]byte, sha256.Size)
		if _, err := io.ReadFull(in.in, got); err != nil || !bytes.Equal(got, want) {
			return nil, errors.New("its checksum is wrong")
		}
		return p, nil
	}
}

// pageReader reads a page file in order, and computes its checksum.
type pageReader struct {
	in     *bufio.Reader
	sum    hash.Hash
	at     int64
	buffer bytes.Buffer
}

func (r *pageReader) ReadByte() (byte, error) {
	b, err := r.in.ReadByte()
	if err == nil {
		r.sum.Write([]byte{b})
		r.at++
	}
	return b, err
}

// next returns n bytes, which are valid until the next call. The buffer grows as they are read, so that a damaged length
// does not allocate.
func (r *pageReader) next(n uint64) ([]byte, error) {
	r.buffer.Reset()
	if _, err := io.CopyN(&r.buffer, r.in, int64(n)); err != nil {
		return nil, fmt.Errorf("it ends early: %w", err)
	}
	r.sum.Write(r.buffer.Bytes())
	r.at += int64(n)
	return r.buffer.Bytes(), nil
}

// record reads a record; recordEnd has no page.
func (r *pageReader) record(f io.ReaderAt, terms *storedpage.Terms) (kind byte, p *page, err error) {
	if kind, err = r.ReadByte(); err != nil {
		return 0, nil, fmt.Errorf("it ends early: %w", err)
	}
	switch kind {
	case recordEnd:
		return kind, nil, nil
	case recordPage, recordStray:
	default:
		return 0, nil, fmt.Errorf("a record of kind %d", kind)
	}
	n, err := binary.ReadUvarint(r)
	if err == nil && n > maxStored {
		err = fmt.Errorf("a page of %d bytes", n)
	}
	if err != nil {
		return 0, nil, err
	}
	b, err := r.next(n)
	if err != nil {
		return 0, nil, err
	}
	p, err = decodePage(b, f, r.at, terms)
	return kind, p, err
}
