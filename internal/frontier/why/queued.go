package why

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"forager/internal/frontier/queue"
	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
	"forager/schemas"
)

// QueuedPath is where prioritize lists queued URLs: the parameters are crawl and shard.
const QueuedPath = Path + "/queued"

// mostQueues bounds the hosts among whose queues the best URLs are found. The oldest are found among the first mostRead URLs.
const mostQueues = 1 << 16

// Queues are some of the URLs that are queued or wait for another try.
type Queues struct {
	// Best by the first policy, the best first, and Oldest, in the order in which they were found; at most MostBest each.
	Best   []QueuedURL `json:"best"`
	Oldest []QueuedURL `json:"oldest"`
	// Exact: all of the shard was looked at that may have such URLs.
	Exact bool `json:"exact"`
}

// QueuedURL is a URL with its place under the first policy.
type QueuedURL struct {
	Ranked
	Depth uint32 `json:"depth"`
	Tries uint32 `json:"tries" doc:"Those that failed."`
	Cause string `json:"cause" doc:"What it waits for, of the causes of the crawl."`
}

// List returns queued URLs of a shard under its control record; without state there are none. The error is one of the store, or that the
// state is of another version or has another form.
func List(store storage.Store, ctl *schemas.CrawlControl, shard uint32, now time.Time) (*Queues, error) {
	q, err := open(store, Question{Control: ctl, Shard: shard, Now: now})
	x := &Queues{Best: []QueuedURL{}, Oldest: []QueuedURL{}}
	if err == nil {
		err = q.best(x)
	}
	if err == nil {
		err = q.oldest(x)
	}
	if err != nil {
		return nil, fmt.Errorf("queues of crawl %s: %w", ctl.GetCrawl(), err)
	}
	hosts, known := uint64(q.state.Counters.Hosts), q.state.Counters.Entries
	x.Exact = hosts <= mostQueues && (known <= mostRead || len(x.Oldest) == MostBest)
	return x, nil
}

// best lists the best URLs: in the queue of a host those are read that come before the worst one found so far.
func (q *question) best(x *Queues) error {
	var best []state.Order
	hosts := uint64(q.state.Counters.Hosts)
	looked := 0
	for number := range sampled(hosts) {
		if looked++; looked > mostQueues {
			break
		}
		h, err := q.hosts.ReadHost(number)
		if err != nil {
			return err
		}
		err = q.queueOf(0, number, h, state.Order{Tier: math.MaxUint8, Tries: math.MaxUint16, Score: math.Inf(-1), Ordinal: math.MaxUint64}, func(o state.Order) bool {
			at, _ := slices.BinarySearchFunc(best, o, state.CompareOrders)
			if at == MostBest {
				return false
			}
			best = slices.Insert(best, at, o)
			best = best[:min(len(best), MostBest)]
			return true
		})
		if err != nil {
			return err
		}
	}
	for _, o := range best {
		e, err := q.state.Entry(o.Ordinal)
		if err != nil {
			return err
		}
		if x.Best, err = q.list(x.Best, e); err != nil {
			return err
		}
	}
	return nil
}

// oldest lists the URLs that were found first.
func (q *question) oldest(x *Queues) error {
	var oldest []*state.Entry
	begin, end := q.state.Keys.Entries(1, min(max(q.state.Counters.Entries, 1), mostRead))
	err := q.state.Store.Scan(begin, end, func(key, value []byte) (bool, error) {
		if !queue.IsUnvisited(value) {
			return true, nil
		}
		ordinal, err := q.state.Keys.ParseU64(key)
		if err != nil {
			return false, err
		}
		e, err := state.DecodeEntry(ordinal, value)
		if err == nil && e.State != state.Excluded {
			oldest = append(oldest, e)
		}
		return len(oldest) < MostBest, err
	})
	for _, e := range oldest {
		if err == nil {
			x.Oldest, err = q.list(x.Oldest, e)
		}
	}
	return err
}

// list appends an entry with its cause.
func (q *question) list(to []QueuedURL, e *state.Entry) ([]QueuedURL, error) {
	c, err := q.cause(e)
	return append(to, QueuedURL{rankedOf(e), e.Depth, e.Tries, schemas.WaitName(c)}), err
}

// Merge adds the URLs of another shard. The oldest are of all shards in turn, as their times are not known.
func (x *Queues) Merge(other *Queues) {
	x.Best = slices.SortedStableFunc(slices.Values(slices.Concat(x.Best, other.Best)), func(a, b QueuedURL) int {
		return cmp.Or(cmp.Compare(a.Tier, b.Tier), cmp.Compare(a.Tries, b.Tries), cmp.Compare(b.Score, a.Score))
	})
	x.Best = x.Best[:min(len(x.Best), MostBest)]
	x.Oldest = slices.Concat(x.Oldest, other.Oldest)
	x.Exact = x.Exact && other.Exact
}
