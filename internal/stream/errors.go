package stream

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// Class is how the runtime handles an error.
type Class int

const (
	// ClassRecord: the error concerns the record; bounded tries, then poison.
	ClassRecord Class = iota
	// ClassUnavailable: wait with back-off without limit, and log it.
	ClassUnavailable
	// ClassBroken: a bug or a violated assumption; stop with the error.
	ClassBroken
	// ClassLost: this member's generation is over; another may own the partition now.
	ClassLost
	// ClassEnded: the work was cancelled (its context ended); the record is not completed.
	ClassEnded
)

// String returns the label of the class in metrics.
func (c Class) String() string {
	return [...]string{"record", "unavailable", "broken", "lost", "ended"}[c]
}

type classified struct {
	class Class
	err   error
}

func (e *classified) Error() string { return e.err.Error() }
func (e *classified) Unwrap() error { return e.err }

// Unavailable marks err as the temporary absence of something (a server, a model that is not
// published yet): the runtime waits with back-off, without limit, and tries again. Unavailable(nil)
// is nil.
func Unavailable(err error) error { return Mark(ClassUnavailable, err) }

// Broken marks err as a bug or a violated assumption: the runtime stops and the process exits
// non-zero. Broken(nil) is nil.
func Broken(err error) error { return Mark(ClassBroken, err) }

// Mark marks err with a class. Mark(c, nil) is nil.
func Mark(c Class, err error) error {
	if err == nil {
		return nil
	}
	return &classified{c, err}
}

// IsUnavailable reports whether err is marked as unavailable; the outermost mark counts.
func IsUnavailable(err error) bool { return ClassOf(err) == ClassUnavailable }

// IsBroken reports whether err is marked as broken; the outermost mark counts.
func IsBroken(err error) bool { return ClassOf(err) == ClassBroken }

// Marked returns the class of the outermost mark of err, if it has one.
func Marked(err error) (class Class, ok bool) {
	var c *classified
	if errors.As(err, &c) {
		return c.class, true
	}
	return ClassRecord, false
}

// ClassOf returns the class of an error of a stage's logic. Only marks and the end of a context
// count: io.ErrUnexpectedEOF, for instance, may come from parsing foreign bytes as well as from a
// server.
func ClassOf(err error) Class {
	class, ok := Marked(err)
	switch {
	case ok:
		return class
	case errors.As(err, new(*OffsetError)):
		return ClassBroken
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return ClassEnded
	}
	return ClassRecord
}

// Recovered calls f and returns a panic as an error. Goroutines of a stage need it, because a panic in them
// would end the process.
func Recovered(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

// OffsetError reports that the partition does not have the offset to continue from.
type OffsetError struct {
	Topic     string
	Partition int
	// Offset requested; the partition has [First, End).
	Offset, First, End int64
	// Group whose committed offset it is; empty if it is no committed one.
	Group string
}

func (e *OffsetError) Error() string {
	whose := "offset"
	if e.Group != "" {
		whose = "offset committed by group " + e.Group
	}
	s := fmt.Sprintf("%s %d is not in %s/%d, which holds [%d, %d)", whose, e.Offset, e.Topic, e.Partition, e.First, e.End)
	switch {
	case e.Offset < e.First:
		s += ": retention removed records before they were read; raise the topic's retention in pipeline.yaml"
	default:
		s += ": the topic was created again or lost records"
	}
	if e.Group != "" {
		s += fmt.Sprintf("; to go on without them, stop the stage and run kafka-consumer-groups --group %s --topic %s:%d --reset-offsets --to-earliest --execute, then start its crawls again under new names", e.Group, e.Topic, e.Partition)
	} else {
		s += "; state that needs them cannot be rebuilt from this topic"
	}
	return s
}

// SizeError reports that a message is larger than its topic accepts.
type SizeError struct {
	Topic string
	// Size of the message and the topic's limit, bytes.
	Size, Max int
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("message of %d bytes for %s, which takes %d", e.Size, e.Topic, e.Max)
}
