package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"

	"forager/internal/stream"
)

// ErrRuns reports that a stage's group cannot be rewound, because it has members.
var ErrRuns = errors.New("the stage runs")

// Rewind resets the offsets of a stage's group, none of whose processes may run, to the beginning of its topics. It
// returns the number of records that will be read again. It waits while the broker is unavailable.
func (a *admin) Rewind(ctx context.Context, stage string) (records int64, err error) {
	group := a.groupName(stage)
	for topic := range a.topics {
		n, err := a.Partitions(ctx, topic)
		if err != nil {
			return 0, err
		}
		for p := range n {
			again, err := a.rewind(ctx, group, topic, p)
			if err != nil {
				return 0, fmt.Errorf("rewind group %s in %s/%d: %w", group, topic, p, err)
			}
			records += again
		}
	}
	return records, nil
}

func (a *admin) rewind(ctx context.Context, group, topic string, partition int) (records int64, err error) {
	first, _, err := a.Offsets(ctx, topic, partition)
	if err != nil {
		return 0, err
	}
	err = a.retry(ctx, "offsets of group "+group, func(ctx context.Context) error {
		read, err := a.commits(ctx, group, map[string][]int{topic: {partition}})
		if err != nil {
			return err
		}
		records = read[topicPartition{topic, partition}].CommittedOffset - first
		if records <= 0 { // it does not read the topic, or not yet
			records = 0
			return nil
		}
		r, err := a.kafka.OffsetCommit(ctx, &kafka.OffsetCommitRequest{
			GroupID: group, GenerationID: -1, Topics: map[string][]kafka.OffsetCommit{topic: {{Partition: partition, Offset: first}}},
		})
		if err != nil {
			return err
		}
		for _, p := range r.Topics[topic] {
			if errors.Is(p.Error, kafka.UnknownMemberId) || errors.Is(p.Error, kafka.IllegalGeneration) {
				return stream.Broken(ErrRuns)
			}
			if p.Error != nil {
				return p.Error
			}
		}
		return nil
	})
	return records, err
}
