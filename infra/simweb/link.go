package simweb

import "strconv"

// link is one HREF of a page before it is written.
type link struct {
	kind kind
	page page // target, redirects followed; for isMissing a page of the host
	n    int  // hops of a redirect, or which of the dead links
}

// linkTo decides whether a link to a page is direct, dead or a redirect.
func (w *Web) linkTo(s *stream, p page) link {
	z := &w.c.Hazards
	switch u := s.unit(); {
	case u < w.c.Dead:
		return link{isMissing, p, s.intn(1000)}
	case u < w.c.Dead+w.c.Alias:
		return link{isAlias, p, 1}
	case z.Chains+z.Endless+z.Loops+z.Nowhere == 0:
	default:
		switch choose(u-w.c.Dead-w.c.Alias, choice{"chain", z.Chains}, choice{"far", z.Endless}, choice{"loop", z.Loops}, choice{"void", z.Nowhere}) {
		case "chain":
			return link{isAlias, p, 2 + s.intn(mostHops-1)}
		case "far":
			return link{isFar, p, farHops}
		case "loop":
			return link{isLoop, p, 0}
		case "void":
			return link{isNowhere, p, 1}
		}
	}
	return link{isPage, p, 0}
}

func (w *Web) appendLink(b []byte, l *link) []byte {
	switch l.kind {
	case isMissing:
		b = append(w.appendOrigin(b, l.page.host), "gone/"...)
		b = strconv.AppendUint(b, w.hash(l.page.id+uint64(l.n)<<48, ofDeadLink), base)
		return append(b, ".html"...)
	case isPage:
		return w.appendURL(b, &l.page)
	}
	return w.appendAlias(b, redirectWords[l.kind], l.n, l.page.id)
}

// anywhere draws a page of the web: often the home page of its host, often one of few.
func (w *Web) anywhere(s *stream) page {
	return w.noticed(s, w.page(s.uintn(w.Size())))
}

// drawn draws a page for a topic: of three tries the first with that topic.
func (w *Web) drawn(s *stream, topic int) page {
	lo, hi := w.starts[topic], w.starts[topic+1]
	var p page
	for range 3 {
		u := s.unit()
		if s.next()&1 == 0 {
			u *= u * u * u * u // half of the links lead to few pages
		}
		if p = w.page(lo + uint64(u*float64(hi-lo))); p.topic == topic {
			return p
		}
	}
	return w.noticed(s, p)
}

// noticed returns the page, or the home page of its host.
func (w *Web) noticed(s *stream, p page) page {
	if s.unit() < 0.5 {
		return w.page(p.host.lo)
	}
	return p
}

// aim is what a link is drawn for: a topic, or one of these.
const (
	aimNearby   = -1
	aimAnywhere = -2
)

// aims draws the aim of a link of a page's own.
func (w *Web) aims(s *stream, from *page) int {
	u := s.unit()
	switch rest := (1 - w.c.Locality) / 2; {
	case from.topic >= 0 && u < w.c.Locality:
		return from.topic
	case from.topic >= 0 && u < w.c.Locality+rest:
		return from.topic/w.c.Leaves*w.c.Leaves + s.intn(w.c.Leaves)
	case u < 0.9:
		return aimNearby
	}
	return aimAnywhere
}

// aimed draws the target of a link.
func (w *Web) aimed(s *stream, from *page, aim int) page {
	switch aim {
	case aimNearby:
		return w.nearby(s, from)
	case aimAnywhere:
		return w.anywhere(s)
	}
	// Half of the links to a topic stay on the page's host, if it has that topic.
	if s.next()&1 == 0 {
		if p := w.nearby(s, from); p.topic == aim {
			return p
		}
	}
	return w.drawn(s, aim)
}

// nearby draws another page of the host, usually of the same directory.
func (w *Web) nearby(s *stream, from *page) page {
	lo, n := from.host.lo, from.host.size()
	if s.unit() < 0.8 {
		lo += from.directory() * directory
		n = min(directory, from.host.hi-lo)
	}
	u := s.unit()
	return w.page(lo + min(uint64(u*u*u*float64(n)), n-1)) // the first ones more often
}

// head returns the head of a directory of the page's host.
func (w *Web) head(h host, d uint64) page {
	return w.page(h.lo + min(d*directory, h.size()-1)/directory*directory)
}
