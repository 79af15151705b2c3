package main

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/controls"
	"forager/internal/stream"
	"forager/schemas"
)

// The rows of a deleted crawl go, those of the others stay, and loading all records again brings
// none of them back.
func TestDeletedCrawlsStayAway(t *testing.T) {
	l := &loader{db: database(t), crawls: controls.New()}
	var rs []stream.Record
	for i, crawl := range []string{"gone", "kept", "gone"} {
		id := schemas.RequestID(crawl, "http://h.example/", uint32(i+1))
		headers := map[string]string{schemas.HeaderCrawl: crawl, schemas.HeaderOwner: "0", schemas.HeaderEpoch: "1", schemas.HeaderID: id.String()}
		for topic, m := range map[string]proto.Message{
			schemas.TopicFetchRequested: &schemas.FetchRequest{Id: id.Bytes(), Crawl: crawl, Url: "http://h.example/", Host: "h.example", Attempt: 1},
			schemas.TopicPageFetched:    &schemas.PageFetched{Id: id.Bytes(), Crawl: crawl},
			schemas.TopicPageJudged:     &schemas.PageJudged{Id: id.Bytes(), Crawl: crawl},
			schemas.TopicPageRejudged:   &schemas.PageRejudged{Request: id.Bytes(), Crawl: crawl},
			schemas.TopicLinkFound:      &schemas.LinkFound{Id: id.Bytes(), Crawl: crawl, Links: []*schemas.Link{{Url: "http://h.example/a"}}},
			schemas.TopicLeapSettled:    &schemas.LeapSettled{Id: id.Bytes(), Crawl: crawl},
			schemas.TopicModelPublished: &schemas.ModelPublished{Kind: "apprentice", Crawl: crawl, Version: crawl + "/1-a"},
			schemas.TopicCrawlControl:   &schemas.CrawlControl{Crawl: crawl, Revision: uint64(i + 1)},
			schemas.TopicHubRanked: &schemas.HubRanked{
				Id: schemas.HubsID(crawl, 0, uint64(i)).Bytes(), Crawl: crawl, Hubs: []*schemas.RankedPage{{Url: "http://u/"}},
			},
			schemas.TopicCrawlStatus: &schemas.CrawlStatus{Crawl: crawl, At: int64(i + 1)},
			schemas.TopicDeadLetter:  &schemas.DeadLetter{Stage: "fetch", Offset: int64(i)},
		} {
			rs = append(rs, message(topic, 0, int64(i), m, headers))
		}
	}
	critic := message(schemas.TopicModelPublished, 0, 9, &schemas.ModelPublished{Kind: "critic", Version: "v/1"}, nil)
	if err := l.load(t.Context(), append(rs, critic)); err != nil {
		t.Fatal(err)
	}
	count := func(where string) string {
		t.Helper()
		sum := ""
		for _, table := range []string{"requests", "fetches", "judgements", "verdicts", "links", "leaps", "models", "hubs", "controls", "statuses", "letters", "rejudgements"} {
			r, err := l.db.Query(t.Context(), "SELECT count() FROM "+table+"_rows WHERE "+where, nil)
			if err != nil {
				t.Fatal(err)
			}
			sum += fmt.Sprint(r.Rows[0][0], " ")
		}
		return sum
	}
	if got := count("crawl = 'gone'"); got != "2 2 2 2 2 2 2 2 2 2 2 2 " && got != "2 2 2 2 1 2 1 2 2 2 2 2 " { // some keys are the same
		t.Fatalf("rows of the crawl: %s", got)
	}
	kept := count("crawl != 'gone'")
	deleted, err := l.db.DeleteCrawl(t.Context(), "gone")
	if err != nil || len(deleted) != 13 || deleted["requests_rows"] != 2 {
		t.Errorf("deleted %v, %v", deleted, err)
	}
	gone, err := proto.Marshal(&schemas.CrawlControl{Crawl: "gone", Revision: 7, State: schemas.CrawlState_CRAWL_STATE_DELETED})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.crawls.Take([]byte("gone"), gone); err != nil {
		t.Fatal(err)
	}
	if err := l.load(t.Context(), rs); err != nil {
		t.Fatal(err)
	}
	if got := count("crawl = 'gone'"); got != "0 0 0 0 0 0 0 0 0 0 0 0 " {
		t.Errorf("rows of the deleted crawl: %s", got)
	}
	if _, err := l.db.DeleteCrawl(t.Context(), "gone"); err != nil { // nothing is left to delete
		t.Error(err)
	}
	if err := l.db.Exec(t.Context(), "OPTIMIZE TABLE models_rows FINAL", nil); err != nil {
		t.Error(err)
	}
	for _, table := range []string{"requests", "links", "models"} {
		r, err := l.db.Query(t.Context(), "SELECT count() FROM "+table+" WHERE crawl = 'kept'", nil)
		if err != nil || fmt.Sprint(r.Rows) != "[[1]]" {
			t.Errorf("%s of the other crawl: %v, %v; at first %s", table, r, err, kept)
		}
	}
}
