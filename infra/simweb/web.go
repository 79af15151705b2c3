package simweb

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Cues says where around a link the words about its target stand.
type Cues int

const (
	// CuesPeaked: at DOM offsets −1, 0 and +1, most at −1.
	CuesPeaked Cues = iota
	// CuesUniform: anywhere within four leaves.
	CuesUniform
	// CuesNone: nowhere.
	CuesNone
)

// Config describes a web.
type Config struct {
	// Seed makes the graph, Language the vocabularies.
	Seed, Language uint64
	// Pages of the web, at least 1,000; a tenth of a percent more or less by rounding.
	Pages uint64
	// Branches of the topic tree and leaves of each.
	Branches, Leaves int
	// Locality is the probability that a content link stays on its page's topic.
	Locality float64
	// HubShare is the share of pages that are hubs.
	HubShare float64
	// Dead and Alias are the shares of links that are 404s and redirects.
	Dead, Alias float64
	Cues        Cues
}

// Default is the web of the demo: 10⁵ pages, 24 topics.
func Default(seed uint64) Config {
	return Config{
		Seed: seed, Language: 1, Pages: 100_000, Branches: 6, Leaves: 4,
		Locality: 0.45, HubShare: 0.15, Dead: 0.02, Alias: 0.02, Cues: CuesPeaked,
	}
}

// Web is a synthetic web; its methods may be called from many goroutines.
type Web struct {
	c        Config
	topics   []string // leaf topics
	perTopic uint64   // pages a topic
	language *language
}

// New checks the configuration and returns its web.
func New(c Config) (*Web, error) {
	switch {
	case c.Pages < 1000:
		return nil, fmt.Errorf("simweb: %d pages, want at least 1,000", c.Pages)
	case c.Branches < 1 || c.Leaves < 1:
		return nil, fmt.Errorf("simweb: %d branches of %d leaves, want at least one of each", c.Branches, c.Leaves)
	case c.Locality < 0 || c.Locality > 1 || c.HubShare < 0 || c.HubShare > 1:
		return nil, fmt.Errorf("simweb: locality %g and hub share %g must lie in [0,1]", c.Locality, c.HubShare)
	case c.Dead < 0 || c.Alias < 0 || c.Dead+c.Alias > 1:
		return nil, fmt.Errorf("simweb: dead %g and alias %g must be shares", c.Dead, c.Alias)
	}
	w := &Web{c: c, language: newLanguage(c.Language, c.Branches, c.Leaves)}
	for b := range c.Branches {
		for l := range c.Leaves {
			w.topics = append(w.topics, w.language.topicName(b, l))
		}
	}
	w.perTopic = c.Pages / uint64(len(w.topics))
	return w, nil
}

// Topics are the leaf topics, "Branch/Leaf".
func (w *Web) Topics() []string { return w.topics }

// Size is the number of pages.
func (w *Web) Size() uint64 { return w.perTopic * uint64(len(w.topics)) }

// Truth is what is true of a URL.
type Truth struct {
	// Exists: the URL is a page of the web (200). Alias: it redirects to one.
	Exists, Alias bool
	// Topic of the page; for a hub the topic of its first section.
	Topic string
	// Hub pages are about no topic themselves.
	Hub bool
}

// Truth tells what is true of a canonical URL; the zero Truth for one that does not exist.
func (w *Web) Truth(url string) Truth {
	id, alias, ok := w.parse(url)
	if !ok {
		return Truth{}
	}
	return Truth{Exists: !alias, Alias: alias, Topic: w.topics[w.topic(id)], Hub: w.hub(id)}
}

// URL of page number n, 0 ≤ n < Size: an order that says nothing about topics.
func (w *Web) URL(n uint64) string { return w.url(w.unscramble(n)) }

// Examples returns the URLs of n pages about a topic, the same ones each time.
func (w *Web) Examples(topic string, n int) []string {
	var urls []string
	for t, name := range w.topics {
		if name != topic {
			continue
		}
		for k := uint64(0); k < w.perTopic && len(urls) < n; k++ {
			if id := uint64(t)*w.perTopic + k; !w.hub(id) {
				urls = append(urls, w.url(id))
			}
		}
	}
	return urls
}

// A page's inner id is topic·perTopic + k; the number in its URL is a permutation of it.

func (w *Web) topic(id uint64) int { return int(id / w.perTopic) }

func (w *Web) hub(id uint64) bool { return w.unit(id, 1) < w.c.HubShare }

// hostOf gives a page's host: three of four pages of a topic live on hosts of that topic, of
// which the first are large; the rest on hosts where all topics mix.
func (w *Web) hostOf(id uint64) string {
	var key uint64
	topical := max(1, w.perTopic/40)
	u := w.unit(id, 2)
	n := uint64(u * u * float64(topical))
	if w.unit(id, 3) < 0.75 {
		key = uint64(w.topic(id))*topical + n
	} else {
		key = uint64(len(w.topics))*topical + n
	}
	return "h" + strconv.FormatUint(mix(key^w.c.Seed<<32)%0xffffff, 36) + ".s" + strconv.FormatUint(w.c.Seed, 10) + ".sim"
}

func (w *Web) url(id uint64) string {
	return "http://" + w.hostOf(id) + "/" + strconv.FormatUint(w.scramble(id), 36) + ".html"
}

func (w *Web) aliasURL(id uint64) string {
	return "http://" + w.hostOf(id) + "/go/" + strconv.FormatUint(w.scramble(id), 36)
}

func (w *Web) deadURL(id uint64, n int) string {
	return "http://" + w.hostOf(id) + "/gone/" + strconv.FormatUint(w.hash(id, 900+uint64(n)), 36) + ".html"
}

// parse finds the page that a URL names.
func (w *Web) parse(url string) (id uint64, alias, ok bool) {
	rest, ok := strings.CutPrefix(url, "http://")
	if !ok {
		return 0, false, false
	}
	host, path, ok := strings.Cut(rest, "/")
	if !ok {
		return 0, false, false
	}
	number, page := strings.CutSuffix(path, ".html")
	if !page {
		if number, alias = strings.CutPrefix(path, "go/"); !alias {
			return 0, false, false
		}
	}
	n, err := strconv.ParseUint(number, 36, 64)
	if err != nil || n >= w.Size() || strconv.FormatUint(n, 36) != number {
		return 0, false, false
	}
	id = w.unscramble(n)
	return id, alias, w.hostOf(id) == host
}

// scramble permutes [0, Size): a four-round Feistel network on the next even number of
// bits, walked until it falls inside.
func (w *Web) scramble(id uint64) uint64 {
	for id = w.feistel(id, false); id >= w.Size(); {
		id = w.feistel(id, false)
	}
	return id
}

func (w *Web) unscramble(n uint64) uint64 {
	for n = w.feistel(n, true); n >= w.Size(); {
		n = w.feistel(n, true)
	}
	return n
}

func (w *Web) feistel(x uint64, back bool) uint64 {
	half := (bits.Len64(w.Size()-1) + 1) / 2
	mask := uint64(1)<<half - 1
	left, right := x>>half, x&mask
	for i := range uint64(4) {
		if back {
			left, right = right^(mix(left^(3-i)<<40^w.c.Seed)&mask), left
		} else {
			left, right = right, left^(mix(right^i<<40^w.c.Seed)&mask)
		}
	}
	return left<<half | right
}

// hash is a 64-bit function of the web, a page and a purpose.
func (w *Web) hash(id, purpose uint64) uint64 {
	return mix(mix(id^w.c.Seed*0x9e3779b97f4a7c15) ^ purpose*0xd1342543de82ef95)
}

// unit is hash as a number in [0,1).
func (w *Web) unit(id, purpose uint64) float64 { return float64(w.hash(id, purpose)>>11) / (1 << 53) }

// mix is the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// stream is a sequence of hashes.
type stream struct{ state uint64 }

func (s *stream) next() uint64 { s.state++; return mix(s.state * 0x9e3779b97f4a7c15) }

func (s *stream) unit() float64 { return float64(s.next()>>11) / (1 << 53) }

func (s *stream) intn(n int) int { return int(s.unit() * float64(n)) }

// lognormal is exp of a normal variate (Box–Muller).
func (s *stream) lognormal(median, sigma float64) float64 {
	u, v := s.unit(), s.unit()
	return median * math.Exp(sigma*math.Sqrt(-2*math.Log(1-u))*math.Cos(2*math.Pi*v))
}
