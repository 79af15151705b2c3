package state

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"forager/schemas"
)

// Samples calls observe with what rankers that learn have observed, in its order.
func (s *Records) Samples(observe func(rec *schemas.LinkFound)) error {
	from := append([]byte(nil), s.Keys.Kind(KindSample)...)
	return s.Store.Scan(from, After(from), func(_, value []byte) (bool, error) {
		sample := new(schemas.LinkFound)
		if err := proto.Unmarshal(value, sample); err != nil {
			return false, fmt.Errorf("frontier: a sample of rankers that learn: %w", err)
		}
		observe(sample)
		return true, nil
	})
}
