package rank

// Bound limits the memory of a ranker that learns from verdicts, in bytes, by estimates. Once it is full, such a ranker
// adds nothing new. That depends only on the verdicts before, so a replay has the same result.
type Bound struct {
	// Limit of Used; 0 = MaxLearned.
	Limit, Used int
	// Skipped is the number of verdicts of which something was not added.
	Skipped uint64
}

// MaxLearned is the default limit of such a ranker, for one shard of a crawl, bytes; the record that fills it may exceed
// it.
const MaxLearned = 128 << 20

// Estimates of the memory of an item, bytes, without its text.
const (
	// MapCost is that of an entry of a map of small keys and values.
	MapCost = 64
	// TextCost is that of a string or a slice.
	TextCost = 16
)

// Full reports whether nothing new is to be added.
func (b *Bound) Full() bool {
	limit := b.Limit
	if limit == 0 {
		limit = MaxLearned
	}
	return b.Used >= limit
}
