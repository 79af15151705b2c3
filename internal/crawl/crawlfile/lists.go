package crawlfile

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"forager/internal/platform/strictyaml"
	"forager/internal/web/scope"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// lists reads the URLs of a crawl: its seeds, and its URL list.
func (f *File) lists(r *strictyaml.Report, read func(name string) ([]byte, error), c *Crawl) {
	seeds := f.Seeds
	if f.SeedsFile != "" {
		seeds = append(seeds, lines(r, "seeds_file", read, f.SeedsFile)...)
	}
	c.Seeds = canonical(r, "seeds", seeds)
	if len(seeds) == 0 {
		r.Problem("seeds", "is missing; give at least one URL")
	}
	if f.Scope.URLList != "" {
		c.URLList = canonical(r, "scope.url_list", lines(r, "scope.url_list", read, f.Scope.URLList))
	}
	c.seedsInScope(r)
}

// ListObject returns the name of the object with the URL list of a crawl, and its content.
func ListObject(crawl string, urls []string) (name string, content []byte) {
	content = []byte(strings.Join(urls, "\n") + "\n")
	sum := sha256.Sum256(content)
	return "scopes/" + crawl + "/" + hex.EncodeToString(sum[:6]) + ".txt", content
}

// mostOutside is the largest number of seeds outside the scope that are named.
const mostOutside = 10

// seedsInScope reports seeds that the crawl would never fetch.
func (c *Crawl) seedsInScope(r *strictyaml.Report) {
	s, err := scope.New(&schemas.Scope{Hosts: c.Control.Scope.Hosts, Prefixes: c.Control.Scope.Prefixes, MaxDepth: c.Control.Scope.MaxDepth}, nil)
	if err != nil {
		return // reported as another problem
	}
	rules, err := scope.NewExcludes(c.Control.GetExcludes())
	if err != nil {
		return
	}
	var listed map[string]bool
	if c.URLList != nil {
		listed = make(map[string]bool, len(c.URLList))
		for _, u := range c.URLList {
			listed[u] = true
		}
	}
	outside := 0
	for _, seed := range c.Seeds {
		if rule := rules.URL(seed); rule != "" {
			r.Problem("seeds", "%s would never be fetched: %s", seed, rule)
			continue
		}
		reason := s.Check(seed, 0)
		if reason == "" && listed != nil && !listed[seed] {
			reason = scope.OutOfList
		}
		if reason == "" {
			continue
		}
		if outside++; outside <= mostOutside {
			r.Problem("seeds", "%s is outside the scope (%s) and would never be fetched", seed, reason)
		}
	}
	if outside > mostOutside {
		r.Problem("seeds", "%d more are outside the scope", outside-mostOutside)
	}
}

// canonicalScope makes prefixes and hosts canonical, as URLs are when they are compared.
func canonicalScope(r *strictyaml.Report, s *schemas.Scope) {
	for i, p := range s.Prefixes {
		u, err := weburl.Parse(p)
		if err != nil {
			r.Problem("scope.prefixes", "number %d: %v", i+1, err)
			continue
		}
		s.Prefixes[i] = u.String()
	}
	for i, h := range s.Hosts {
		u, err := weburl.Parse("http://" + h + "/")
		if err != nil {
			r.Problem("scope.hosts", "number %d: %q is not a host name", i+1, h)
			continue
		}
		s.Hosts[i] = u.Host()
	}
}

// canonical returns the distinct canonical forms and reports what is not a URL.
func canonical(r *strictyaml.Report, path string, raw []string) []string {
	seen := make(map[string]bool, len(raw))
	urls := make([]string, 0, len(raw))
	for i, s := range raw {
		u, err := weburl.Parse(s)
		if err != nil {
			r.Problem(path, "number %d: %v", i+1, err)
			continue
		}
		if c := u.String(); !seen[c] {
			seen[c] = true
			urls = append(urls, c)
		}
	}
	return urls
}

// lines reads a list file: one entry in each line, "#" begins a comment line.
func lines(r *strictyaml.Report, path string, read func(name string) ([]byte, error), name string) []string {
	b, err := read(name)
	if err != nil {
		r.Problem(path, "%v", err)
		return nil
	}
	out, err := Lines(bytes.NewReader(b))
	if err != nil {
		r.Problem(path, "%s: %v", name, err)
	}
	return out
}

// Lines reads a list: one entry in each line of at most 1 MiB, without the space around it; empty lines
// and those that begin with "#" are left out. With an error it returns the entries before the error.
func Lines(r io.Reader) ([]string, error) {
	var out []string
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	n := 0
	for ; s.Scan(); n++ {
		if l := strings.TrimSpace(s.Text()); l != "" && !strings.HasPrefix(l, "#") {
			out = append(out, l)
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return out, fmt.Errorf("line %d has more than 1 MiB: is this a list of URLs?", n+1)
	}
	return out, s.Err()
}
