package scope

import (
	"io"

	"forager/schemas"
)

// Reason is why a link was refused; a label of bounded cardinality.
type Reason string

// List is a set of canonical URLs.
type List struct {
	ids map[schemas.ID]struct{}
}

// ReadList reads one canonical URL a line.
func ReadList(r io.Reader) (*List, error) { return nil, nil }

// NewList makes a list of canonical URLs.
func NewList(urls []string) *List { return nil }

// Scope is a schemas.Scope ready to be asked.
type Scope struct{}

// New makes a Scope; list is the object that s.UrlList names, nil when it names none.
func New(s *schemas.Scope, list *List) (*Scope, error) { return &Scope{}, nil }

// Check says whether a canonical URL found at a depth (hops from a seed) may be fetched; ""
// means yes. The cap of a host is the frontier's to count.
func (s *Scope) Check(url string, depth uint32) Reason { return "" }
