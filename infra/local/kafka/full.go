package kafka

import (
	"log/slog"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"forager/internal/platform/disk"
)

// reserve is the disk space, in bytes, that the broker leaves free: more than the requests in progress can
// write, and more than the 64 MiB that the embedded ClickHouse leaves free, so that accepted records can be
// loaded.
const reserve = 80 << 20

// refuseWhenFull makes the broker refuse, with errors that clients retry, all requests that write while its
// disk has less free space than the reserve. kfake recovers from a record batch that does not fit, but not from
// a partial index entry or a partial line of the groups' log: everything after it is dropped at the next start.
func refuseWhenFull(c *kfake.Cluster, free func() (uint64, error), log *slog.Logger) {
	g := &guard{free: free, log: log}
	for _, key := range []kmsg.Key{kmsg.Produce, kmsg.OffsetCommit, kmsg.JoinGroup, kmsg.SyncGroup} {
		c.ControlKey(key.Int16(), func(r kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			if !g.full() {
				return nil, nil, false
			}
			return refusal(r), nil, true
		})
	}
}

// guard is used by the cluster's goroutine alone.
type guard struct {
	free func() (uint64, error)
	log  *slog.Logger
	was  bool
}

// full reports whether there is less free space than the reserve, and logs changes. A disk whose free space
// cannot be read counts as having enough.
func (g *guard) full() bool {
	free, err := g.free()
	is := err == nil && free < reserve
	if is != g.was && g.log != nil {
		if is {
			g.log.Error("the disk is full: the broker takes no records until there is space", "free", disk.Bytes(free), "needed", disk.Bytes(reserve))
		} else {
			g.log.Info("the disk has space again: the broker takes records", "free", disk.Bytes(free))
		}
	}
	g.was = is
	return is
}

// refusal returns the response to a request that cannot be written.
func refusal(r kmsg.Request) kmsg.Response {
	response := r.ResponseKind()
	switch r := r.(type) {
	case *kmsg.ProduceRequest:
		answer := response.(*kmsg.ProduceResponse)
		for _, topic := range r.Topics {
			t := kmsg.NewProduceResponseTopic()
			t.Topic, t.TopicID = topic.Topic, topic.TopicID
			for _, partition := range topic.Partitions {
				p := kmsg.NewProduceResponseTopicPartition()
				p.Partition, p.ErrorCode = partition.Partition, kerr.KafkaStorageError.Code
				t.Partitions = append(t.Partitions, p)
			}
			answer.Topics = append(answer.Topics, t)
		}
	case *kmsg.OffsetCommitRequest:
		answer := response.(*kmsg.OffsetCommitResponse)
		for _, topic := range r.Topics {
			t := kmsg.NewOffsetCommitResponseTopic()
			t.Topic, t.TopicID = topic.Topic, topic.TopicID
			for _, partition := range topic.Partitions {
				p := kmsg.NewOffsetCommitResponseTopicPartition()
				p.Partition, p.ErrorCode = partition.Partition, kerr.CoordinatorNotAvailable.Code
				t.Partitions = append(t.Partitions, p)
			}
			answer.Topics = append(answer.Topics, t)
		}
	case *kmsg.JoinGroupRequest:
		response.(*kmsg.JoinGroupResponse).ErrorCode = kerr.CoordinatorNotAvailable.Code
	case *kmsg.SyncGroupRequest:
		response.(*kmsg.SyncGroupResponse).ErrorCode = kerr.CoordinatorNotAvailable.Code
	}
	return response
}
