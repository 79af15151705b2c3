package judges

import (
	"bytes"
	"runtime"

	"forager/internal/classify/critic"
	"forager/internal/classify/pagerules"
	"forager/internal/classify/positive"
	"forager/internal/classify/predicate"
	"forager/internal/platform/modelfile"
)

// Open reads a critic's file; one that asks a service does so by the options. Errors are those of
// package modelfile; bytes that are no file of a critic are refused as those of package critic are.
func Open(b []byte, o predicate.Options) (critic.Judge, error) {
	switch modelfile.Kind(b) {
	case pagerules.FileKind:
		return orNothing(pagerules.Unmarshal(b))
	case predicate.FileKind:
		p, err := predicate.Unmarshal(b)
		if err != nil {
			return nil, err
		}
		return p.Client(o), nil
	case positive.FileKind:
		return orNothing(positive.Unmarshal(b))
	default:
		return orNothing(critic.Unmarshal(b))
	}
}

// OpenMapped is Open for a mapped file. A trained critic is read in place and holds the file.
func OpenMapped(file *modelfile.Mapped, o predicate.Options) (critic.Judge, error) {
	if modelfile.Kind(file.Bytes()) == critic.FileKind {
		return orNothing(critic.UnmarshalMapped(file))
	}
	by, err := Open(bytes.Clone(file.Bytes()), o)
	runtime.KeepAlive(file)
	return by, err
}

// orNothing keeps a nil pointer from becoming a judge that is not nil.
func orNothing[J critic.Judge](j J, err error) (critic.Judge, error) {
	if err != nil {
		return nil, err
	}
	return j, nil
}

// ReadsURLs says whether a judge may look at the URL of a page: it must not judge where the labels
// of pages follow from their URLs.
func ReadsURLs(by critic.Judge) bool {
	r, ok := by.(interface{ ReadsURLs() bool })
	return ok && r.ReadsURLs()
}
