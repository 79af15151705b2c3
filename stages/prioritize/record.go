package main

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"forager/internal/frontier"
	"forager/internal/stream"
	"forager/schemas"
)

// decoded is a record of link.found, or the error of decoding it; then found is nil.
type decoded struct {
	found schemas.Found
	err   error
}

// decodeAll reads records on all processors.
func decodeAll(records []stream.Record) []decoded {
	all := make([]decoded, len(records))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, r := range records {
		g.Go(func() error {
			all[i].err = stream.Recovered(func() (err error) {
				all[i].found, err = decode(r)
				return err
			})
			return nil
		})
	}
	_ = g.Wait() // each record has its own error
	return all
}

// decode decodes a record of link.found and checks what the frontier relies on.
func decode(r stream.Record) (schemas.Found, error) {
	if r.Skipped() {
		return nil, errors.New("the record was skipped: " + r.Headers[schemas.HeaderSkipped])
	}
	rec := new(schemas.LinkFound)
	if err := proto.Unmarshal(r.Value, rec); err != nil {
		return nil, fmt.Errorf("link.found: %w", err)
	}
	if rec.GetCrawl() == "" {
		return nil, errors.New("link.found names no crawl")
	}
	if rec.GetShard() >= frontier.MaxShards {
		return nil, fmt.Errorf("link.found is for shard %d of %s, and crawls have %d at most", rec.GetShard(), rec.GetCrawl(), frontier.MaxShards)
	}
	found, err := schemas.OpenFound(rec)
	if err != nil {
		return nil, fmt.Errorf("link.found: %w", err)
	}
	if err := frontier.Fit(rec); err != nil {
		return nil, fmt.Errorf("link.found: %w", err)
	}
	return found, nil
}

// rescue makes the verdict for a record that cannot be decoded, from its headers: its request
// has failed. nil if the headers name no request.
func rescue(r stream.Record, cause error) schemas.Found {
	request, err := schemas.RequestFromHeaders(r.Headers)
	if err != nil || request.GetShard() >= frontier.MaxShards {
		return nil
	}
	return schemas.Verdict{LinkFound: &schemas.LinkFound{
		Id: request.GetId(), Crawl: request.GetCrawl(), Shard: request.GetShard(), Url: request.GetUrl(),
		Outcome: schemas.Outcome_OUTCOME_FAILED_FEATURE_EXTRACT, Detail: cause.Error(),
	}}
}

func headers(crawl string, shard uint32) map[string]string {
	return map[string]string{
		schemas.HeaderVersion: strconv.Itoa(schemas.Version), schemas.HeaderCrawl: crawl,
		schemas.HeaderShard: strconv.FormatUint(uint64(shard), 10),
	}
}

// shardOf reads a header that names a shard.
func shardOf(h map[string]string, header string) (uint32, error) {
	n, err := strconv.ParseUint(h[header], 10, 32)
	if err != nil {
		return 0, fmt.Errorf("header %q: %w", header, err)
	}
	return uint32(n), nil
}

func requestOut(r *schemas.FetchRequest) (stream.Out, error) {
	value, err := proto.Marshal(r)
	if err != nil {
		return stream.Out{}, fmt.Errorf("request for %s: %w", r.GetUrl(), err)
	}
	return stream.Out{Topic: schemas.TopicFetchRequested, Partition: -1, Key: []byte(r.GetHost()), Value: value, Headers: schemas.RequestHeaders(r)}, nil
}

func leapOut(l *schemas.LeapSettled) (stream.Out, error) {
	value, err := proto.Marshal(l)
	if err != nil {
		return stream.Out{}, fmt.Errorf("leap %s → %s: %w", l.GetU(), l.GetV(), err)
	}
	h := headers(l.GetCrawl(), l.GetShard())
	id, err := schemas.ParseID(l.GetId())
	if err != nil {
		return stream.Out{}, fmt.Errorf("leap %s → %s: %w", l.GetU(), l.GetV(), err)
	}
	h[schemas.HeaderID] = id.String()
	if !l.GetBoundary() {
		h[schemas.HeaderURL] = l.GetV()
	}
	return stream.Out{Topic: schemas.TopicLeapSettled, Partition: -1, Key: []byte(l.GetCrawl()), Value: value, Headers: h}, nil
}

func statusOut(s *schemas.CrawlStatus) (stream.Out, error) {
	value, err := proto.Marshal(s)
	if err != nil {
		return stream.Out{}, fmt.Errorf("status of %s: %w", s.GetCrawl(), err)
	}
	h := headers(s.GetCrawl(), s.GetShard())
	h[schemas.HeaderEpoch] = strconv.FormatUint(s.GetEpoch(), 10)
	return stream.Out{
		Topic: schemas.TopicCrawlStatus, Partition: -1, Key: []byte(schemas.ShardKey(s.GetCrawl(), s.GetShard())), Value: value, Headers: h,
	}, nil
}

// boundary returns the record that makes the model through a number of pages due.
func boundary(crawl string, pages uint64) *schemas.LeapSettled {
	return &schemas.LeapSettled{
		Id:    schemas.LeapID(crawl, "boundary", strconv.FormatUint(pages, 10)).Bytes(),
		Crawl: crawl, Pages: pages, Boundary: true,
	}
}
