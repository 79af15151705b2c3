package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"forager/schemas"
)

// Way is how a topic was checked.
type Way string

const (
	// ByRecords: all records of the crawl are retained; each was read and compared.
	ByRecords Way = "records"
	// ByCounts: some are not retained. prioritize's count and XOR of the ids are compared with ClickHouse's,
	// and ClickHouse's rows replace the records in all other checks.
	ByCounts Way = "counts"
)

// Topic describes how a topic was checked.
type Topic struct {
	Topic string `json:"topic"`
	Way   Way    `json:"way"`
	// Gone names what is not retained, if Way is ByCounts.
	Gone string `json:"gone,omitempty"`
	// Ends are the offsets after the last records that were read, by partition, of a crawl that runs.
	Ends []int64 `json:"ends,omitempty"`
}

// Audited are the topics in the order of a page's journey.
var Audited = []string{
	schemas.TopicFetchRequested, schemas.TopicPageFetched, schemas.TopicPageParsed, schemas.TopicPageJudged,
	schemas.TopicLinkFound, schemas.TopicLeapSettled,
}

// Read are all topics that are read: the audited ones, and those whose rows alone are compared.
var Read = append(slices.Clip(Audited), schemas.TopicHubRanked, schemas.TopicPageRejudged)

// Count is a number of distinct ids, and their XOR.
type Count struct {
	N   uint64
	Xor schemas.ID
}

func (c *Count) add(n uint64, xor []byte) {
	c.N += n
	c.Xor = schemas.ID(c.Xor.Xor(xor))
}

func (c Count) String() string { return fmt.Sprintf("%d records (XOR %s)", c.N, c.Xor) }

// spanOf sums the positions that the shards report for a topic.
func (c *Case) spanOf(topic string) (sum Count, first, last map[uint32]int64) {
	first, last = make(map[uint32]int64), make(map[uint32]int64)
	for _, st := range c.Statuses {
		s := st.GetSpans()[topic]
		sum.add(s.GetCount(), s.GetXor())
		for p, at := range s.GetFirst() {
			if f, ok := first[p]; !ok || at < f {
				first[p] = at
			}
		}
		for p, at := range s.GetLast() {
			last[p] = max(last[p], at)
		}
	}
	return sum, first, last
}

// wayOf checks whether the broker still retains every record of the crawl.
func (c *Case) wayOf(ctx context.Context, broker Broker, topic string) (Topic, error) {
	_, first, last := c.spanOf(topic)
	for _, p := range slices.Sorted(maps.Keys(first)) {
		from, end, err := broker.Offsets(ctx, topic, int(p))
		if err != nil {
			return Topic{}, err
		}
		if from > first[p] || end <= last[p] {
			return Topic{Topic: topic, Way: ByCounts, Gone: fmt.Sprintf("partition %d holds the offsets %d to %d, the crawl's records stand at %d to %d",
				p, from, end-1, first[p], last[p])}, nil
		}
	}
	return Topic{Topic: topic, Way: ByRecords}, nil
}

// byCounts reports whether a topic's records are replaced by ClickHouse's rows.
func (j *judge) byCounts(topic string) bool {
	return slices.ContainsFunc(j.Ways, func(t Topic) bool { return t.Topic == topic && t.Way == ByCounts })
}

// record adds a row of the view Books.
func (j *judge) record(row []string) error {
	n, err := strconv.ParseUint(row[1], 10, 64)
	if err != nil {
		return fmt.Errorf("view %s: %w", Books.Name, err)
	}
	xor, err := schemas.ParseHex(row[2])
	if err != nil {
		return fmt.Errorf("view %s: %w", Books.Name, err)
	}
	j.books[row[0]] = Count{N: n, Xor: xor}
	return nil
}

// stored returns the topic whose records ClickHouse has in place of a topic's: page.judged contains the bytes of page.parsed.
func stored(topic string) string {
	if topic == schemas.TopicPageParsed {
		return schemas.TopicPageJudged
	}
	return topic
}

// counts compares the counts of prioritize, the topics and ClickHouse for each topic of a crawl that has ended.
// A record that cannot be decoded has a place in its topic and no row.
func (j *judge) counts() {
	if j.Running {
		return
	}
	j.each(kindParsed).all(func(e entry) { j.count(schemas.TopicPageParsed, e.id()) })
	for _, t := range j.Ways {
		stated, _, _ := j.spanOf(t.Topic)
		if t.Way == ByRecords {
			if found := j.found[t.Topic]; found != stated {
				j.problem("%s has %s of the crawl, crawl.status has %s", t.Topic, found, stated)
			}
			lost := j.unreadable[stored(t.Topic)]
			stated.N -= lost.N
			stated.Xor = schemas.ID(lost.Xor.Xor(stated.Xor[:]))
		}
		if j.books[t.Topic] != stated {
			j.problem("%s: ClickHouse has %s of the crawl, crawl.status has %s", t.Topic, j.books[t.Topic], stated)
		}
	}
}
