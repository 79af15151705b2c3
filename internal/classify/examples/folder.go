package examples

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"forager/internal/classify/taxonomy"
	"forager/internal/page/dom"
	"forager/internal/web/weburl"
)

// maxFile is the maximum size of a file of a folder tree, bytes.
const maxFile = 64 << 20

// ReadFolder reads a folder tree: every file is a page, and the folders above it, below dir, are its topic. Files
// outside dir are never read. The error is one of the intake, or dir cannot be read.
func ReadFolder(ctx context.Context, dir string, in *Intake) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	realPath, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	f := folder{root: root, realPath: realPath, in: in}
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && name == ".":
			return err
		case err != nil:
			in.Refuse(Unreadable, Place{Source: name}, reasonOf(err))
			return nil
		case name == ".":
			return nil
		case strings.HasPrefix(e.Name(), "."):
			in.Refuse(Hidden, Place{Source: name}, "its name begins with a dot")
			return skip(e)
		case e.IsDir() && strings.Count(name, "/") >= taxonomy.MaxDepth:
			in.Refuse(BadTopic, Place{Source: path.Base(name)}, fmt.Sprintf("more than %d folders deep", taxonomy.MaxDepth))
			return fs.SkipDir
		case e.IsDir():
			return nil
		}
		return f.file(name, e)
	})
}

func skip(e fs.DirEntry) error {
	if e.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// reasonOf returns an error's text without the path, which its place contains already.
func reasonOf(err error) string {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		err = p.Err
	}
	return err.Error()
}

// folder is a folder tree being read.
type folder struct {
	root     *os.Root
	realPath string
	in       *Intake
}

// file adds a file, or counts why it is refused.
func (f *folder) file(name string, e fs.DirEntry) error {
	at := Place{Source: name}
	page := name
	if e.Type()&fs.ModeSymlink != 0 {
		info, err := f.root.Stat(name)
		switch {
		case err != nil:
			f.in.Refuse(LinkAway, at, reasonOf(err))
			return nil
		case info.IsDir():
			f.in.Refuse(LinkFolder, at, "the pages there are examples of that folder only")
			return nil
		}
		if page, err = f.target(name); err != nil {
			f.in.Refuse(LinkAway, at, reasonOf(err))
			return nil
		}
	}
	// A pipe must not be opened: opening waits for a writer.
	info, err := f.root.Stat(name)
	switch {
	case err != nil:
		f.in.Refuse(Unreadable, at, reasonOf(err))
		return nil
	case !info.Mode().IsRegular():
		f.in.Refuse(NoFile, at, info.Mode().Type().String())
		return nil
	case info.Size() > maxFile:
		f.in.Refuse(TooLong, at, fmt.Sprintf("%d bytes, more than %d", info.Size(), maxFile))
		return nil
	}
	topics := []string{path.Dir(name)}
	if topics[0] == "." {
		topics = nil
	}
	if topics == nil && f.in.settings.Otherwise == "" {
		f.in.Refuse(RootOfTree, at, "put it into a folder that is called what it is about")
		return nil
	}
	body, err := f.root.ReadFile(name)
	if err != nil {
		f.in.Refuse(Unreadable, at, reasonOf(err))
		return nil
	}
	text, why := readable(body, name)
	if why != "" {
		f.in.Refuse(NotText, at, why)
		return nil
	}
	return f.in.Add(at, pageName(page), topics, text)
}

// target returns the path below the root of the file that a symbolic link leads to.
func (f *folder) target(name string) (string, error) {
	realPath, err := filepath.EvalSymlinks(filepath.Join(f.realPath, filepath.FromSlash(name)))
	if err != nil {
		return "", err
	}
	below, err := filepath.Rel(f.realPath, realPath)
	return filepath.ToSlash(below), err
}

// pageName returns the name of the page in a file: the URL that the file's name is, escaped, or its path.
func pageName(file string) string {
	if name, err := url.PathUnescape(path.Base(file)); err == nil && strings.Contains(name, "://") {
		if u, err := weburl.Parse(name); err == nil {
			return u.String()
		}
	}
	return (&url.URL{Scheme: "file", Path: "/" + file}).String()
}

// readable returns the words of a file, or the reason why it has none.
func readable(body []byte, name string) (text, why string) {
	sniffed := http.DetectContentType(body)
	kind, _, _ := strings.Cut(sniffed, ";")
	markup := kind == "text/html" || kind == "text/xml"
	switch strings.ToLower(path.Ext(name)) {
	case ".html", ".htm", ".xhtml", ".shtml", ".xml":
		// Pages contain stray control characters now and then; what is not text is detected later.
		markup = markup || kind == "text/plain" || kind == "application/octet-stream"
	}
	switch {
	case markup:
		return dom.Text(body, ""), ""
	case kind == "text/plain":
		return dom.PlainText(body, ""), ""
	}
	return "", "it looks like " + sniffed
}
