package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"forager/internal/stream"
	"forager/internal/stream/kafka"
)

// Stateless is a stage whose outputs depend on one record alone.
type Stateless struct {
	// Stage names the consumer group, and the stage in dead letters.
	Stage string
	// Inputs are topics; records of one partition keep their order.
	Inputs []string
	// Workers is the number of records handled at a time, of all partitions; 0 = 1.
	Workers int
	// Handle is the stage's logic. It is called in parallel; its outputs are sent in the order of
	// the input. Its error is Unavailable, Broken, or the record's own. When ctx has ended, because
	// the partition was lost or the process must stop, the result is ignored.
	Handle func(ctx context.Context, r stream.Record) ([]stream.Out, error)
	// Poison returns the outputs for a record that Handle failed on, in addition to the dead
	// letter. nil = none.
	Poison func(r stream.Record, cause error) ([]stream.Out, error)
	// MaxInFlight bounds the records of a partition that were read and whose outputs are not sent;
	// 0 = 256. Their bytes are also bounded, by 16 MiB.
	MaxInFlight int
	// Tries of a record before it is poison; 0 = 3.
	Tries int
	// Unit returns what a record belongs to: its crawl. A record for which Handle returns Unavailable is parked
	// with all later ones of its unit, and the other units go on (see Missing). nil: the partition waits.
	Unit func(r *stream.Record) string
}

// inFlightBytes bounds the bytes of a partition's records that were read and whose outputs are not
// sent.
const inFlightBytes = 16 << 20

// Outputs are sent in batches over all topics, each with one wait for acknowledgements. From its
// first outputs on a batch waits gatherTime at most, and only for outputs of records in flight.
const (
	emitRecords = 1000
	emitBytes   = 4 << 20 // of records and outputs
	gatherTime  = 20 * time.Millisecond
)

// Apply passes one record through Handle with its tries, and through Poison if they fail, as
// Run does; it is for tests without a broker. The dead letter is among the outputs. An
// error is Unavailable (Run waits and calls again), Broken, or the end of ctx.
func (s *Stateless) Apply(ctx context.Context, r stream.Record) ([]stream.Out, error) {
	outs, _, err := s.apply(ctx, r, func([]stream.Out) error { return nil })
	return outs, err
}

// apply also returns why a record was poison; outputs that check rejects are a failure of the
// record.
func (s *Stateless) apply(ctx context.Context, r stream.Record, check func([]stream.Out) error) (outs []stream.Out, cause, err error) {
	if err := r.CheckVersion(); err != nil {
		return nil, nil, err
	}
	made := 0
	if !r.HasVersion() {
		cause = stream.ErrNoVersion
	} else {
		tries := s.Tries
		if tries == 0 {
			tries = 3
		}
		outs, made, cause = try(ctx, tries, func() ([]stream.Out, error) {
			outs, err := s.Handle(ctx, r)
			if err != nil {
				return nil, err
			}
			return outs, check(outs)
		})
	}
	if cause == nil {
		return outs, nil, nil
	}
	if stream.ClassOf(cause) != stream.ClassRecord {
		return nil, nil, fmt.Errorf("%s/%d offset %d: %w", r.Topic, r.Partition, r.Offset, cause)
	}
	if outs, err = poisoned(s.Stage, s.Poison, r, cause, made); err != nil {
		return nil, nil, err
	}
	if err := check(outs); err != nil {
		return nil, nil, stream.Broken(fmt.Errorf("%s/%d offset %d is poison, and its dead letter cannot be written: %w", r.Topic, r.Partition, r.Offset, err))
	}
	return outs, cause, nil
}

// Run runs the stage until ctx ends (nil) or something is broken.
func (s Stateless) Run(ctx context.Context, c *kafka.Client) error {
	if s.MaxInFlight == 0 {
		s.MaxInFlight = 256
	}
	workers := make(chan struct{}, max(s.Workers, 1))
	return c.RunGroup(ctx, s.Stage, s.Inputs, func(ctx context.Context, cl *kafka.Claim) error {
		run := &statelessClaim{
			client: c, stage: &s, claim: cl, workers: workers,
			slots: make(chan *slot, s.MaxInFlight), idle: make(chan *slot), spare: make(chan struct{}, min(maxSpare, cap(workers))),
			free:  semaphore.NewWeighted(int64(s.MaxInFlight)),
			bytes: semaphore.NewWeighted(inFlightBytes),
			park:  newParking(cl.Offset),
		}
		if s.Unit != nil {
			var err error
			if cl.Offset, err = run.park.restore(cl.Offset, cl.Metadata); err != nil {
				return stream.Broken(fmt.Errorf("%s/%d: %w", cl.Topic, cl.Partition, err))
			}
			cl.Progress(-1, cl.Offset)
		}
		return run.run(ctx)
	})
}

// slot is a record in flight; slots keep the order of the input.
type slot struct {
	record stream.Record
	bytes  int64
	last   bool          // the last record of a fetch
	done   chan struct{} // closed when outs or err is set
	outs   []stream.Out
	// unit is that of the record; parked is the reason why it waits; absent: Handle was not called, because
	// earlier records of the unit wait.
	unit   string
	parked error
	absent bool
	err    error
}

// maxSpare bounds the goroutines of a claim that wait for another record.
const maxSpare = 32

type statelessClaim struct {
	client  *kafka.Client
	stage   *Stateless
	claim   *kafka.Claim
	workers chan struct{} // places of all claims
	slots   chan *slot
	idle    chan *slot    // to goroutines that have handled another one
	spare   chan struct{} // their places
	free    *semaphore.Weighted
	bytes   *semaphore.Weighted
	park    *parking
}

func (s *statelessClaim) run(ctx context.Context) error {
	s.claim.Ready()
	// reading ends with the generation, or when nothing more can be sent.
	reading, stop := context.WithCancel(ctx)
	defer stop()
	sent := make(chan error, 1)
	go func() {
		defer stop()
		sent <- s.emit()
	}()
	drained := make(chan error, 1)
	go func() {
		err := s.drain(reading)
		if err != nil {
			stop()
		}
		drained <- err
	}()
	in := s.client.Metrics.In.WithLabelValues(s.claim.Topic)
	err := s.client.Consume(reading, s.claim.Source(), func(ch kafka.Chunk) error {
		s.claim.Fetched(ch)
		for i, r := range ch.Records {
			sl := &slot{record: r, bytes: min(r.Size(), inFlightBytes), last: i == len(ch.Records)-1, done: make(chan struct{})}
			if err := s.free.Acquire(reading, 1); err != nil {
				return err
			}
			if err := s.bytes.Acquire(reading, sl.bytes); err != nil {
				return err
			}
			if err := s.worker(reading); err != nil { // records are begun in their order
				return err
			}
			in.Inc()
			s.begin(reading, sl)
			s.slots <- sl // does not block: the slot has one of MaxInFlight places
		}
		return nil
	})
	stop() // nothing more is begun, also when reading failed
	close(s.slots)
	serr, derr := <-sent, <-drained
	if ferr := s.claim.Flush(s.claim.Hard); serr == nil {
		serr = ferr
	}
	s.client.Metrics.Parked.DeletePartialMatch(prometheus.Labels{"topic": s.claim.Topic, "partition": strconv.Itoa(s.claim.Partition)})
	switch {
	case derr != nil:
		return derr
	case serr != nil:
		return serr
	}
	return err
}

// worker waits for the place of a worker, unless ctx ended.
func (s *statelessClaim) worker(ctx context.Context) error {
	select {
	case s.workers <- struct{}{}:
		if ctx.Err() == nil {
			return nil
		}
		<-s.workers
	case <-ctx.Done():
	}
	return stream.Mark(stream.ClassEnded, ctx.Err())
}

// begin passes the slot to an idle goroutine, if there is one: its stack has grown to the size that Handle
// needs.
func (s *statelessClaim) begin(ctx context.Context, sl *slot) {
	select {
	case s.idle <- sl:
	default:
		go func() {
			for sl := sl; sl != nil; sl = s.another(ctx) {
				s.handle(ctx, sl)
			}
		}()
	}
}

// another returns the next slot for a goroutine that has filled one; nil = enough others wait, or ctx ended.
func (s *statelessClaim) another(ctx context.Context) *slot {
	select {
	case s.spare <- struct{}{}:
	default:
		return nil
	}
	defer func() { <-s.spare }()
	select {
	case sl := <-s.idle:
		return sl
	case <-ctx.Done():
		return nil
	}
}

// handle fills the slot; the caller has taken the place of a worker. Once ctx ended no further call
// is made; one in progress may continue until the claim's hard end.
func (s *statelessClaim) handle(ctx context.Context, sl *slot) {
	defer close(sl.done)
	r := &sl.record
	w := s.client.WaitingFor(r)
	defer w.Over()
	if s.stage.Unit != nil {
		sl.unit = s.stage.Unit(r)
		if parked, full := s.park.holds(sl.unit); parked && !full {
			<-s.workers
			sl.absent = true
			return
		}
	}
	for {
		began, end := time.Now(), s.client.Metrics.Begin()
		outs, cause, err := s.stage.apply(s.claim.Hard, *r, s.client.CheckSizes)
		end()
		s.client.Metrics.Handle.Observe(time.Since(began).Seconds())
		<-s.workers
		if cause != nil {
			s.client.NotePoison(r, cause)
		}
		if err == nil {
			sl.outs = outs
			return
		}
		class := stream.ClassOf(err)
		s.client.Metrics.Failed(class)
		if class != stream.ClassUnavailable {
			sl.err = err
			return
		}
		if s.stage.Unit != nil {
			if _, full := s.park.holds(sl.unit); !full {
				sl.parked = err
				return
			}
		}
		if sl.err = w.Wait(ctx, err); sl.err != nil {
			return
		}
		if sl.err = s.worker(ctx); sl.err != nil {
			return
		}
	}
}

// emit sends the outputs of slots in their order and commits after them. It returns when the slots
// end, or at the first without outputs.
func (s *statelessClaim) emit() error {
	hard := s.claim.Hard
	var next *slot // taken from slots, not part of the last batch
	for {
		first := next
		next = nil
		if first == nil {
			var ok bool
			if first, ok = <-s.slots; !ok {
				break
			}
		}
		select {
		case <-first.done:
		case <-hard.Done(): // Handle ignores its context
			return nil
		}
		if err := first.err; err != nil {
			if class := stream.ClassOf(err); class == stream.ClassEnded || class == stream.ClassLost {
				err = nil
			}
			return errors.Join(err, s.claim.Flush(hard))
		}
		var batch []*slot
		batch, next = s.gather(first)
		if err := s.sendBatch(hard, batch); err != nil {
			return err
		}
	}
	return s.claim.Flush(hard)
}

// gather collects the slots after first that are done, or become done within gatherTime. The one
// that ends the batch is returned too, if there is one.
func (s *statelessClaim) gather(first *slot) (batch []*slot, next *slot) {
	due := make(chan struct{})
	defer time.AfterFunc(gatherTime, func() { close(due) }).Stop()
	records, bytes := 0, int64(0)
	for next = first; ; {
		batch = append(batch, next)
		records += len(next.outs)
		bytes += next.bytes
		for i := range next.outs {
			bytes += int64(len(next.outs[i].Value))
		}
		// A batch of more than half of what may be in flight would delay reading.
		if records >= emitRecords || bytes >= emitBytes || 2*len(batch) >= s.stage.MaxInFlight {
			return batch, nil
		}
		if next = s.follower(next, due); next == nil || !s.succeeds(next, due) {
			return batch, next
		}
	}
}

// follower returns the slot after another one, nil if there is none. It waits until due if its
// record came with the other's.
func (s *statelessClaim) follower(sl *slot, due <-chan struct{}) *slot {
	select {
	case next := <-s.slots:
		return next
	default:
	}
	if sl.last {
		return nil
	}
	select {
	case next := <-s.slots:
		return next
	case <-due:
		return nil
	}
}

// succeeds reports whether the slot has outputs, at the latest by due.
func (s *statelessClaim) succeeds(sl *slot, due <-chan struct{}) bool {
	select {
	case <-sl.done:
		return sl.err == nil
	default:
	}
	select {
	case <-sl.done:
		return sl.err == nil
	case <-due:
	case <-s.claim.Hard.Done():
	}
	return false
}

func (s *statelessClaim) sendBatch(ctx context.Context, batch []*slot) error {
	var outs []stream.Out
	var bytes int64
	var parked []*slot
	for _, sl := range batch {
		bytes += sl.bytes
		if s.mustPark(sl, parked) {
			parked = append(parked, sl)
			continue
		}
		outs = append(outs, sl.outs...)
	}
	if _, err := s.client.Produce(ctx, outs); err != nil {
		return err
	}
	stream.Failpoint("acked-before-commit")
	for _, sl := range parked { // after the outputs of earlier records of their units
		if s.park.park(sl.unit, sl.record.Offset, sl.parked) && sl.parked != nil {
			s.client.Log.Warn("parked", "topic", s.claim.Topic, "partition", s.claim.Partition, "crawl", sl.unit, "cause", sl.parked)
		}
	}
	last := batch[len(batch)-1].record.Offset + 1
	s.commit(last)
	s.claim.Progress(-1, last)
	s.free.Release(int64(len(batch)))
	s.bytes.Release(bytes)
	return nil
}

// mustPark reports whether the record of a slot waits for a missing object or for an earlier record of its
// unit.
func (s *statelessClaim) mustPark(sl *slot, parked []*slot) bool {
	if s.stage.Unit == nil {
		return false
	}
	if sl.parked != nil || sl.absent || slices.ContainsFunc(parked, func(x *slot) bool { return x.unit == sl.unit }) {
		return true
	}
	held, _ := s.park.holds(sl.unit)
	return held
}
