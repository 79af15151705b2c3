package simweb

import (
	"slices"
	"strconv"
	"strings"
)

// kind is the kind of a URL.
type kind int

const (
	isPage    kind = iota
	isMissing      // 404 on a host of the web
	isAlias        // a redirect, with hops to the page
	isFar          // a redirect in a chain that is too long
	isLoop         // a redirect in a circle
	isNowhere      // a redirect without a usable target
	isCalendar
	isFilter
	isPile
	isRobots
	isMovedRobots
)

// spot is the meaning of a URL of the web.
type spot struct {
	kind kind
	host host
	page page // of isPage and redirects: the page at the end
	hops int  // redirects up to that page; position in the cycle for isLoop
	path string
}

const (
	// farHops is the length of too long chains; a crawler that follows at most ten gives up.
	farHops = 14
	// mostHops is the length of the longest chain that is to be followed.
	mostHops = 9
	circle   = 3
)

const base = 36

func (w *addresses) appendHost(b []byte, h host) []byte {
	b = append(b, 'h')
	b = strconv.AppendUint(b, w.scramble(h.lo), base)
	b = append(b, ".s"...)
	b = strconv.AppendUint(b, w.c.Seed, 10)
	return append(b, ".sim"...)
}

func (w *addresses) appendOrigin(b []byte, h host) []byte {
	return append(w.appendHost(append(b, "http://"...), h), '/')
}

func (w *addresses) url(id uint64) string {
	p := w.page(id)
	return string(w.appendURL(nil, &p))
}

// appendURL writes the URL of a page: "/" for home pages, the number for the others.
func (w *addresses) appendURL(b []byte, p *page) []byte {
	b = w.appendOrigin(b, p.host)
	if p.index() == 0 {
		return b
	}
	if w.private(p) {
		b = append(b, "private/"...)
		if w.opened(p) {
			b = append(b, "open-"...)
		}
	}
	if w.c.TopicURLs {
		b = append(append(b, w.topicName(p.topic)...), '/')
	}
	b = strconv.AppendUint(b, w.scramble(p.id), base)
	return append(b, ".html"...)
}

// appendAlias writes the URL of a redirect to a page: /go/HOPS/NUMBER. Redirects more than one hop away from it are on other hosts.
func (w *addresses) appendAlias(b []byte, word string, hops int, id uint64) []byte {
	b = w.appendOrigin(b, w.aliasHost(hops, id))
	b = append(append(b, word...), '/')
	b = strconv.AppendInt(b, int64(hops), 10)
	b = append(b, '/')
	return strconv.AppendUint(b, w.scramble(id), base)
}

func (w *addresses) aliasHost(hops int, id uint64) host {
	if hops > 1 {
		id = w.hash(id+uint64(hops)<<48, ofVariant) % w.Size()
	}
	return w.hostOf(id)
}

// redirectWords are the first segments of redirects, by kind.
var redirectWords = [...]string{isAlias: "go", isFar: "far", isLoop: "loop", isNowhere: "void"}

// locate parses a canonical URL; ok is false if there is no such host.
func (w *addresses) locate(url string) (s spot, ok bool) {
	rest, ok := strings.CutPrefix(url, "http://")
	if !ok {
		return s, false
	}
	name, path, ok := strings.Cut(rest, "/")
	if !ok || !w.named(&s.host, name) {
		return s, false
	}
	s.path, s.kind = path, isMissing
	first, last, _ := strings.Cut(path, "/")
	redirect := kind(slices.Index(redirectWords[:], first))
	switch {
	case path == "robots.txt":
		s.kind = isRobots
	case path == "robots-moved.txt" && w.robotsOf(s.host) == robotsMoved:
		s.kind = isMovedRobots
	case w.trapAt(&s):
	case redirect >= isAlias:
		w.locateAlias(&s, redirect, last)
	default:
		w.locatePage(&s, url)
	}
	return s, true
}

// named finds the host with a name.
func (w *addresses) named(h *host, name string) bool {
	number, ok := strings.CutSuffix(name, ".s"+strconv.FormatUint(w.c.Seed, 10)+".sim")
	if !ok || !strings.HasPrefix(number, "h") {
		return false
	}
	n, ok := w.number(number[1:])
	if !ok {
		return false
	}
	*h = w.hostOf(w.unscramble(n))
	return h.lo == w.unscramble(n)
}

// number parses the number of a page or host, in its only spelling.
func (w *addresses) number(s string) (n uint64, ok bool) {
	n, err := strconv.ParseUint(s, base, 64)
	return n, err == nil && n < w.Size() && strconv.FormatUint(n, base) == s
}

func (w *addresses) locateAlias(s *spot, k kind, rest string) {
	hops, number, ok := strings.Cut(rest, "/")
	n, known := w.number(number)
	if !ok || !known {
		return
	}
	i, err := strconv.Atoi(hops)
	least, most := 1, mostHops
	switch k {
	case isFar:
		most = farHops
	case isLoop:
		least, most = 0, circle-1
	case isNowhere:
		most = 1
	}
	id := w.unscramble(n)
	if err != nil || i < least || i > most || strconv.Itoa(i) != hops || w.aliasHost(i, id).lo != s.host.lo {
		return
	}
	s.kind, s.hops, s.page = k, i, w.page(id)
}

func (w *addresses) locatePage(s *spot, url string) {
	id := s.host.lo
	if s.path != "" {
		number, ok := strings.CutSuffix(s.path[strings.LastIndexByte(s.path, '/')+1:], ".html")
		if !ok {
			return
		}
		n, ok := w.number(strings.TrimPrefix(number, "open-"))
		if !ok {
			return
		}
		id = w.unscramble(n)
	}
	p := w.page(id)
	var buf [128]byte
	if string(w.appendURL(buf[:0], &p)) == url {
		s.kind, s.page = isPage, p
	}
}
