package metrics

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestHealthReady(t *testing.T) {
	h := new(health)
	first, second := new(int), new(int)
	check := func(what string, want float64) {
		t.Helper()
		if got := h.ready(); got != want {
			t.Errorf("%s: ready is %v, want %v", what, got, want)
		}
	}
	check("before the group is joined", 0)
	h.Joined(first, 2)
	check("without state", 0)
	h.Opened(first)
	check("with the state of one of two claims", 0)
	h.Opened(first)
	check("with all state", 1)
	h.Joined(second, 1)
	h.Opened(first)
	check("a claim of an earlier generation", 0)
	h.Left(first)
	h.Opened(second)
	check("the end of an earlier generation", 1)
	h.Left(second)
	check("after the generation", 0)
	h.Joined(first, 0)
	check("a member without partitions", 1)
}

func TestHealthBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(health)
		check := func(what string, want float64) {
			t.Helper()
			if got := h.busy(); got != want {
				t.Errorf("%s: busy for %v s, want %v", what, got, want)
			}
		}
		check("idle", 0)
		end := h.Begin()
		time.Sleep(3 * time.Second)
		defer h.Begin()()
		time.Sleep(2 * time.Second)
		check("two steps", 5)
		end()
		check("the younger step", 2)
		h.wait(1)
		h.wait(1)
		time.Sleep(time.Hour)
		h.wait(-1)
		check("while something is unavailable", 0)
		h.wait(-1)
		time.Sleep(4 * time.Second)
		check("since it is available again", 4)
	})
}
