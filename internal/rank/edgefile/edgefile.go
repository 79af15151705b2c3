package edgefile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"forager/internal/web/weburl"
)

// maxLine is the longest line, bytes: two URLs of some size.
const maxLine = 1 << 16

// maxShown is the number of broken lines that are kept.
const maxShown = 5

// Broken is a line that cannot be read.
type Broken struct {
	Line int64  `json:"line"`
	What string `json:"what"`
}

// Counts describe what a file contained.
type Counts struct {
	// Lines that are not empty or comments, and how many of them are broken; First are the first of these.
	Lines  int64    `json:"lines"`
	Broken int64    `json:"broken"`
	First  []Broken `json:"first,omitempty"`
}

// ErrBroken means that the share of broken lines is above the limit.
var ErrBroken = errors.New("too many lines are broken")

// columns calls take with the first two columns of every line; an error of take makes the line broken. A share of broken
// lines above broken is an error, at the end of the file or once enough lines were read.
func columns(ctx context.Context, r io.Reader, broken float64, take func(a, b []byte) error) (Counts, error) {
	var c Counts
	lines := bufio.NewReaderSize(r, maxLine)
	for n := int64(1); ; n++ {
		line, whole, err := readLine(lines)
		if err == io.EOF {
			return c, c.tooMany(broken)
		}
		if err != nil {
			return c, fmt.Errorf("line %d: %w", n, err)
		}
		if n%(1<<16) == 0 && ctx.Err() != nil {
			return c, ctx.Err()
		}
		if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
			continue
		}
		c.Lines++
		if err := split(line, whole, take); err != nil {
			if c.Broken++; len(c.First) < maxShown {
				c.First = append(c.First, Broken{n, err.Error()})
			}
			if c.Lines%1000 == 0 && c.tooMany(broken) != nil {
				return c, c.tooMany(broken)
			}
		}
	}
}

// readLine returns a line; of one that is too long it returns the beginning, and whole is false. The last line may end
// without a newline.
func readLine(r *bufio.Reader) (line []byte, whole bool, err error) {
	line, err = r.ReadSlice('\n')
	switch {
	case err == nil, err == io.EOF && len(line) > 0:
		return line, true, nil
	case !errors.Is(err, bufio.ErrBufferFull):
		return nil, false, err
	}
	line = slices.Clone(line[:64])
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.ReadSlice('\n')
	}
	if err == io.EOF {
		err = nil
	}
	return line, false, err
}

func split(line []byte, whole bool, take func(a, b []byte) error) error {
	if !whole {
		return fmt.Errorf("%.64q… is longer than %d bytes", line, maxLine)
	}
	at := bytes.IndexAny(line, " \t")
	if at < 0 {
		return fmt.Errorf("%.64q has one column, two are wanted", line)
	}
	a, rest := line[:at], bytes.TrimLeft(line[at:], " \t")
	if end := bytes.IndexAny(rest, " \t"); end >= 0 {
		rest = rest[:end]
	}
	return take(a, rest)
}

func (c *Counts) tooMany(share float64) error {
	if float64(c.Broken) <= share*float64(c.Lines) {
		return nil
	}
	return fmt.Errorf("%w: %d of %d, the first is line %d: %s", ErrBroken, c.Broken, c.Lines, c.First[0].Line, c.First[0].What)
}

// Links calls f with the canonical URLs of both ends of every link of a file of URLs; a share of broken lines above broken
// is ErrBroken. wanted is called with the second URL first; if it returns false the first must have a scheme
// and is not parsed.
func Links(ctx context.Context, r io.Reader, broken float64, wanted func(to string) bool, f func(from, to string)) (Counts, error) {
	return columns(ctx, r, broken, func(a, b []byte) error {
		to, err := weburl.Parse(string(b))
		if err != nil {
			if _, number := strconv.ParseUint(string(b), 10, 64); number == nil {
				return fmt.Errorf("%.64q is no URL but the number of a vertex: the file of their names is wanted, too", b)
			}
			return err
		}
		if !wanted(to.String()) {
			if !bytes.Contains(a, []byte("://")) {
				return fmt.Errorf("%.64q is no URL", a)
			}
			return nil
		}
		from, err := weburl.Parse(string(a))
		if err != nil {
			return err
		}
		f(from.String(), to.String())
		return nil
	})
}

// Numbers is Links for a file of vertex numbers.
func Numbers(ctx context.Context, r io.Reader, broken float64, f func(from, to uint64)) (Counts, error) {
	return columns(ctx, r, broken, func(a, b []byte) error {
		from, err := strconv.ParseUint(string(a), 10, 64)
		if err != nil {
			return fmt.Errorf("%.64q is no number of a vertex", a)
		}
		to, err := strconv.ParseUint(string(b), 10, 64)
		if err != nil {
			return fmt.Errorf("%.64q is no number of a vertex", b)
		}
		f(from, to)
		return nil
	})
}

// Vertex returns the name that Vertices has for the host of a page at the root of the host, with any scheme, with or
// without www.; "" for other pages.
func Vertex(url string) string {
	host := weburl.Host(url)
	if _, after, ok := strings.Cut(url, "://"); !ok || after != host+"/" {
		return ""
	}
	return "http://" + strings.TrimPrefix(host, "www.") + "/"
}

// Vertices calls f with the number and URL of every vertex of a file.
func Vertices(ctx context.Context, r io.Reader, broken float64, f func(n uint64, url string)) (Counts, error) {
	return columns(ctx, r, broken, func(a, b []byte) error {
		n, err := strconv.ParseUint(string(a), 10, 64)
		if err != nil {
			return fmt.Errorf("%.64q is no number of a vertex", a)
		}
		name := string(b)
		if !strings.Contains(name, "://") {
			labels := strings.Split(name, ".")
			slices.Reverse(labels)
			name = "http://" + strings.Join(labels, ".") + "/"
		}
		u, err := weburl.Parse(name)
		if err != nil {
			return err
		}
		f(n, u.String())
		return nil
	})
}
