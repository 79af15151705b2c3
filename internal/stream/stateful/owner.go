package stateful

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/stream"
	"forager/internal/stream/state"
	"forager/schemas"
)

// Broker is the part of *Client that an Owner uses. Package crashtest simulates it.
type Broker interface {
	Produce(ctx context.Context, outs []stream.Out) ([]stream.Position, error)
	Partitions(ctx context.Context, topic string) (int, error)
	Offsets(ctx context.Context, topic string, partition int) (first, end int64, err error)
	End(ctx context.Context, topic string, partition int) (int64, error)
	Read(ctx context.Context, topic string, partition int, from, to int64, f func(stream.Record) error) error
}

// Processor is the logic of a stateful stage for one partition of its input. It keeps its durable
// state in the Store that it was opened with; it does not commit and does not produce. After an
// error it is discarded and opened again on the last commit.
type Processor interface {
	// Recover applies a decision in the log that the state does not have: it was made by an owner
	// of this partition that crashed before its commit, or by another one meanwhile. The same
	// decision may come more than once.
	Recover(r stream.Record) error
	// Step processes the next records of the input, or none when it is time to wake.
	Step(ctx context.Context, w Work) (Result, error)
}

// AckObserver is a Processor that is notified of the positions of its outputs. Acked is called once all
// are acknowledged, before the commit; what it writes to the Store belongs to that commit.
type AckObserver interface {
	Acked(outs []stream.Out, positions []stream.Position) error
}

// Work is the input of a Processor's step.
type Work struct {
	// Records of the input in order; none = the time Result.Wake has come, or Stage.Notify
	// signalled a change.
	Records []stream.Record
	Now     time.Time
	// Next is the offset after them.
	Next int64
	// Replaying: the input had further records when the owner started. An earlier owner may have
	// acted on them: decisions should wait for the rest.
	Replaying bool
}

// Result is the output of a step.
type Result struct {
	// Outs are sent in order and acknowledged before the state is committed.
	Outs []stream.Out
	// Statuses are records of compacted topics. They are sent after the outputs, once the owner has checked that
	// no newer one exists, as the last record of a key is the one that is kept.
	Statuses []stream.Out
	// Wake is when the Processor needs a step without records; zero = when records come.
	Wake time.Time
	// Look: the log is checked for a newer owner's claim before the commit, even without outputs.
	// What a later step reports of this one's state is then true for every later owner.
	Look bool
}

// OwnerOptions are the settings of an Owner.
type OwnerOptions struct {
	Stage string
	// Input is the topic, and Partition the partition, whose records are processed.
	Input     string
	Partition int
	// Log is the topic of the decision log; empty = the stage takes no decisions that must be
	// unique, and has no epochs.
	Log    string
	Broker Broker
	Store  *Store
	// Open returns the Processor for the state in the Store. epoch is that of this owner (0 without
	// a log).
	Open func(epoch uint64) (Processor, error)
	// AcceptLoss lets a fresh Store begin at records that are not the first of a topic.
	AcceptLoss bool
	Logger     *slog.Logger
	// Failpoint is called at the points of a possible crash; nil = Failpoint.
	Failpoint func(name string)
	// Letters is the topic of dead letters, from which a new Store reads which records were skipped; empty = none.
	Letters string
	// Skip are the records to be skipped: offset → cause.
	Skip map[int64]string
	// Poison is called for records that went to dead.letter; it may be nil.
	Poison func(r *stream.Record, cause error)
}

// Owner runs a Processor over one partition. It keeps state, decisions and input consistent through
// crashes, and makes the older of two owners of the partition harmless:
//
//   - Start writes a claim to partition 0 of the log. Its offset + 1 is the owner's epoch: unique,
//     and higher than that of every owner before. Then it writes a marker of the epoch to each
//     partition of the log and reads each from the state's position to that marker: the decisions
//     of this partition's owners that are not void are recovered.
//   - Step: state changes in the Store's transaction; outputs are produced and acknowledged; after outputs, and where
//     the Processor requests it, partition 0 of the log is checked for a claim of a newer owner; then statuses are
//     sent; then state, input offset and log offsets are committed together.
//
// What an older owner writes after a newer one's markers is void for every reader (Fence). The newer
// one has recovered what was written before them. No void decision is ever committed: a newer owner's
// claim is acknowledged before its first marker is sent, so a decision after such a marker was
// acknowledged after the claim, and the check for claims comes later still. So a directory that its
// owner left at any moment has a state of the partition's true history, and a later owner can continue
// from it. A status is sent only after the check. An owner that is delayed between the two can still
// write it after its successor's, so a Processor repeats its own status if one of an older epoch
// follows it.
//
// An Owner is used by one goroutine. After an error it cannot be used any more and its Store must
// be closed.
type Owner struct {
	OwnerOptions
	processor Processor
	epoch     uint64
	marks     state.Marks
	// replayed is the end of the input when the owner started.
	replayed int64
	skipped  map[int64]skipped
	// checked is the offset in partition 0 of the log below which there is no newer claim.
	checked int64
	rested  time.Time
	dead    error
}

// Owner's settings.
const (
	// recoverBatch is the number of recovered decisions after which Start commits.
	recoverBatch = 1000
	// restEvery is how often an owner moves its log offsets to the ends of the partitions. They
	// must stay within the log's retention while the owner takes no decisions.
	restEvery = 10 * time.Minute
)

// ErrSuperseded reports that another owner of the partition has a higher epoch; this one must stop.
var ErrSuperseded = errors.New("superseded by a newer owner of the partition")

// NewOwner returns an Owner; Start must be called first.
func NewOwner(o OwnerOptions) *Owner {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Failpoint == nil {
		o.Failpoint = stream.Failpoint
	}
	if o.Poison == nil {
		o.Poison = func(*stream.Record, error) {}
	}
	return &Owner{OwnerOptions: o}
}

// Epoch returns the owner's epoch; 0 before Start and without a log.
func (o *Owner) Epoch() uint64 { return o.epoch }

// Next returns the offset of the next record of the input.
func (o *Owner) Next() int64 { return o.marks.Input }

// Start claims the partition and recovers its decisions. The error is Broken if records are needed
// that the topics no longer have, or ErrSuperseded.
func (o *Owner) Start(ctx context.Context, now time.Time) error {
	o.rested = now
	return o.fatal(o.start(ctx))
}

func (o *Owner) start(ctx context.Context) error {
	o.marks = o.Store.Marks()
	first, end, err := o.Broker.Offsets(ctx, o.Input, o.Partition)
	if err != nil {
		return err
	}
	if o.marks.Input, err = o.begin(o.Input, o.Partition, o.marks.Input, first, end); err != nil {
		return err
	}
	if err := o.loadSkipped(ctx); err != nil {
		return err
	}
	if o.Log == "" {
		return o.open(end)
	}
	n, err := o.Broker.Partitions(ctx, o.Log)
	if err != nil {
		return err
	}
	if len(o.marks.Log) == 0 {
		o.marks.Log = make([]state.LogMark, n)
	}
	if len(o.marks.Log) != n {
		return stream.Broken(fmt.Errorf("%s has %d partitions, and the state of %s/%d was made with %d: their number is fixed for a deployment", o.Log, n, o.Input, o.Partition, len(o.marks.Log)))
	}
	for k := range o.marks.Log {
		first, end, err := o.Broker.Offsets(ctx, o.Log, k)
		if err != nil {
			return err
		}
		if o.marks.Log[k].Offset, err = o.begin(o.Log, k, o.marks.Log[k].Offset, first, end); err != nil {
			return err
		}
	}
	markers, err := o.claim(ctx, n)
	if err != nil {
		return err
	}
	// The end of the input is read again, to include what came meanwhile.
	if end, err = o.Broker.End(ctx, o.Input, o.Partition); err != nil {
		return err
	}
	if err := o.open(end); err != nil {
		return err
	}
	recovered := 0
	for k := range o.marks.Log {
		if err := o.readLog(ctx, k, markers[k], &recovered); err != nil {
			return err
		}
	}
	o.checked = markers[0] + 1
	if err := o.Store.Commit(o.marks); err != nil {
		return err
	}
	o.Logger.Info("owner started", "partition", o.Partition, "epoch", o.epoch,
		"next", o.marks.Input, "behind", o.replayed-o.marks.Input, "recovered", recovered)
	return nil
}

// begin checks the offset to continue from in a partition that has [first, end).
func (o *Owner) begin(topic string, partition int, offset, first, end int64) (int64, error) {
	if o.Store.Fresh() && o.AcceptLoss {
		return first, nil
	}
	if offset >= first && offset <= end {
		return offset, nil
	}
	cause := &stream.OffsetError{Topic: topic, Partition: partition, Offset: offset, First: first, End: end}
	advice := "the topic was created again or lost records, so the state is of another one: delete the state directory of the partition to rebuild it"
	if offset < first {
		advice = "put back a newer copy of the partition's state directory; or, if no crawl that still runs began before the records that are gone, delete the directory, put an empty file named " + AcceptLossFile + " next to it and start again"
	}
	return 0, stream.Broken(fmt.Errorf("state of %s, partition %d of %s, needs records that are not there: %w; %s", o.Stage, o.Partition, o.Input, cause, advice))
}

func (o *Owner) open(end int64) error {
	o.replayed = end
	var p Processor
	err := guarded(nil, func() (err error) {
		p, err = o.Open(o.epoch)
		return err
	})
	if err != nil {
		return fmt.Errorf("open the state of %s, partition %d of %s: %w", o.Stage, o.Partition, o.Input, err)
	}
	o.processor = p
	return nil
}

// claim takes an epoch and writes its marker to each of the log's n partitions; it returns the
// markers' offsets.
func (o *Owner) claim(ctx context.Context, n int) ([]int64, error) {
	owner := uint32(o.Partition)
	out := func(partition int, epoch uint64) (stream.Out, error) {
		value, err := marker(owner, epoch)
		return stream.Out{Topic: o.Log, Partition: partition, Value: value, Headers: stream.OwnerHeaders(owner, epoch)}, err
	}
	claim, err := out(0, 0)
	if err != nil {
		return nil, err
	}
	at, err := o.Broker.Produce(ctx, []stream.Out{claim})
	if err != nil {
		return nil, fmt.Errorf("claim partition %d of %s: %w", o.Partition, o.Input, err)
	}
	o.epoch = uint64(at[0].Offset) + 1
	o.Failpoint("owner-claimed")
	outs := make([]stream.Out, n)
	for k := range outs {
		if outs[k], err = out(k, o.epoch); err != nil {
			return nil, err
		}
	}
	if at, err = o.Broker.Produce(ctx, outs); err != nil {
		return nil, fmt.Errorf("mark epoch %d of partition %d of %s: %w", o.epoch, o.Partition, o.Input, err)
	}
	o.Failpoint("owner-marked")
	markers := make([]int64, n)
	for k := range at {
		markers[k] = at[k].Offset
	}
	return markers, nil
}

// readLog recovers the decisions in partition k of the log up to the owner's marker.
func (o *Owner) readLog(ctx context.Context, k int, marker int64, recovered *int) error {
	fence, mark := stream.Fence{}, &o.marks.Log[k]
	owner := uint32(o.Partition)
	if mark.Epoch != 0 {
		fence.Mark(owner, mark.Epoch)
	}
	err := o.Broker.Read(ctx, o.Log, k, mark.Offset, marker+1, func(r stream.Record) error {
		kind, err := fence.Read(&r)
		if err != nil {
			return stream.Broken(fmt.Errorf("%s/%d offset %d: %w", r.Topic, r.Partition, r.Offset, err))
		}
		if ours(&r, owner) {
			if err := o.newer(kind, &r); err != nil {
				return err
			}
			if kind == stream.Decision {
				if err := guarded(nil, func() error { return o.processor.Recover(r) }); err != nil {
					return fmt.Errorf("recover %s/%d offset %d: %w", r.Topic, r.Partition, r.Offset, err)
				}
				*recovered++
			}
		}
		mark.Offset, mark.Epoch = r.Offset+1, fence.Epoch(owner)
		if kind == stream.Decision && *recovered > 0 && *recovered%recoverBatch == 0 {
			return o.Store.Commit(o.marks)
		}
		return nil
	})
	if err != nil {
		return err
	}
	*mark = state.LogMark{Offset: marker + 1, Epoch: fence.Epoch(owner)}
	return nil
}

// newer returns ErrSuperseded if a record in the log was written by a newer owner of this
// partition.
func (o *Owner) newer(kind stream.Kind, r *stream.Record) error {
	epoch := uint64(r.Offset) + 1 // of a claim
	if kind != stream.Claim {
		var err error
		if epoch, err = strconv.ParseUint(r.Headers[schemas.HeaderEpoch], 10, 64); err != nil {
			return stream.Broken(fmt.Errorf("%s/%d offset %d: header %q: %w", r.Topic, r.Partition, r.Offset, schemas.HeaderEpoch, err))
		}
	}
	if epoch <= o.epoch {
		return nil
	}
	return stream.Mark(stream.ClassLost, fmt.Errorf("%s, partition %d of %s: epoch %d is %w: epoch %d is in %s/%d at offset %d",
		o.Stage, o.Partition, o.Input, o.epoch, ErrSuperseded, epoch, r.Topic, r.Partition, r.Offset))
}

// ours reports whether a record was written by an owner of this partition.
func ours(r *stream.Record, owner uint32) bool {
	text, ok := r.Headers[schemas.HeaderOwner]
	return ok && text == strconv.FormatUint(uint64(owner), 10)
}

// checkFence reads partition 0 of the log to its end, for a claim of a newer owner.
func (o *Owner) checkFence(ctx context.Context) error {
	if o.Log == "" {
		return nil
	}
	end, err := o.Broker.End(ctx, o.Log, 0)
	if err != nil {
		return err
	}
	if end <= o.checked {
		return nil
	}
	owner := uint32(o.Partition)
	var fence stream.Fence
	if err := o.Broker.Read(ctx, o.Log, 0, o.checked, end, func(r stream.Record) error {
		if !ours(&r, owner) || r.Headers[schemas.HeaderID] != "" {
			return nil
		}
		kind, err := fence.Read(&r)
		if err != nil {
			return stream.Broken(fmt.Errorf("%s/%d offset %d: %w", r.Topic, r.Partition, r.Offset, err))
		}
		return o.newer(kind, &r)
	}); err != nil {
		return err
	}
	o.checked = max(o.checked, end)
	return nil
}

// Step passes records, which begin at Next, to the Processor, sends its outputs and commits.
// Without records the Processor is only woken. wake is the time of the next wake-up; zero = not
// before there are records.
func (o *Owner) Step(ctx context.Context, records []stream.Record, now time.Time) (wake time.Time, err error) {
	if o.dead != nil {
		return time.Time{}, o.dead
	}
	wake, err = o.step(ctx, records, now)
	return wake, o.fatal(err)
}

func (o *Owner) step(ctx context.Context, records []stream.Record, now time.Time) (wake time.Time, err error) {
	records, letters, next, err := o.screen(records)
	if err != nil {
		return time.Time{}, err
	}
	var r Result
	if err := guarded(records, func() (err error) {
		r, err = o.processor.Step(ctx, Work{Records: records, Next: next, Now: now, Replaying: next < o.replayed})
		return err
	}); err != nil {
		return time.Time{}, err
	}
	r.Outs = append(r.Outs, letters...)
	if len(r.Outs) > 0 {
		at, err := o.Broker.Produce(ctx, r.Outs)
		if err != nil {
			return time.Time{}, err
		}
		o.Failpoint("owner-acked-before-batch")
		for i, out := range r.Outs {
			if out.Topic == o.Log && o.Log != "" {
				mark := &o.marks.Log[at[i].Partition]
				mark.Offset, mark.Epoch = max(mark.Offset, at[i].Offset+1), o.epoch
				if at[i] == (stream.Position{Partition: 0, Offset: o.checked}) {
					o.checked++ // its own decision, and no claim
				}
			}
		}
		if w, ok := o.processor.(AckObserver); ok {
			if err := guarded(records, func() error { return w.Acked(r.Outs, at) }); err != nil {
				return time.Time{}, err
			}
		}
	}
	if len(r.Outs) > 0 || len(r.Statuses) > 0 || r.Look {
		if err := o.checkFence(ctx); err != nil {
			return time.Time{}, err
		}
	}
	if len(r.Statuses) > 0 {
		o.Failpoint("owner-looked-before-statuses")
		if _, err := o.Broker.Produce(ctx, r.Statuses); err != nil {
			return time.Time{}, err
		}
	}
	o.marks.Input = next
	o.Failpoint("owner-batch-before-commit")
	if err := o.Store.Commit(o.marks); err != nil {
		return time.Time{}, err
	}
	if now.Sub(o.rested) >= restEvery {
		o.rested = now
		if err := o.settle(ctx); err != nil {
			return time.Time{}, err
		}
	}
	return r.Wake, nil
}

// screen checks records before they change anything. Those without a schema version are removed and
// become dead letters. next is the offset after the last record.
func (o *Owner) screen(records []stream.Record) (kept []stream.Record, letters []stream.Out, next int64, err error) {
	next = o.marks.Input
	for i := range records {
		r := &records[i]
		if r.Offset < next {
			return nil, nil, 0, stream.Broken(fmt.Errorf("%s/%d: record at offset %d, want %d or more", o.Input, o.Partition, r.Offset, next))
		}
		next = r.Offset + 1
		if err := r.CheckVersion(); err != nil {
			return nil, nil, 0, err
		}
		if !r.HasVersion() {
			letter, err := stream.DeadLetter(o.Stage, *r, stream.ErrNoVersion, 1)
			if err != nil {
				return nil, nil, 0, stream.Broken(err)
			}
			o.Poison(r, stream.ErrNoVersion)
			letters = append(letters, letter)
			continue
		}
		if err := o.answered(r); err != nil {
			return nil, nil, 0, err
		}
		handed, about, err := o.strip(*r)
		if err != nil {
			return nil, nil, 0, err
		}
		letters = append(letters, about...)
		kept = append(kept, handed)
	}
	return kept, letters, next, nil
}

// answered returns ErrSuperseded for a record of the input that follows from a decision of a newer
// owner, which this one does not know.
func (o *Owner) answered(r *stream.Record) error {
	if o.Log == "" || !ours(r, uint32(o.Partition)) {
		return nil
	}
	epoch, err := strconv.ParseUint(r.Headers[schemas.HeaderEpoch], 10, 64)
	if err != nil {
		return nil // follows from no decision
	}
	if epoch <= o.epoch {
		return nil
	}
	return stream.Mark(stream.ClassLost, fmt.Errorf("%s, partition %d of %s: epoch %d is %w: offset %d answers epoch %d",
		o.Stage, o.Partition, o.Input, o.epoch, ErrSuperseded, r.Offset, epoch))
}

// Settle moves the log offsets of the state to the ends of the log's partitions, so that the next
// start has little to read. It is called when an owner ends in order.
func (o *Owner) Settle(ctx context.Context) error {
	if o.dead != nil {
		return o.dead
	}
	return o.fatal(o.settle(ctx))
}

func (o *Owner) settle(ctx context.Context) error {
	if o.Log == "" {
		return nil
	}
	ends := make([]int64, len(o.marks.Log))
	for k := range ends {
		var err error
		if ends[k], err = o.Broker.End(ctx, o.Log, k); err != nil {
			return err
		}
	}
	// No newer owner claimed the partition before this check, so none had written below the ends
	// that were read earlier; all records of this partition there are the owner's own.
	if err := o.checkFence(ctx); err != nil {
		return err
	}
	for k := range ends {
		mark := &o.marks.Log[k]
		mark.Offset, mark.Epoch = max(mark.Offset, ends[k]), o.epoch
	}
	return o.Store.Commit(o.marks)
}

func (o *Owner) fatal(err error) error {
	if err != nil {
		o.dead = fmt.Errorf("the owner of %s/%d ended before: %w", o.Input, o.Partition, err)
	}
	return err
}

// marker is the value of a claim (epoch 0) and of a marker.
func marker(owner uint32, epoch uint64) ([]byte, error) {
	value, err := proto.Marshal(&schemas.FetchRequest{Marker: true, Owner: owner, Epoch: epoch})
	if err != nil {
		return nil, fmt.Errorf("marker of epoch %d: %w", epoch, err)
	}
	return value, nil
}
