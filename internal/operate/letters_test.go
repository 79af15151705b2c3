package operate

import (
	"strings"
	"testing"
	"time"

	"forager/schemas"
)

func TestAskRefuses(t *testing.T) {
	request := &schemas.FetchRequest{Id: schemas.RequestID("c", "http://h.example/", 1).Bytes(), Crawl: "c", Url: "http://h.example/", Host: "h.example", Attempt: 1}
	letterOf := func(stage, topic string, headers map[string]string) Letter {
		l := &schemas.DeadLetter{Stage: stage, Topic: topic}
		for k, v := range headers {
			l.Headers = append(l.Headers, &schemas.Header{Key: k, Value: []byte(v)})
		}
		return Letter{Stage: stage, Topic: topic, Crawl: "c", Dead: l}
	}
	headers := schemas.RequestHeaders(request)
	rec, err := AskReplay(letterOf("critic-score", schemas.TopicPageParsed, headers), time.Unix(1, 0))
	if err != nil || string(rec.GetReplay()) != string(request.GetId()) || rec.GetUrl() != request.GetUrl() || rec.GetOutcome() != schemas.Outcome_OUTCOME_REPLAY {
		t.Errorf("asks with %v, %v", rec, err)
	}
	again, err := AskReplay(letterOf("critic-score", schemas.TopicPageParsed, headers), time.Unix(2, 0))
	if err != nil || string(again.GetId()) == string(rec.GetId()) {
		t.Errorf("asked again, it has the same id (%v)", err)
	}
	for want, l := range map[string]Letter{
		"only load-clickhouse":    letterOf("load-clickhouse", schemas.TopicPageFetched, headers),
		"belongs to no request":   letterOf("apprentice-train", schemas.TopicLeapSettled, headers),
		"it is about no request":  letterOf("parse-dom", schemas.TopicPageFetched, nil),
		`header "crawl" is empty`: letterOf("fetch", schemas.TopicFetchRequested, map[string]string{schemas.HeaderID: headers[schemas.HeaderID]}),
	} {
		if _, err := AskReplay(l, time.Now()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("asks though %s: %v", want, err)
		}
	}
}
