package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"forager/internal/stream"
	"forager/schemas"
)

// Follower continues to read a topic that Follow has read to its end.
type Follower struct {
	stop context.CancelFunc
	done chan struct{}
	err  error
}

// Close ends the follower and waits until f has returned.
func (f *Follower) Close() {
	f.stop()
	<-f.done
}

// Follow reads a compacted topic of one partition to its end (at the time of the call), calling f
// for each record in order, and then continues in the background, one call of f at a time, until
// Close or the client's end. It uses no consumer group: every process reads everything.
//
// While f returns Unavailable it is called again with the same record. A record that f rejects (any
// error that is not marked, or a panic) is skipped, logged and counted: it has no effect, until a newer
// record of its key replaces it. An error that f marks as Broken, and a record of a schema version that
// this program does not know, end Follow; in the background they end the follower and every Run method
// of the client, which return it. A tombstone has a nil Value.
func (rd *reader) Follow(ctx context.Context, topic string, f func(stream.Record) error) (*Follower, error) {
	n, err := rd.Partitions(ctx, topic)
	if err != nil {
		return nil, err
	}
	if n != 1 {
		return nil, stream.Broken(fmt.Errorf("topic %s has %d partitions; only a topic of one can be followed", topic, n))
	}
	first, end, err := rd.Offsets(ctx, topic, 0)
	if err != nil {
		return nil, err
	}
	life, stop := context.WithCancel(rd.life)
	fw := &Follower{stop: stop, done: make(chan struct{})}
	caughtUp := make(chan struct{})
	var once sync.Once
	reached := func(next int64) {
		if next >= end {
			once.Do(func() { close(caughtUp) })
		}
	}
	reached(first)
	if err := rd.start(func() {
		defer close(fw.done)
		in := rd.Metrics.In.WithLabelValues(topic)
		err := rd.Consume(life, Source{Topic: topic, From: first, To: Endless}, func(ch Chunk) error {
			for i := range ch.Records {
				in.Inc()
				if err := rd.followed(life, &ch.Records[i], f); err != nil {
					return err
				}
			}
			reached(ch.Next)
			return nil
		})
		if life.Err() != nil && stream.ClassOf(err) == stream.ClassEnded {
			return
		}
		fw.err = fmt.Errorf("follow %s: %w", topic, err)
		select {
		case <-caughtUp:
			rd.Metrics.Failed(stream.ClassBroken)
			rd.fail(stream.Broken(fw.err))
		default: // Follow itself returns it
		}
	}); err != nil {
		stop()
		return nil, err
	}
	select {
	case <-caughtUp:
		return fw, nil
	case <-fw.done:
		stop()
		if fw.err == nil {
			return nil, context.Cause(rd.life)
		}
		return nil, fw.err
	case <-ctx.Done():
		fw.Close()
		return nil, fmt.Errorf("read %s to its end: %w", topic, errors.Join(ctx.Err(), fw.err))
	}
}

// followed calls f with a record until it is accepted or skipped.
func (rd *reader) followed(ctx context.Context, r *stream.Record, f func(stream.Record) error) error {
	w := rd.Waiting(func() string { return fmt.Sprintf("what %s offset %d needs", r.Topic, r.Offset) })
	defer w.Over()
	if _, ok := r.Headers[schemas.HeaderVersion]; ok && !r.HasVersion() {
		rd.skipped(r, stream.ErrNoVersion)
		return nil
	}
	if err := r.CheckVersion(); err != nil {
		return err
	}
	for {
		err := stream.Recovered(func() error { return f(*r) })
		if err == nil {
			return nil
		}
		switch stream.ClassOf(err) {
		case stream.ClassRecord:
			rd.skipped(r, err)
			return nil
		case stream.ClassUnavailable:
		default:
			return fmt.Errorf("offset %d: %w", r.Offset, err)
		}
		if err := w.Wait(ctx, err); err != nil {
			return err
		}
	}
}

// skipped logs and counts a record of a followed topic that cannot be read. It concerns its key
// alone.
func (rd *reader) skipped(r *stream.Record, cause error) {
	rd.Metrics.Skipped.WithLabelValues(r.Topic).Inc()
	rd.Log.Error("record skipped", "topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "key", string(r.Key), "error", cause,
		"remedy", "forager doctor names such records, forager doctor --repair replaces or removes them")
}

// Serve lets a program that only follows topics run until ctx ends (nil), or until a follower has ended with an error, which it
// returns. The probes report it as ready meanwhile.
func (rd *reader) Serve(ctx context.Context) error {
	rd.Metrics.Joined(rd, 0)
	defer rd.Metrics.Left(rd)
	select {
	case <-ctx.Done():
		return nil
	case <-rd.life.Done():
		return context.Cause(rd.life)
	}
}
