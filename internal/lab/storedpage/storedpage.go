package storedpage

import (
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	"forager/internal/platform/modelfile"
	"forager/schemas"
)

// Terms are the distinct terms of the pages of a web, in the order in which they came. The zero value is empty. Terms are safe for
// concurrent use while none are added.
type Terms struct {
	List   []string
	number map[string]uint64 // of those that Put has added
}

// Encoded is a page that was encoded without its terms, and its terms.
type Encoded struct {
	terms []string
	rest  []byte
}

// Encode encodes a page, which it changes. It may be called concurrently.
func Encode(p *schemas.Page) (*Encoded, error) {
	e := &Encoded{terms: p.Terms}
	p.Terms = nil
	var err error
	e.rest, err = proto.Marshal(p)
	return e, err
}

// Put adds the terms of a page that are new, and returns the bytes of the page, those of a Section.
func (t *Terms) Put(page *Encoded) []byte {
	if t.number == nil {
		t.number = make(map[string]uint64)
	}
	var body modelfile.Encoder
	body.Uint(uint64(len(page.terms)))
	for _, term := range page.terms {
		n, ok := t.number[term]
		if !ok {
			n = uint64(len(t.List))
			t.List = append(t.List, term)
			t.number[term] = n
		}
		body.Uint(n)
	}
	return append(body.Bytes(), page.rest...)
}

// Section is a page in a file.
type Section struct {
	File  io.ReaderAt
	Terms *Terms
	// At is the offset, Size the number of bytes.
	At   int64
	Size int
}

// Page decodes the page. The error is that of the file, or damage.
func (s Section) Page() (*schemas.Page, error) {
	b := make([]byte, s.Size)
	if _, err := s.File.ReadAt(b, s.At); err != nil {
		return nil, fmt.Errorf("read a parsed page: %w", err)
	}
	d := modelfile.NewDecoder(b)
	terms := make([]string, d.Len("terms", 1))
	for i := range terms {
		n := d.Uint("term", 1<<32)
		if n >= uint64(len(s.Terms.List)) {
			d.Fail("term %d of %d", n, len(s.Terms.List))
			break
		}
		terms[i] = s.Terms.List[n]
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
