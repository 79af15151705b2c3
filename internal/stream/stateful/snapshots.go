package stateful

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"forager/internal/stream"
	"forager/internal/stream/snapshot"
	"forager/internal/stream/state"
)

// Snapshots are the settings of the snapshots of a stage's state.
type Snapshots struct {
	Bucket snapshot.Bucket
	// Every is the time between two snapshots of a partition.
	Every time.Duration
	// Rate is the number of bytes that the process sends a second at most; 0 = any.
	Rate int64
}

// retryPause is the longest pause before a snapshot that failed is tried again.
const retryPause = time.Minute

// snapshots makes the snapshots of an owner's Store. Uploads run concurrently with the steps, which pause for a checkpoint only. All methods
// are called by the goroutine of the steps, but upload.
type snapshots struct {
	claim *statefulClaim
	store *Store
	epoch uint64
	maker snapshot.Maker
	timer *time.Timer
	// flushed is closed when the Store is ready for a checkpoint, done receives the result of an upload; each is nil while nothing is under way.
	flushed <-chan struct{}
	done    chan error
	cancel  context.CancelFunc
	// marks are those of the checkpoint under way, made those of the last snapshot.
	marks, made string
	// leaving is closed when the process is to end, which waits while staying is held; both are nil where it does not wait for a snapshot.
	leaving <-chan struct{}
	staying *sync.RWMutex
	// fast: the process is to end, so the rate of an upload is not limited.
	fast bool
}

// snapshots returns those of a Store; nil if the stage has none.
func (s *statefulClaim) snapshots(store *Store, owner *Owner) *snapshots {
	if s.stage.Snapshots == nil {
		return &snapshots{}
	}
	left, _ := filepath.Glob(s.folder() + checkpointSuffix + "*") // of a process that was killed
	for _, dir := range left {
		_ = os.RemoveAll(dir)
	}
	s.saved(time.Now())
	x := &snapshots{
		claim: s, store: store, epoch: owner.Epoch(), timer: time.NewTimer(s.stage.Snapshots.Every),
		maker: snapshot.Maker{Bucket: s.stage.Snapshots.Bucket, Of: s.of(), Limit: s.limit},
	}
	if s.staying.TryRLock() { // otherwise the process is ending already
		x.leaving, x.staying = s.leaving, s.staying
	}
	return x
}

// saved notes when a snapshot had the whole state, or the partition was taken over.
func (s *statefulClaim) saved(at time.Time) {
	s.client.Metrics.SnapshotTime.WithLabelValues(s.stage.Input, strconv.Itoa(s.claim.Partition)).Set(float64(at.UnixMilli()) / 1000)
}

// Directories next to that of a partition.
const (
	checkpointSuffix = ".snapshot-" // for an upload
	restoreSuffix    = ".restore"   // a snapshot that is not complete yet
	replacedSuffix   = ".replaced"  // what a snapshot replaces
	damagedSuffix    = ".damaged"   // what could not be opened
)

func (s *statefulClaim) of() snapshot.Of {
	return snapshot.Of{Stage: s.stage.Stage, Topic: s.stage.Input, Partition: s.claim.Partition, Layout: s.stage.Layout}
}

// due receives when a snapshot is to be made.
func (x *snapshots) due() <-chan time.Time {
	if x.timer == nil {
		return nil
	}
	return x.timer.C
}

// beginAtOnce begins a snapshot without delay, since the process is to end.
func (x *snapshots) beginAtOnce() error {
	x.leaving, x.fast = nil, true
	x.timer.Stop()
	if x.done != nil { // what it has sent is not sent again
		x.abandon()
	}
	if x.flushed != nil {
		return nil
	}
	return x.flush()
}

// release lets a process end that is to end.
func (x *snapshots) release() {
	if x.staying != nil && x.leaving == nil {
		x.staying.RUnlock()
		x.staying = nil
	}
}

// flush prepares a checkpoint, if the state has changed.
func (x *snapshots) flush() (err error) {
	if x.store.Marks().String() == x.made {
		x.claim.saved(time.Now())
		x.timer.Reset(x.claim.stage.Snapshots.Every)
		x.release()
		return nil
	}
	x.flushed, err = x.store.Flush()
	return err
}

// begin makes a checkpoint and begins to upload it.
func (x *snapshots) begin() error {
	x.flushed = nil
	return x.start(context.Background(), x.fast)
}

func (x *snapshots) start(ctx context.Context, fast bool) error {
	ctx, x.cancel = context.WithCancel(ctx)
	x.done = make(chan error, 1)
	dir := x.claim.folder() + checkpointSuffix + rand.Text()[:8]
	if err := x.store.Checkpoint(dir); err != nil {
		if stream.IsBroken(err) {
			x.done <- err
			return err
		}
		x.done <- err
		return nil
	}
	stream.Failpoint("snapshot-checkpoint")
	marks := x.store.Marks()
	x.marks = marks.String()
	go func() {
		err := stream.Recovered(func() error { return x.upload(ctx, dir, marks, fast) })
		_ = os.RemoveAll(dir) // before the stage can end
		x.done <- err
	}()
	return nil
}

// upload makes a snapshot of a checkpoint, and collects what is no longer needed.
func (x *snapshots) upload(ctx context.Context, dir string, marks state.Marks, fast bool) error {
	s := x.claim
	m := snapshot.Manifest{Epoch: x.epoch, Marks: marks.String()}
	var err error
	if m.Witnesses, err = s.witnesses(ctx, marks); err != nil {
		return err
	}
	began := time.Now()
	r, err := x.maker.Upload(ctx, s.options(dir).FS, dir, m, fast)
	s.client.Metrics.SnapshotBytes.Add(float64(r.Sent))
	if err != nil {
		return err
	}
	stream.Failpoint("snapshot-made")
	s.client.Metrics.Snapshots.WithLabelValues("made").Inc()
	s.saved(began)
	s.client.Log.Info("snapshot", "partition", s.claim.Partition, "epoch", x.epoch, "next", marks.Input,
		"bytes", r.Bytes, "sent", r.Sent, "seconds", time.Since(began).Seconds())
	if fast {
		return nil // the next owner collects
	}
	if _, err := x.maker.Collect(ctx, r.Key, s.fits); err != nil && ctx.Err() == nil {
		s.client.Log.Warn("old snapshots are not removed", "partition", s.claim.Partition, "error", err)
	}
	return nil
}

// ended notes the result of an upload.
func (x *snapshots) ended(err error) {
	s := x.claim
	x.done = nil
	x.cancel()
	next := s.stage.Snapshots.Every
	if err == nil {
		x.made = x.marks
	} else {
		next = min(next, retryPause)
		s.client.Metrics.Snapshots.WithLabelValues("failed").Inc()
		s.client.Log.Warn("no snapshot", "partition", s.claim.Partition, "again", next, "error", err)
	}
	x.timer.Reset(next)
	x.release()
}

// last makes a snapshot of the final state for the next owner, until ctx ends.
func (x *snapshots) last(ctx context.Context) error {
	if x.timer == nil {
		return nil
	}
	now := x.store.Marks().String()
	switch {
	case x.done != nil && x.marks == now:
		defer context.AfterFunc(ctx, x.cancel)()
		x.ended(<-x.done)
	case x.done != nil: // what it has sent is not sent again
		x.abandon()
	}
	if x.made == now || ctx.Err() != nil {
		return nil
	}
	if err := x.start(ctx, true); err != nil {
		return err
	}
	x.ended(<-x.done)
	return nil
}

// stop ends what is under way.
func (x *snapshots) stop() {
	if x.timer != nil {
		x.timer.Stop()
	}
	if x.done != nil {
		x.abandon()
	}
	x.leaving = nil
	x.release()
	if x.timer != nil {
		x.claim.client.Metrics.SnapshotTime.DeleteLabelValues(x.claim.stage.Input, strconv.Itoa(x.claim.claim.Partition))
	}
}

// abandon ends an upload in progress, which may just have succeeded.
func (x *snapshots) abandon() {
	x.cancel()
	if err := <-x.done; err == nil {
		x.made = x.marks
	}
	x.done = nil
}

// witnesses returns the last records before the marks, which the topics of another deployment do not have.
func (s *statefulClaim) witnesses(ctx context.Context, marks state.Marks) ([]snapshot.Witness, error) {
	var all []snapshot.Witness
	for log := -1; log < len(marks.Log); log++ {
		w := snapshot.Witness{Log: log, Offset: marks.Input - 1}
		if log >= 0 {
			w.Offset = marks.Log[log].Offset - 1
		}
		var err error
		if w.Digest, err = s.witness(ctx, w); err != nil {
			return nil, err
		}
		if w.Digest != "" {
			all = append(all, w)
		}
	}
	return all, nil
}

// witness returns the digest of a record; empty if the topic does not have it.
func (s *statefulClaim) witness(ctx context.Context, w snapshot.Witness) (text string, err error) {
	topic, partition := s.source(w.Log)
	first, end, err := s.client.Offsets(ctx, topic, partition)
	if err != nil || w.Offset < first || w.Offset >= end {
		return "", err
	}
	err = s.client.Read(ctx, topic, partition, w.Offset, w.Offset+1, func(r stream.Record) error {
		h := sha256.New()
		b := binary.BigEndian.AppendUint64(nil, uint64(r.Time.UnixMilli()))
		b = append(binary.AppendUvarint(b, uint64(len(r.Key))), r.Key...)
		h.Write(append(b, r.Value...))
		text = hex.EncodeToString(h.Sum(nil)[:16])
		return nil
	})
	return text, err
}

// source is the input (-1) or a partition of the log.
func (s *statefulClaim) source(log int) (topic string, partition int) {
	if log < 0 {
		return s.stage.Input, s.claim.Partition
	}
	return s.stage.Log, log
}

// fits returns why the state of a snapshot is not one to continue from.
func (s *statefulClaim) fits(ctx context.Context, m *snapshot.Manifest) error {
	marks, err := state.ParseMarks(m.Marks)
	if err != nil {
		return snapshot.Unfit(snapshot.Damaged, "%w", err)
	}
	if s.stage.Log != "" {
		n, err := s.client.Partitions(ctx, s.stage.Log)
		if err != nil {
			return err
		}
		if n != len(marks.Log) {
			return snapshot.Unfit(snapshot.Foreign, "%s has %d partitions, and the state was made with %d", s.stage.Log, n, len(marks.Log))
		}
	}
	if err := s.ranges(ctx, marks); err != nil {
		return err
	}
	for _, w := range m.Witnesses {
		if w.Log >= len(marks.Log) {
			return snapshot.Unfit(snapshot.Damaged, "a witness in partition %d of the log", w.Log)
		}
		topic, partition := s.source(w.Log)
		first, _, err := s.client.Offsets(ctx, topic, partition)
		if err != nil {
			return err
		}
		if w.Offset < first {
			continue
		}
		text, err := s.witness(ctx, w)
		if err != nil {
			return err
		}
		if text != w.Digest {
			return snapshot.Unfit(snapshot.Foreign, "%s/%d has another record at offset %d", topic, partition, w.Offset)
		}
	}
	return nil
}

// ranges returns an error of snapshot.Unfit if the topics do not have what follows the marks.
func (s *statefulClaim) ranges(ctx context.Context, marks state.Marks) error {
	for log := -1; log < len(marks.Log); log++ {
		topic, partition := s.source(log)
		offset := marks.Input
		if log >= 0 {
			offset = marks.Log[log].Offset
		}
		first, end, err := s.client.Offsets(ctx, topic, partition)
		switch {
		case err != nil:
			return err
		case offset > end:
			return snapshot.Unfit(snapshot.Newer, "offset %d is beyond the end of %s/%d, %d", offset, topic, partition, end)
		case offset < first:
			return snapshot.Unfit(snapshot.Expired, "offset %d of %s/%d is no longer retained, the first is %d", offset, topic, partition, first)
		}
	}
	return nil
}
