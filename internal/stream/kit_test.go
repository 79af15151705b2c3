package stream

import "context"

// copyTo is a stage that sends every record on, to the same partition.
func copyTo(stage, in, out string) Stateless {
	return Stateless{Stage: stage, Inputs: []string{in}, Workers: 4, Handle: func(_ context.Context, r Record) ([]Out, error) {
		return []Out{{Topic: out, Partition: r.Partition, Key: r.Key, Value: r.Value, Headers: r.Headers}}, nil
	}}
}
