package criticfile

import (
	"bytes"
	"runtime"

	"forager/internal/classify/critic"
	"forager/internal/classify/httpmodel"
	"forager/internal/classify/pagerules"
	"forager/internal/classify/pulearning"
	"forager/internal/platform/modelfile"
)

// Open reads a critic's file; a critic that calls a service does so with the options. Errors are those of package
// modelfile; bytes that are no critic's file get the same error as in package critic.
func Open(b []byte, o httpmodel.Options) (critic.Classifier, error) {
	switch modelfile.Kind(b) {
	case pagerules.FileKind:
		return orNothing(pagerules.Unmarshal(b))
	case httpmodel.FileKind:
		p, err := httpmodel.Unmarshal(b)
		if err != nil {
			return nil, err
		}
		return p.Client(o), nil
	case pulearning.FileKind:
		return orNothing(pulearning.Unmarshal(b))
	default:
		return orNothing(critic.Unmarshal(b))
	}
}

// OpenMapped is Open for a mapped file. A trained critic is read in place and keeps the file open.
func OpenMapped(file *modelfile.Mapped, o httpmodel.Options) (critic.Classifier, error) {
	if modelfile.Kind(file.Bytes()) == critic.FileKind {
		return orNothing(critic.UnmarshalMapped(file))
	}
	by, err := Open(bytes.Clone(file.Bytes()), o)
	runtime.KeepAlive(file)
	return by, err
}

// orNothing converts a nil pointer to a nil Classifier.
func orNothing[C critic.Classifier](c C, err error) (critic.Classifier, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

// ReadsURLs reports whether a classifier may read the URL of a page: it must not be used where the labels of pages
// follow from their URLs.
func ReadsURLs(by critic.Classifier) bool {
	r, ok := by.(interface{ ReadsURLs() bool })
	return ok && r.ReadsURLs()
}
