package examples

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"

	"forager/internal/platform/progress"
	"forager/internal/web/weburl"
)

// Kind is a kind of source.
type Kind string

// The kinds.
const (
	Lines  Kind = "jsonl"
	Folder Kind = "folder"
	URLs   Kind = "urls"
	DMOZ   Kind = "dmoz"
)

const (
	contentFile   = "content.rdf.u8"
	structureFile = "structure.rdf.u8"
)

// KindOf detects the kind of the source at a path. A folder with a content.rdf.u8 is a dump.
func KindOf(path string) (Kind, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		if fileIn(path, contentFile) != "" {
			return DMOZ, nil
		}
		return Folder, nil
	}
	f, err := Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b := make([]byte, 4096)
	n, err := io.ReadFull(f, b)
	switch {
	case err == io.EOF:
		return "", fmt.Errorf("%s is empty", path)
	case err != nil && n == 0:
		return "", fmt.Errorf("%s cannot be unpacked: %w", path, err)
	}
	b = bytes.TrimLeft(bytes.TrimPrefix(b[:n], []byte("\xef\xbb\xbf")), " \t\r\n")
	name := strings.ToLower(path)
	switch {
	case len(b) == 0:
	case strings.HasSuffix(name, ".yaml"), strings.HasSuffix(name, ".yml"):
		return URLs, nil
	case b[0] == '{':
		return Lines, nil
	case bytes.HasPrefix(b, []byte("[{")):
		return "", fmt.Errorf("%s holds a list of JSON objects; one object a line is wanted, without [ and commas", path)
	case b[0] == '<':
		if strings.HasPrefix(filepath.Base(name), "structure") {
			return "", fmt.Errorf("%s lists topics, not their pages; give the %s that belongs to it", path, contentFile)
		}
		return DMOZ, nil
	case b[0] == '#', b[0] == '[', isURL(b):
		return URLs, nil
	}
	return "", fmt.Errorf("%s is neither JSON Lines, nor a list of URLs, nor the dump of a directory, nor a folder", path)
}

// isURL reports whether the first line begins with a URL.
func isURL(b []byte) bool {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	url, _, _ := bytes.Cut(line, []byte("\t"))
	_, err := weburl.Parse(strings.TrimSpace(string(url)))
	return err == nil
}

// fileIn returns the path of a file in a folder, plain or compressed; empty where there is none.
func fileIn(dir, name string) string {
	for _, suffix := range []string{"", ".gz"} {
		path := filepath.Join(dir, name+suffix)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// Read reads a source that need not be fetched: every kind except URLs. open opens its files.
func Read(ctx context.Context, path string, kind Kind, in *Intake, open func(path string) (io.ReadCloser, error)) error {
	if kind == Folder {
		return ReadFolder(ctx, path, in)
	}
	content, structure := path, ""
	if kind == DMOZ {
		dir := filepath.Dir(path)
		if found := fileIn(path, contentFile); found != "" {
			content, dir = found, path
		}
		if strings.HasPrefix(filepath.Base(content), contentFile) {
			structure = fileIn(dir, structureFile)
		}
	}
	f, err := open(content)
	if err != nil {
		return err
	}
	defer f.Close()
	if kind == Lines {
		return ReadLines(ctx, f, filepath.Base(path), in)
	}
	d := Dump{Content: f, ContentName: filepath.Base(content)}
	if structure != "" {
		s, err := open(structure)
		if err != nil {
			return err
		}
		defer s.Close()
		d.Structure, d.StructureName = s, filepath.Base(structure)
	}
	return ReadDMOZ(ctx, d, in)
}

// Open opens a file and decompresses it if it is compressed by gzip, whatever its name.
func Open(path string) (io.ReadCloser, error) {
	return OpenThrough(path, func(r io.Reader) io.Reader { return r })
}

// OpenParts is Open of a file, or of all files of a folder, in the order of their names and concatenated, except
// those whose names begin with "_" or ".". Reading them is a task of the context (package progress) until they are
// closed.
func OpenParts(ctx context.Context, path string) (io.ReadCloser, error) {
	p := &parts{left: []string{path}}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		p.left, err = list(path)
	}
	var size int64
	for _, name := range p.left {
		if info, err = os.Stat(name); err == nil {
			size += info.Size()
		}
	}
	if err != nil {
		return nil, err
	}
	ctx, p.end = progress.Start(ctx, "reading "+filepath.Base(path), size)
	p.through = func(r io.Reader) io.Reader { return progress.Reader(ctx, r) }
	return p, nil
}

// list returns the files of a folder that OpenParts reads.
func list(dir string) (files []string, err error) {
	all, err := os.ReadDir(dir)
	for _, e := range all {
		if name := e.Name(); name[0] != '_' && name[0] != '.' {
			files = append(files, filepath.Join(dir, name))
		}
	}
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s holds no file", dir)
	}
	return files, err
}

// parts are files that are read as one; the first remaining one may be open.
type parts struct {
	left    []string
	open    io.ReadCloser
	through func(io.Reader) io.Reader
	end     func() // of the task
}

func (p *parts) Read(b []byte) (n int, err error) {
	if len(b) == 0 {
		return 0, nil
	}
	for len(p.left) > 0 && n == 0 {
		if p.open == nil {
			if p.open, err = OpenThrough(p.left[0], p.through); err != nil {
				return 0, err
			}
		}
		n, err = p.open.Read(b)
		if err == io.EOF {
			err = p.open.Close()
			p.open, p.left = nil, p.left[1:]
		} else if err != nil {
			err = fmt.Errorf("%s: %w", p.left[0], err)
		}
		if err != nil {
			return n, err
		}
	}
	if n == 0 {
		err = io.EOF
	}
	return n, err
}

func (p *parts) Close() error {
	p.end()
	if p.open == nil {
		return nil
	}
	return p.open.Close()
}

// OpenThrough is Open of a file whose bytes pass through another reader before they are decompressed.
func OpenThrough(path string, through func(io.Reader) io.Reader) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := unpack(through(f))
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s cannot be unpacked: %w", path, err)
	}
	return struct {
		io.Reader
		io.Closer
	}{r, f}, nil
}

func unpack(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 1<<20)
	if magic, err := b.Peek(2); err != nil || magic[0] != 0x1f || magic[1] != 0x8b {
		return b, nil // the error occurs again when reading
	}
	return gzip.NewReader(b)
}
