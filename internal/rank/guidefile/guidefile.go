package guidefile

import (
	"bytes"
	"fmt"
	"runtime"

	"forager/internal/classify/httpmodel"
	"forager/internal/platform/modelfile"
	"forager/internal/rank/guide"
	"forager/internal/rank/pageguide"
)

// Open reads a guide's file; a guide that is a service is called with the options. Errors are those of package modelfile,
// or that the file is not a guide's.
func Open(b []byte, o httpmodel.Options) (guide.Guide, error) {
	switch kind := modelfile.Kind(b); kind {
	case httpmodel.LinksKind:
		p, err := httpmodel.UnmarshalLinks(b)
		if err != nil {
			return nil, err
		}
		return p.Client(o), nil
	case "fish-search", "shark-search", "q-value":
		return nil, fmt.Errorf("%w: a guide of kind %q is a comparator of the laboratory, which forager-lab experiment makes and runs", modelfile.ErrForeign, kind)
	case "":
		return nil, fmt.Errorf("%w: a guide begins with its kind, this with %.24q", modelfile.ErrForeign, b[:min(len(b), 24)])
	default:
		if !pageguide.IsFile(b) {
			return nil, fmt.Errorf("%w: this program has no guide of kind %q", modelfile.ErrForeign, kind)
		}
		by, err := pageguide.Unmarshal(b)
		if err != nil {
			return nil, err // by is a nil pointer, which is not a nil guide.Guide
		}
		return by, nil
	}
}

// Ranker returns the name in crawl files of the ranker that a guide is (crawlfile.Guides).
func Ranker(by guide.Guide) string {
	switch by := by.(type) {
	case interface{ Ranker() string }:
		return by.Ranker()
	case *httpmodel.LinkClient:
		return httpmodel.LinksKind
	}
	return ""
}

// OpenMapped is Open of a mapped file.
func OpenMapped(file *modelfile.Mapped, o httpmodel.Options) (guide.Guide, error) {
	by, err := Open(bytes.Clone(file.Bytes()), o)
	runtime.KeepAlive(file)
	return by, err
}
