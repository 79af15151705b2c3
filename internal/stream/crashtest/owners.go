package crashtest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"forager/internal/stream/stateful"
)

// Owners are successive and concurrent owners of one partition. Each starts in a state directory that another has left,
// or in an empty one, and makes a step at the start, when there are records, at the Processor's Wake, and after News.
type Owners struct {
	World *World
	Stage string
	// Input is a topic of one partition.
	Input string
	// Open returns the Processor of an owner.
	Open func(s *stateful.Store) (stateful.Processor, error)

	all  []*owner
	dirs []*Dir
	news int
}

type owner struct {
	*Process
	idle bool  // between two steps
	next int64 // next record of the input
	news int   // news seen in its last step
	wake time.Time
}

// News signals the owners a change outside of the input, as stateful.Stage.Notify does.
func (o *Owners) News() { o.news++ }

// Alive returns the number of owners that are neither killed nor ended.
func (o *Owners) Alive() int { return len(o.alive()) }

func (o *Owners) alive() []*owner {
	return slices.DeleteFunc(slices.Clone(o.all), func(x *owner) bool { return x.Done() })
}

// Spawn adds an owner.
func (o *Owners) Spawn() {
	w := o.World
	var dir *Dir
	for _, d := range o.dirs {
		if d.Free() && w.Rand.IntN(3) > 0 {
			dir = d
		}
	}
	if dir == nil {
		dir = NewDir(fmt.Sprint("d", len(o.dirs)))
		o.dirs = append(o.dirs, dir)
	}
	x := &owner{wake: w.Now}
	x.Process = w.Spawn(fmt.Sprint("owner ", len(o.all)), dir, func(p *Process) error { return o.own(x, p) })
	o.all = append(o.all, x)
}

// own is the body of an owner's process.
func (o *Owners) own(x *owner, p *Process) error {
	w := o.World
	s, err := p.OpenStore(o.Stage)
	if err != nil {
		return err
	}
	by := stateful.NewOwner(stateful.OwnerOptions{
		Stage: o.Stage, Input: o.Input, Broker: p, Store: s, Failpoint: p.Pass,
		Open: func(uint64) (stateful.Processor, error) { return o.Open(s) },
	})
	if err := by.Start(context.Background(), w.Now); err != nil {
		return err
	}
	for {
		x.next, x.idle = by.Next(), true
		p.Pass("idle")
		x.idle = false
		records := w.Records(o.Input, 0)[by.Next():]
		records = records[:min(len(records), w.Rand.IntN(8))]
		if awake := x.news < o.news || !x.wake.IsZero() && !w.Now.Before(x.wake); len(records) == 0 && !awake {
			continue
		}
		x.news = o.news
		if x.wake, err = by.Step(context.Background(), records, w.Now); err != nil {
			return err
		}
	}
}

// Run continues one of the live owners for some points. It is an error if its body returns.
func (o *Owners) Run() error {
	alive := o.alive()
	x := alive[o.World.Rand.IntN(len(alive))]
	for n := o.World.Rand.IntN(10); n >= 0 && x.Run(); n-- {
	}
	if x.Done() {
		return fmt.Errorf("%s: %w", x.Name, x.Err)
	}
	return nil
}

// Kill kills one of the live owners at its current point.
func (o *Owners) Kill() {
	alive := o.alive()
	alive[o.World.Rand.IntN(len(alive))].Kill()
}

// End kills all owners.
func (o *Owners) End() {
	for _, x := range o.all {
		x.Kill()
	}
}

// AtRest reports whether there is a live owner and no live owner has a step to make.
func (o *Owners) AtRest() bool {
	alive, end := o.alive(), int64(len(o.World.Records(o.Input, 0)))
	return len(alive) > 0 && !slices.ContainsFunc(alive, func(x *owner) bool {
		return !x.idle || !x.wake.IsZero() || x.news < o.news || x.next < end
	})
}
