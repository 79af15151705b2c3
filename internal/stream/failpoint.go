package stream

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// FailpointVariable is the environment variable that arms one failpoint: "name" or "name:count".
const FailpointVariable = "FORAGER_FAILPOINT"

// Failpoint does nothing, unless FORAGER_FAILPOINT names it: then the process kills itself, as kill
// -9 would, at its count-th pass (the first where no count is given). Tests of recovery use it; it
// is in every binary, so that the tested program is the one that runs.
func Failpoint(name string) {
	armed := failpoint()
	if armed.name != name || armed.passes.Add(1) != armed.count {
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // nothing may run after the failpoint until the signal arrives
}

type armedFailpoint struct {
	name   string
	count  int64
	passes atomic.Int64
}

var failpoint = sync.OnceValue(func() *armedFailpoint {
	name, count, ok := strings.Cut(os.Getenv(FailpointVariable), ":")
	f := &armedFailpoint{name: name, count: 1}
	if ok {
		n, err := strconv.ParseInt(count, 10, 64)
		if err != nil || n < 1 {
			panic(FailpointVariable + ": " + strconv.Quote(count) + " is not a count")
		}
		f.count = n
	}
	return f
})
