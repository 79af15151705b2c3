package crashtest

import (
	"context"
	"errors"
	"iter"

	"github.com/cockroachdb/pebble/v2/vfs"

	"forager/internal/stream"
	"forager/internal/stream/state"
	"forager/internal/stream/stateful"
)

// Dir is a state directory. It outlives the processes that use it, one at a time.
type Dir struct {
	Name string
	fs   *vfs.MemFS
	used bool
}

// NewDir returns an empty directory.
func NewDir(name string) *Dir { return &Dir{Name: name, fs: vfs.NewCrashableMem()} }

// Free reports whether no process uses the directory.
func (d *Dir) Free() bool { return !d.used }

// Process is a program that runs step by step. It implements stateful.Broker on the broker of its
// World.
type Process struct {
	World *World
	Name  string
	// Err is the error that its body returned.
	Err error

	dir   *Dir
	store *stateful.Store
	point string
	done  bool
	dying bool
	yield func(string) bool
	next  func() (string, bool)
	stop  func()
	// sending has what a call to Produce has not appended yet, by lane.
	sending []lane
}

// lane has the messages that one call sends to one partition.
type lane struct {
	topic     string
	partition int
	outs      []stream.Out
	index     []int // indexes of outs in the call
	sent      int
}

var _ stateful.Broker = (*Process)(nil)

type killed struct{}

// Spawn creates a process with its state directory. It does nothing before Run.
func (w *World) Spawn(name string, dir *Dir, body func(p *Process) error) *Process {
	if dir.used {
		panic("crashtest: " + dir.Name + " is in use")
	}
	dir.used = true
	p := &Process{World: w, Name: name, dir: dir, point: "spawned"}
	p.next, p.stop = iter.Pull(func(yield func(string) bool) {
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(killed); !ok {
					panic(r)
				}
			}
		}()
		p.yield = yield
		p.Err = body(p)
	})
	return p
}

// Run continues the process to its next point. It returns false once its body has returned.
func (p *Process) Run() bool {
	if p.done {
		return false
	}
	point, ok := p.next()
	if !ok {
		p.end(false)
		return false
	}
	p.point = point
	return true
}

// Point returns the point at which the process is suspended.
func (p *Process) Point() string { return p.point }

// Done reports whether the body has returned or the process was killed.
func (p *Process) Done() bool { return p.done }

// Kill ends the process at its current point. Its directory keeps what was synced.
func (p *Process) Kill() {
	if p.done {
		return
	}
	for _, l := range p.sending {
		if n := len(l.outs) - l.sent; n > 0 && p.World.Chance(p.World.faults.Late) {
			p.World.later(l.topic, l.partition, l.outs[l.sent:l.sent+1+p.World.Rand.IntN(n)])
		}
	}
	p.end(true)
}

// end closes the process's Store and frees its directory.
func (p *Process) end(crash bool) {
	fs := p.dir.fs
	if crash {
		fs = fs.CrashClone(vfs.CrashCloneCfg{})
	}
	p.dying = true
	p.stop()
	if p.store != nil {
		if err := p.store.Close(); err != nil {
			panic(err)
		}
	}
	p.dir.fs, p.dir.used, p.done = fs, false, true
}

// Pass suspends the process at a point: the schedule decides what happens next.
func (p *Process) Pass(point string) {
	if p.dying || !p.yield(point) {
		panic(killed{})
	}
}

// OpenStore opens the Store in the process's directory.
func (p *Process) OpenStore(identity string) (*stateful.Store, error) {
	if p.store != nil {
		return nil, errors.New("crashtest: the store is open")
	}
	s, err := stateful.OpenStore(state.Options{
		Dir: "state", Identity: identity, FS: p.dir.fs, MemTable: 256 << 10,
		Sync: func() bool { return p.World.Chance(p.World.faults.Sync) },
	})
	p.store = s
	return s, err
}

// Snapshot returns a directory with the state at the last commit of the process, as one that is restored has it.
func (p *Process) Snapshot() (*Dir, error) {
	const checkpoint = "checkpoint"
	if err := p.dir.fs.RemoveAll(checkpoint); err != nil {
		return nil, err
	}
	if err := p.store.Checkpoint(checkpoint); err != nil {
		return nil, err
	}
	dir := NewDir("of " + p.Name)
	_, err := vfs.Clone(p.dir.fs, dir.fs, checkpoint, "state", vfs.CloneSync)
	return dir, err
}

// CloseStore closes the Store, as a process does that ends in order.
func (p *Process) CloseStore() error {
	s := p.store
	p.store = nil
	return s.Close()
}

// Produce appends messages one by one; each is a point. See Faults for possible errors.
func (p *Process) Produce(_ context.Context, outs []stream.Out) ([]stream.Position, error) {
	w := p.World
	positions := make([]stream.Position, len(outs))
	p.sending = p.sending[:0]
	defer func() { p.sending = nil }()
	for i, out := range outs {
		partition := out.PartitionOf(len(w.topics[out.Topic]))
		l := p.lane(out.Topic, partition)
		l.outs, l.index = append(l.outs, out), append(l.index, i)
	}
	p.Pass("produce")
	for {
		open := 0
		for i := range p.sending {
			if p.sending[i].sent < len(p.sending[i].outs) {
				open++
			}
		}
		if open == 0 {
			break
		}
		n := w.Rand.IntN(open)
		for i := range p.sending {
			l := &p.sending[i]
			if l.sent == len(l.outs) {
				continue
			}
			if n > 0 {
				n--
				continue
			}
			out := l.outs[l.sent]
			out.Partition = l.partition
			positions[l.index[l.sent]] = w.Append(out)
			l.sent++
			if w.Chance(w.faults.Double) {
				l.sent = w.Rand.IntN(l.sent)
			}
			break
		}
		p.Pass("append")
	}
	for i := range p.sending {
		l := &p.sending[i]
		if w.Chance(w.faults.Late) {
			from := w.Rand.IntN(len(l.outs))
			w.later(l.topic, l.partition, l.outs[from:from+1+w.Rand.IntN(len(l.outs)-from)])
		}
	}
	p.Pass("acked")
	return positions, nil
}

func (p *Process) lane(topic string, partition int) *lane {
	for i := range p.sending {
		if p.sending[i].topic == topic && p.sending[i].partition == partition {
			return &p.sending[i]
		}
	}
	p.sending = append(p.sending, lane{topic: topic, partition: partition})
	return &p.sending[len(p.sending)-1]
}

// Partitions returns the number of partitions of a topic.
func (p *Process) Partitions(_ context.Context, topic string) (int, error) {
	return p.World.Partitions(topic), nil
}

// Offsets returns the current offsets; the call is a point.
func (p *Process) Offsets(_ context.Context, topic string, partition int) (first, end int64, err error) {
	p.Pass("offsets")
	return 0, int64(len(p.World.topics[topic][partition])), nil
}

// End returns the current end; the call is a point.
func (p *Process) End(ctx context.Context, topic string, partition int) (int64, error) {
	_, end, err := p.Offsets(ctx, topic, partition)
	return end, err
}

// Read reads the records of the partition; the call is a point.
func (p *Process) Read(_ context.Context, topic string, partition int, from, to int64, f func(stream.Record) error) error {
	p.Pass("read")
	return p.World.read(topic, partition, from, to, f)
}
