package text

import "unicode/utf8"

// pairs makes pairs of the characters of scripts without spaces. The zero value is ready to use.
type pairs struct {
	open  []byte // the previous character, which may form a pair with the next
	alone bool   // it is in no pair yet

	bytes []byte
	ends  []int // ends in bytes of the words that are to be taken
	taken int
	times []uint32 // number of occurrences of each
}

func (p *pairs) reset() {
	*p = pairs{open: p.open[:0], bytes: p.bytes[:0], ends: p.ends[:0], times: p.times[:0]}
}

// add adds a token; false for one that is not made into pairs.
func (p *pairs) add(token []byte, shape Shape, n uint32) bool {
	if isUnspaced(token) {
		if len(p.open) > 0 && shape == Joined {
			p.put(p.open, token, n)
			p.alone = false
		} else {
			p.close()
			p.alone = true
		}
		p.open = append(p.open[:0], token...)
		return true
	}
	if !isHangul(token) {
		return false
	}
	p.close()
	for i := 0; i == 0 || i+2*syllable <= len(token); i += syllable {
		p.put(token[i:min(i+2*syllable, len(token))], nil, n)
	}
	return true
}

// close ends a run of characters.
func (p *pairs) close() {
	if p.alone {
		p.put(p.open, nil, 1)
	}
	p.open, p.alone = p.open[:0], false
}

func (p *pairs) put(a, b []byte, n uint32) {
	if p.empty() {
		p.bytes, p.ends, p.times, p.taken = p.bytes[:0], p.ends[:0], p.times[:0], 0
	}
	p.bytes = append(append(p.bytes, a...), b...)
	p.ends, p.times = append(p.ends, len(p.bytes)), append(p.times, n)
}

func (p *pairs) empty() bool { return p.taken == len(p.ends) }

// take returns the next word, of which there must be one, and its number of occurrences.
func (p *pairs) take() (word []byte, n uint32) {
	from := 0
	if p.taken > 0 {
		from = p.ends[p.taken-1]
	}
	p.taken++
	return p.bytes[from:p.ends[p.taken-1]], p.times[p.taken-1]
}

// syllable is the length of a Hangul syllable, bytes.
const syllable = 3

// isHangul reports whether a token is all Hangul syllables.
func isHangul(token []byte) bool {
	for i := 0; i < len(token); i += syllable {
		if r, width := utf8.DecodeRune(token[i:]); width != syllable || r < 0xAC00 || r > 0xD7A3 {
			return false
		}
	}
	return true
}
