package scope

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"forager/internal/web/weburl"
	"forager/schemas"
)

// List is a set of canonical URLs, 16 bytes each in memory.
type List struct {
	ids map[schemas.ID]struct{}
}

// ReadList reads one URL a line; empty lines and lines that begin with "#" are ignored. A line that is not a
// canonical URL is an error naming it: it would silently match nothing.
func ReadList(r io.Reader) (*List, error) {
	l := &List{ids: make(map[schemas.ID]struct{})}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		u, err := weburl.Parse(line)
		if err != nil {
			return nil, fmt.Errorf("URL list, line %d: %w", n, err)
		}
		if u.String() != line {
			return nil, fmt.Errorf("URL list, line %d: %q is not canonical, that would be %q", n, line, u.String())
		}
		l.ids[schemas.URLID(line)] = struct{}{}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the URL list: %w", err)
	}
	return l, nil
}

// NewList makes a list of canonical URLs.
func NewList(urls []string) *List {
	l := &List{ids: make(map[schemas.ID]struct{}, len(urls))}
	for _, u := range urls {
		l.ids[schemas.URLID(u)] = struct{}{}
	}
	return l
}

// Len is the number of distinct URLs.
func (l *List) Len() int { return len(l.ids) }

// Has reports whether the canonical URL is on the list.
func (l *List) Has(url string) bool {
	_, ok := l.ids[schemas.URLID(url)]
	return ok
}
