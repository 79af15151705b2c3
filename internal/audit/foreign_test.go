package audit

import (
	"testing"

	"forager/internal/frontier"
	"forager/internal/stream"
	"forager/schemas"
)

// FuzzTake: an audit reads topics to which other programs may write.
func FuzzTake(f *testing.F) {
	f.Add(schemas.TopicFetchRequested, "c", "000102030405060708090a0b0c0d0e0f", "1", "0", []byte{})
	f.Add(schemas.TopicPageFetched, "c", "000102030405060708090a0b0c0d0e0f", "1", "0", []byte{0xff})
	f.Add(schemas.TopicLinkFound, "c", "", "x", "", []byte("\x0a\x10aaaaaaaaaaaaaaaa\x12\x01c"))
	f.Add(schemas.TopicLeapSettled, "c", "00", "18446744073709551615", "-1", []byte("\x12\x01c"))
	f.Fuzz(func(t *testing.T, topic, crawl, id, epoch, owner string, value []byte) {
		if !known(topic) {
			return
		}
		e := &Evidence{Case: Case{Control: &schemas.CrawlControl{Crawl: "c"}, Scope: open}, Unreadable: make(map[string][]schemas.ID)}
		r := &reading{crawl: "c", epochs: make(map[string]uint64), found: func(r *Record) error { e.add(topic, r); return nil }}
		h := map[string]string{
			schemas.HeaderCrawl: crawl, schemas.HeaderID: id, schemas.HeaderEpoch: epoch, schemas.HeaderOwner: owner, schemas.HeaderShard: "0",
			schemas.HeaderURL: "http://a.example/", schemas.HeaderHost: "a.example",
		}
		if r.take(stream.Record{Topic: topic, Headers: h, Value: value}) != nil {
			return
		}
		judged(t, e)
	})
}

// FuzzRebuild: the same for rows of ClickHouse.
func FuzzRebuild(f *testing.F) {
	f.Add(schemas.TopicPageFetched, "000102030405060708090a0b0c0d0e0f", "http://a.example/", "delivered", "200")
	f.Add(schemas.TopicLinkFound, "", "0", "", "x")
	f.Add(schemas.TopicLeapSettled, "zz", "", "-1", "true")
	f.Fuzz(func(t *testing.T, topic, a, b, c, d string) {
		if !known(topic) {
			return
		}
		e := &Evidence{Case: Case{Control: &schemas.CrawlControl{Crawl: "c"}, Scope: open}, Topics: []Topic{{Topic: topic, Way: ByCounts}}, Tables: Tables{
			tableOf[topic]: {{a, b, c, d}, {a, d, c, b, a, b, c, d, a, b, c, d, a, b}}, "links": {{a, b, c, d}}, "books": {{topic, d, a}},
		}}
		e.Judge(memory{frontier.NewMemory()}) // an error names the row
	})
}
