package s3

import (
	"testing"
	"time"
)

// SetTimes sets the time limits of endpoints that are started in the test, for a header and between requests.
func SetTimes(t *testing.T, header, idle time.Duration) {
	oldHeader, oldIdle := headerTime, idleTime
	t.Cleanup(func() { headerTime, idleTime = oldHeader, oldIdle })
	headerTime, idleTime = header, idle
}

// Address returns host:port.
func (e *Endpoint) Address() string { return e.address }
