package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/segmentio/kafka-go"
)

// Lag returns the number of records that a stage has not completed: over all partitions of the
// topics that it reads, the end of the partition minus the committed offset of the stage's group,
// or minus the first offset if it has committed none. It waits while the broker is unavailable.
func (c *Client) Lag(ctx context.Context, stage string, topics ...string) (int64, error) {
	return c.lag(ctx, stage, topics, func(_ string, _ int, end int64) int64 { return end })
}

// Ends returns the current ends of all partitions of topics, for LagTo.
func (c *Client) Ends(ctx context.Context, topics ...string) (map[string][]int64, error) {
	ends := make(map[string][]int64, len(topics))
	for _, topic := range topics {
		n, err := c.Partitions(ctx, topic)
		if err != nil {
			return nil, err
		}
		for p := range n {
			end, err := c.End(ctx, topic, p)
			if err != nil {
				return nil, err
			}
			ends[topic] = append(ends[topic], end)
		}
	}
	return ends, nil
}

// LagTo returns the part of a stage's lag below ends: it reaches 0 however many records follow.
func (c *Client) LagTo(ctx context.Context, stage string, ends map[string][]int64) (int64, error) {
	return c.lag(ctx, stage, slices.Sorted(maps.Keys(ends)), func(topic string, p int, end int64) int64 { return min(end, ends[topic][p]) })
}

// lag counts up to the offset that limit returns for the end of a partition.
func (c *Client) lag(ctx context.Context, stage string, topics []string, limit func(topic string, partition int, end int64) int64) (int64, error) {
	if len(topics) == 0 {
		return 0, nil
	}
	group := c.groupName(stage)
	partitions := make(map[string][]int, len(topics))
	ends := &kafka.ListOffsetsRequest{Topics: make(map[string][]kafka.OffsetRequest, len(topics))}
	for _, topic := range topics {
		n, err := c.Partitions(ctx, topic)
		if err != nil {
			return 0, err
		}
		for p := range n {
			partitions[topic] = append(partitions[topic], p)
			ends.Topics[topic] = append(ends.Topics[topic], kafka.FirstOffsetOf(p), kafka.LastOffsetOf(p))
		}
	}
	var lag int64
	err := c.retry(ctx, "the lag of group "+group, func(ctx context.Context) (err error) {
		lag, err = c.lagOnce(ctx, group, partitions, ends, limit)
		return err
	})
	return lag, err
}

func (c *Client) lagOnce(ctx context.Context, group string, partitions map[string][]int, ends *kafka.ListOffsetsRequest, limit func(string, int, int64) int64) (int64, error) {
	read, err := c.committed(ctx, group, partitions)
	if err != nil {
		return 0, err
	}
	listed, err := c.kafka.ListOffsets(ctx, ends)
	if err != nil {
		return 0, fmt.Errorf("ends of the topics of group %s: %w", group, err)
	}
	var lag int64
	for topic, ps := range listed.Topics {
		for _, p := range ps {
			if p.Error != nil {
				return 0, fmt.Errorf("ends of %s/%d: %w", topic, p.Partition, p.Error)
			}
			lag += max(0, limit(topic, p.Partition, p.LastOffset)-max(p.FirstOffset, read[place{topic, p.Partition}]))
		}
	}
	return lag, nil
}

// place is a partition of a topic.
type place struct {
	topic     string
	partition int
}

// committed returns the offsets that a group has committed.
func (c *Client) committed(ctx context.Context, group string, partitions map[string][]int) (map[place]int64, error) {
	committed, err := c.kafka.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: group, Topics: partitions})
	if err == nil {
		err = committed.Error
	}
	if errors.Is(err, kafka.GroupIdNotFound) { // the stage has never run
		committed, err = new(kafka.OffsetFetchResponse), nil
	}
	if err != nil {
		return nil, fmt.Errorf("offsets of group %s: %w", group, err)
	}
	read := make(map[place]int64)
	for topic, ps := range committed.Topics {
		for _, p := range ps {
			if p.Error != nil {
				return nil, fmt.Errorf("offset of group %s in %s/%d: %w", group, topic, p.Partition, p.Error)
			}
			read[place{topic, p.Partition}] = p.CommittedOffset
		}
	}
	return read, nil
}

// Committed returns the committed offsets of a stage's group, by partition; 0 or less where it has none.
func (c *Client) Committed(ctx context.Context, stage, topic string) (offsets []int64, err error) {
	n, err := c.Partitions(ctx, topic)
	if err != nil {
		return nil, err
	}
	offsets = make([]int64, n)
	partitions := map[string][]int{topic: make([]int, n)}
	for p := range n {
		partitions[topic][p] = p
	}
	group := c.groupName(stage)
	err = c.retry(ctx, "the offsets of group "+group, func(ctx context.Context) error {
		read, err := c.committed(ctx, group, partitions)
		for p := range offsets {
			offsets[p] = read[place{topic, p}]
		}
		return err
	})
	return offsets, err
}
