package stream_test

import (
	"fmt"
	"testing"

	"forager/internal/stream"
	"forager/internal/stream/streamtest"
)

func init() {
	streamtest.Children["failpoint"] = func() {
		for i := range 5 {
			fmt.Print(i)
			stream.Failpoint("here")
			stream.Failpoint("there")
		}
	}
}

func TestFailpointKillsAtItsPass(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		armed, output string
		killed        bool
	}{
		{"", "01234", false}, {"elsewhere", "01234", false}, {"here", "0", true}, {"there:3", "012", true}, {"here:9", "01234", false},
	} {
		if output, killed := streamtest.Child(t, "failpoint", stream.FailpointVariable+"="+k.armed); output != k.output || killed != k.killed {
			t.Errorf("%q: wrote %q, killed %v", k.armed, output, killed)
		}
	}
}
