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

// Open reads a critic's file; a critic that calls a service does so with the options. Errors are those of package
// modelfile; bytes that are no critic's file get the same error as in package critic.
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

// OpenMapped is Open for a mapped file. A trained critic is read in place and keeps the file open.
func OpenMapped(file *modelfile.Mapped, o predicate.Options) (critic.Judge, error) {
	if modelfile.Kind(file.Bytes()) == critic.FileKind {
		return orNothing(critic.UnmarshalMapped(file))
	}
	by, err := Open(bytes.Clone(file.Bytes()), o)
	runtime.KeepAlive(file)
	return by, err
}

// orNothing converts a nil pointer to a nil Judge.
func orNothing[J critic.Judge](j J, err error) (critic.Judge, error) {
	if err != nil {
		return nil, err
	}
	return j, nil
}

// ReadsURLs reports whether a judge may read the URL of a page: it must not be used where the labels of pages
// follow from their URLs.
func ReadsURLs(by critic.Judge) bool {
	r, ok := by.(interface{ ReadsURLs() bool })
	return ok && r.ReadsURLs()
}
