package frontier

import (
	"testing"

	"forager/internal/frontier/storage"
	"forager/schemas"
)

// A request that a stage could not handle is tried once more when an operator requests it, and is
// charged again; what its first verdict settled stays settled.
func TestReplay(t *testing.T) {
	s := newScript(t, func(c *schemas.CrawlControl) { c.Budget = &schemas.Budget{Pages: 100, Requests: 4} })
	s.seed(onA("s"))
	s.dispatch(1)
	s.deliver(onA("s"), .5, true, onA("v"), onA("w"))
	s.want(s.dispatch(1), onA("v"))
	failed := s.last[onA("v")]
	settled := s.apply(s.answer(onA("v"), schemas.Outcome_OUTCOME_FAILED_PARSE_DOM))
	if len(settled) != 1 || settled[0].GetOutcome() != schemas.Outcome_OUTCOME_FAILED_PARSE_DOM {
		t.Fatalf("settled %v", settled)
	}
	s.want(s.dispatch(1), onA("w"))
	s.deliver(onA("w"), .5, true)
	s.ended(EndEmpty)

	s.apply(replayOf(s.last[onA("w")])) // it did not fail
	s.ended(EndEmpty)
	s.apply(replayOf(failed))
	if st := s.shard.Status(s.now); st.GetQueued() != 1 || st.GetRefused()["replay"] != 1 || st.GetRequests() != 3 {
		t.Errorf("status %v", st)
	}
	if effects, err := s.shard.Apply(replayOf(failed), s.now); err != nil || !effects.Duplicate {
		t.Errorf("asked twice: %v, %v", effects, err)
	}
	s.open()
	s.want(s.dispatch(1), onA("v"))
	again := s.last[onA("v")]
	if again.GetAttempt() != 2 || again.GetScore() != failed.GetScore() || again.GetDepth() != failed.GetDepth() {
		t.Errorf("replayed as %v, the first attempt was %v", again, failed)
	}
	if settled := s.deliver(onA("v"), .25, true, onA("x")); len(settled) != 0 {
		t.Errorf("settled again: %v", settled)
	}
	if st := s.shard.Status(s.now); st.GetPages() != 3 || st.GetRequests() != 4 || st.GetOutcomes()["failed:parse-dom"] != 1 {
		t.Errorf("status %v", st)
	}
	s.ended(EndRequests)
}

// A new owner that lost its state finds the second attempt in the log before the replay is applied again.
func TestReplayIsRecovered(t *testing.T) {
	s := newScript(t, nil)
	s.seed(onA("v"))
	s.dispatch(1)
	first := s.last[onA("v")]
	s.apply(s.answer(onA("v"), schemas.Outcome_OUTCOME_FAILED_FETCH))
	s.apply(replayOf(first))
	s.want(s.dispatch(1), onA("v"))
	second := s.last[onA("v")]

	s.store, s.seeds = storage.NewMemory(), 0
	s.open()
	for _, r := range []*schemas.FetchRequest{first, second} {
		if err := s.shard.Recover(r); err != nil {
			t.Fatal(err)
		}
	}
	s.seed(onA("v"))
	s.last[onA("v")] = first
	s.apply(s.answer(onA("v"), schemas.Outcome_OUTCOME_FAILED_FETCH))
	s.apply(replayOf(first))
	s.want(s.dispatch(9))
	s.last[onA("v")] = second
	s.deliver(onA("v"), .5, true)
	s.ended(EndEmpty)
	if st := s.shard.Status(s.now); st.GetPages() != 1 || st.GetDispatched() != 2 || st.GetRequests() != 2 {
		t.Errorf("status %v", st)
	}
}

// A URL to be replayed stays in the frontier when a gate refuses the links to it that are found since, also when its
// next attempt is deferred. A link that passes the gate decides again.
func TestReplayPassesGate(t *testing.T) {
	s := newScript(t, func(c *schemas.CrawlControl) {
		c.Window, c.HostWindow = 9, 9
		c.Policies[0].Gate = &schemas.Gate{Condition: schemas.GateCondition_GATE_CONDITION_RELEVANCE, Action: schemas.GateAction_GATE_ACTION_DROP, Threshold: .4}
	})
	s.seed(onA("v"), onA("low"), onA("late"), onA("high"))
	s.want(s.dispatch(1), onA("v"))
	failed := s.last[onA("v")]
	s.want(s.dispatch(1), onA("low"))
	s.want(s.dispatch(1), onA("late"))
	s.want(s.dispatch(1), onA("high"))
	s.apply(s.answer(onA("v"), schemas.Outcome_OUTCOME_FAILED_PARSE_DOM))
	s.apply(replayOf(failed))
	s.deliver(onA("low"), .1, false, onA("v"))
	if st := s.shard.Status(s.now); st.GetQueued() != 1 {
		t.Fatalf("after a link below the gate: %v", st)
	}
	s.open()
	s.want(s.dispatch(1), onA("v"))
	if again := s.last[onA("v")]; again.GetAttempt() != 2 || again.GetScore() != failed.GetScore() {
		t.Errorf("replayed as %v, the first attempt was %v", again, failed)
	}
	s.deliver(onA("late"), .2, false, onA("v"))
	deferred := s.answer(onA("v"), schemas.Outcome_OUTCOME_DEFERRED)
	deferred.NotBefore = s.now.UnixMilli()
	s.apply(deferred)
	s.deliver(onA("high"), .5, false, onA("v"))
	s.want(s.dispatch(1), onA("v"))
	if again := s.last[onA("v")]; again.GetAttempt() != 3 || again.GetScore() != .5 {
		t.Errorf("after a link that passes the gate: %v", again)
	}
	if settled := s.deliver(onA("v"), .5, true); len(settled) != 3 {
		t.Errorf("settled %v", settled)
	}
	s.ended(EndEmpty)
}
