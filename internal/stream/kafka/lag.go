package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"

	"forager/internal/stream"
	"forager/schemas"
)

// Lag returns the number of records that a stage has not completed: over all partitions of the
// topics that it reads, the end of the partition minus the committed offset of the stage's group,
// or minus the first offset if it has committed none. It waits while the broker is unavailable.
func (a *admin) Lag(ctx context.Context, stage string, topics ...string) (int64, error) {
	return a.lag(ctx, stage, topics, func(_ string, _ int, end int64) int64 { return end })
}

// Ends returns the current ends of all partitions of topics, for LagTo.
func (a *admin) Ends(ctx context.Context, topics ...string) (map[string][]int64, error) {
	ends := make(map[string][]int64, len(topics))
	for _, topic := range topics {
		n, err := a.Partitions(ctx, topic)
		if err != nil {
			return nil, err
		}
		for p := range n {
			end, err := a.End(ctx, topic, p)
			if err != nil {
				return nil, err
			}
			ends[topic] = append(ends[topic], end)
		}
	}
	return ends, nil
}

// LagTo returns the part of a stage's lag below ends: it reaches 0 however many records follow.
func (a *admin) LagTo(ctx context.Context, stage string, ends map[string][]int64) (int64, error) {
	return a.lag(ctx, stage, slices.Sorted(maps.Keys(ends)), func(topic string, p int, end int64) int64 { return min(end, ends[topic][p]) })
}

// lag counts up to the offset that limit returns for the end of a partition.
func (a *admin) lag(ctx context.Context, stage string, topics []string, limit func(topic string, partition int, end int64) int64) (lag int64, err error) {
	all, err := a.behind(ctx, stage, topics)
	for _, b := range all {
		lag += max(0, limit(b.Topic, b.Partition, b.next+b.Records)-b.next)
	}
	return lag, err
}

// Behind is the part of a partition that a stage has not completed.
type Behind struct {
	Topic     string
	Partition int
	// Records at most: compaction leaves gaps.
	Records int64
	// Oldest is the time of the first of them, Crawl the crawl that it is of; empty if it has none. Parked records do not count.
	Oldest time.Time
	Crawl  string
	// next is the offset from which the records are, high follows the parked ones.
	next, high int64
}

// Behind lists the partitions of topics with records that a stage has not completed, whether the stage runs or not. It reads one
// record of each of them, and waits while the broker is unavailable. done is the sum over all partitions of the offsets up to which the stage
// has completed them: it grows by the records that it completes.
func (c *Client) Behind(ctx context.Context, stage string, topics ...string) (list []Behind, done int64, err error) {
	all, err := c.behind(ctx, stage, topics)
	for _, b := range all {
		done += b.next
		end := b.next + b.Records
		b.Records = end - b.high
		first, err := c.first(ctx, Source{Topic: b.Topic, Partition: b.Partition, From: b.high, To: end})
		if err != nil {
			return nil, 0, err
		}
		if first != nil {
			b.Oldest, b.Crawl = first.Time, first.Headers[schemas.HeaderCrawl]
			list = append(list, b)
		}
	}
	return list, done, err
}

// first returns the first record of a source, and reads little more; nil if it has none, or if the topic's retention has removed it.
func (c *Client) first(ctx context.Context, s Source) (first *stream.Record, err error) {
	const least = 1 << 14
	for size := int64(least); s.From < s.To && size <= maxFetchBytes; size *= 2 {
		var ch Chunk
		err := c.retry(ctx, fmt.Sprintf("a record of %s/%d", s.Topic, s.Partition), func(ctx context.Context) (err error) {
			if ch, err = c.fetch(ctx, s, size); errors.Is(err, kafka.OffsetOutOfRange) {
				ch, err = Chunk{Next: s.To}, nil
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(ch.Records) > 0 {
			return &ch.Records[0], nil
		}
		if ch.Next > s.From { // else the record is larger
			s.From, size = ch.Next, least/2
		}
	}
	return nil, nil
}

// behind lists all partitions of topics.
func (a *admin) behind(ctx context.Context, stage string, topics []string) (list []Behind, err error) {
	if len(topics) == 0 {
		return nil, nil
	}
	group := a.groupName(stage)
	partitions, err := a.partitionsOf(ctx, topics)
	if err != nil {
		return nil, err
	}
	ends := &kafka.ListOffsetsRequest{Topics: make(map[string][]kafka.OffsetRequest, len(topics))}
	for topic, all := range partitions {
		for _, p := range all {
			ends.Topics[topic] = append(ends.Topics[topic], kafka.FirstOffsetOf(p), kafka.LastOffsetOf(p))
		}
	}
	err = a.retry(ctx, "the lag of group "+group, func(ctx context.Context) (err error) {
		list, err = a.behindOnce(ctx, group, partitions, ends)
		return err
	})
	return list, err
}

func (a *admin) behindOnce(ctx context.Context, group string, partitions map[string][]int, ends *kafka.ListOffsetsRequest) (list []Behind, err error) {
	read, err := a.commits(ctx, group, partitions)
	if err != nil {
		return nil, err
	}
	listed, err := a.kafka.ListOffsets(ctx, ends)
	if err != nil {
		return nil, fmt.Errorf("ends of the topics of group %s: %w", group, err)
	}
	for topic, ps := range listed.Topics {
		for _, p := range ps {
			if p.Error != nil {
				return nil, fmt.Errorf("ends of %s/%d: %w", topic, p.Partition, p.Error)
			}
			commit := read[topicPartition{topic, p.Partition}]
			b := Behind{Topic: topic, Partition: p.Partition, next: max(p.FirstOffset, commit.CommittedOffset)}
			b.Records = max(0, p.LastOffset-b.next)
			var m stream.ParkedCommit
			if commit.Metadata != "" {
				_ = json.Unmarshal([]byte(commit.Metadata), &m) // that of others is no list
			}
			b.high = min(max(b.next, m.High), b.next+b.Records)
			list = append(list, b)
		}
	}
	return list, nil
}
