package linkvalue

import (
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// parts are the pages fetched by the parts of their URLs, by the hash of a part, in two generations as in past.
type parts struct {
	young, old map[uint64]tally
	most       int // parts of a generation
	// recent are the log odds of words since the last page was added, by a few bits of their hash.
	recent [mostRecent]struct {
		key        uint64
		mean, odds float64
	}
}

// tally is of the pages whose URLs have a part in common: their number, and the sum of their R.
type tally struct{ N, Sum float32 }

const (
	// partCost is what a part takes, bytes, with the spare of its map; a generation has mostParts at most; mostRecent words are recent.
	partCost, mostParts, mostRecent = 40, 10_000, 1 << 9
	// mostOfURL directories and words of a URL count, the first of each, of a word its first mostOfWord bytes.
	mostOfURL, mostOfWord = 16, 64
	// directoryPrior is how many pages of a directory the one above it counts as, mostOfDirectory how many a directory counts as
	// itself, at most, and wordPrior how many pages of a word all pages count as.
	directoryPrior, mostOfDirectory, wordPrior = 2, 10, 3
)

func newParts() parts {
	return parts{young: make(map[uint64]tally), old: make(map[uint64]tally), most: mostParts}
}

func (p *parts) bytes() int { return partCost * (len(p.young) + len(p.old)) }

func (p *parts) of(key uint64) tally {
	if t, ok := p.young[key]; ok {
		return t
	}
	return p.old[key]
}

// add adds a page that was fetched.
func (p *parts) add(url string, relevance float64) {
	clear(p.recent[:])
	for key := range directories(url) {
		p.addTo(key, relevance)
	}
	for key := range words(url) {
		p.addTo(key, relevance)
	}
}

func (p *parts) addTo(key uint64, relevance float64) {
	t := p.of(key)
	if _, ok := p.young[key]; !ok && len(p.young) >= p.most {
		p.young, p.old = make(map[uint64]tally), p.young
	}
	p.young[key] = tally{t.N + 1, t.Sum + float32(relevance)}
}

// path returns the log odds of the mean R expected in the last directory of a URL, less those of the mean of all pages. That of a
// directory is drawn to that of the one above it, that of a host to the mean of all; base is the logit of that.
func (p *parts) path(url string, mean, base float64) float64 {
	y := mean
	for key := range directories(url) {
		t := p.of(key)
		weight := mostOfDirectory / (mostOfDirectory + float64(t.N))
		y = (directoryPrior*y + weight*float64(t.Sum)) / (directoryPrior + weight*float64(t.N))
	}
	return squash((logit(y) - base) / 4)
}

// words returns the same of the words of the last segment of a URL, pooled.
func (p *parts) words(url string, mean, base float64) float64 {
	var sum, n float64
	for key := range words(url) {
		w := &p.recent[key%uint64(len(p.recent))]
		if w.key != key || w.mean != mean {
			t := p.of(key)
			w.key, w.mean, w.odds = key, mean, logit((wordPrior*mean+float64(t.Sum))/(wordPrior+float64(t.N)))
		}
		sum += w.odds - base
		n++
	}
	if n == 0 {
		return 0
	}
	return squash(sum / 4 / math.Sqrt(n))
}

// squash maps a number into (-1,1).
func squash(x float64) float64 { return x / (1 + math.Abs(x)) }

// withoutScheme is a canonical URL from its host on.
func withoutScheme(url string) string {
	return strings.TrimPrefix(strings.TrimPrefix(url, "https://"), "http://")
}

// directories yields the hash of the host of a URL, and those of its directories, each with what comes before it. What is before a
// question mark is one, too.
func directories(url string) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		url, n := withoutScheme(url), 0
		for i := range len(url) {
			if url[i] != '/' && url[i] != '?' {
				continue
			}
			if n++; !yield(xxhash.Sum64String(url[:i+1])) || n == mostOfURL {
				return
			}
		}
	}
}

// words yields the hashes of the words of the last segment of a URL with a path: runs of letters, in lower case, "#" for each run of
// digits, and "~".
func words(url string) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		url := strings.TrimSuffix(withoutScheme(url), "/")
		slash := strings.LastIndexByte(url, '/')
		if slash < 0 {
			return
		}
		var buffer [mostOfWord]byte
		var last byte
		word, n := buffer[:0], 0
		for rest := url[slash+1:]; len(word) > 0 || rest != ""; {
			c, size := symbol(rest)
			goesOn := isLetter(last) && isLetter(c) || last == '#' && c == '#'
			if len(word) > 0 && !goesOn {
				if n++; !yield(xxhash.Sum64(word)) || n == mostOfURL {
					return
				}
				word = word[:0]
			}
			if c != 0 && len(word) < mostOfWord && !(goesOn && c == '#') {
				word = append(word, c)
			}
			rest, last = rest[size:], c
		}
	}
}

// symbol returns the letter that s begins with, in lower case, '#' for a digit, '~', or 0; and its size in bytes. Bytes beyond ASCII are
// letters, also if they are escaped.
func symbol(s string) (c byte, size int) {
	if s == "" {
		return 0, 0
	}
	switch c = s[0]; {
	case c >= '0' && c <= '9':
		return '#', 1
	case c >= 'A' && c <= 'Z':
		return c + 'a' - 'A', 1
	case isLetter(c) || c == '~':
		return c, 1
	case c == '%' && len(s) > 2:
		b, err := strconv.ParseUint(s[1:3], 16, 8)
		switch {
		case err != nil:
			return 0, 1
		case b < 0x80:
			return 0, 3
		}
		return byte(b), 3
	}
	return 0, 1
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 0x80 }
