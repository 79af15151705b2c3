package experiment

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
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
	// Opened is called for each web that was opened; nil = no call.
	Opened func(Opened)
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

// parsedAtOnce is the number of pages that are parsed before they are written.
const parsedAtOnce = 256

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
	if err == nil && c.Opened != nil {
		opened.Pages, opened.Took = len(pages.pages), time.Since(begun)
		c.Opened(opened)
	}
	return w, err
}

// names returns the key that a file must have, and its name.
func (c *Cache) names(path string, by Parsing) (key, name string, err error) {
	program, err := os.Executable()
	if err != nil {
		return "", "", fmt.Errorf("find this program: %w", err)
	}
	if program, err = Digest(program); err != nil {
		return "", "", err
	}
	web, err := Digest(path)
	if err != nil {
		return "", "", err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d %s", web, program, by.Leaves, by.Blank))
	return hex.EncodeToString(sum[:]), filepath.Join(c.Folder, fmt.Sprintf("%s-%d-%x.web", web[:24], by.Leaves, by.Blank[:min(16, len(by.Blank))])), nil
}

// Digest returns the SHA-256 of files one after the other, in hexadecimal.
func Digest(paths ...string) (string, error) {
	h := sha256.New()
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		_, err = io.Copy(h, f)
		if err := cmp.Or(err, f.Close()); err != nil {
			return "", fmt.Errorf("read %s: %w", path, err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// errUnkept: a page file cannot be written.
var errUnkept = errors.New("not kept")

func unkept(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errUnkept, err)
}

// parse parses a web into a file of the cache, which appears complete or not at all.
func (c *Cache) parse(ctx context.Context, path string, by Parsing, name, key string) (*pageFile, error) {
	var f *os.File
	done, err := progress.Leave(ctx, func() (remove func(), err error) {
		if err = os.MkdirAll(c.Folder, 0o755); err == nil {
			f, err = os.CreateTemp(c.Folder, ".web-*")
		}
		return func() { os.Remove(f.Name()) }, err
	})
	if err != nil {
		return nil, unkept(err)
	}
	defer done()
	if err = writePageFile(ctx, f, key, path, by); err == nil {
		err = unkept(f.Sync())
	}
	if err == nil {
		err = unkept(os.Rename(f.Name(), name))
	}
	if err != nil {
		_ = f.Close()
		os.Remove(f.Name())
		return nil, err
	}
	return readPageFile(f, key)
}

// parseAside parses a web into an unlinked file, which is deleted when the process ends.
func parseAside(ctx context.Context, path string, by Parsing) (*pageFile, error) {
	f, err := os.CreateTemp("", "forager-web-*")
	if err != nil {
		return nil, err
	}
	err = os.Remove(f.Name())
	if err == nil {
		err = writePageFile(ctx, f, "", path, by)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return readPageFile(f, "")
}

// pageFile is a parsed web: its pages in the order of the archive, and by name the strays, which have no URL (readStrays).
//
// The file is a zip archive with the key, the digest of all that it depends on, as its comment. The member "pages" has the parsed pages
// one behind the other, not compressed; "index" has all else as gob.
type pageFile struct {
	pages  []*page
	strays map[string]*page
}

// pageIndex is the member "index" of a page file.
type pageIndex struct {
	Pages, Strays []indexed
	Terms         []string
}

// indexed is a page, and where its parsed form is in the file.
type indexed struct {
	URL, Redirect, Detail string
	Outcome               schemas.Outcome
	Status, Size          int
	At                    int64 // in the member "pages"
	Length                int   // bytes; 0 = there is none
}

// pageWriter writes a page file.
type pageWriter struct {
	zip   *zip.Writer
	pages io.Writer // the member
	at    int64     // bytes of it
	terms storedpage.Terms
	index pageIndex
}

func newPageWriter(to io.Writer, key string) (*pageWriter, error) {
	w := &pageWriter{zip: zip.NewWriter(to)}
	err := w.zip.SetComment(key)
	if err == nil {
		w.pages, err = w.zip.CreateHeader(&zip.FileHeader{Name: "pages", Method: zip.Store})
	}
	return w, err
}

// writePageFile parses the pages of a WARC file, as many at once as there are processors. An error of the file to is errUnkept.
func writePageFile(ctx context.Context, to io.Writer, key, path string, by Parsing) error {
	archive, err := webarchive.Open(ctx, path)
	if err != nil {
		return err
	}
	defer archive.Close()
	w, err := newPageWriter(to, key)
	if err != nil {
		return unkept(err)
	}
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
			w.index.Pages = append(w.index.Pages, w.add(p, bodies[i]))
		}
	}
	strays, err := readStrays(path)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(strays)) {
		w.index.Strays = append(w.index.Strays, w.add(strays[name].page, strays[name].body))
	}
	return unkept(w.end())
}

// add writes the parsed form of a page, nil if it has none, and returns its entry of the index. The zip.Writer keeps an error until its end.
func (w *pageWriter) add(p *page, parsed *storedpage.Encoded) indexed {
	x := indexed{URL: p.url, Redirect: p.redirect, Detail: p.detail, Outcome: p.outcome, Status: p.status, Size: p.size}
	if parsed == nil {
		return x
	}
	body := w.terms.Put(parsed)
	x.At, x.Length = w.at, len(body)
	w.at += int64(len(body))
	_, _ = w.pages.Write(body)
	return x
}

func (w *pageWriter) end() error {
	w.index.Terms = w.terms.List
	out, err := w.zip.Create("index")
	if err == nil {
		err = gob.NewEncoder(out).Encode(w.index)
	}
	return errors.Join(err, w.zip.Close())
}

// openPageFile opens a page file and reads all but the parsed pages. errStale is no damage.
func openPageFile(name, key string) (*pageFile, error) {
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

// readPageFile checks a page file, its checksums included, and reads its index.
func readPageFile(f *os.File, key string) (*pageFile, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(f, info.Size())
	switch {
	case err != nil:
		return nil, err
	case z.Comment != key:
		return nil, errStale
	case len(z.File) != 2:
		return nil, fmt.Errorf("it has %d members", len(z.File))
	}
	start, err := z.File[0].DataOffset()
	if err != nil {
		return nil, err
	}
	if err := unzip(z.File[0], io.Discard); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := unzip(z.File[1], &b); err != nil {
		return nil, err
	}
	var index pageIndex
	if err := gob.NewDecoder(&b).Decode(&index); err != nil {
		return nil, err
	}
	p, terms := &pageFile{strays: make(map[string]*page)}, &storedpage.Terms{List: index.Terms}
	for i, x := range slices.Concat(index.Pages, index.Strays) {
		if x.At < 0 || x.Length < 0 || x.At > info.Size()-int64(x.Length) {
			return nil, fmt.Errorf("a page of %d bytes at %d", x.Length, x.At)
		}
		at := &page{url: x.URL, outcome: x.Outcome, status: x.Status, redirect: x.Redirect, detail: x.Detail, size: x.Size}
		if x.Length > 0 {
			at.stored = storedpage.Section{File: f, Terms: terms, At: start + x.At, Size: x.Length}
		}
		if i < len(index.Pages) {
			p.pages = append(p.pages, at)
		} else {
			p.strays[x.URL] = at
		}
	}
	return p, nil
}

// unzip copies a member of a zip archive, and checks it.
func unzip(member *zip.File, to io.Writer) error {
	in, err := member.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(to, in)
	return err
}
