package simweb

import (
	"math/bits"
	"sort"
)

// A page's inner id determines its place: the ids of a section are divided into hosts, those of a host into
// directories of 16. The number in its URL is a permutation of the id.

// host is the ids [lo,hi) of one host.
type host struct {
	lo, hi  uint64
	section int // topic, or the number of topics for the section of mixed topics
}

func (h host) size() uint64 { return h.hi - h.lo }

const (
	// smallestHost is the size of hosts that are not divided further, pages.
	smallestHost = 4
	// stopCutting is the probability that a piece of a section becomes a host.
	stopCutting = 0.38
	// directory is the number of pages of a directory; its first page heads it.
	directory = 16
	// fanout is the number of subdirectories of each.
	fanout = 6
)

// hostOf finds the host of a page: the section is divided at random places again and again until a draw stops
// it, which gives sizes of every order of magnitude.
func (w *space) hostOf(id uint64) host {
	section := sort.Search(len(w.starts), func(i int) bool { return w.starts[i] > id }) - 1
	h := host{w.starts[section], w.starts[section+1], section}
	whole := h.size()
	if section == len(w.topics) {
		if h.hi = h.lo + whole/3; id < h.hi {
			return h // the largest host, a tenth of all pages
		}
		h.lo, h.hi = h.hi, w.starts[section+1]
	}
	for h.size() > smallestHost {
		x := w.hash(h.lo*2+h.hi, ofSplit)
		if u := float64(x&0xffff) / 0x10000; u < stopCutting && h.size() <= whole/2+smallestHost {
			break
		}
		// Uniform, but never an empty piece.
		cut := h.lo + 1 + min(uint64(asUnit(x)*float64(h.size()-1)), h.size()-2)
		if id < cut {
			h.hi = cut
		} else {
			h.lo = cut
		}
	}
	return h
}

// page is what follows from an id.
type page struct {
	id    uint64
	host  host
	topic int // −1 = none
	hub   bool
}

func (p *page) index() uint64 { return p.id - p.host.lo }

func (p *page) directory() uint64 { return p.index() / directory }

// heads reports whether the page heads its directory; the first of a host is its home page.
func (p *page) heads() bool { return p.index()%directory == 0 }

const (
	// purity is the share of pages about the topic of their directory, stray that of those about some other
	// topic; the rest has none.
	purity = 0.62
	stray  = 0.08
)

func (w *space) page(id uint64) page {
	p := page{id: id, host: w.hostOf(id), topic: -1}
	p.hub = p.heads() || w.unit(id, ofHub) < w.c.HubShare
	if p.hub {
		return p
	}
	switch u := w.unit(id, ofTopic); {
	case u < purity:
		p.topic = w.about(&p)
	case u < purity+stray:
		p.topic = int(w.hash(id, ofStray) % uint64(len(w.topics)))
	}
	return p
}

// about returns the topic of the page's directory: its host's, or one of its own in the section of mixed topics.
func (w *space) about(p *page) int {
	if p.host.section < len(w.topics) {
		return p.host.section
	}
	return int(w.hash(p.host.lo<<20^p.directory(), ofDirectoryTopic) % uint64(len(w.topics)))
}

// A permutation of [0, Size): a four-round Feistel network on the next even number of bits, repeated until the result is in the range.

func (w *space) setBits() { w.bits = (bits.Len64(w.Size()-1) + 1) / 2 }

func (w *space) scramble(id uint64) uint64 {
	for id = w.feistel(id, false); id >= w.Size(); {
		id = w.feistel(id, false)
	}
	return id
}

func (w *space) unscramble(n uint64) uint64 {
	for n = w.feistel(n, true); n >= w.Size(); {
		n = w.feistel(n, true)
	}
	return n
}

func (w *space) feistel(x uint64, back bool) uint64 {
	mask := uint64(1)<<w.bits - 1
	left, right := x>>w.bits, x&mask
	for i := range uint64(4) {
		if back {
			left, right = right^(mix(left^(3-i)<<40^w.c.Seed)&mask), left
		} else {
			left, right = right, left^(mix(right^i<<40^w.c.Seed)&mask)
		}
	}
	return left<<w.bits | right
}
