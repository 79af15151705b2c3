package guides

import (
	"bytes"
	"fmt"
	"runtime"

	"forager/internal/classify/predicate"
	"forager/internal/platform/modelfile"
	"forager/internal/rank/guide"
	"forager/internal/rank/localguide"
	"forager/internal/rank/qvalue"
	"forager/internal/rank/shark"
)

// Open reads a guide's file; a guide that is a service is called with the options. Errors are those of package modelfile,
// or that the file is not a guide's.
func Open(b []byte, o predicate.Options) (guide.Guide, error) {
	switch kind := modelfile.Kind(b); kind {
	case predicate.LinksKind:
		p, err := predicate.UnmarshalLinks(b)
		if err != nil {
			return nil, err
		}
		return p.Client(o), nil
	case qvalue.Kind:
		return opened(qvalue.Unmarshal(b))
	case shark.FishKind:
		return opened(shark.UnmarshalFish(b))
	case shark.SharkKind:
		return opened(shark.UnmarshalShark(b))
	case "":
		return nil, fmt.Errorf("%w: a guide begins with its kind, this with %.24q", modelfile.ErrForeign, b[:min(len(b), 24)])
	default:
		if localguide.IsFile(b) {
			return opened(localguide.Unmarshal(b))
		}
		return nil, fmt.Errorf("%w: this program knows no guide of kind %q", modelfile.ErrForeign, kind)
	}
}

// Ranker returns the name in crawl files of the ranker that a guide is (crawlfile.Guides).
func Ranker(by guide.Guide) string {
	switch by := by.(type) {
	case interface{ Ranker() string }:
		return by.Ranker()
	case *predicate.LinkClient:
		return predicate.LinksKind
	case *qvalue.Model:
		return "rennie-mccallum"
	case *shark.Fish:
		return shark.FishKind
	case *shark.Shark:
		return shark.SharkKind
	}
	return ""
}

// opened converts the result of a reader to a guide.Guide, which is nil after an error and no interface of a nil *G.
func opened[G guide.Guide](g G, err error) (guide.Guide, error) {
	if err != nil {
		return nil, err
	}
	return g, nil
}

// OpenMapped is Open of a mapped file.
func OpenMapped(file *modelfile.Mapped, o predicate.Options) (guide.Guide, error) {
	by, err := Open(bytes.Clone(file.Bytes()), o)
	runtime.KeepAlive(file)
	return by, err
}
