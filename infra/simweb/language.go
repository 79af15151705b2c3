package simweb

import "math"

// vocabulary is words with Zipf frequencies, drawn by one table look-up.
type vocabulary struct {
	words []string
	table []uint16 // the length is a power of two
}

func newVocabulary(words []string, flat float64, table int) *vocabulary {
	v := &vocabulary{words: words, table: make([]uint16, table)}
	for i := range v.table {
		// Rank r with probability about 1/(r+flat), by inversion.
		u := (float64(i) + 0.5) / float64(table)
		r := flat*math.Pow((float64(len(words))+flat)/flat, u) - flat
		v.table[i] = uint16(min(int(r), len(words)-1))
	}
	return v
}

// word returns the one that 32 random bits select.
func (v *vocabulary) word(bits uint64) string {
	return v.words[v.table[bits&uint64(len(v.table)-1)]]
}

// language is the vocabularies of a web: words are random syllables.
type language struct {
	leaves     int
	background *vocabulary
	// titles is background without its most frequent words, which titles and names do not use.
	titles *vocabulary
	branch []*vocabulary
	leaf   []*vocabulary // by branch·leaves + leaf
	cue    []*vocabulary // words near links to a leaf topic, rare in its pages
	names  []string
}

const (
	backgroundWords = 6_000
	functionWords   = 100
	branchWords     = 150
	leafWords       = 250
	cueWords        = 8
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
	l.background = newVocabulary(words(backgroundWords), 1, 1<<16)
	l.titles = newVocabulary(l.background.words[functionWords:], functionWords, 1<<15)
	for range branches {
		l.branch = append(l.branch, newVocabulary(words(branchWords), 1, 1<<10))
		for range leaves {
			l.leaf = append(l.leaf, newVocabulary(words(leafWords), 1, 1<<11))
			l.cue = append(l.cue, newVocabulary(words(cueWords), 1, 1<<8))
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

// wordSource draws the words of one page: topical ones with the given probabilities (of 65,536), otherwise background.
type wordSource struct {
	language       *language
	topic, aside   int // −1 = none
	leaf, branch   uint64
	asideLeaf, cue uint64
	// rest is the vocabulary of all other words.
	rest *vocabulary
}

// word draws the next one.
func (v *wordSource) word(s *stream) string {
	x := s.next()
	u, bits := x>>48, x
	l := v.language
	if v.topic >= 0 {
		if u < v.leaf {
			return l.leaf[v.topic].word(bits)
		}
		if u -= v.leaf; u < v.branch {
			return l.branch[v.topic/l.leaves].word(bits)
		}
		if u -= v.branch; u < v.cue {
			return l.cue[v.topic].word(bits)
		}
		u -= v.cue
	}
	if v.aside >= 0 && u < v.asideLeaf {
		return l.leaf[v.aside].word(bits)
	}
	return v.rest.word(bits)
}
