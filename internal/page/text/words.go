package text

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"

	"forager/schemas"
)

// Surface is a text that is already cut into tokens: a parsed page.
type Surface struct {
	// Terms are the distinct tokens, Tokens indices into them in the order of the text.
	Terms  []string
	Tokens []uint32
	// Shapes of the tokens (AppendShape); empty = all Lower.
	Shapes []byte
	// Language is the declared language of the text (<html lang>), a language tag or empty.
	Language string
}

// SurfaceOf returns the text of a parsed page, which must not be modified while it is used.
func SurfaceOf(p *schemas.Page) *Surface {
	return &Surface{Terms: p.GetTerms(), Tokens: p.GetTokens(), Shapes: p.GetShapes(), Language: p.GetLanguage()}
}

// Words returns the words of texts by Settings: those of a text and of a Surface made of it are the same, in
// another order. Not for concurrent use.
type Words struct {
	settings Settings
	asIs     bool     // tokens are words unchanged, except pairs
	direct   bool     // there are no pairs, and the tokens come from the scanner
	language language // of the text
	stemmers map[string]*stemmer
	evidence evidence

	scanner Scanner  // source of the tokens,
	surface *Surface // unless this is not nil
	counts  []uint32 // of its terms
	term    int      // the next of Terms
	token   int      // the next of Tokens; they are read after the terms
	ordered bool     // Tokens must be read: some words depend on their neighbours or on shapes
	buf     []byte   // a token of it

	word  []byte
	n     uint32
	pairs pairs
}

// language is the treatment of a text's language.
type language struct {
	code    string
	stop    set // contains the language if its stop words are dropped
	stemmer *stemmer
}

// NewWords makes a reader.
func NewWords(s Settings) *Words {
	w := &Words{stemmers: make(map[string]*stemmer)}
	w.Set(s)
	return w
}

// Set changes the settings of the texts that begin after it, and keeps the stems found so far.
func (w *Words) Set(s Settings) {
	w.settings = s
	w.asIs = s.Numbers == NumbersKept && s.Case == CaseFolded && !s.needsLanguage()
}

// Settings returns the reader's settings.
func (w *Words) Settings() Settings { return w.settings }

// Text begins a text. The hint is its declared language, a language tag or empty.
func (w *Words) Text(s, hint string) {
	w.begin(hint, func(add func([]byte) bool) {
		for w.scanner.Reset(s); w.scanner.Next() && add(w.scanner.Token()); {
		}
	})
	w.surface, w.direct, w.n = nil, w.asIs && !w.settings.Bigrams, 1
	w.scanner.Reset(s)
}

// Surface begins a text that is already cut into tokens, which must not be modified while it is read. The error is
// a token of a term that does not exist.
func (w *Words) Surface(s *Surface) error {
	if cap(w.counts) < len(s.Terms) {
		w.counts = make([]uint32, len(s.Terms)+len(s.Terms)/2)
	}
	w.counts = w.counts[:len(s.Terms)]
	clear(w.counts)
	for _, t := range s.Tokens {
		if int(t) >= len(s.Terms) {
			return fmt.Errorf("token of term %d, it has %d terms", t, len(s.Terms))
		}
		w.counts[t]++
	}
	w.begin(s.Language, func(add func([]byte) bool) {
		for _, t := range s.Tokens {
			if w.buf = append(w.buf[:0], s.Terms[t]...); !add(w.buf) {
				return
			}
		}
	})
	w.surface, w.direct, w.term, w.token, w.ordered = s, false, 0, 0, w.settings.Case == CaseKept
	if w.ordered {
		w.term = len(s.Terms)
	}
	return nil
}

// Once reports whether each word comes once, except the few that settings make of several tokens: for a Surface
// that is read in the order of its terms.
func (w *Words) Once() bool { return w.surface != nil && w.settings.Case == CaseFolded }

// begin discards the last text and detects the language of the next one.
func (w *Words) begin(hint string, read func(add func([]byte) bool)) {
	w.pairs.reset()
	w.language = language{}
	if !w.settings.needsLanguage() {
		return
	}
	e := &w.evidence
	e.reset()
	place := e.place(w.settings.Language)
	if w.settings.Language == "" {
		read(e.add)
		place = e.language(hint)
	}
	if place < 0 {
		return
	}
	l := &w.language
	l.code = e.codes[place]
	if w.settings.StopWords {
		l.stop = 1 << place
	}
	if stem := stemmers[l.code]; w.settings.Stem && stem != nil {
		if w.stemmers[l.code] == nil {
			w.stemmers[l.code] = &stemmer{stem: stem}
		}
		l.stemmer = w.stemmers[l.code]
	}
}

// Language returns the code of the text's language, empty where it is not known or does not matter.
func (w *Words) Language() string { return w.language.code }

// Word is the word that Next found, valid until the next call.
func (w *Words) Word() []byte { return w.word }

// Count returns the number of occurrences of the word, ≥ 1; the same word may come again.
func (w *Words) Count() uint32 { return w.n }

// Next advances to the next word; false at the end of the text.
func (w *Words) Next() bool {
	if w.direct {
		more := w.scanner.Next()
		w.word = w.scanner.token
		return more
	}
	for {
		if !w.pairs.empty() {
			w.word, w.n = w.pairs.take()
			return true
		}
		token, shape, more := w.take()
		if !more {
			if w.pairs.close(); w.pairs.empty() {
				return false
			}
			continue
		}
		if len(token) == 0 {
			continue
		}
		if w.settings.Bigrams {
			if token[0] >= utf8.RuneSelf && w.pairs.add(token, shape, w.n) {
				continue
			}
			if len(w.pairs.open) > 0 {
				w.pairs.close()
			}
		}
		if w.asIs {
			w.word = token
			return true
		}
		if w.form(token, shape) {
			return true
		}
	}
}

// take returns the next token, empty if it is not counted, and sets its number of occurrences.
func (w *Words) take() (token []byte, shape Shape, more bool) {
	s := w.surface
	switch {
	case s == nil:
		w.n = 1
		if !w.scanner.Next() {
			return nil, Lower, false
		}
		token = w.scanner.Token()
		if w.settings.Case == CaseKept || w.settings.Bigrams && isUnspaced(token) {
			shape = w.scanner.Shape()
		}
		return token, shape, true
	case w.term < len(s.Terms):
		w.buf = append(w.buf[:0], s.Terms[w.term]...)
		w.n = w.counts[w.term]
		w.term++
		if w.n == 0 {
			return nil, Lower, true
		}
		if w.settings.Bigrams && len(w.buf) > 0 && isUnspaced(w.buf) {
			w.ordered = true
			return nil, Lower, true
		}
		return w.buf, Lower, true
	case w.ordered && w.token < len(s.Tokens):
		w.buf = append(w.buf[:0], s.Terms[s.Tokens[w.token]]...)
		shape, w.n = ShapeAt(s.Shapes, w.token), 1
		w.token++
		if w.settings.Case == CaseFolded && (len(w.buf) == 0 || !isUnspaced(w.buf)) {
			w.pairs.close() // already taken with the terms
			return nil, Lower, true
		}
		return w.buf, shape, true
	}
	return nil, Lower, false
}

// form sets the word to the form of a token under the settings; false if they drop it.
func (w *Words) form(token []byte, shape Shape) bool {
	if w.settings.Numbers != NumbersKept && isNumber(token) {
		if w.settings.Numbers == NumbersDropped {
			return false
		}
		w.word = zeros(token)
		return true
	}
	if l := &w.language; l.code != "" {
		if i := bytes.IndexRune(token, '’'); i >= 0 {
			token = bytes.ReplaceAll(token, []byte("’"), []byte("'"))
		}
		token = elide(token, l.code)
		if l.stop != 0 && known().stop[string(token)]&l.stop != 0 {
			return false
		}
		if l.stemmer != nil {
			token = append(w.buf[:0], l.stemmer.of(token)...)
			w.buf = token
		}
	}
	if w.settings.Case == CaseKept && shape != Lower {
		token = append([]byte(marks[shape]), token...)
	}
	w.word = token
	return true
}

// marks precede words that are not in lower case. No token begins with one.
var marks = [...]string{Capital: "^", Capitals: "^^", Mixed: "~"}

// isNumber reports whether a token has no letter.
func isNumber(token []byte) bool {
	for i := 0; i < len(token); {
		c := token[i]
		if c >= 'a' && c <= 'z' {
			return false
		}
		r, width := rune(c), 1
		if c >= utf8.RuneSelf {
			r, width = utf8.DecodeRune(token[i:])
		}
		if i += width; r >= utf8.RuneSelf && unicode.IsLetter(r) {
			return false
		}
	}
	return true
}

// zeros replaces every digit of a number by 0, in place.
func zeros(token []byte) []byte {
	n := 0
	for i := 0; i < len(token); {
		r, width := utf8.DecodeRune(token[i:])
		if unicode.IsDigit(r) {
			token[n] = '0'
			n++
		} else {
			n += copy(token[n:], token[i:i+width])
		}
		i += width
	}
	return token[:n]
}
