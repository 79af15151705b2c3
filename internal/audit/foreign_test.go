package audit_test

import (
	"testing"

	"forager/internal/audit"
	"forager/internal/audit/audittest"
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
		e := &audittest.Evidence{Case: audit.Case{Control: &schemas.CrawlControl{Crawl: "c"}, Scope: open}, Unreadable: make(map[string][]schemas.ID)}
		h := map[string]string{
			schemas.HeaderCrawl: crawl, schemas.HeaderID: id, schemas.HeaderEpoch: epoch, schemas.HeaderOwner: owner, schemas.HeaderShard: "0",
			schemas.HeaderURL: "http://a.example/", schemas.HeaderHost: "a.example",
		}
		err := audit.Take("c", stream.Record{Topic: topic, Headers: h, Value: value}, func(r *audit.Record) error { e.Add(topic, r); return nil })
		if err != nil {
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
		e := &audittest.Evidence{Case: audit.Case{Control: &schemas.CrawlControl{Crawl: "c"}, Scope: open}, Topics: []audit.Topic{{Topic: topic, Way: audit.ByCounts}}, Tables: audittest.Tables{
			audit.TableOf(topic): {{a, b, c, d}, {a, d, c, b, a, b, c, d, a, b, c, d, a, b}}, "links": {{a, b, c, d}}, "books": {{topic, d, a}},
		}}
		e.Judge(audit.NewMemoryStore()) // an error names the row
	})
}
