package runner_test

import (
	"testing"

	"forager/internal/stream/streamtest"
)

func TestMain(m *testing.M) { streamtest.Main(m) }
