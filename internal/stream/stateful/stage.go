package stateful

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"forager/internal/stream"
	"forager/internal/stream/kafka"
	"forager/internal/stream/snapshot"
	"forager/internal/stream/state"
	"forager/schemas"
)

// Stage is a stage that keeps state for each partition of its input: prioritize,
// apprentice-train and distill.
type Stage struct {
	// Stage names the consumer group, and the stage in dead letters.
	Stage string
	Input string
	// Log is the topic of its decision log; empty = none. See Owner.
	Log string
	// Open returns the Processor of a partition for the state in its Store. epoch is 0 without a
	// log. After an error of OtherLayout the state is replaced by a snapshot of the stage's layout, or rebuilt from the topics.
	Open func(partition int, epoch uint64, store *Store) (Processor, error)
	// Notify subscribes a partition to other things that its Processor depends on: a value in the
	// channel causes a step without records. cancel ends the subscription. nil = nothing.
	Notify func(partition int) (changed <-chan struct{}, cancel func())
	// CacheBytes is the size of the block cache that the partitions of the process share;
	// 0 = 32 MiB.
	CacheBytes int64
	// MemTable and Hits are those of state.Options.
	MemTable uint64
	Hits     bool
	// Linger returns the pause after a fetch of n records, in which more may gather: a step over many
	// records costs less for each. nil = no pause.
	Linger func(n int) time.Duration
	// Revision returns the newest revision of a crawl's control record: a crawl that was parked for a fault is
	// tried again under a newer one. nil: never.
	Revision func(crawl string) uint64
	// MaxBatch is the number of records of one step at most; 0 = 256.
	MaxBatch int
	// Layout names the layout of the state; snapshots of another one are not restored.
	Layout string
	// Snapshots are kept of the state; nil = none.
	Snapshots *Snapshots
}

// AcceptLossFile is the name of a file that an operator puts into a stage's state directory to
// let partitions whose state is missing begin at records that are not the first of their topic.
const AcceptLossFile = "accept-loss"

// mostSuperseded bounds how often in one generation an owner may find a newer claim to its
// partition. Once is possible: the previous process may have been delayed between joining and
// claiming.
const mostSuperseded = 3

// Run runs the stage until ctx ends (nil) or something is broken. Each partition that the
// group gives to this process has a goroutine, a Store in dir/p<N>, a Processor and an Owner of its
// own. When a generation ends, the current step is finished and committed within half the session
// timeout and the Store is closed; the next owner opens the same directory, if it is on the same
// machine, or brings its own, or a snapshot, up to date from the topics. The group's offsets are committed after
// the state's, for the lag only; the stage does not read them. When ctx ends, the partitions are worked on until there are snapshots from after that,
// for a session timeout at most: the last ones, for which crawls stand still, are small then.
func (s Stage) Run(ctx context.Context, c *kafka.Client, dir string) error {
	if s.CacheBytes == 0 {
		s.CacheBytes = 32 << 20
	}
	if s.MaxBatch == 0 {
		s.MaxBatch = 256
	}
	cache := state.NewCache(s.CacheBytes)
	defer cache.Close()
	var limit *snapshot.Limit
	if s.Snapshots != nil {
		limit = snapshot.NewLimit(s.Snapshots.Rate)
	}
	leaving, staying := ctx.Done(), new(sync.RWMutex)
	ctx, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	go func() {
		select {
		case <-ctx.Done():
			return
		case <-leaving:
		}
		defer time.AfterFunc(c.SessionTimeout(), leave).Stop()
		staying.Lock()
		leave()
	}()
	return c.RunGroup(ctx, s.Stage, []string{s.Input}, func(ctx context.Context, cl *kafka.Claim) error {
		run := &statefulClaim{
			client: c, stage: &s, claim: cl, dir: dir, cache: cache,
			faults: newFaults(), limit: limit, leaving: leaving, staying: staying,
		}
		return run.run(ctx)
	})
}

type statefulClaim struct {
	client *kafka.Client
	stage  *Stage
	claim  *kafka.Claim
	dir    string
	cache  *state.Cache
	faults *faults
	limit  *snapshot.Limit
	// leaving is closed when the process is to end; claims that hold staying for reading make a snapshot before.
	leaving <-chan struct{}
	staying *sync.RWMutex
	end     int64 // end of the input, as of the last fetch
	// other is the error of the directory if its state is of another layout (OtherLayout); nil = it is not, or unknown.
	other error
}

// run owns the partition until ctx ends. It starts again from the last commit when something is
// unavailable to its Processor, and when another owner's claim followed its own: while the
// generation lasts the partition belongs to this process, which must have the last claim.
func (s *statefulClaim) run(ctx context.Context) error {
	w := s.client.Waiting(func() string { return fmt.Sprintf("what the state of %s/%d needs", s.claim.Topic, s.claim.Partition) })
	defer w.Over()
	for superseded := 0; ; {
		err := s.own(ctx, w.Over)
		class := stream.ClassOf(err)
		if other := (*otherLayout)(nil); s.other == nil && errors.As(err, &other) {
			s.other = other.err
			s.client.Log.Warn("the state is of another layout", "partition", s.claim.Partition, "error", err)
			continue
		}
		if errors.Is(err, errResume) {
			s.faults = newFaults()
			continue
		}
		if err == nil || ctx.Err() != nil && (class == stream.ClassEnded || class == stream.ClassLost || class == stream.ClassUnavailable) {
			return nil
		}
		s.client.Metrics.Failed(class)
		switch {
		case class == stream.ClassUnavailable:
			if err := w.Wait(ctx, err); err != nil {
				return nil
			}
		case errors.Is(err, ErrSuperseded):
			s.client.Log.Warn("superseded", "partition", s.claim.Partition, "error", err)
			if superseded++; superseded >= mostSuperseded {
				return stream.Broken(fmt.Errorf("%w, %d times while the group gave the partition to this process: does another deployment use the same topics with another group?", err, superseded))
			}
			// If the generation is over, ctx ends within a session timeout.
			timer := time.NewTimer(s.client.SessionTimeout())
			select {
			case <-ctx.Done():
				timer.Stop()
				return nil
			case <-timer.C:
			}
		case class == stream.ClassRecord:
			var x *fault
			if ctx.Err() != nil {
				return nil
			}
			if !errors.As(err, &x) {
				return stream.Broken(err)
			}
			decision, ok := s.faults.note(x)
			s.client.Log.Error("fault", "partition", s.claim.Partition, "records", len(x.records), "decision", decision, "error", err)
			if !ok {
				return stream.Broken(err) // the record or crawl at fault is not known
			}
		default:
			return err
		}
	}
}

// own opens the Store and works until ctx ends or something fails; working is called after the
// first step.
func (s *statefulClaim) own(ctx context.Context, working func()) (err error) {
	store, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := store.park(s.faults.park, s.stage.Revision); err != nil {
		return err
	}
	if len(s.faults.park) > 0 {
		if err := store.Commit(store.Marks()); err != nil {
			return err
		}
		clear(s.faults.park)
	}
	_, statErr := os.Stat(filepath.Join(s.dir, AcceptLossFile))
	owner := NewOwner(OwnerOptions{
		Stage: s.stage.Stage, Input: s.stage.Input, Partition: s.claim.Partition, Log: s.stage.Log,
		Broker: s.client, Store: store, AcceptLoss: statErr == nil, Logger: s.client.Log,
		Open: func(epoch uint64) (Processor, error) {
			return s.stage.Open(s.claim.Partition, epoch, store)
		},
		Poison: s.client.NotePoison, Letters: schemas.TopicDeadLetter, Skip: s.faults.skip,
	})
	if err := owner.Start(ctx, time.Now()); err != nil {
		return err
	}
	snapshots := s.snapshots(store, owner)
	defer snapshots.stop()
	reading, stop := context.WithCancel(ctx)
	defer stop()
	chunks := make(chan kafka.Chunk)
	read := make(chan error, 1)
	from := kafka.Source{Topic: s.stage.Input, Partition: s.claim.Partition, From: owner.Next(), To: kafka.Endless}
	go func() {
		defer close(chunks)
		read <- s.client.Consume(reading, from, func(ch kafka.Chunk) error {
			select {
			case chunks <- ch:
				return s.rest(reading, ch)
			case <-reading.Done():
				return reading.Err()
			}
		})
	}()
	s.showParked(store)
	err = s.work(ctx, owner, store, snapshots, chunks, working)
	stop()
	for range chunks { // until the reader has ended
	}
	if rerr := <-read; err == nil && ctx.Err() == nil {
		err = rerr
	}
	if err != nil {
		return err
	}
	// The owner ended in order and there is time left: reduce what the next start has to read.
	if err := owner.Settle(s.claim.Hard); err != nil {
		return err
	}
	if err := s.claim.Flush(s.claim.Hard); err != nil {
		return err
	}
	return snapshots.last(s.claim.Hard)
}

// rest lets records gather after the last chunk of the input.
func (s *statefulClaim) rest(ctx context.Context, ch kafka.Chunk) error {
	if s.stage.Linger == nil || ch.Next < ch.End {
		return nil
	}
	d := s.stage.Linger(len(ch.Records))
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// folder is the partition's state directory.
func (s *statefulClaim) folder() string {
	return filepath.Join(s.dir, "p"+strconv.Itoa(s.claim.Partition))
}

// options are those of a Store of the partition in a directory.
func (s *statefulClaim) options(dir string) state.Options {
	return state.Options{
		Dir: dir, Identity: fmt.Sprintf("%s %s/%d", s.stage.Stage, s.stage.Input, s.claim.Partition),
		FS: retryingFS(s.client, vfs.Default), Cache: s.cache, Log: s.client.Log, MemTable: s.stage.MemTable, Hits: s.stage.Hits,
	}
}

// openFolder opens the partition's Store; its previous owner may take a while to close it.
func (s *statefulClaim) openFolder(ctx context.Context) (*Store, error) {
	dir := s.folder()
	w := s.client.Waiting(func() string { return "the state directory " + dir })
	defer w.Over()
	for {
		store, err := OpenStore(s.options(dir))
		if !errors.Is(err, state.ErrLocked) {
			return store, err
		}
		if err := w.Wait(ctx, stream.Unavailable(err)); err != nil {
			return nil, err
		}
	}
}

// work runs the owner's steps until ctx ends, which is no error. A step in progress may continue
// until the claim's hard end.
func (s *statefulClaim) work(ctx context.Context, owner *Owner, store *Store, snapshots *snapshots, chunks <-chan kafka.Chunk, working func()) error {
	var changed <-chan struct{}
	if s.stage.Notify != nil {
		var cancel func()
		changed, cancel = s.stage.Notify(s.claim.Partition)
		defer cancel()
	}
	in := s.client.Metrics.In.WithLabelValues(s.stage.Input)
	alarm := time.NewTimer(0) // the first step needs no record
	defer alarm.Stop()
	step := func(records []stream.Record) error {
		defer s.client.Metrics.Begin()()
		began := time.Now()
		wake, err := owner.Step(s.claim.Hard, records, began)
		if err != nil {
			return err
		}
		s.client.Metrics.Handle.Observe(time.Since(began).Seconds())
		in.Add(float64(len(records)))
		s.faults.passed(records)
		working()
		if owner.Next() >= s.claim.Offset { // where the previous owner was
			s.claim.Ready()
		}
		s.claim.Commit(owner.Next(), parkedCommit(store.Parked()))
		s.claim.Progress(s.end, owner.Next())
		// An idle owner also checks from time to time that it has the last claim to the partition.
		if rest := began.Add(restEvery); wake.IsZero() || rest.Before(wake) {
			wake = rest
		}
		alarm.Reset(time.Until(wake))
		return nil
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case ch, ok := <-chunks:
			if !ok {
				return nil // own returns the reason
			}
			s.end = ch.End
			s.claim.Fetched(ch)
			for records := ch.Records; len(records) > 0 && ctx.Err() == nil; {
				n := min(len(records), s.stage.MaxBatch)
				if records[0].Offset < s.faults.careful {
					n = 1
				}
				if err := step(records[:n]); err != nil {
					return err
				}
				records = records[n:]
			}
		case <-alarm.C:
			if err := step(nil); err != nil {
				return err
			}
		case <-snapshots.leaving:
			if err := snapshots.beginAtOnce(); err != nil {
				return err
			}
		case <-snapshots.due():
			if err := snapshots.flush(); err != nil {
				return err
			}
		case <-snapshots.flushed:
			if err := snapshots.begin(); err != nil {
				return err
			}
		case err := <-snapshots.done:
			snapshots.ended(err)
		case <-changed:
			if store.resumes(s.stage.Revision) {
				return errResume
			}
			if err := step(nil); err != nil {
				return err
			}
		}
	}
}

// showParked sets the metric of parked crawls.
func (s *statefulClaim) showParked(store *Store) {
	g, partition := s.client.Metrics.Parked, strconv.Itoa(s.claim.Partition)
	g.DeletePartialMatch(prometheus.Labels{"topic": s.stage.Input, "partition": partition})
	for crawl := range store.Parked() {
		g.WithLabelValues(s.stage.Input, partition, crawl, "").Set(1)
	}
}

// retryingFS returns a file system on which writes to a full disk wait; the waits are logged and counted.
func retryingFS(c *kafka.Client, fs vfs.FS) *state.RetryingFS {
	return &state.RetryingFS{FS: fs, Wait: func(name string) (sleep func(error), over func()) {
		w := c.Waiting(func() string { return "space on the disk of " + name })
		return func(err error) { w.Sleep(stream.Unavailable(err)) }, w.Over
	}}
}
