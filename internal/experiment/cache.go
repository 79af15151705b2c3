package experiment

import (
	"bufio"
	"bytes"
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
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"forager/internal/modelfile"
	"forager/schemas"
)

// Loader brings a web: LoadWeb, or Cache.Load.
type Loader func(path string, leaves schemas.LeafMode) (*Web, error)

// Cache is a folder of parsed webs, one file a web and a way of numbering leaves. A file holds what LoadWeb makes of
// the answers of a WARC file, so that they are parsed once; labels are read anew. It counts for that WARC file, to the
// byte, and for the program that wrote it, as another one may parse otherwise.
//
// The file: magic, key (SHA-256 of all that it depends on), number of pages and of strays, then each, behind its
// length; at the end the SHA-256 of all before it. It is written beside its place and renamed.
type Cache struct {
	Folder string
	// Tell hears of each web that was brought; nil = nobody does.
	Tell func(Opened)
}

// Opened says how a web was brought.
type Opened struct {
	Web   string // its WARC file
	Pages int
	// Cached: it was read from the cache. Damage is why it was not, where the file was there and no good;
	// Unkept why it could not be written.
	Cached         bool
	Damage, Unkept error
	Took           time.Duration
}

const (
	cacheMagic = "forager parsed web 1\n"
	// maxCached bounds a page of the cache, bytes: more than parse-dom makes of the largest page.
	maxCached = 256 << 20
)

// errStale: the file is of another web or another program.
var errStale = errors.New("of another program")

// Load is LoadWeb, from the cache where it has the web; else the cache has it afterwards.
func (c *Cache) Load(path string, leaves schemas.LeafMode) (*Web, error) {
	begun := time.Now()
	key, name, err := c.names(path, leaves)
	if err != nil {
		return nil, fmt.Errorf("read the web %s: %w", path, err)
	}
	said := Opened{Web: path}
	parsed, err := readParsed(name, key)
	if err == nil {
		said.Cached = true
	} else {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errStale) {
			said.Damage = fmt.Errorf("%s: %w", name, err)
		}
		if parsed, err = parseWeb(path, leaves); err != nil {
			return nil, err
		}
		said.Unkept = parsed.write(name, key)
	}
	w, err := parsed.web(path)
	if err == nil && c.Tell != nil {
		said.Pages, said.Took = len(parsed.pages), time.Since(begun)
		c.Tell(said)
	}
	return w, err
}

// names are the key that a file must have, and its place.
func (c *Cache) names(path string, leaves schemas.LeafMode) (key [sha256.Size]byte, name string, err error) {
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
	fmt.Fprintf(all, "%s%d", cacheMagic, leaves)
	all.Sum(key[:0])
	return key, filepath.Join(c.Folder, fmt.Sprintf("%s-%d.web", hex.EncodeToString(web[:12]), leaves)), nil
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

// write puts the pages into a file that is there whole or not at all.
func (p *parsedWeb) write(name string, key [sha256.Size]byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".web-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := p.writeTo(f, key); err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

func (p *parsedWeb) writeTo(to io.Writer, key [sha256.Size]byte) error {
	sum := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(to, sum), 1<<20)
	head := append([]byte(cacheMagic), key[:]...)
	head = binary.AppendUvarint(head, uint64(len(p.pages)))
	head = binary.AppendUvarint(head, uint64(len(p.strays)))
	out.Write(head) // the Writer remembers errors for Flush
	add := func(x *page) error {
		b, err := x.encode()
		if err == nil {
			out.Write(binary.AppendUvarint(nil, uint64(len(b))))
			out.Write(b)
		}
		return err
	}
	for _, x := range p.pages {
		if err := add(x); err != nil {
			return err
		}
	}
	for _, url := range slices.Sorted(maps.Keys(p.strays)) {
		if err := add(p.strays[url]); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	_, err := to.Write(sum.Sum(nil))
	return err
}

func (x *page) encode() ([]byte, error) {
	var e modelfile.Encoder
	e.String(x.url)
	e.Uint(uint64(x.outcome))
	e.Uint(uint64(x.status))
	e.String(x.redirect)
	e.String(x.detail)
	e.Uint(uint64(x.size))
	if x.parsed == nil {
		e.Uint(0)
		return e.Bytes(), nil
	}
	e.Uint(1)
	return proto.MarshalOptions{}.MarshalAppend(e.Bytes(), x.parsed)
}

// decodePage reads what encode wrote.
func decodePage(b []byte) (*page, error) {
	d := modelfile.NewDecoder(b)
	x := &page{
		url: d.String("URL"), outcome: schemas.Outcome(d.Uint("outcome", 1<<16)), status: int(d.Uint("status", 1<<16)),
		redirect: d.String("redirect"), detail: d.String("detail"), size: int(d.Uint("size", 1<<40)),
	}
	switch has := d.Uint("page", 1); {
	case d.Err() != nil:
		return nil, d.Err()
	case has == 0:
		return x, d.End()
	}
	x.parsed = new(schemas.Page)
	if err := proto.Unmarshal(d.Rest(), x.parsed); err != nil {
		return nil, err
	}
	return x, nil
}

// readParsed reads a file of the cache. errStale is no damage.
func readParsed(name string, key [sha256.Size]byte) (*parsedWeb, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return decodeParsed(bufio.NewReaderSize(f, 1<<20), key)
}

// summed is a reader that sums up what was read.
type summed struct {
	*bufio.Reader
	sum hash.Hash
}

func (r *summed) ReadByte() (byte, error) {
	b, err := r.Reader.ReadByte()
	if err == nil {
		r.sum.Write([]byte{b})
	}
	return b, err
}

// next reads n bytes. They are asked for bit by bit, so that a damaged number takes no memory.
func (r *summed) next(n uint64) ([]byte, error) {
	var b bytes.Buffer
	if _, err := io.CopyN(&b, r.Reader, int64(n)); err != nil {
		return nil, fmt.Errorf("it ends early: %w", err)
	}
	r.sum.Write(b.Bytes())
	return b.Bytes(), nil
}

func decodeParsed(from *bufio.Reader, key [sha256.Size]byte) (*parsedWeb, error) {
	in := &summed{from, sha256.New()}
	head, err := in.next(uint64(len(cacheMagic) + len(key)))
	switch {
	case err != nil:
		return nil, err
	case string(head[:len(cacheMagic)]) != cacheMagic:
		return nil, errors.New("it is no parsed web")
	case !bytes.Equal(head[len(cacheMagic):], key[:]):
		return nil, errStale
	}
	pages, err := binary.ReadUvarint(in)
	if err != nil {
		return nil, err
	}
	strays, err := binary.ReadUvarint(in)
	if err != nil {
		return nil, err
	}
	all, err := in.pages(pages, strays)
	if err != nil {
		return nil, err
	}
	want := in.sum.Sum(nil)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(in.Reader, got); err != nil || !bytes.Equal(got, want) {
		return nil, errors.New("its checksum is wrong")
	}
	p := &parsedWeb{pages: all[:pages:pages], strays: make(map[string]*page, strays)}
	for _, x := range all[pages:] {
		p.strays[x.url] = x
	}
	return p, nil
}

// pages reads so many, and decodes them on all processors.
func (r *summed) pages(pages, strays uint64) ([]*page, error) {
	const most = 1 << 30
	if pages > most || strays > most {
		return nil, fmt.Errorf("it has %d pages and %d strays", pages, strays)
	}
	var all []**page
	var terms shared
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	var err error
	for range pages + strays {
		var n uint64
		if n, err = binary.ReadUvarint(r); err == nil && n > maxCached {
			err = fmt.Errorf("a page of %d bytes", n)
		}
		var b []byte
		if err == nil {
			b, err = r.next(n)
		}
		if err != nil {
			break
		}
		at := new(*page)
		all = append(all, at)
		group.Go(func() (err error) {
			if *at, err = decodePage(b); err == nil {
				terms.share((*at).parsed)
			}
			return err
		})
	}
	if err := errors.Join(err, group.Wait()); err != nil {
		return nil, err
	}
	out := make([]*page, len(all))
	for i, at := range all {
		out[i] = *at
	}
	return out, nil
}
