package text

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
)

// MaxToken is the maximum length of a token, bytes.
const MaxToken = 64

// Tokens appends the tokens of s to dst.
func Tokens(dst []string, s string) []string {
	var z Scanner
	for z.Reset(s); z.Next(); {
		dst = append(dst, string(z.Token()))
	}
	return dst
}

// Scanner returns the tokens of a text one by one, without an allocation for each. The zero Scanner has no text;
// one Scanner may read several texts in sequence.
type Scanner struct {
	text  string
	at    int
	begin int // of the token, in text
	last  int // end of the token before it
	token []byte
	buf   [MaxToken + stride]byte // a longer token is written here and cut
	full  *words.Iterator[string]
}

// Reset begins a text.
func (z *Scanner) Reset(s string) {
	if !utf8.ValidString(s) {
		// The library takes a broken character near the end, and all after it, for one segment.
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	z.text, z.at, z.begin, z.token = s, 0, 0, nil
}

// Next advances to the next token; false at the end of the text.
func (z *Scanner) Next() bool {
	z.last = z.at
	for {
		// A word begins at a letter, a digit, an underscore, or beyond ASCII; an ASCII character of another class
		// is never joined to what follows it there.
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

// Token returns the token that Next found, valid until the next call of Next or Reset.
func (z *Scanner) Token() []byte { return z.token }

// Classes of bytes, by their role in the rules WB5 to WB13b. Their order matters.
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

// stride is the number of bytes that are read together.
const stride = 8

const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// inWords returns which of eight bytes, the first in the lowest bits, can be part of words within ASCII: their
// highest bits are set in in. lower is these bytes in lower case.
func inWords(eight uint64) (lower, in uint64) {
	b := eight &^ highs
	l := b | 0x20*ones // letters in lower case; no other byte becomes a letter
	// The highest bit of b + 0x80 − c is set if b ≥ c: sums of seven bits carry no further.
	letters := (l + (0x80-'a')*ones) &^ (l + (0x80-'z'-1)*ones)
	digits := (b + (0x80-'0')*ones) &^ (b + (0x80-'9'-1)*ones)
	underscores := highs - (b ^ '_'*ones)
	capitals := letters &^ (eight << 2) & highs // without the bit 0x20
	return eight | capitals>>2, (letters | digits | underscores) &^ eight & highs
}

// nextASCII takes the word at z.at, unless that touches a byte beyond ASCII and is not a run of characters that
// need no algorithm (nextApart): then known is false and nothing is taken. found is false for a word without
// letter and digit.
func (z *Scanner) nextASCII() (found, known bool) {
	s, i, n := z.text, z.at, 0
	if class[s[i]] == beyond {
		return z.nextApart()
	}
	for {
		run := stride
		for run == stride && len(s)-i >= stride {
			lower, in := inWords(eight(s[i:]))
			if n < MaxToken {
				binary.LittleEndian.PutUint64(z.buf[n:n+stride], lower)
			}
			run = bits.TrailingZeros64(in^highs) / 8 // 8 if there is no other byte
			i += run
			n += run
		}
		for run == stride && i < len(s) && class[s[i]] >= underscore && class[s[i]] != beyond {
			if n < MaxToken {
				z.buf[n] = lower[s[i]]
			}
			n++
			i++
		}
		if i == len(s) {
			break
		}
		// A middle character joins two letters or two digits (WB6, WB7, WB11, WB12).
		next, last := class[s[i]], class[s[i-1]]
		if next == beyond {
			return false, false
		}
		if next == other || last == underscore || i+1 == len(s) {
			break
		}
		if after := class[s[i+1]]; after == beyond {
			return false, false
		} else if after != last || last == letter && next == midNum || last == digit && next == mid {
			break
		}
		if n < MaxToken {
			z.buf[n] = s[i]
		}
		n++
		i++
	}
	z.begin, z.at, z.token = z.at, i, z.buf[:min(n, MaxToken)]
	// A word of underscores alone is no token. Middle characters occur only after others.
	return z.token[0] != '_' || len(bytes.Trim(z.token, "_")) > 0, true
}

// eight returns the first eight bytes of a string, the first in the lowest bits.
func eight(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// kind is how a character beyond ASCII is handled.
type kind uint8

const (
	unclear   kind = iota // the algorithm decides
	character             // a token of its own, with the marks after it
	katakana              // joins others of its kind
	nothing               // no token, and joins nothing
	mark                  // joins the character before it
)

// kindOf returns the kind of the character at the beginning of valid UTF-8, of three bytes where it is known.
func kindOf(s string) kind {
	const width = 3
	if s[0] < 0xE0 || len(s) < width {
		return unclear
	}
	switch r := rune(s[0]&0xF)<<12 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F); {
	case s[0] >= 0xF0:
	case r >= 0x4E00 && r <= 0x9FFF, r >= 0x3041 && r <= 0x3096: // Han, Hiragana
		return character
	case r >= 0x30A1 && r <= 0x30FA, r >= 0x30FC && r <= 0x30FE:
		return katakana
	case r == 0x3001, r == 0x3002, r >= 0x3008 && r <= 0x3011: // 、。 and brackets
		return nothing
	case r >= 0x0E01 && r <= 0x0E30, r == 0x0E32, r == 0x0E33, r >= 0x0E40 && r <= 0x0E46: // Thai letters
		return character
	case r == 0x0E31, r >= 0x0E34 && r <= 0x0E3A, r >= 0x0E47 && r <= 0x0E4E: // and vowels and tones above and below them
		return mark
	}
	return unclear
}

// nextApart takes a character that is a token of its own (WB999), with its marks (WB4), or a run of Katakana
// (WB13), if what follows cannot be joined to it: ASCII, or another character that is known.
func (z *Scanner) nextApart() (found, known bool) {
	const width = 3
	s := z.text[z.at:]
	first := kindOf(s)
	if first == unclear || first == mark {
		return false, false
	}
	n := width
	for n < len(s) {
		if class[s[n]] != beyond {
			if first == katakana && s[n] == '_' { // WB13a
				return false, false
			}
			break
		}
		next := kindOf(s[n:])
		if next == unclear || next == mark && first != character {
			return false, false
		}
		if next != mark && (next != katakana || first != katakana) {
			break
		}
		n += width
	}
	if first == nothing {
		z.at += n
		return false, true
	}
	z.token = z.buf[:copy(z.buf[:MaxToken/width*width], s[:n])]
	z.begin = z.at
	z.at += n
	return true, true
}

// begins reports whether a token may begin with r. A segment may begin with anything: a few letters (U+FF9E) count
// as marks and are joined to the character before them.
func begins(r rune) bool {
	return unicode.IsLetter(r) || unicode.In(r, unicode.M, unicode.N, unicode.Pc)
}

// narrowSpace precedes punctuation in French, and joins what it separates by UAX #29.
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
