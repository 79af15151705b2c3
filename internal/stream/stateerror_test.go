package stream

import (
	"testing"

	"forager/internal/stream/state"
)

// What is wrong with a state does not go away by itself: nothing waits for it.
func TestStateErrorIsBroken(t *testing.T) {
	s := openStore(t, state.Options{Dir: t.TempDir()})
	defer s.Close()
	err := s.Set([]byte{0}, nil) // a reserved key
	if !IsBroken(err) || brokerClass(err) != broken {
		t.Errorf("%v is of the class %s", err, classOf(err))
	}
}
