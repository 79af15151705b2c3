package text

import (
	"embed"
	"math/bits"
	"path"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// The stop lists, one word a line. Those of the Snowball project (da de en es fi fr hu it nl no
// pt ru sv), J. Savoy (ar bg fa hi ro; both BSD licences) and others, as Apache Lucene and bleve
// publish them (Apache licence); some frequent words were added to the short lists of da, hr, no.
//
//go:embed stop/*.txt
var stopLists embed.FS

// letters are the letters of languages beyond a to z, where they distinguish languages.
var letters = map[string]string{
	"bg": "абвгдежзийклмнопрстуфхцчшщъьюя",
	"ca": "àçèéíïòóúü",
	"cs": "áčďéěíňóřšťúůýž",
	"da": "æøåéó",
	"de": "äöüß",
	"en": "éï",
	"es": "áéíñóúü",
	"eu": "ñç",
	"fi": "äöåšž",
	"fr": "àâæçéèêëîïôœùûüÿ",
	"ga": "áéíóú",
	"gl": "áéíñóúüï",
	"hr": "čćđšž",
	"hu": "áéíóöőúüű",
	"id": "é",
	"it": "àèéìíîòóùú",
	"nl": "áéèëïíóöüû",
	"no": "æøåéêèóòô",
	"pl": "ąćęłńóśźż",
	"pt": "ãáâàçéêíóôõúü",
	"ro": "ăâîșşțţ",
	"ru": "абвгдеёжзийклмнопрстуфхцчшщъыьэюя",
	"sv": "åäöé",
	"tr": "çğıöşüâîû",
}

const (
	// sample is the number of tokens at the beginning of a text by which its language is detected.
	sample = 512
	// foreign is the weight of a letter that a language does not have against it, in stop words.
	foreign = 0.7
	// The least evidence for a language: stop words of it, and their share of all tokens; and the largest ratio of
	// the score of the next language.
	leastWords, leastShare, nearest = 0.9, 0.04, 0.97
)

// set is a set of languages, by their indexes in languages.codes.
type set = uint64

// languages is the data of all languages.
type languages struct {
	codes   []string       // sorted
	stop    map[string]set // languages by stop word
	letters map[rune]set   // by letter beyond ASCII, languages that have it
	spelled set            // languages whose letters are known
}

var known = sync.OnceValue(func() *languages {
	k := &languages{stop: make(map[string]set), letters: make(map[rune]set)}
	lists, err := stopLists.ReadDir("stop") // sorted
	if err != nil {
		panic(err) // it is embedded in the program
	}
	for i, file := range lists {
		code := strings.TrimSuffix(file.Name(), ".txt")
		k.codes = append(k.codes, code)
		list, err := stopLists.ReadFile(path.Join("stop", file.Name()))
		if err != nil {
			panic(err)
		}
		for word := range strings.FieldsSeq(string(list)) {
			k.stop[word] |= 1 << i
		}
		for _, r := range letters[code] {
			k.letters[r] |= 1 << i
			k.spelled |= 1 << i
		}
	}
	return k
})

// Languages returns the codes (ISO 639-1) of the languages that have a stop list, sorted, which must not be
// modified.
func Languages() []string { return known().codes }

// evidence is the evidence of a text's tokens for each language.
type evidence struct {
	*languages
	tokens int
	score  [64]float64 // by language: stop words, each shared among the languages that have it
}

func (e *evidence) reset() {
	*e = evidence{languages: known()}
}

// add adds a token; false when there are enough of them.
func (e *evidence) add(token []byte) bool {
	e.tokens++
	var without set // languages that do not have one of its letters
	for i := 0; i < len(token); {
		if token[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, width := utf8.DecodeRune(token[i:])
		if i += width; unicode.IsLetter(r) {
			without |= e.spelled &^ e.letters[r]
		}
	}
	for ; without != 0; without &= without - 1 {
		e.score[bits.TrailingZeros64(without)] -= foreign
	}
	in := e.stop[string(token)]
	for share := 1 / float64(bits.OnesCount64(in)); in != 0; in &= in - 1 {
		e.score[bits.TrailingZeros64(in)] += share
	}
	return e.tokens < sample
}

// language returns the index of the language in codes, −1 where it is none of them or uncertain. The hint is the
// page's declaration: a language tag, or empty. It decides if its language is at least half as likely as the
// likeliest, or none is likely; a page that declares a language without a stop list has none.
func (e *evidence) language(hint string) int {
	first, second := 0, 1
	for i := range e.codes {
		switch {
		case i > 0 && e.score[i] > e.score[first]:
			first, second = i, first
		case i > 1 && e.score[i] > e.score[second]:
			second = i
		}
	}
	most := e.score[first]
	sure := most >= leastWords && most >= leastShare*float64(e.tokens) && e.score[second] <= nearest*most
	if hint == "" {
		if sure {
			return first
		}
		return -1
	}
	hinted := e.place(hint)
	if hinted < 0 || !sure || e.score[hinted] >= most/2 {
		return hinted
	}
	return first
}

// place returns the index of a language tag's language, −1 if it has none.
func (k *languages) place(tag string) int {
	code, _, _ := strings.Cut(strings.ToLower(tag), "-")
	if code == "nb" || code == "nn" {
		code = "no"
	}
	for i, c := range k.codes {
		if c == code {
			return i
		}
	}
	return -1
}
