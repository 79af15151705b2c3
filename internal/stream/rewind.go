package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"
)

// ErrRuns reports that a stage's group cannot be rewound, because it has members.
var ErrRuns = errors.New("the stage runs")

// Rewind resets the offsets of a stage's group, none of whose processes may run, to the beginning of its topics. It
// returns the number of records that will be read again. It waits while the broker is unavailable.
func (c *Client) Rewind(ctx context.Context, stage string) (records int64, err error) {
	group := c.groupName(stage)
	for topic := range c.topics {
		n, err := c.Partitions(ctx, topic)
		if err != nil {
			return 0, err
		}
		for p := range n {
			again, err := c.rewind(ctx, group, topic, p)
			if err != nil {
				return 0, fmt.Errorf("rewind group %s in %s/%d: %w", group, topic, p, err)
			}
			records += again
		}
	}
	return records, nil
}

func (c *Client) rewind(ctx context.Context, group, topic string, partition int) (records int64, err error) {
	first, _, err := c.Offsets(ctx, topic, partition)
	if err != nil {
		return 0, err
	}
	err = c.retry(ctx, "offsets of group "+group, func(ctx context.Context) error {
		read, err := c.kafka.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: group, Topics: map[string][]int{topic: {partition}}})
		if err == nil {
			err = read.Error
		}
		if errors.Is(err, kafka.GroupIdNotFound) { // the stage has never run
			return nil
		}
		if err != nil {
			return err
		}
		for _, p := range read.Topics[topic] {
			if p.Partition == partition && p.Error == nil {
				records = p.CommittedOffset - first
			}
		}
		if records <= 0 { // it does not read the topic, or not yet
			records = 0
			return nil
		}
		r, err := c.kafka.OffsetCommit(ctx, &kafka.OffsetCommitRequest{
			GroupID: group, GenerationID: -1, Topics: map[string][]kafka.OffsetCommit{topic: {{Partition: partition, Offset: first}}},
		})
		if err != nil {
			return err
		}
		for _, p := range r.Topics[topic] {
			if errors.Is(p.Error, kafka.UnknownMemberId) || errors.Is(p.Error, kafka.IllegalGeneration) {
				return Broken(ErrRuns)
			}
			if p.Error != nil {
				return p.Error
			}
		}
		return nil
	})
	return records, err
}
