package rank

// Bound limits the memory of a ranker that learns from verdicts, bytes, by estimates. Such a ranker takes in nothing new once it
// is full, which follows from what it has taken in alone; so a replay comes to the same.
type Bound struct {
	// Limit of Used; 0 = MaxLearned.
	Limit, Used int
	// Skipped are the verdicts of which something was not taken in.
	Skipped uint64
}

// MaxLearned is what such a ranker takes in memory at most, for one shard of a crawl, bytes; the record that fills it comes on top.
const MaxLearned = 128 << 20

// What an item takes in memory, bytes, beside its text.
const (
	// MapCost is that of an entry of a map of small keys and values.
	MapCost = 64
	// TextCost is that of a string or a slice.
	TextCost = 16
)

// Full says that nothing new is to be taken in.
func (b *Bound) Full() bool {
	limit := b.Limit
	if limit == 0 {
		limit = MaxLearned
	}
	return b.Used >= limit
}
