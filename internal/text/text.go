package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
)

// MaxToken is the length of the longest token, bytes.
const MaxToken = 64

// Tokens appends the tokens of s to dst.
func Tokens(dst []string, s string) []string {
	var z Scanner
	for z.Reset(s); z.Next(); {
		dst = append(dst, string(z.Token()))
	}
	return dst
}

// Scanner gives the tokens of a text one by one, allocating nothing for each. The zero Scanner
// holds no text; one Scanner may read one text after another.
type Scanner struct {
	text  string
	at    int
	begin int // of the token, in text
	last  int // end of the token before it
	token []byte
	buf   [MaxToken]byte
	full  *words.Iterator[string]
}

// Reset begins a text.
func (z *Scanner) Reset(s string) {
	if !utf8.ValidString(s) {
		// The library takes a broken character near the end, and all behind it, for one segment.
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	z.text, z.at, z.begin, z.token = s, 0, 0, nil
}

// Next goes on to the next token; false at the end of the text.
func (z *Scanner) Next() bool {
	z.last = z.at
	for {
		// A word begins at a letter, a digit, an underscore, or beyond ASCII; an ASCII
		// character of another class is never joined to what follows it there.
		for z.at < len(z.text) && class[z.text[z.at]] < underscore {
			z.at++
		}
		if z.at == len(z.text) {
			z.token = nil
			return false
		}
		found, known := z.nextASCII()
		if !known {
			found = z.nextUnicode()
		}
		if found {
			return true
		}
	}
}

// Token is the token that Next found, valid until the next call of Next or Reset.
func (z *Scanner) Token() []byte { return z.token }

// Classes of bytes, by what the rules WB5 to WB13b do with them. Their order matters.
const (
	other      = iota // joins nothing
	mid               // ':' joins letters (MidLetter)
	midNum            // ',' ';' join digits
	midBoth           // '.' '\'' join either
	underscore        // ExtendNumLet joins letters and digits, and itself
	digit
	letter
	beyond // not ASCII
)

var class, lower = func() (class, lower [256]uint8) {
	for i := range class {
		b := uint8(i)
		lower[b] = b
		switch {
		case b >= 0x80:
			class[b] = beyond
		case b >= 'a' && b <= 'z':
			class[b] = letter
		case b >= 'A' && b <= 'Z':
			class[b], lower[b] = letter, b+'a'-'A'
		case b >= '0' && b <= '9':
			class[b] = digit
		case b == '_':
			class[b] = underscore
		case b == '.', b == '\'':
			class[b] = midBoth
		case b == ',', b == ';':
			class[b] = midNum
		case b == ':':
			class[b] = mid
		}
	}
	return class, lower
}()

// nextASCII takes the word at z.at, unless that touches a byte beyond ASCII and is not a Han character
// that stands for itself: then known is false and nothing is taken. found is false for a word without letter and digit.
func (z *Scanner) nextASCII() (found, known bool) {
	s, i, n := z.text, z.at, 0
	if class[s[i]] == beyond {
		known = z.nextHan()
		return known, known
	}
	for {
		b := s[i]
		if n < MaxToken {
			z.buf[n] = lower[b]
			n++
			found = found || class[b] >= digit
		}
		if i++; i == len(s) {
			break
		}
		next := class[s[i]]
		if next == beyond {
			return false, false
		}
		if next >= underscore {
			continue
		}
		// A middle character joins two letters or two digits (WB6, WB7, WB11, WB12).
		last := class[b]
		if next == other || last == underscore || last < underscore || i+1 == len(s) {
			break
		}
		if after := class[s[i+1]]; after == beyond {
			return false, false
		} else if after != last || last == letter && next == midNum || last == digit && next == mid {
			break
		}
	}
	z.begin, z.at, z.token = z.at, i, z.buf[:n]
	return found, true
}

// nextHan takes the Han character at z.at where what follows cannot hang on to it: ASCII, another one,
// or Hiragana (WB999).
func (z *Scanner) nextHan() bool {
	const width = 3
	s := z.text[z.at:]
	if !isHan(s) {
		return false
	}
	if rest := s[width:]; len(rest) > 0 && class[rest[0]] == beyond && !isHan(rest) && !isHiragana(rest) {
		return false
	}
	z.token = z.buf[:copy(z.buf[:], s[:width])]
	z.begin = z.at
	z.at += width
	return true
}

// isHan says whether valid UTF-8 begins with one of the common Han characters, U+4E00 to U+9FFF.
func isHan(s string) bool {
	return s[0] >= 0xE5 && s[0] <= 0xE9 || s[0] == 0xE4 && s[1] >= 0xB8
}

// isHiragana says the same of the letters of Hiragana, U+3041 to U+3096.
func isHiragana(s string) bool {
	return s[0] == 0xE3 && (s[1] == 0x81 && s[2] != 0x80 || s[1] == 0x82 && s[2] <= 0x96)
}

// begins says whether a token may begin with r. A segment may begin with anything: a few letters
// (U+FF9E) count as marks and hang on to whatever stands before them.
func begins(r rune) bool {
	return unicode.IsLetter(r) || unicode.In(r, unicode.M, unicode.N, unicode.Pc)
}

// narrowSpace stands before punctuation in French, and joins what it separates by UAX #29.
const narrowSpace = "\u202F"

// nextUnicode takes the segment at z.at; found is false where it is no token.
func (z *Scanner) nextUnicode() (found bool) {
	if z.full == nil {
		z.full = words.FromString("")
	}
	z.full.SetText(z.text[z.at:])
	word := z.full.First()
	if i := strings.Index(word, narrowSpace); i > 0 {
		word = word[:i]
	} else if i == 0 {
		word = narrowSpace
	}
	n := 0
	for i, r := range word {
		if n == 0 {
			if !begins(r) {
				continue
			}
			z.begin = z.at + i
		}
		low := unicode.ToLower(r)
		if n+utf8.RuneLen(low) > MaxToken {
			break
		}
		n += utf8.EncodeRune(z.buf[n:], low)
		found = found || unicode.IsLetter(low) || unicode.IsDigit(low)
	}
	z.at += len(word)
	z.token = z.buf[:n]
	return found
}
