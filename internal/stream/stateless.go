package stream

import (
	"context"
	"errors"
)

// Stateless is a stage whose outputs depend on one record alone.
type Stateless struct {
	// Stage names the consumer group, and the stage in dead letters.
	Stage string
	// Inputs are topics; records of one partition keep their order.
	Inputs []string
	// Workers is the number of records handled at a time, of all partitions; 0 = 1.
	Workers int
	// Handle is the stage's logic. It is called in parallel; its outputs are sent in the order
	// of the input. Its error is Unavailable, Broken, or the record's own.
	Handle func(ctx context.Context, r Record) ([]Out, error)
	// Poison says what travels on for a record that Handle could not take, besides the dead
	// letter. nil = nothing.
	Poison func(r Record, cause error) ([]Out, error)
	// MaxInFlight bounds the records of a partition that were read and not sent on; 0 = 256.
	MaxInFlight int
	// Tries of a record before it is poison; 0 = 3.
	Tries int
}

// Apply takes one record through Handle with its tries, and through Poison where they fail:
// the very path of RunStateless, for tests without a broker. The dead letter is among the
// outputs. An error is Unavailable (RunStateless would call again), Broken, or the end of ctx.
func (s *Stateless) Apply(ctx context.Context, r Record) ([]Out, error) {
	return nil, errors.New("unfinished")
}

// RunStateless runs the stage until ctx ends (nil) or something is broken.
func (c *Client) RunStateless(ctx context.Context, s Stateless) error {
	return errors.New("unfinished")
}
