package simweb

import "math"

// language is the vocabularies of a web: words are made of syllables and mean nothing.
type language struct {
	leaves     int
	background []string
	branch     [][]string
	leaf       [][]string // by branch·leaves + leaf
	cue        [][]string // words that stand near links to a leaf topic, rare in its pages
	names      []string
}

const (
	backgroundWords = 4000
	branchWords     = 120
	leafWords       = 160
	cueWords        = 24
)

func newLanguage(seed uint64, branches, leaves int) *language {
	l := &language{leaves: leaves}
	used := make(map[string]bool)
	s := &stream{state: mix(seed ^ 0x6c616e67)}
	words := func(n int) []string {
		out := make([]string, 0, n)
		for len(out) < n {
			if w := word(s); !used[w] {
				used[w] = true
				out = append(out, w)
			}
		}
		return out
	}
	l.background = words(backgroundWords)
	for range branches {
		l.branch = append(l.branch, words(branchWords))
		for range leaves {
			l.leaf = append(l.leaf, words(leafWords))
			l.cue = append(l.cue, words(cueWords))
		}
	}
	l.names = words(branches + branches*leaves)
	return l
}

var (
	onsets = []string{"b", "br", "c", "d", "dr", "f", "g", "gr", "h", "k", "l", "m", "n", "p", "pl", "r", "s", "st", "t", "tr", "v", "w", "z"}
	vowels = []string{"a", "e", "i", "o", "u", "ai", "ea", "oo"}
	codas  = []string{"", "", "n", "r", "l", "s", "t", "m", "nd"}
)

func word(s *stream) string {
	w := ""
	for range 2 + s.intn(2) {
		w += onsets[s.intn(len(onsets))] + vowels[s.intn(len(vowels))] + codas[s.intn(len(codas))]
	}
	return w
}

func (l *language) topicName(branch, leaf int) string {
	title := func(w string) string { return string(w[0]-'a'+'A') + w[1:] }
	return title(l.names[branch]) + "/" + title(l.names[len(l.branch)+branch*l.leaves+leaf])
}

// zipf picks a word with probability about 1/rank.
func zipf(s *stream, words []string) string {
	r := math.Pow(float64(len(words)), s.unit()) - 1
	return words[min(int(r), len(words)-1)]
}

// of picks a word for a page about a leaf topic.
func (l *language) of(s *stream, topic int) string {
	switch u := s.unit(); {
	case u < 0.12:
		return zipf(s, l.leaf[topic])
	case u < 0.20:
		return zipf(s, l.branch[topic/l.leaves])
	case u < 0.21:
		return zipf(s, l.cue[topic])
	}
	return zipf(s, l.background)
}
