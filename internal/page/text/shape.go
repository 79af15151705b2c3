package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Shape is the information that lower case and dropped spaces remove from a token. It takes two bits.
type Shape uint8

const (
	// Lower: no capitals, or nothing that has case; for a character of an unspaced script: separated from the token before.
	Lower Shape = iota
	// Capital: the first letter is a capital, the others are not. For a character of an unspaced script: adjacent
	// to the token before.
	Capital
	// Capitals: two letters or more, all capitals, but for what follows an apostrophe.
	Capitals
	// Mixed: any other mixture.
	Mixed
)

// Joined is the Shape of a character of an unspaced script that follows the token before directly.
const Joined = Capital

// Shape returns the shape of the token that Next found.
func (z *Scanner) Shape() Shape {
	if isUnspaced(z.token) {
		if z.begin > 0 && z.begin == z.last {
			return Joined
		}
		return Lower
	}
	var letters, capitals int
	first := false
	for i := z.begin; i < z.at; {
		r, width := rune(z.text[i]), 1
		if r >= utf8.RuneSelf {
			r, width = utf8.DecodeRuneInString(z.text[i:])
		}
		i += width
		if letters > 0 && (r == '\'' || r == '’') {
			break // "NASA's" is NASA
		}
		upper := r >= 'A' && r <= 'Z' || r >= utf8.RuneSelf && (unicode.IsUpper(r) || unicode.IsTitle(r))
		switch {
		case upper:
			capitals++
			first = first || letters == 0
			letters++
		case r >= 'a' && r <= 'z' || r >= utf8.RuneSelf && unicode.IsLetter(r):
			letters++
		}
	}
	switch {
	case capitals == 0:
		return Lower
	case capitals == 1 && first:
		return Capital
	case capitals == letters:
		return Capitals
	}
	return Mixed
}

// AppendShape appends the shape of token number n, 4 tokens a byte, the first in the lowest bits.
func AppendShape(shapes []byte, n int, s Shape) []byte {
	if n%4 == 0 {
		return append(shapes, byte(s))
	}
	shapes[n/4] |= byte(s) << (n % 4 * 2)
	return shapes
}

// ShapeAt returns the shape of token number n; Lower where there is none.
func ShapeAt(shapes []byte, n int) Shape {
	if n/4 >= len(shapes) {
		return Lower
	}
	return Shape(shapes[n/4] >> (n % 4 * 2) & 3)
}

// Written returns a token of a shape as it was written, and whether it followed the token before without a space,
// in a script that has none. Mixed case cannot be restored.
func Written(token string, s Shape) (word string, joined bool) {
	if s == Lower || s == Mixed || token == "" {
		return token, false
	}
	if isUnspaced([]byte(token)) {
		return token, s == Joined
	}
	at := max(0, strings.IndexFunc(token, unicode.IsLetter))
	if s == Capital {
		first, width := utf8.DecodeRuneInString(token[at:])
		return token[:at] + string(unicode.ToTitle(first)) + token[at+width:], false
	}
	end := len(token)
	if i := strings.IndexAny(token[at:], "'’"); i >= 0 { // "NASA's" is NASA
		end = at + i
	}
	return strings.ToUpper(token[:end]) + token[end:], false
}

// isUnspaced reports whether a token is a character of a script without spaces between words that is cut into
// characters.
func isUnspaced(token []byte) bool {
	const thai = 0xE0 // the first byte of U+0E00; no character above it has a lower one
	if token[0] < thai {
		return false
	}
	r, _ := utf8.DecodeRune(token)
	if r >= 0x4E00 && r <= 0x9FFF || r >= 0x3041 && r <= 0x3096 || r >= 0x0E01 && r <= 0x0E3A {
		return true
	}
	if r >= 0x30A0 && r <= 0x30FF { // Katakana, whose most common mark belongs to no script
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
