package state

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/proto"

	"forager/internal/rank/linkvalue"
	"forager/schemas"
)

// Samples calls observe with what rankers that learn have observed at a clock or later, in its order.
func (s *Records) Samples(clock uint64, observe func(rec *schemas.LinkFound)) error {
	from := append([]byte(nil), s.Keys.U64(KindSample, clock)...)
	return s.Store.Scan(from, After(s.Keys.Kind(KindSample)), func(_, value []byte) (bool, error) {
		sample := new(schemas.LinkFound)
		if err := proto.Unmarshal(value, sample); err != nil {
			return false, fmt.Errorf("frontier: a sample of rankers that learn: %w", err)
		}
		observe(sample)
		return true, nil
	})
}

// LinkValue returns the ranker of a crawl that has observed all samples, and how many are in the store: those later than the stored ranker.
func (s *Records) LinkValue(ctl *schemas.CrawlControl) (ranker *linkvalue.Ranker, later int, err error) {
	learned, ok, err := s.Store.Get(s.Keys.Kind(KindLearned))
	if err != nil {
		return nil, 0, err
	}
	ranker, from := linkvalue.New(!ctl.GetLabelsFromUrls()), uint64(0)
	if ok {
		if ranker, err = linkvalue.Restore(learned[min(8, len(learned)):]); err != nil {
			return nil, 0, fmt.Errorf("frontier: the stored ranker: %w", err)
		}
		from = binary.BigEndian.Uint64(learned) + 1
	}
	err = s.Samples(from, func(rec *schemas.LinkFound) {
		ranker.Observe(rec)
		later++
	})
	return ranker, later, err
}

// SetLinkValue stores a ranker that has observed all samples up to that of now.
func (s *Records) SetLinkValue(ranker *linkvalue.Ranker) error {
	b, err := ranker.MarshalBinary()
	if err != nil {
		return err
	}
	return s.Store.Set(s.Keys.Kind(KindLearned), append(binary.BigEndian.AppendUint64(nil, s.Counters.Clock), b...))
}

// DropSamples deletes all samples.
func (s *Records) DropSamples() error {
	from := append([]byte(nil), s.Keys.Kind(KindSample)...)
	return s.Store.DeleteRange(from, After(from))
}
