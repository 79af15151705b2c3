package kafka

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/segmentio/kafka-go"
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
func (a *admin) lag(ctx context.Context, stage string, topics []string, limit func(topic string, partition int, end int64) int64) (int64, error) {
	if len(topics) == 0 {
		return 0, nil
	}
	group := a.groupName(stage)
	partitions, err := a.partitionsOf(ctx, topics)
	if err != nil {
		return 0, err
	}
	ends := &kafka.ListOffsetsRequest{Topics: make(map[string][]kafka.OffsetRequest, len(topics))}
	for topic, all := range partitions {
		for _, p := range all {
			ends.Topics[topic] = append(ends.Topics[topic], kafka.FirstOffsetOf(p), kafka.LastOffsetOf(p))
		}
	}
	var lag int64
	err = a.retry(ctx, "the lag of group "+group, func(ctx context.Context) (err error) {
		lag, err = a.lagOnce(ctx, group, partitions, ends, limit)
		return err
	})
	return lag, err
}

func (a *admin) lagOnce(ctx context.Context, group string, partitions map[string][]int, ends *kafka.ListOffsetsRequest, limit func(string, int, int64) int64) (int64, error) {
	read, err := a.commits(ctx, group, partitions)
	if err != nil {
		return 0, err
	}
	listed, err := a.kafka.ListOffsets(ctx, ends)
	if err != nil {
		return 0, fmt.Errorf("ends of the topics of group %s: %w", group, err)
	}
	var lag int64
	for topic, ps := range listed.Topics {
		for _, p := range ps {
			if p.Error != nil {
				return 0, fmt.Errorf("ends of %s/%d: %w", topic, p.Partition, p.Error)
			}
			lag += max(0, limit(topic, p.Partition, p.LastOffset)-max(p.FirstOffset, read[topicPartition{topic, p.Partition}].CommittedOffset))
		}
	}
	return lag, nil
}
