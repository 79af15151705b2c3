package experiment

import (
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/proto"

	"forager/internal/platform/modelfile"
	"forager/schemas"
)

// dictionary is the terms of the pages of a web, in the order in which they came. Stored pages have the numbers of their terms, and
// what is decoded of them shares the terms: looking them up for each page took as long as judging it. It is safe for concurrent
// use once it is complete.
type dictionary struct {
	text   strings.Builder // one term behind the other
	ends   []uint64        // of each in text
	number map[string]uint64
}

// encoded is a parsed page without its terms, encoded, and its terms.
type encoded struct {
	terms []string
	rest  []byte
}

// encode encodes a page, which it changes.
func encode(p *schemas.Page) (*encoded, error) {
	e := &encoded{terms: p.Terms}
	p.Terms = nil
	var err error
	e.rest, err = proto.Marshal(p)
	return e, err
}

// add adds a term that is new.
func (d *dictionary) add(term string) {
	d.text.WriteString(term)
	d.ends = append(d.ends, uint64(d.text.Len()))
}

// put returns the numbers of terms, and writes those that are new.
func (d *dictionary) put(e *modelfile.Encoder, terms []string) []uint64 {
	if d.number == nil {
		d.number = make(map[string]uint64)
	}
	known, numbers := len(d.ends), make([]uint64, len(terms))
	for i, term := range terms {
		n, ok := d.number[term]
		if !ok {
			n = uint64(len(d.ends))
			d.add(term)
			d.number[d.term(n)] = n
		}
		numbers[i] = n
	}
	e.Uint(uint64(len(d.ends) - known))
	for n := known; n < len(d.ends); n++ {
		e.String(d.term(uint64(n)))
	}
	return numbers
}

// take adds the new terms that put wrote; the Decoder has the error.
func (d *dictionary) take(from *modelfile.Decoder) {
	for range from.Len("new terms", 1) {
		d.add(from.String("new term"))
	}
}

func (d *dictionary) term(n uint64) string {
	var from uint64
	if n > 0 {
		from = d.ends[n-1]
	}
	return d.text.String()[from:d.ends[n]]
}

// section is a parsed page in a file: the numbers of its terms, then the rest of it.
type section struct {
	file  io.ReaderAt
	terms *dictionary
	at    int64
	n     int
}

// body returns the bytes of a section.
func (e *encoded) body(numbers []uint64) []byte {
	var b modelfile.Encoder
	b.Uint(uint64(len(numbers)))
	for _, n := range numbers {
		b.Uint(n)
	}
	return append(b.Bytes(), e.rest...)
}

// page decodes the parsed page.
func (s section) page() (*schemas.Page, error) {
	b := make([]byte, s.n)
	if _, err := s.file.ReadAt(b, s.at); err != nil {
		return nil, fmt.Errorf("read a parsed page: %w", err)
	}
	d := modelfile.NewDecoder(b)
	terms := make([]string, d.Len("terms", 1))
	for i := range terms {
		n := d.Uint("term", 1<<32)
		if n >= uint64(len(s.terms.ends)) {
			d.Fail("term %d of %d", n, len(s.terms.ends))
			break
		}
		terms[i] = s.terms.term(n)
	}
	p := new(schemas.Page)
	err := d.Err()
	if err == nil {
		err = proto.Unmarshal(d.Rest(), p)
	}
	if err != nil {
		return nil, fmt.Errorf("read a parsed page: %w", err)
	}
	p.Terms = append(terms, p.Terms...)
	return p, nil
}
