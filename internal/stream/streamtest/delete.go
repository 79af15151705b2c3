package streamtest

import (
	"context"
	"errors"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// kafka-go has no DeleteRecords; tests need it to simulate retention.
func init() { protocol.Register(&deleteRequest{}, &deleteResponse{}) }

type deleteRequest struct {
	Topics    []deleteTopic `kafka:"min=v0,max=v1"`
	TimeoutMs int32         `kafka:"min=v0,max=v1"`
}

type deleteTopic struct {
	Name       string            `kafka:"min=v0,max=v1"`
	Partitions []deletePartition `kafka:"min=v0,max=v1"`
}

type deletePartition struct {
	Partition int32 `kafka:"min=v0,max=v1"`
	Offset    int64 `kafka:"min=v0,max=v1"`
}

type deleteResponse struct {
	ThrottleTimeMs int32           `kafka:"min=v0,max=v1"`
	Topics         []deletedTopics `kafka:"min=v0,max=v1"`
}

type deletedTopics struct {
	Name       string             `kafka:"min=v0,max=v1"`
	Partitions []deletedPartition `kafka:"min=v0,max=v1"`
}

type deletedPartition struct {
	Partition    int32 `kafka:"min=v0,max=v1"`
	LowWatermark int64 `kafka:"min=v0,max=v1"`
	ErrorCode    int16 `kafka:"min=v0,max=v1"`
}

func (*deleteRequest) ApiKey() protocol.ApiKey  { return protocol.DeleteRecords }
func (*deleteResponse) ApiKey() protocol.ApiKey { return protocol.DeleteRecords }

func (r *deleteRequest) Broker(c protocol.Cluster) (protocol.Broker, error) {
	return c.Brokers[c.Topics[r.Topics[0].Name].Partitions[r.Topics[0].Partitions[0].Partition].Leader], nil
}

// DeleteBelow removes the records of a partition below an offset, as retention would. login is a user and a password
// (SCRAM-SHA-256), empty if the broker requires none.
func DeleteBelow(t testing.TB, addr, topic string, partition int, offset int64, login ...string) {
	t.Helper()
	transport := &kafkago.Transport{}
	if len(login) > 0 {
		mechanism, err := scram.Mechanism(scram.SHA256, login[0], login[1])
		if err != nil {
			t.Fatal(err)
		}
		transport.SASL = mechanism
	}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		r, err := transport.RoundTrip(ctx, kafkago.TCP(addr), &deleteRequest{TimeoutMs: 5000, Topics: []deleteTopic{{
			Name: topic, Partitions: []deletePartition{{Partition: int32(partition), Offset: offset}},
		}}})
		if err == nil {
			code := r.(*deleteResponse).Topics[0].Partitions[0].ErrorCode
			if code == 0 {
				return
			}
			err = kafkago.Error(code)
		}
		var k kafkago.Error
		if !errors.As(err, &k) || !k.Temporary() {
			t.Fatalf("delete records of %s/%d: %v", topic, partition, err)
		}
	}
}
