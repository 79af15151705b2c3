package stream

import (
	"fmt"
	"testing"
)

func init() {
	children["failpoint"] = func() {
		for i := range 5 {
			fmt.Print(i)
			Failpoint("here")
			Failpoint("there")
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
		if output, killed := child(t, "failpoint", FailpointVariable+"="+k.armed); output != k.output || killed != k.killed {
			t.Errorf("%q: wrote %q, killed %v", k.armed, output, killed)
		}
	}
}
