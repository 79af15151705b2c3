package why

import (
	"fmt"
	"math"
	"slices"

	"forager/internal/frontier/queue"
	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
	"forager/internal/web/scope"
	"forager/schemas"
)

// ExcludesPath is where prioritize counts what exclude rules would change: the form parameters are crawl, shard and excludes, a
// schemas.Excludes in JSON.
const ExcludesPath = Path + "/excludes"

const (
	// mostRead URLs are looked at; of a larger shard blocks of blockSize that are spread evenly.
	mostRead, blockSize = 1 << 20, 1 << 12
	// MostBest is the length of the list of the best URLs.
	MostBest = 20
)

// Effect counts what exclude rules would change among the URLs that are not visited.
type Effect struct {
	// Queued are the URLs that are queued or wait for another try, Removed those of them that the rules would keep out. Admitted are kept
	// out now and would not be.
	Queued   uint64 `json:"queued"`
	Removed  uint64 `json:"removed"`
	Admitted uint64 `json:"admitted"`
	// Exact: all URLs were looked at. Otherwise the numbers are estimates.
	Exact bool `json:"exact"`
	// Best of the removed URLs that were looked at, by the first policy, the best first; at most MostBest.
	Best []Ranked `json:"best"`
}

// Ranked is a URL with its place under a policy.
type Ranked struct {
	URL string `json:"url"`
	// Tier of a URL without a place is the highest number.
	Tier  uint32  `json:"tier"`
	Score float64 `json:"score"`
	order state.Order
}

// Placed reports whether the URL has a place.
func (r Ranked) Placed() bool { return r.Tier != math.MaxUint32 }

// Exclude counts what rules would change in the state of a shard. The error is one of the store or names a rule that is wrong.
func Exclude(store storage.Store, name state.ShardName, rules *schemas.Excludes) (*Effect, error) {
	excludes, err := scope.NewExcludes(rules)
	if err != nil {
		return nil, err
	}
	x, records := &Effect{Best: []Ranked{}}, state.NewRecords(store, name)
	if err := load(records); err != nil {
		return nil, err
	}
	known, read := records.Counters.Entries, uint64(0)
	for from, to := range blocks(known) {
		read += to - from + 1
		begin, end := records.Keys.Entries(from, to)
		err := store.Scan(begin, end, func(key, value []byte) (bool, error) {
			if !queue.IsUnvisited(value) {
				return true, nil
			}
			ordinal, err := records.Keys.ParseU64(key)
			if err != nil {
				return false, err
			}
			e, err := state.DecodeEntry(ordinal, value)
			if err == nil {
				x.count(e, excludes.URL(e.URL) != "")
			}
			return err == nil, err
		})
		if err != nil {
			return nil, fmt.Errorf("exclude rules of crawl %s: %w", name.Crawl, err)
		}
	}
	x.Exact = read == known
	if !x.Exact {
		for _, n := range []*uint64{&x.Queued, &x.Removed, &x.Admitted} {
			*n = uint64(float64(*n) * float64(known) / float64(read))
		}
	}
	return x, nil
}

// blocks iterates over the ranges of ordinals from 1 to n that are looked at, by their first and last.
func blocks(n uint64) func(yield func(from, to uint64) bool) {
	return func(yield func(from, to uint64) bool) {
		const most = mostRead / blockSize
		if n <= mostRead {
			if n > 0 {
				yield(1, n)
			}
			return
		}
		for i := range uint64(most) {
			from := 1 + i*(n-blockSize)/(most-1)
			if !yield(from, from+blockSize-1) {
				return
			}
		}
	}
}

func (x *Effect) count(e *state.Entry, out bool) {
	switch {
	case e.State == state.Excluded:
		if !out {
			x.Admitted++
		}
		return
	case out:
		x.Removed++
		x.add(rankedOf(e))
	}
	x.Queued++
}

// rankedOf is an entry with its place under the first policy.
func rankedOf(e *state.Entry) Ranked {
	r := Ranked{URL: e.URL, Tier: math.MaxUint32, order: state.Order{Tier: math.MaxUint32, Ordinal: e.Ordinal}}
	if len(e.Places) > 0 && e.Places[0].In {
		r.Tier, r.Score, r.order = e.Places[0].Tier, e.Places[0].Score, e.Order(0)
	}
	return r
}

// add keeps a URL if it is among the best.
func (x *Effect) add(r Ranked) {
	at, _ := slices.BinarySearchFunc(x.Best, r, func(a, b Ranked) int { return state.CompareOrders(a.order, b.order) })
	if at < MostBest {
		x.Best = slices.Insert(x.Best, at, r)
		x.Best = x.Best[:min(len(x.Best), MostBest)]
	}
}

// Merge adds what was counted in another shard.
func (x *Effect) Merge(other *Effect) {
	x.Queued, x.Removed, x.Admitted = x.Queued+other.Queued, x.Removed+other.Removed, x.Admitted+other.Admitted
	x.Exact = x.Exact && other.Exact
	for i, r := range other.Best {
		r.order = state.Order{Tier: r.Tier, Score: r.Score, Ordinal: uint64(i)}
		x.add(r)
	}
}
