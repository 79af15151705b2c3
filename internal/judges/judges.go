package judges

import (
	"forager/internal/critic"
	"forager/internal/modelfile"
	"forager/internal/positive"
)

// Open reads a critic's file. Errors are those of package modelfile; bytes that are no file of a
// critic are refused as those of package critic are.
func Open(b []byte) (critic.Judge, error) {
	switch modelfile.Kind(b) {
	case positive.FileKind:
		return orNothing(positive.Unmarshal(b))
	default:
		return orNothing(critic.Unmarshal(b))
	}
}

// orNothing keeps a nil pointer from becoming a judge that is not nil.
func orNothing[J critic.Judge](j J, err error) (critic.Judge, error) {
	if err != nil {
		return nil, err
	}
	return j, nil
}
