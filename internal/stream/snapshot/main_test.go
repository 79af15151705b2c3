package snapshot

import (
	"testing"

	"forager/internal/platform/objects/objectstest"
)

func TestMain(m *testing.M) { objectstest.Main(m) }
