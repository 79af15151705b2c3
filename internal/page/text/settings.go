package text

import (
	"fmt"
	"slices"
	"strings"
)

// Settings define which of the tokens of a text are counted as words, and in which form. The zero Settings take
// every token unchanged.
type Settings struct {
	// Bigrams: adjacent characters of a script without spaces (Han, Hiragana, Thai …) are counted in pairs, "世界地"
	// as 世界 and 界地, and a single one as itself; a word of Hangul counts as the pairs of its syllables.
	Bigrams bool
	// StopWords: words of the stop list of the text's language are left out.
	StopWords bool
	// Stem: words are cut to their stem where the text's language has a Snowball stemmer.
	Stem bool
	// Language of all texts, a code of Languages; empty = detect that of each text (language.go).
	Language string
	Numbers  Numbers
	Case     Case
}

// Numbers defines what becomes of tokens without letters, such as "1984" and "3.14".
type Numbers uint8

const (
	// NumbersKept: a number is a word like any other.
	NumbersKept Numbers = iota
	// NumbersShaped: every digit becomes 0, so that 1984 and 2026 are one word, 0000.
	NumbersShaped
	// NumbersDropped: numbers are left out.
	NumbersDropped
)

// Case defines whether the case of a word matters.
type Case uint8

const (
	// CaseFolded: it does not.
	CaseFolded Case = iota
	// CaseKept: words that differ in case are different words. One with a capital first is
	// written "^apple", one all in capitals "^^nasa", one of mixed case "~iphone".
	CaseKept
)

// scheme names the way in which tokens are cut (see the package documentation). What tokens are must never change
// under this name, since models are made of them.
const scheme = "uax29/1"

var numbersNames, caseNames = []string{"kept", "shaped", "dropped"}, []string{"folded", "kept"}

// String returns the form in which models store the settings: how tokens are cut, and what is done to them after
// that. "uax29/1 bigrams stop language=de".
func (s Settings) String() string {
	parts := []string{scheme}
	for _, f := range s.flags() {
		if *f.on {
			parts = append(parts, f.name)
		}
	}
	if s.Language != "" {
		parts = append(parts, "language="+s.Language)
	}
	if s.Numbers != NumbersKept {
		parts = append(parts, "numbers="+numbersNames[s.Numbers])
	}
	if s.Case != CaseFolded {
		parts = append(parts, "case="+caseNames[s.Case])
	}
	return strings.Join(parts, " ")
}

type flag struct {
	name string
	on   *bool
}

func (s *Settings) flags() []flag {
	return []flag{{"bigrams", &s.Bigrams}, {"stop", &s.StopWords}, {"stem", &s.Stem}}
}

// ParseSettings parses the form of String, with or without the scheme before it, in any order. The error names the
// invalid part, and the valid ones.
func ParseSettings(text string) (Settings, error) {
	var s Settings
	parts := strings.Fields(text)
	if len(parts) > 0 && strings.Contains(parts[0], "/") {
		if parts[0] != scheme {
			return s, fmt.Errorf("words cut by %q are not known, those of %q are", parts[0], scheme)
		}
		parts = parts[1:]
	}
	for _, part := range parts {
		if err := s.set(part); err != nil {
			return Settings{}, err
		}
	}
	return s, nil
}

func (s *Settings) set(part string) error {
	for _, f := range s.flags() {
		if part == f.name {
			*f.on = true
			return nil
		}
	}
	name, value, _ := strings.Cut(part, "=")
	choose := func(names []string) (int, error) {
		if i := slices.Index(names, value); i >= 0 {
			return i, nil
		}
		return 0, fmt.Errorf("%s=%s: one of %s is wanted", name, value, strings.Join(names, ", "))
	}
	switch name {
	case "language":
		i, err := choose(Languages())
		if err == nil {
			s.Language = Languages()[i]
		}
		return err
	case "numbers":
		i, err := choose(numbersNames)
		s.Numbers = Numbers(i)
		return err
	case "case":
		i, err := choose(caseNames)
		s.Case = Case(i)
		return err
	}
	return fmt.Errorf("%q is no setting of words: those are bigrams, stop, stem, language=CODE, numbers=%s, case=%s",
		part, strings.Join(numbersNames, "|"), strings.Join(caseNames, "|"))
}

// MarshalText returns String.
func (s Settings) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler by ParseSettings.
func (s *Settings) UnmarshalText(b []byte) (err error) {
	*s, err = ParseSettings(string(b))
	return err
}

// needsLanguage reports whether the language of a text matters.
func (s Settings) needsLanguage() bool { return s.StopWords || s.Stem }
