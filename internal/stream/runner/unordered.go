package runner

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"forager/internal/stream"
	"forager/internal/stream/kafka"
	"forager/schemas"
)

// Unordered is a stage whose records take very different times. The outputs of a record are sent as
// soon as they exist, and the committed offset is the lowest one in flight. After a crash all
// records from there on come again, also completed ones; OnAssign can find out which.
//
// Its input is a decision log with epoch markers (see Fence). Markers and void records are not
// handled; the fence as of the committed offset is kept in the commit's metadata.
type Unordered struct {
	// Stage names the consumer group, and the stage in dead letters.
	Stage string
	Input string
	// MaxInFlight bounds the records of a partition that are handled at a time; 0 = 1024. Their
	// bytes are also bounded, by 16 MiB.
	MaxInFlight int
	// Handle starts the work on a record and returns soon; done must be called once, from any
	// goroutine, when it is completed. ctx ends when draining begins: work that has not really
	// begun is then cancelled with done(nil, ctx.Err()), and the record is left to the next owner.
	// Otherwise done's error is Unavailable (Handle is called again, after a pause), Broken, or the
	// record's own (Handle is called again, Tries times, then Poison). A result later than half a
	// session timeout after draining began is dropped.
	Handle func(ctx context.Context, r stream.Record, done func(outs []stream.Out, err error))
	// Poison returns the outputs for a record that Handle failed on, in addition to the dead
	// letter. nil = none.
	Poison func(r stream.Record, cause error) ([]stream.Out, error)
	// Tries of a record before it is poison; 0 = 3.
	Tries int
	// Linger is how long the outputs of a record may wait for those of others, while others are in
	// flight in this process; 0 = not at all.
	Linger time.Duration
	// OnAssign is called for a partition, before its first record, when the group assigns it to
	// this process; from is the offset of the first record to come. nil = nothing to do.
	OnAssign func(ctx context.Context, partition int, from int64) error
	// OnRevoke is called when the partition is revoked, after the last record was completed or
	// dropped. nil = nothing to do.
	OnRevoke func(partition int)
}

// windowPerFlight bounds the records between the lowest one in flight and the newest one, in
// multiples of MaxInFlight: that many may come again after a crash.
const windowPerFlight = 64

// Run runs the stage until ctx ends (nil) or something is broken.
func (u Unordered) Run(ctx context.Context, c *kafka.Client) error {
	if u.MaxInFlight == 0 {
		u.MaxInFlight = 1024
	}
	if u.Tries == 0 {
		u.Tries = 3
	}
	flights := new(atomic.Int64)
	return c.RunGroup(ctx, u.Stage, []string{u.Input}, func(ctx context.Context, cl *kafka.Claim) error {
		head, err := stream.ParseFence(cl.Metadata)
		if err != nil {
			return stream.Broken(fmt.Errorf("commit of %s/%d: %w", cl.Topic, cl.Partition, err))
		}
		run := &unorderedClaim{
			client: c, stage: &u, claim: cl, head: head, flights: flights,
			slots:  semaphore.NewWeighted(int64(u.MaxInFlight)),
			bytes:  semaphore.NewWeighted(inFlightBytes),
			window: semaphore.NewWeighted(int64(u.MaxInFlight) * windowPerFlight),
			low:    cl.Offset, fence: head.Clone(),
			done: map[int64]settled{},
		}
		return run.run(ctx)
	})
}

// settled is a completed record: the offset after it, and the marker if it was one.
type settled struct {
	next   int64
	marker bool
	owner  uint32
	epoch  uint64
}

type unorderedClaim struct {
	client *kafka.Client
	stage  *Unordered
	claim  *kafka.Claim
	head   stream.Fence // as of the newest record read; used by the reading goroutine only
	slots  *semaphore.Weighted
	bytes  *semaphore.Weighted
	window *semaphore.Weighted
	stop   context.CancelCauseFunc // ends reading
	flying sync.WaitGroup
	// flights is the number of records in flight in all claims of the process.
	flights *atomic.Int64

	mu    sync.Mutex
	low   int64        // everything below is completed
	fence stream.Fence // as of low
	// read has the offsets from low on, ascending, possibly with gaps; done has those that are
	// completed.
	read []int64
	done map[int64]settled
}

func (u *unorderedClaim) run(ctx context.Context) error {
	if u.stage.OnRevoke != nil {
		defer u.stage.OnRevoke(u.claim.Partition)
	}
	if u.stage.OnAssign != nil {
		if err := u.assign(ctx); err != nil {
			return err
		}
	}
	u.claim.Ready()
	reading, stop := context.WithCancelCause(ctx)
	u.stop = stop
	defer stop(nil)
	err := u.client.Consume(reading, u.claim.Source(), func(ch kafka.Chunk) error {
		u.claim.Fetched(ch)
		for i := range ch.Records {
			if err := u.take(reading, ch.Records[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if cause := context.Cause(reading); cause != nil && ctx.Err() == nil {
		err = cause // a record stopped it
	}
	stop(err) // cancel the context of Handle: draining began
	u.await()
	if ferr := u.claim.Flush(u.claim.Hard); ferr != nil && (err == nil || stream.ClassOf(err) == stream.ClassEnded) {
		return ferr
	}
	return err
}

func (u *unorderedClaim) assign(ctx context.Context) error {
	w := u.client.Waiting(func() string {
		return fmt.Sprintf("what the assignment of %s/%d needs", u.claim.Topic, u.claim.Partition)
	})
	defer w.Over()
	for {
		err := u.stage.OnAssign(ctx, u.claim.Partition, u.claim.Offset)
		if err == nil {
			return nil
		}
		if stream.ClassOf(err) != stream.ClassUnavailable {
			if ctx.Err() != nil {
				return stream.Mark(stream.ClassEnded, err)
			}
			return fmt.Errorf("assignment of %s/%d: %w", u.claim.Topic, u.claim.Partition, err)
		}
		if err := w.Wait(ctx, err); err != nil {
			return err
		}
	}
}

// await waits until the records in flight are settled, or the claim's hard end.
func (u *unorderedClaim) await() {
	landed := make(chan struct{})
	go func() {
		u.flying.Wait()
		close(landed)
	}()
	select {
	case <-landed:
	case <-u.claim.Hard.Done():
	}
}

// take starts a record, once the bounds allow it.
func (u *unorderedClaim) take(ctx context.Context, r stream.Record) error {
	if err := r.CheckVersion(); err != nil {
		return err
	}
	if err := u.window.Acquire(ctx, 1); err != nil {
		return stream.Mark(stream.ClassEnded, err)
	}
	u.client.Metrics.In.WithLabelValues(r.Topic).Inc()
	u.mu.Lock()
	u.read = append(u.read, r.Offset)
	u.mu.Unlock()
	kind, ferr := u.head.Read(&r)
	switch {
	case ferr != nil: // headers of another program; Handle must not get them
	case kind == stream.Void:
		u.client.Metrics.Void.WithLabelValues(r.Topic).Inc()
		u.settle(r.Offset, settled{})
		return nil
	case kind == stream.Claim:
		u.settle(r.Offset, settled{})
		return nil
	case kind == stream.Marker:
		owner, _ := strconv.ParseUint(r.Headers[schemas.HeaderOwner], 10, 32)
		epoch, _ := strconv.ParseUint(r.Headers[schemas.HeaderEpoch], 10, 64)
		u.settle(r.Offset, settled{marker: true, owner: uint32(owner), epoch: epoch})
		return nil
	}
	if err := u.slots.Acquire(ctx, 1); err != nil {
		return stream.Mark(stream.ClassEnded, err)
	}
	bytes := min(r.Size(), inFlightBytes)
	if err := u.bytes.Acquire(ctx, bytes); err != nil {
		return stream.Mark(stream.ClassEnded, err)
	}
	f := &flight{run: u, record: r, bytes: bytes, waiting: u.client.WaitingFor(&r)}
	u.flying.Add(1)
	u.flights.Add(1)
	if !r.HasVersion() && ferr == nil {
		ferr = stream.ErrNoVersion
	}
	if ferr != nil {
		go f.complete(ctx, nil, ferr, true)
		return nil
	}
	f.begin(ctx)
	return nil
}

// flight is a record in flight.
type flight struct {
	run     *unorderedClaim
	record  stream.Record
	bytes   int64
	tries   int
	waiting *kafka.Waiting
}

// begin calls Handle; its result is processed in a goroutine of its own.
func (f *flight) begin(ctx context.Context) {
	var once sync.Once
	done := func(outs []stream.Out, err error) {
		once.Do(func() { go f.complete(ctx, outs, err, false) })
	}
	f.tries++
	defer f.run.client.Metrics.Begin()()
	err := stream.Recovered(func() error {
		f.run.stage.Handle(ctx, f.record, done)
		return nil
	})
	if err != nil {
		done(nil, err)
	}
}

// complete processes the result of Handle: outputs are sent; errors are retried, waited for or made
// poison. The flight is over when it returns, unless Handle was called again.
func (f *flight) complete(ctx context.Context, outs []stream.Out, err error, last bool) {
	u, r := f.run, &f.record
	over := func() {
		f.waiting.Over()
		u.slots.Release(1)
		u.bytes.Release(f.bytes)
		u.flights.Add(-1)
		u.flying.Done()
	}
	if err == nil {
		err = u.client.CheckSizes(outs)
	}
	if err != nil {
		class := stream.ClassOf(err)
		u.client.Metrics.Failed(class)
		switch {
		case class == stream.ClassUnavailable:
			if f.waiting.Wait(ctx, err) != nil {
				over()
				return
			}
			f.begin(ctx)
			return
		case class == stream.ClassEnded, class == stream.ClassLost:
			over()
			return
		case class == stream.ClassBroken:
			u.stop(fmt.Errorf("%s/%d offset %d: %w", r.Topic, r.Partition, r.Offset, err))
			over()
			return
		case f.tries < u.stage.Tries && !last:
			f.begin(ctx)
			return
		}
		cause := err
		outs, err = poisoned(u.stage.Stage, u.stage.Poison, *r, cause, f.tries)
		if err == nil {
			if serr := u.client.CheckSizes(outs); serr != nil {
				err = stream.Broken(fmt.Errorf("%s/%d offset %d is poison, and its dead letter cannot be written: %w", r.Topic, r.Partition, r.Offset, serr))
			}
		}
		if err != nil {
			f.complete(ctx, nil, err, last)
			return
		}
		u.client.NotePoison(r, cause)
	}
	if _, err := u.client.ProduceWithin(u.claim.Hard, outs, u.linger()); err != nil {
		if class := stream.ClassOf(err); class != stream.ClassEnded && class != stream.ClassLost {
			u.stop(err)
		}
		over()
		return
	}
	stream.Failpoint("acked-before-commit")
	u.settle(r.Offset, settled{})
	over()
}

// linger returns how long outputs wait for others: not at all if no other record is in flight.
func (u *unorderedClaim) linger() time.Duration {
	if u.flights.Load() > 1 {
		return u.stage.Linger
	}
	return 0
}

// settle notes that a record is completed, and commits up to the first that is not.
func (u *unorderedClaim) settle(offset int64, s settled) {
	s.next = offset + 1
	u.mu.Lock()
	defer u.mu.Unlock()
	u.done[offset] = s
	passed := int64(0)
	for len(u.read) > 0 {
		s, ok := u.done[u.read[0]]
		if !ok {
			break
		}
		delete(u.done, u.read[0])
		u.read = u.read[1:]
		u.low = s.next
		if s.marker {
			u.fence.Mark(s.owner, s.epoch)
		}
		passed++
	}
	if passed > 0 {
		u.window.Release(passed)
		u.claim.Commit(u.low, u.fence.String())
		u.claim.Progress(-1, u.low)
	}
}

// CalledOff is an error for done: the record is left to the next owner of the partition, as
// when ctx ended.
var CalledOff = stream.Mark(stream.ClassEnded, errors.New("called off"))
