package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/semaphore"

	"forager/internal/stream"
)

const (
	// maxProducing bounds the bytes of messages in flight, of the whole client.
	maxProducing = 64 << 20
	// A batch has at most this size, or one message that is larger. 1 MiB is what brokers take by
	// default; compression makes it smaller.
	maxBatchBytes   = 1<<20 - 4<<10
	maxBatchRecords = 2000
)

// producer writes messages.
type producer struct {
	*cluster
	inFlight *semaphore.Weighted // bytes of messages in flight
	mu       sync.Mutex
	lanes    map[topicPartition]*laneQueue
}

func newProducer(c *cluster) *producer {
	return &producer{cluster: c, inFlight: semaphore.NewWeighted(maxProducing), lanes: make(map[topicPartition]*laneQueue)}
}

// laneQueue is the queue of a lane, which is a partition to which messages are written in their order. At most one batch of a
// lane is in flight; messages that come meanwhile form the next one. So no message waits for others, and
// batches still grow with the load.
type laneQueue struct {
	// filled signals that the queue may have messages.
	filled chan struct{}
	mu     sync.Mutex
	queue  []*pending
	// linger is how long the first message of the queue may wait for others.
	linger time.Duration
}

// pending is a message of a call of Produce in a queue.
type pending struct {
	call *produceCall
	out  *stream.Out
	pos  *stream.Position
	size int
}

type produceCall struct {
	ctx  context.Context
	left atomic.Int64
	done chan struct{}
	once sync.Once
	err  error
}

// finish notes that n messages of the call are settled; the first error ends it.
func (c *produceCall) finish(n int64, err error) {
	if err != nil || c.left.Add(-n) == 0 {
		c.once.Do(func() { c.err = err; close(c.done) })
	}
}

// Produce writes messages and returns the position of each, once all in-sync replicas have
// acknowledged all of them. The order of messages of one partition is kept, within a call and
// between calls that follow one another. While the broker is unavailable it waits and tries again,
// which may write a message twice. When ctx ends first, each message may or may not be written. A
// message larger than its topic accepts is a *SizeError; then no message of the call is written.
func (pr *producer) Produce(ctx context.Context, outs []stream.Out) ([]stream.Position, error) {
	return pr.ProduceWithin(ctx, outs, 0)
}

// ProduceWithin is Produce for messages that may wait for others of their partition for the given
// time.
func (pr *producer) ProduceWithin(ctx context.Context, outs []stream.Out, linger time.Duration) ([]stream.Position, error) {
	if len(outs) == 0 {
		return nil, nil
	}
	if err := pr.CheckSizes(outs); err != nil {
		return nil, err
	}
	positions := make([]stream.Position, len(outs))
	call := &produceCall{ctx: ctx, done: make(chan struct{})}
	call.left.Store(int64(len(outs)))
	lanes := map[topicPartition][]*pending{}
	var total int64
	for i := range outs {
		o := &outs[i]
		n, err := pr.Partitions(ctx, o.Topic)
		if err != nil {
			return nil, err
		}
		p := o.PartitionOf(n)
		if p >= n {
			return nil, stream.Broken(fmt.Errorf("message for partition %d of %s, which has %d", p, o.Topic, n))
		}
		positions[i].Partition = p
		size := o.Size()
		total += int64(size)
		key := topicPartition{o.Topic, p}
		lanes[key] = append(lanes[key], &pending{call: call, out: o, pos: &positions[i], size: size})
	}
	total = min(total, maxProducing)
	if err := pr.inFlight.Acquire(ctx, total); err != nil {
		return nil, fmt.Errorf("waiting for messages on their way: %w", err)
	}
	defer pr.inFlight.Release(total)
	for key, ps := range lanes {
		if err := pr.enqueue(key, ps, linger); err != nil {
			return nil, err
		}
	}
	select {
	case <-call.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-pr.life.Done():
		return nil, context.Cause(pr.life)
	}
	if call.err != nil {
		return nil, call.err
	}
	return positions, nil
}

// CheckSizes returns a *SizeError for the first message that its topic would refuse.
func (pr *producer) CheckSizes(outs []stream.Out) error {
	for i := range outs {
		if size, limit := outs[i].Size(), pr.maxMessage(outs[i].Topic); size > limit {
			return &stream.SizeError{Topic: outs[i].Topic, Size: size, Max: limit}
		}
	}
	return nil
}

func (pr *producer) enqueue(key topicPartition, ps []*pending, linger time.Duration) error {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if pr.life.Err() != nil {
		return context.Cause(pr.life)
	}
	q := pr.lanes[key]
	if q == nil {
		q = &laneQueue{filled: make(chan struct{}, 1)}
		if err := pr.start(func() { pr.runLane(key, q) }); err != nil {
			return err
		}
		pr.lanes[key] = q
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) == 0 {
		q.linger = linger
	}
	q.queue = append(q.queue, ps...)
	select {
	case q.filled <- struct{}{}:
	default:
	}
	return nil
}

// linger waits for more messages of a queue, unless the client is closed.
func (pr *producer) linger(q *laneQueue) {
	q.mu.Lock()
	d := q.linger
	if len(q.queue) == 0 {
		d = 0
	}
	q.mu.Unlock()
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-pr.life.Done():
	}
}

// next removes the next batch from the queue, at least one message unless it is empty.
func (q *laneQueue) next(maxBytes int) []*pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	var batch []*pending
	bytes, taken := 0, 0
	for _, p := range q.queue {
		if len(batch) > 0 && (bytes+p.size > maxBytes || len(batch) == maxBatchRecords) {
			break
		}
		taken++
		if err := p.call.ctx.Err(); err != nil {
			p.call.finish(1, err) // its call has ended; do not send it any more
			continue
		}
		batch = append(batch, p)
		bytes += p.size
	}
	q.queue = q.queue[taken:]
	if len(q.queue) == 0 {
		q.queue = nil
	}
	return batch
}

// runLane sends what the queue holds until the client is closed. (A new goroutine for each batch
// would have to grow its stack each time.)
func (pr *producer) runLane(key topicPartition, q *laneQueue) {
	limit := min(maxBatchBytes, pr.maxMessage(key.topic)-(&stream.Out{}).Size())
	for open := true; open; {
		select {
		case <-q.filled:
		case <-pr.life.Done():
			open = false // fail the queued messages
		}
		for {
			pr.linger(q)
			batch := q.next(limit)
			if len(batch) == 0 {
				break
			}
			pr.send(key, batch)
		}
	}
}

// send writes a batch; it returns when every message of it is settled.
func (pr *producer) send(key topicPartition, batch []*pending) {
	w := pr.Waiting(func() string { return fmt.Sprintf("the broker to take messages for %s/%d", key.topic, key.partition) })
	defer w.Over()
	for {
		base, err := pr.sendOnce(key, batch)
		if err == nil {
			for i, p := range batch {
				p.pos.Offset = base + int64(i)
				p.call.finish(1, nil)
			}
			pr.Metrics.Out.WithLabelValues(key.topic).Add(float64(len(batch)))
			return
		}
		class := pr.failed(err)
		pr.Metrics.Failed(class)
		if class == stream.ClassBroken {
			if len(batch) > 1 { // one of them may be the cause: send them one by one
				for i := range batch {
					pr.send(key, batch[i:i+1])
				}
				return
			}
			batch[0].call.finish(1, stream.Broken(fmt.Errorf("write to %s/%d: %w", key.topic, key.partition, err)))
			return
		}
		if werr := w.Wait(context.Background(), err); werr != nil { // the client was closed
			for _, p := range batch {
				p.call.finish(1, werr)
			}
			return
		}
		alive := batch[:0:0]
		for _, p := range batch {
			if err := p.call.ctx.Err(); err != nil {
				p.call.finish(1, err)
				continue
			}
			alive = append(alive, p)
		}
		if batch = alive; len(batch) == 0 {
			return
		}
	}
}

func (pr *producer) sendOnce(key topicPartition, batch []*pending) (base int64, err error) {
	records := make([]kafka.Record, len(batch))
	now := time.Now()
	for i, p := range batch {
		records[i] = kafka.Record{Time: now, Headers: wireHeaders(p.out.Headers)}
		if p.out.Key != nil {
			records[i].Key = kafka.NewBytes(p.out.Key)
		}
		if p.out.Value != nil {
			records[i].Value = kafka.NewBytes(p.out.Value)
		}
	}
	r, err := pr.kafka.Produce(pr.life, &kafka.ProduceRequest{
		Topic: key.topic, Partition: key.partition, RequiredAcks: kafka.RequireAll,
		Compression: codec, Records: kafka.NewRecordReader(records...),
	})
	switch {
	case err != nil:
		return 0, err
	case r.Error != nil:
		return 0, r.Error
	case len(r.RecordErrors) > 0:
		for i, e := range r.RecordErrors {
			err = errors.Join(err, fmt.Errorf("message %d of the batch: %w", i, e))
		}
		return 0, stream.Broken(err)
	}
	return r.BaseOffset, nil
}
