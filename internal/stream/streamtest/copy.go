package streamtest

import (
	"context"

	"forager/internal/stream"
	"forager/internal/stream/runner"
)

// CopyTo is a stage that sends every record on, to the same partition.
func CopyTo(stage, in, out string) runner.Stateless {
	return runner.Stateless{Stage: stage, Inputs: []string{in}, Workers: 4, Handle: func(_ context.Context, r stream.Record) ([]stream.Out, error) {
		return []stream.Out{{Topic: out, Partition: r.Partition, Key: r.Key, Value: r.Value, Headers: r.Headers}}, nil
	}}
}
