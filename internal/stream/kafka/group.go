package kafka

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"

	"forager/internal/stream"
	"forager/internal/stream/metrics"
)

// commitPause is the longest delay of a commit after the acknowledgement. A longer one saves
// requests and causes more duplicates after a crash.
const commitPause = 200 * time.Millisecond

// Claim is one partition in one generation of a consumer group.
type Claim struct {
	Topic     string
	Partition int
	// Offset to continue from: the committed one, or the partition's first if there is none.
	Offset int64
	// Metadata of the commit.
	Metadata string
	// Hard ends half a session timeout after draining began (when the context of run ended): what
	// is not committed then is left to the next owner.
	Hard       context.Context
	Generation *Generation

	client *Client
	opened sync.Once
	lag    prometheus.Gauge
	age    *metrics.Age
	mu     sync.Mutex
	end    int64 // after the last record of the partition, as of the last fetch
	next   int64 // everything below is completed
}

// Progress notes the end of the partition, and the offset below which everything is completed, for the metric of the lag;
// -1 = as before.
func (cl *Claim) Progress(end, next int64) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if end >= 0 {
		cl.end = end
	}
	if next >= 0 {
		cl.next = next
		cl.age.Done(next)
	}
	cl.lag.Set(float64(max(0, cl.end-cl.next)))
}

// Fetched notes what was read, before any of it is completed.
func (cl *Claim) Fetched(ch Chunk) {
	cl.age.Read(len(ch.Records), func(i int) (int64, time.Time) { return ch.Records[i].Offset, ch.Records[i].Time })
	cl.Progress(ch.End, -1)
}

// Source is the partition from Offset on, without end.
func (cl *Claim) Source() Source {
	return Source{Topic: cl.Topic, Partition: cl.Partition, From: cl.Offset, To: Endless, group: cl.Generation.gen.GroupID}
}

// Commit notes that everything below next is completed. The commit is sent within commitPause, and by
// Flush.
func (cl *Claim) Commit(next int64, metadata string) {
	g := cl.Generation
	g.mu.Lock()
	defer g.mu.Unlock()
	key := topicPartition{cl.Topic, cl.Partition}
	g.points[key] = kafka.OffsetCommit{Partition: cl.Partition, Offset: next, Metadata: metadata}
}

// Flush sends what was noted; its error is marked. lost = another generation has the partition.
func (cl *Claim) Flush(ctx context.Context) error { return cl.Generation.send(ctx) }

// Ready notes that the claim has its state: the process is ready once all claims have. Further calls have no effect.
func (cl *Claim) Ready() {
	cl.opened.Do(func() { cl.client.Metrics.Opened(cl.Generation) })
}

// Generation commits for all claims of one generation.
type Generation struct {
	client *Client
	gen    *kafka.Generation
	hard   context.Context

	sending sync.Mutex // one commit at a time: an older one must not follow a newer one

	mu     sync.Mutex
	points map[topicPartition]kafka.OffsetCommit // noted and not sent
}

// send sends the noted commits; while the broker is unavailable it waits until ctx ends. A request
// in flight is not cancelled with ctx: it could still arrive after the next one and reset the
// group's offsets.
func (g *Generation) send(ctx context.Context) error {
	g.sending.Lock()
	defer g.sending.Unlock()
	g.mu.Lock()
	points := maps.Clone(g.points)
	clear(g.points)
	g.mu.Unlock()
	if len(points) == 0 {
		return nil
	}
	topics := map[string][]kafka.OffsetCommit{}
	for key, p := range points {
		topics[key.topic] = append(topics[key.topic], p)
	}
	err := g.client.retry(ctx, "commit of group "+g.gen.GroupID, func(context.Context) error {
		r, err := g.client.kafka.OffsetCommit(g.hard, &kafka.OffsetCommitRequest{
			GroupID: g.gen.GroupID, GenerationID: int(g.gen.ID), MemberID: g.gen.MemberID, Topics: topics,
		})
		if err != nil {
			return err
		}
		for topic, ps := range r.Topics {
			for _, p := range ps {
				if p.Error != nil {
					return fmt.Errorf("%s/%d: %w", topic, p.Partition, p.Error)
				}
			}
		}
		return nil
	})
	if err == nil {
		stream.Failpoint("committed")
		return nil
	}
	g.mu.Lock()
	for key, p := range points {
		if _, newer := g.points[key]; !newer {
			g.points[key] = p
		}
	}
	g.mu.Unlock()
	return fmt.Errorf("commit generation %d of group %s: %w", g.gen.ID, g.gen.GroupID, err)
}

// RunGroup joins the consumer group of the stage and calls run for each partition of the topics
// that each generation gives to this process. run returns once its context has ended (draining
// begins) and its commits are flushed; before that only with an error, which ends RunGroup and is
// its result. The end of ctx ends RunGroup with nil.
func (c *Client) RunGroup(ctx context.Context, stage string, topics []string, run func(context.Context, *Claim) error) error {
	outer := ctx
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(c.life, func() { stop(context.Cause(c.life)) })()

	err := c.joinAndRun(ctx, stage, topics, run, stop)
	if ctx.Err() == nil {
		return err
	}
	if cause := context.Cause(ctx); outer.Err() == nil || cause != context.Cause(outer) {
		return cause // a claim or the client ended it, before the caller did
	}
	return nil
}

func (c *Client) joinAndRun(ctx context.Context, stage string, topics []string, run func(context.Context, *Claim) error, stop context.CancelCauseFunc) error {
	for _, topic := range topics {
		// Wait until they exist: a group with unknown topics would get no partitions. This also
		// reports wrong passwords and certificates, which the group would not.
		if _, err := c.Partitions(ctx, topic); err != nil {
			return err
		}
	}
	name := c.groupName(stage)
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: name, Brokers: c.cfg.Brokers, Dialer: c.dialer(), Topics: topics,
		SessionTimeout: c.cfg.SessionTimeout,
		// The other members wait for this one to drain, and no longer than it may take.
		RebalanceTimeout:  c.cfg.SessionTimeout,
		HeartbeatInterval: min(max(c.cfg.SessionTimeout/20, 100*time.Millisecond), time.Second),
		JoinGroupBackoff:  500 * time.Millisecond,
		StartOffset:       kafka.FirstOffset,
	})
	if err != nil {
		return stream.Broken(fmt.Errorf("consumer group %s: %w", name, err))
	}
	defer group.Close() // drains and leaves
	w := c.Waiting(func() string { return "consumer group " + name })
	defer w.Over()
	for {
		// Next must be called again and again: the group makes no progress otherwise.
		gen, err := group.Next(ctx)
		switch {
		case err == nil:
			w.Over()
			c.start(ctx, gen, run, stop)
		case ctx.Err() != nil:
			return nil
		default:
			class := brokerClass(err)
			c.Metrics.Failed(class)
			if class == stream.ClassBroken {
				return stream.Broken(fmt.Errorf("consumer group %s: %w", name, err))
			}
			if class == stream.ClassUnavailable { // the group itself waits before it joins again
				w.note(err)
			}
		}
	}
}

// start starts the claims of a generation. They drain when it or ctx ends.
func (c *Client) start(ctx context.Context, gen *kafka.Generation, run func(context.Context, *Claim) error, stop context.CancelCauseFunc) {
	startOne := func(f func(context.Context)) {
		gen.Start(func(gctx context.Context) {
			// A function that returns ends the generation for all members of the group.
			defer func() { <-gctx.Done() }()
			both, cancel := context.WithCancel(context.Background()) // its end is Canceled, that of gctx an error of kafka-go
			defer cancel()
			defer context.AfterFunc(gctx, cancel)()
			defer context.AfterFunc(ctx, cancel)()
			f(both)
		})
	}
	c.Metrics.Generations.Inc()
	hard, end := context.WithCancel(context.Background())
	g := &Generation{client: c, gen: gen, hard: hard, points: map[topicPartition]kafka.OffsetCommit{}}
	count := 0
	for _, assignments := range gen.Assignments {
		count += len(assignments)
	}
	c.Metrics.Joined(g, count)
	for topic, assignments := range gen.Assignments {
		c.Metrics.Poison.WithLabelValues(topic) // from 0 on
		for _, a := range assignments {
			startOne(func(ctx context.Context) {
				if err := c.runClaim(ctx, g, topic, a.ID, run); err != nil {
					stop(err)
				}
			})
		}
	}
	startOne(func(ctx context.Context) {
		context.AfterFunc(ctx, func() { time.AfterFunc(c.cfg.SessionTimeout/2, end) }) // the time that work in progress has to end
		ticker := time.NewTicker(commitPause)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				c.Metrics.Left(g)
				c.Log.Info("draining", "group", gen.GroupID, "generation", gen.ID)
				return
			case <-ticker.C:
			}
			// Lost: the next heartbeat ends the generation.
			end := c.Metrics.Begin()
			err := g.send(ctx)
			end()
			if stream.ClassOf(err) == stream.ClassBroken {
				stop(err)
				return
			}
		}
	})
	c.Log.Info("joined", "group", gen.GroupID, "generation", gen.ID, "partitions", count)
}

// runClaim runs one claim; its error ends the process.
func (c *Client) runClaim(ctx context.Context, g *Generation, topic string, partition int, run func(context.Context, *Claim) error) error {
	cl, err := c.newClaim(ctx, g, topic, partition)
	if err == nil {
		cl.age = c.Metrics.Ages.Of(topic, partition)
		cl.age.Done(cl.Offset)
		err = run(ctx, cl)
		cl.age.Close()
		cl.lag.Set(0) // another process may show it now
	}
	switch class := stream.ClassOf(err); {
	case err == nil && ctx.Err() == nil:
		return stream.Broken(fmt.Errorf("the claim of %s/%d ended before its generation", topic, partition))
	case err == nil, class == stream.ClassEnded, class == stream.ClassLost:
		return nil
	}
	c.Metrics.Failed(stream.ClassBroken)
	return err
}

// newClaim reads the committed offset and compares it with the offsets of the partition.
func (c *Client) newClaim(ctx context.Context, g *Generation, topic string, partition int) (*Claim, error) {
	cl := &Claim{Topic: topic, Partition: partition, Offset: -1, Hard: g.hard, Generation: g, client: c, lag: c.Metrics.Lag.WithLabelValues(topic, strconv.Itoa(partition))}
	err := c.retry(ctx, "committed offset of group "+g.gen.GroupID, func(ctx context.Context) error {
		all, err := c.commits(ctx, g.gen.GroupID, map[string][]int{topic: {partition}})
		if err != nil {
			return err
		}
		at, ok := all[topicPartition{topic, partition}]
		if !ok {
			return fmt.Errorf("no committed offset of %s/%d in the answer", topic, partition)
		}
		cl.Offset, cl.Metadata = at.CommittedOffset, at.Metadata
		return nil
	})
	if err != nil {
		return nil, err
	}
	first, end, err := c.Offsets(ctx, topic, partition)
	if err != nil {
		return nil, err
	}
	switch {
	case cl.Offset < 0: // none was committed
		cl.Offset = first
	case cl.Offset < first && c.topics[topic].Compact:
		cl.Offset = first
	case cl.Offset < first || cl.Offset > end:
		return nil, &stream.OffsetError{Topic: topic, Partition: partition, Offset: cl.Offset, First: first, End: end, Group: g.gen.GroupID}
	}
	cl.end, cl.next = end, cl.Offset
	return cl, nil
}
