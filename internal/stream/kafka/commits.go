package kafka

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/segmentio/kafka-go"

	"forager/internal/stream"
)

// topicPartition is a partition of a topic.
type topicPartition struct {
	topic     string
	partition int
}

// groupName returns the name of the consumer group of a stage.
func (c *cluster) groupName(stage string) string { return c.cfg.Group + "." + stage }

// partitionsOf returns the numbers of the partitions of topics.
func (c *cluster) partitionsOf(ctx context.Context, topics []string) (map[string][]int, error) {
	all := make(map[string][]int, len(topics))
	for _, topic := range topics {
		n, err := c.Partitions(ctx, topic)
		if err != nil {
			return nil, err
		}
		for p := range n {
			all[topic] = append(all[topic], p)
		}
	}
	return all, nil
}

// commits returns the commits of a group; none if it does not exist.
func (c *cluster) commits(ctx context.Context, group string, partitions map[string][]int) (map[topicPartition]kafka.OffsetFetchPartition, error) {
	r, err := c.kafka.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: group, Topics: partitions})
	if err == nil {
		err = r.Error
	}
	if errors.Is(err, kafka.GroupIdNotFound) { // the stage has never run
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("offsets of group %s: %w", group, err)
	}
	all := make(map[topicPartition]kafka.OffsetFetchPartition)
	for topic, ps := range r.Topics {
		for _, p := range ps {
			if p.Error != nil {
				return nil, fmt.Errorf("offset of group %s in %s/%d: %w", group, topic, p.Partition, p.Error)
			}
			all[topicPartition{topic, p.Partition}] = p
		}
	}
	return all, nil
}

// stageCommits returns the commits of a stage's group in all partitions of a topic; the broker's answer has one for each,
// with an offset below 0 where there is none.
func (a *admin) stageCommits(ctx context.Context, stage, topic string) ([]kafka.OffsetFetchPartition, error) {
	partitions, err := a.partitionsOf(ctx, []string{topic})
	if err != nil {
		return nil, err
	}
	group, all := a.groupName(stage), make([]kafka.OffsetFetchPartition, len(partitions[topic]))
	err = a.retry(ctx, "the offsets of group "+group, func(ctx context.Context) error {
		read, err := a.commits(ctx, group, partitions)
		for p := range all {
			all[p] = read[topicPartition{topic, p}]
		}
		return err
	})
	return all, err
}

// Committed returns the committed offsets of a stage's group, by partition; 0 or less where it has none.
func (a *admin) Committed(ctx context.Context, stage, topic string) (offsets []int64, err error) {
	all, err := a.stageCommits(ctx, stage, topic)
	for _, c := range all {
		offsets = append(offsets, c.CommittedOffset)
	}
	return offsets, err
}

// Parked returns the parked units of a stage in all partitions of an input topic, as read from its
// commits.
func (a *admin) Parked(ctx context.Context, stage, topic string) (list []stream.Parked, err error) {
	all, err := a.stageCommits(ctx, stage, topic)
	if err != nil {
		return nil, err
	}
	byUnit := make(map[string]*stream.Parked)
	for _, c := range all {
		var m stream.ParkedCommit
		if c.Metadata == "" || json.Unmarshal([]byte(c.Metadata), &m) != nil {
			continue
		}
		for _, x := range m.Parked {
			x.Offsets = ""
			if y := byUnit[x.Unit]; y == nil {
				byUnit[x.Unit] = &x
			} else {
				y.Records += x.Records
				if x.Since.Before(y.Since) {
					y.Since = x.Since
				}
			}
		}
	}
	for _, x := range byUnit {
		list = append(list, *x)
	}
	slices.SortFunc(list, func(a, b stream.Parked) int { return cmp.Compare(a.Unit, b.Unit) })
	return list, nil
}
