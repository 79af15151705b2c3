package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/stream"
	"forager/schemas"
)

// placed is the first record of an id, with its place.
type placed[M any] struct {
	M      M
	offset int64
	at     time.Time
}

// fact is all that the topics have of a request.
type fact struct {
	request *schemas.FetchRequest
	fetched *schemas.PageFetched
	judged  *schemas.PageJudged
	page    *schemas.Page
	verdict placed[*schemas.LinkFound]
}

func (f *fact) outcome() string {
	if f.verdict.M == nil {
		return ""
	}
	return schemas.OutcomeName(f.verdict.M.Outcome)
}

func (f *fact) delivered() bool { return f.outcome() == "delivered" }
func (f *fact) r() float64      { return f.verdict.M.GetJudgement().GetRaw() }

// recount has the records of topics without those that count for nothing: later ones of an id, and dispatches of replaced owners.
type recount struct {
	facts    map[string][]*fact                        // with a valid dispatch
	verdicts map[string][]placed[*schemas.LinkFound]   // on requests, and lists of seeds
	fetched  map[string][]*schemas.PageFetched         // in any order
	judged   map[string][]*fact                        // judged and page only
	leaps    map[string][]*schemas.LeapSettled         // without boundaries
	models   map[string][]*schemas.ModelPublished      //
	hubs     map[string][]*schemas.HubRanked           //
	statuses map[string][]*schemas.CrawlStatus         //
	letters  []placed[*schemas.DeadLetter]             //
	headers  map[*schemas.DeadLetter]map[string]string // of letters
	settled  map[*schemas.LeapSettled]time.Time        // when a leap was written
	of       map[string]*fact
}

func decoded[M proto.Message](t testing.TB, r *stream.Record, m M) M {
	t.Helper()
	if err := proto.Unmarshal(r.Value, m); err != nil {
		t.Fatal(err)
	}
	return m
}

// recounted reads records, which are in the order of the offsets of their partitions.
func recounted(t testing.TB, records []stream.Record) *recount {
	c := &recount{
		facts: map[string][]*fact{}, verdicts: map[string][]placed[*schemas.LinkFound]{}, fetched: map[string][]*schemas.PageFetched{}, judged: map[string][]*fact{},
		leaps: map[string][]*schemas.LeapSettled{}, models: map[string][]*schemas.ModelPublished{}, hubs: map[string][]*schemas.HubRanked{},
		statuses: map[string][]*schemas.CrawlStatus{}, headers: map[*schemas.DeadLetter]map[string]string{}, of: map[string]*fact{}, settled: map[*schemas.LeapSettled]time.Time{},
	}
	seen := map[string]bool{}
	first := func(r *stream.Record, key any) bool {
		k := fmt.Sprint(r.Topic, " ", key)
		if seen[k] {
			return false
		}
		seen[k] = true
		return true
	}
	epochs := map[string]uint64{}
	for i := range records {
		r := &records[i]
		switch r.Topic {
		case schemas.TopicFetchRequested:
			m := decoded(t, r, new(schemas.FetchRequest))
			owner := fmt.Sprint(r.Partition, " ", m.Owner)
			if m.Marker {
				epochs[owner] = max(epochs[owner], m.Epoch)
			} else if m.Epoch >= epochs[owner] && first(r, m.Id) {
				f := c.fact(m.Id)
				f.request = m
				c.facts[m.Crawl] = append(c.facts[m.Crawl], f)
			}
		case schemas.TopicPageFetched:
			if m := decoded(t, r, new(schemas.PageFetched)); first(r, m.Id) {
				c.fact(m.Id).fetched = m
				c.fetched[m.Crawl] = append(c.fetched[m.Crawl], m)
			}
		case schemas.TopicPageJudged:
			if m := decoded(t, r, new(schemas.PageJudged)); first(r, m.Id) && m.Outcome == schemas.Outcome_OUTCOME_DELIVERED {
				parsed := new(schemas.PageParsed)
				if err := proto.Unmarshal(m.Parsed, parsed); err != nil {
					t.Fatal(err)
				}
				f := c.fact(m.Id)
				f.judged, f.page = m, parsed.Page
				c.judged[m.Crawl] = append(c.judged[m.Crawl], f)
			}
		case schemas.TopicLinkFound:
			if m := decoded(t, r, new(schemas.LinkFound)); first(r, m.Id) {
				v := placed[*schemas.LinkFound]{m, r.Offset, r.Time}
				c.verdicts[m.Crawl] = append(c.verdicts[m.Crawl], v)
				c.fact(m.Id).verdict = v
			}
		case schemas.TopicLeapSettled:
			if m := decoded(t, r, new(schemas.LeapSettled)); first(r, m.Id) && !m.Boundary {
				c.leaps[m.Crawl] = append(c.leaps[m.Crawl], m)
				c.settled[m] = r.Time
			}
		case schemas.TopicModelPublished:
			if m := decoded(t, r, new(schemas.ModelPublished)); first(r, m.Version) {
				c.models[m.Crawl] = append(c.models[m.Crawl], m)
			}
		case schemas.TopicHubRanked:
			if m := decoded(t, r, new(schemas.HubRanked)); first(r, m.Id) {
				c.hubs[m.Crawl] = append(c.hubs[m.Crawl], m)
			}
		case schemas.TopicCrawlStatus:
			if m := decoded(t, r, new(schemas.CrawlStatus)); first(r, fmt.Sprint(m.Crawl, m.Shard, m.At, m.Epoch)) {
				c.statuses[m.Crawl] = append(c.statuses[m.Crawl], m)
			}
		case schemas.TopicDeadLetter:
			if m := decoded(t, r, new(schemas.DeadLetter)); first(r, fmt.Sprint(m.Stage, m.Topic, m.Partition, m.Offset)) {
				c.letters = append(c.letters, placed[*schemas.DeadLetter]{m, r.Offset, r.Time})
				c.headers[m] = r.Headers
			}
		}
	}
	return c
}

func (c *recount) fact(id []byte) *fact {
	f := c.of[string(id)]
	if f == nil {
		f = new(fact)
		c.of[string(id)] = f
	}
	return f
}

func (c *recount) crawls() []string { return slices.Sorted(maps.Keys(c.facts)) }

// applied returns the verdicts on requests in the order of the crawl.
func (c *recount) applied(crawl string) (all []placed[*schemas.LinkFound]) {
	shards := uint32(0)
	for _, v := range c.verdicts[crawl] {
		if v.M.Outcome != schemas.Outcome_OUTCOME_SEEDS {
			all = append(all, v)
			shards = max(shards, v.M.Shard)
		}
	}
	slices.SortFunc(all, func(a, b placed[*schemas.LinkFound]) int {
		if shards > 0 && !a.at.Equal(b.at) {
			return a.at.Compare(b.at)
		}
		return cmp.Or(cmp.Compare(a.M.Shard, b.M.Shard), cmp.Compare(a.offset, b.offset))
	})
	return all
}

func (c *recount) delivered(crawl string) (all []placed[*schemas.LinkFound]) {
	for _, v := range c.applied(crawl) {
		if v.M.Outcome == schemas.Outcome_OUTCOME_DELIVERED {
			all = append(all, v)
		}
	}
	return all
}

// ended are the requests with a verdict.
func (c *recount) ended(crawl string) (all []*fact) {
	for _, f := range c.facts[crawl] {
		if f.outcome() != "" {
			all = append(all, f)
		}
	}
	return all
}

// targets are the leaps to pages, from pages.
func (c *recount) targets(crawl string) (all []*schemas.LeapSettled) {
	for _, l := range c.leaps[crawl] {
		if l.Outcome == schemas.Outcome_OUTCOME_DELIVERED {
			all = append(all, l)
		}
	}
	return all
}

func (c *recount) fromPages(crawl string) []*schemas.LeapSettled {
	return slices.DeleteFunc(c.targets(crawl), func(l *schemas.LeapSettled) bool { return l.U == "" })
}

// round rounds as ClickHouse does.
func round(x float64, digits int) float64 {
	p := math.Pow(10, float64(digits))
	return math.RoundToEven(x*p) / p
}

// each makes one row for each group of values.
func each[V any, K comparable](all []V, key func(V) K, row func(K, []V) []any) (rows [][]any) {
	groups := map[K][]V{}
	for _, v := range all {
		groups[key(v)] = append(groups[key(v)], v)
	}
	for k, group := range groups {
		if r := row(k, group); r != nil {
			rows = append(rows, r)
		}
	}
	return rows
}

func count[V any](all []V, is func(V) bool) (n int) {
	for _, v := range all {
		if is(v) {
			n++
		}
	}
	return n
}

func sum[V any](all []V, of func(V) float64) (s float64) {
	for _, v := range all {
		s += of(v)
	}
	return s
}

func mean[V any](all []V, of func(V) float64) float64 {
	return sum(all, of) / float64(max(len(all), 1))
}

// spread is the number of different values.
func spread[V any, K comparable](all []V, of func(V) K) int {
	set := map[K]bool{}
	for _, v := range all {
		set[of(v)] = true
	}
	return len(set)
}

// deliveries returns number and mean R of the pages among requests.
func deliveries(all []*fact) (n int, gain, harvest float64) {
	n = count(all, (*fact).delivered)
	gain = sum(all, func(f *fact) float64 {
		if f.delivered() {
			return f.r()
		}
		return 0
	})
	return n, gain, gain / float64(max(n, 1))
}

// order sorts rows by columns, counted from 1; negative ones descend.
func order(rows [][]any, columns ...int) [][]any {
	slices.SortFunc(rows, func(a, b []any) int {
		for _, column := range columns {
			i, sign := column-1, 1
			if column < 0 {
				i, sign = -column-1, -1
			}
			if d := compared(a[i], b[i]); d != 0 {
				return sign * d
			}
		}
		return 0
	})
	return rows
}

func compared(a, b any) int {
	if x, ok := a.(time.Time); ok {
		return x.Compare(b.(time.Time))
	}
	if x, err := number(a); err == nil {
		if y, err := number(b); err == nil {
			return cmp.Compare(x, y)
		}
	}
	return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
}

func number(v any) (float64, error) {
	if _, ok := v.(string); ok {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(fmt.Sprint(v), 64)
}

func most(rows [][]any, n int) [][]any { return rows[:min(n, len(rows))] }

// quantile is the exact one of ClickHouse: the element at level × n.
func quantile(values []float64, level float64) float64 {
	slices.Sort(values)
	return values[min(int(level*float64(len(values))), len(values)-1)]
}

func domainOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// percent adds the share of a count in all rows of its group after the column.
func percent(rows [][]any, column int, group func([]any) any) [][]any {
	total := map[any]float64{}
	for _, r := range rows {
		n, _ := number(r[column])
		total[group(r)] += n
	}
	for i, r := range rows {
		n, _ := number(r[column])
		rows[i] = slices.Insert(r, column+1, any(round(100*n/total[group(r)], 1)))
	}
	return rows
}

func all([]any) any { return 0 }

// masked is a text without its numbers.
func masked(s string) string {
	var b strings.Builder
	s = s[:min(len(s), 80)]
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && strings.IndexByte("0123456789abcdef", s[j]) >= 0 {
			j++
		}
		k := i
		for k < len(s) && s[k] >= '0' && s[k] <= '9' {
			k++
		}
		switch {
		case j-i >= 6:
			b.WriteByte('#')
			i = j
		case k > i:
			b.WriteByte('#')
			i = k
		default:
			b.WriteByte(s[i])
			i++
		}
	}
	return b.String()
}
