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
	// ByCounts: some are gone. prioritize's count and XOR of the ids are compared with ClickHouse's,
	// and ClickHouse's rows stand in for the records in every other check.
	ByCounts Way = "counts"
)

// Topic is how one topic was checked.
type Topic struct {
	Topic string `json:"topic"`
	Way   Way    `json:"way"`
	// Gone says what is not retained, where Way is ByCounts.
	Gone string `json:"gone,omitempty"`
	// Found is the count and XOR of the distinct ids of the records read; nothing where Way is
	// ByCounts.
	Found Count `json:"-"`
}

// audited are the topics in the order of a page's journey.
var audited = []string{
	schemas.TopicFetchRequested, schemas.TopicPageFetched, schemas.TopicPageParsed, schemas.TopicPageJudged,
	schemas.TopicLinkFound, schemas.TopicLeapSettled,
}

// Count is how many distinct ids there are, and their XOR.
type Count struct {
	N   uint64
	Xor schemas.ID
}

func (c *Count) add(n uint64, xor []byte) {
	c.N += n
	c.Xor = schemas.ID(c.Xor.Xor(xor))
}

func (c Count) String() string { return fmt.Sprintf("%d records (XOR %s)", c.N, c.Xor) }

// spanOf sums what the shards say of a topic.
func (e *Evidence) spanOf(topic string) (sum Count, first, last map[uint32]int64) {
	first, last = make(map[uint32]int64), make(map[uint32]int64)
	for _, st := range e.Statuses {
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

// wayOf looks whether the broker still holds every record of the crawl.
func (e *Evidence) wayOf(ctx context.Context, broker Broker, topic string) (Topic, error) {
	_, first, last := e.spanOf(topic)
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

// byCounts says whether a topic's records are ClickHouse's rows.
func (e *Evidence) byCounts(topic string) bool {
	return slices.ContainsFunc(e.Topics, func(t Topic) bool { return t.Topic == topic && t.Way == ByCounts })
}

// Books is the view that says what ClickHouse has of each topic.
var Books = Table{Name: "books", Columns: []string{"topic", "toString(records)", "ids"}, Order: "topic"}

// booksOf reads ClickHouse's books.
func (e *Evidence) booksOf() (map[string]Count, error) {
	books := make(map[string]Count)
	for _, row := range e.Rows[Books.Name] {
		n, err := strconv.ParseUint(row[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("view %s: %w", Books.Name, err)
		}
		xor, err := schemas.ParseHex(row[2])
		if err != nil {
			return nil, fmt.Errorf("view %s: %w", Books.Name, err)
		}
		books[row[0]] = Count{N: n, Xor: xor}
	}
	return books, nil
}

// stored is the topic whose records ClickHouse has in place of a topic's: page.judged holds the
// bytes of page.parsed.
func stored(topic string) string {
	if topic == schemas.TopicPageParsed {
		return schemas.TopicPageJudged
	}
	return topic
}

// counts compares what prioritize, the topics and ClickHouse hold of each topic. What nobody can
// decode has a place in its topic and no row.
func (j *judge) counts() {
	books, err := j.booksOf()
	if err != nil {
		j.problem("ClickHouse: %v", err)
		return
	}
	for _, t := range j.Topics {
		said, _, _ := j.spanOf(t.Topic)
		if t.Way == ByRecords {
			if t.Found != said {
				j.problem("%s has %s of the crawl, crawl.status says %s", t.Topic, t.Found, said)
			}
			for _, id := range j.Unreadable[stored(t.Topic)] {
				said.N--
				said.Xor = schemas.ID(id.Xor(said.Xor[:]))
			}
		}
		if books[t.Topic] != said {
			j.problem("%s: ClickHouse has %s of the crawl, crawl.status says %s", t.Topic, books[t.Topic], said)
		}
	}
}
