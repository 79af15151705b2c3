package audit

import (
	"encoding/binary"
	"slices"

	"forager/internal/web/weburl"
	"forager/schemas"
)

// maxHops and defaultAttempts are limits of every crawl (package frontier, CrawlControl).
const (
	maxHops         = 10
	defaultAttempts = 3
)

// fate is the state of a URL: no outcome yet, a final outcome, or an alias of another URL.
type fate struct {
	tries uint32
	// ends and reopened are the places of the verdicts that ended it and of the replays that reopened it,
	// alternating; last is its last request; failed: a stage could not handle that request.
	ends, reopened []uint64
	last           schemas.ID
	failed         bool
	// outcome is that of its last request.
	outcome schemas.Outcome
	// alias is the URL it redirected to, since the place of a verdict.
	alias string
	// depth is the number of hops from a seed according to the verdicts read so far, if known.
	depth uint32
	known bool
	since uint64
}

// over reports whether the URL had ended when the n-th verdict was applied.
func (f *fate) over(n uint64) bool {
	ends, _ := slices.BinarySearch(f.ends, n)
	reopened, _ := slices.BinarySearch(f.reopened, n)
	return ends > reopened
}

// fates holds the fate of every URL, computed from the verdicts in their order: those used last, and those not
// written yet, are in memory.
type fates struct {
	*Case
	*scratch
	of    map[string]*fate
	dirty map[string]bool
}

// mostFates is the number of fates in memory.
const mostFates = 20_000

func newFates(c *Case, s *scratch) *fates {
	return &fates{Case: c, scratch: s, of: make(map[string]*fate), dirty: make(map[string]bool)}
}

// fate returns the fate of a URL; nil = none.
func (fs *fates) fate(url string) *fate {
	f, ok := fs.of[url]
	if ok {
		return f
	}
	if len(fs.of) >= mostFates {
		fs.write()
	}
	if value, ok := fs.get(keyOf(kindFate, []byte(url))); ok {
		f = decodeFate(value)
	}
	fs.of[url] = f
	return f
}

// change returns the fate of a URL and marks it as changed.
func (fs *fates) change(url string) *fate {
	f := fs.fate(url)
	if f == nil {
		f = new(fate)
		fs.of[url] = f
	}
	fs.dirty[url] = true
	return f
}

func (fs *fates) write() {
	for url := range fs.dirty {
		fs.put(keyOf(kindFate, []byte(url)), fs.of[url].encode())
	}
	clear(fs.of)
	clear(fs.dirty)
}

func (f *fate) encode() []byte {
	flags := uint64(0)
	for i, set := range []bool{f.failed, f.known} {
		if set {
			flags |= 1 << i
		}
	}
	b := append([]byte(nil), f.last[:]...)
	for _, n := range []uint64{flags, uint64(f.tries), uint64(f.depth), uint64(f.outcome), f.since, uint64(len(f.ends)), uint64(len(f.reopened))} {
		b = binary.AppendUvarint(b, n)
	}
	for _, n := range slices.Concat(f.ends, f.reopened) {
		b = binary.AppendUvarint(b, n)
	}
	return append(b, f.alias...)
}

func decodeFate(b []byte) *fate {
	f := &fate{last: schemas.ID(b[:len(schemas.ID{})])}
	b = b[len(schemas.ID{}):]
	next := func() uint64 {
		n, w := binary.Uvarint(b)
		b = b[w:]
		return n
	}
	flags := next()
	f.failed, f.known = flags&1 != 0, flags&2 != 0
	f.tries, f.depth, f.outcome, f.since = uint32(next()), uint32(next()), schemas.Outcome(next()), next()
	ends, reopened := next(), next()
	for range ends {
		f.ends = append(f.ends, next())
	}
	for range reopened {
		f.reopened = append(f.reopened, next())
	}
	f.alias = string(b)
	return f
}

// read reads the records of link.found in the order in which prioritize applied them.
func (fs *fates) read() {
	fs.each(kindApplied).all(func(e entry) {
		at, id := binary.BigEndian.Uint64(e.key), schemas.ID(e.value)
		v, r := fs.verdict(id), fs.request(id)
		taken := fs.Taken == nil || fs.Taken(at)
		counts := taken && r != nil
		if taken {
			switch schemas.FoundIn(v).(type) {
			case schemas.Replay:
				fs.replay(v, at)
			case schemas.Retry:
				fs.retry(v, at)
			case schemas.Seeds:
				counts = true
			default:
				if r != nil {
					fs.follow(r, v, at)
				}
			}
		}
		fs.deepen(id, v, r, at, counts)
	})
	fs.write()
}

// follow applies one verdict.
func (fs *fates) follow(r *schemas.FetchRequest, v *schemas.LinkFound, at uint64) {
	url := r.GetUrl()
	own := fs.change(url)
	if own.alias != "" || own.over(at) {
		return
	}
	c := schemas.Outcomes[v.GetOutcome()]
	attempts := fs.Control.GetMaxAttempts()
	if attempts == 0 {
		attempts = defaultAttempts
	}
	ended := true
	switch {
	case c.Retry && c.Request:
		own.tries++
		ended = own.tries >= attempts
	case c.Retry:
		ended = false
	case v.GetOutcome() == schemas.Outcome_OUTCOME_REDIRECTED:
		if ended = fs.deadEnd(r, v.GetRedirect()); !ended {
			fs.nearer(fs.target(v.GetRedirect()), own.depth)
			own = fs.change(url)
			own.alias, own.since = v.GetRedirect(), at
		}
	}
	own = fs.change(url)
	own.last, own.failed, own.outcome = schemas.ID(r.GetId()), schemas.Failed(v.GetOutcome()), v.GetOutcome()
	if ended {
		own.ends = append(own.ends, at)
	}
}

// replay applies a record that requests another attempt; rows of such records do not contain the request.
func (fs *fates) replay(v *schemas.LinkFound, at uint64) {
	own := fs.fate(v.GetUrl())
	if own == nil || !own.failed || !own.over(at) {
		return
	}
	if id, err := schemas.ParseID(v.GetReplay()); err != nil || id == own.last {
		own = fs.change(v.GetUrl())
		own.reopened = append(own.reopened, at)
	}
}

// retry applies a record that retries failed URLs of a shard. A URL that is refused by its host's cap may
// remain ended; that is not a difference.
func (fs *fates) retry(v *schemas.LinkFound, at uint64) {
	fs.write()
	fs.each(kindFate).all(func(e entry) {
		own := decodeFate(e.value)
		if !own.over(at) || !schemas.Repeatable(own.outcome) || schemas.ShardOf(weburl.Host(string(e.key)), schemas.ShardsOf(fs.Control)) != v.GetShard() {
			return
		}
		own = fs.change(string(e.key))
		own.reopened, own.tries = append(own.reopened, at), 0
	})
}

// deadEnd reports whether a redirect is not followed: it has no target, exceeds the number of hops, leads back,
// or leaves the scope of the crawl.
func (fs *fates) deadEnd(r *schemas.FetchRequest, redirect string) bool {
	if _, err := weburl.Parse(redirect); err != nil || r.GetHops() >= maxHops {
		return true
	}
	target := fs.target(redirect)
	known, depth := false, uint32(0)
	if f := fs.fate(target); f != nil {
		known = f.known
	}
	if f := fs.fate(r.GetUrl()); f != nil {
		depth = f.depth
	}
	if !fs.ordered() {
		depth = 0 // a deeper URL may have been refused
	}
	return target == r.GetUrl() || !known && fs.Scope.Check(redirect, depth) != ""
}

// target follows redirects to the URL that is fetched in the end. They form no cycle: a redirect that would close one is an end.
func (fs *fates) target(url string) string {
	for own := fs.fate(url); own != nil && own.alias != ""; own = fs.fate(url) {
		url = own.alias
	}
	return url
}

// settles reports whether a link to the URL, found with the n-th verdict, must have been settled, and where its
// redirects lead. A link waits for the end of its URL, or of the one that this redirects to; if that ended
// before the link was found, there is no leap under PAIRS_FORWARD.
func (fs *fates) settles(url string, n uint64, forward bool) (target string, settled bool) {
	waited := false
	for own := fs.fate(url); own != nil; own = fs.fate(url) {
		if own.over(n) {
			return url, waited || !forward
		}
		if len(own.ends) > 0 && own.ends[len(own.ends)-1] >= n {
			return url, true
		}
		if own.alias == "" {
			return url, false
		}
		if own.since > n {
			waited, n = true, own.since
		}
		url = own.alias
	}
	return url, false
}

// deepen stores the links of a record, and notes their depth and which of them are refused.
func (fs *fates) deepen(id schemas.ID, v *schemas.LinkFound, r *schemas.FetchRequest, at uint64, counts bool) {
	depth := uint32(0)
	switch {
	case r == nil: // seeds
	case fs.ordered():
		if f := fs.fate(v.GetUrl()); f != nil {
			depth = f.depth
		}
		depth++
	default:
		depth = r.GetDepth() + 1 // at its dispatch; a shorter path may have been found since
	}
	e := edge{u: v.GetUrl(), request: id, place: at, delivered: r != nil && v.GetOutcome() == schemas.Outcome_OUTCOME_DELIVERED, taken: counts}
	fs.linksOf(id, func(position uint32, url string) {
		e.v = url
		leap := schemas.LeapID(fs.Control.GetCrawl(), e.u, url)
		if fs.Sample.has(leap[:]) {
			fs.put(keyOf(kindFound, leap[:], be64(at), be32(position)), e.value())
		}
		switch {
		case !counts:
		case fs.Scope.Check(url, depth) != "":
			if fs.Sample.has(leap[:]) {
				fs.put(keyOf(kindRefused, leap[:]), nil)
			}
		case fs.Control.GetScope().GetMaxDepth() > 0: // otherwise it is irrelevant
			fs.nearer(fs.target(url), depth)
		}
	})
}

func (fs *fates) nearer(url string, depth uint32) {
	if f := fs.fate(url); f == nil || !f.known || depth < f.depth {
		f = fs.change(url)
		f.known, f.depth = true, depth
	}
}

// mayBeCapped reports whether a link to the URL may have been refused because of its host's cap although the
// URL was fetched later: the host was at its cap until a request was deferred.
func (fs *fates) mayBeCapped(url string) bool {
	return fs.Control.GetScope().GetHostCap() > 0 && fs.has(keyOf(kindCapped, []byte(weburl.Host(url))))
}
