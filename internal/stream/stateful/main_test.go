package stateful_test

import (
	"os"
	"testing"

	"forager/internal/platform/objects/objectstest"
	"forager/internal/stream/streamtest"
)

// TestMain runs the tests; the binary is also the programs that they start.
func TestMain(m *testing.M) {
	if os.Getenv("STREAM_CHILD") != "" {
		streamtest.Main(m)
		return
	}
	objectstest.Main(m)
}
