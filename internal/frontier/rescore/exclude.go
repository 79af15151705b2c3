package rescore

import (
	"encoding/binary"
	"fmt"

	"forager/internal/frontier/queue"
	"forager/internal/frontier/state"
	"forager/internal/frontier/storage"
	"forager/internal/web/scope"
	"forager/schemas"
)

// An entry whose URL the crawl excludes is in no queue and keeps its links, so that what a replay must reproduce does not depend on
// the rules (docs/decisions/0116). Rules are looked at whenever an entry is to be queued. When they change, entries that are known
// are checked in the order of their discovery, some with each call of Rescore; until then dispatch checks the entries that it chooses.

// CheckShare is how many entries are checked for each that could be scored in the same call: reading a URL costs less.
const CheckShare = 4

// Excluder keeps entries out of the queues, and lets them in again.
type Excluder struct {
	state  *state.Records
	hosts  *queue.Hosts
	queues *queue.Queues
	waits  *queue.Waits
	// Admit queues an entry that is excluded no more.
	Admit func(e *state.Entry) error

	rules *scope.Excludes
	// digest is that of the rules by which entries are checked: those up to checked are, and those after until were found since.
	digest         schemas.ID
	checked, until uint64
}

// NewExcluder returns an excluder without rules; the caller sets Admit.
func NewExcluder(state *state.Records, hosts *queue.Hosts, queues *queue.Queues, waits *queue.Waits) *Excluder {
	return &Excluder{state: state, hosts: hosts, queues: queues, waits: waits}
}

const excluderVersion = 1

// Load reads how far entries are checked.
func (x *Excluder) Load() error {
	b, ok, err := x.state.Store.Get(x.state.Keys.Kind(state.KindExcluder))
	if err != nil || !ok {
		return err
	}
	r := storage.Reader{Rest: b}
	r.Version(excluderVersion)
	x.digest, x.checked, x.until = r.ID(), r.U64(), r.U64()
	if err := r.End(); err != nil {
		return fmt.Errorf("frontier: progress of excludes: %w", err)
	}
	return nil
}

func (x *Excluder) save() error {
	b := append(append(x.state.Buffer[:0], excluderVersion), x.digest[:]...)
	x.state.Buffer = binary.AppendUvarint(binary.AppendUvarint(b, x.checked), x.until)
	return x.state.Store.Set(x.state.Keys.Kind(state.KindExcluder), x.state.Buffer)
}

// SetRules sets the rules in force; digest is zero if there are none. If they are others than before, all entries are checked again.
func (x *Excluder) SetRules(rules *scope.Excludes, digest schemas.ID) error {
	x.rules = rules
	if digest == x.digest {
		return nil
	}
	x.digest, x.checked, x.until = digest, 0, x.state.Counters.Entries
	return x.save()
}

// Left is the number of entries that are still to be checked.
func (x *Excluder) Left() uint64 { return x.until - x.checked }

// Exclude notes that an entry in no queue is excluded, and stores it, if that is so.
func (x *Excluder) Exclude(e *state.Entry) (bool, error) {
	if x.rules.URL(e.URL) == "" {
		return false, nil
	}
	if e.State = state.Excluded; len(e.Places) > 0 && !e.Places[0].Linkless() { // a place without a link cannot be found again
		e.Places = nil
	}
	x.state.Counters.Refused[scope.Excluded]++
	return true, x.state.SaveEntry(e)
}

// Release counts an entry that is excluded no longer. The caller gives it another state, and stores it.
func (x *Excluder) Release() {
	refused := x.state.Counters.Refused
	if refused[scope.Excluded]--; refused[scope.Excluded] == 0 {
		delete(refused, scope.Excluded)
	}
}

// Drop excludes a queued entry that was not checked yet, if a rule applies, and reports whether it did.
func (x *Excluder) Drop(e *state.Entry) (bool, error) {
	if e.Ordinal <= x.checked || e.Ordinal > x.until || x.rules.URL(e.URL) == "" {
		return false, nil
	}
	if err := x.queues.Dequeue(e); err != nil {
		return false, err
	}
	return x.Exclude(e)
}

// Check checks up to n entries.
func (x *Excluder) Check(n int) error {
	last := min(x.until, x.checked+uint64(n))
	if last == x.checked {
		return nil
	}
	var changed []uint64
	var spare state.Entry
	from, to := x.state.Keys.Entries(x.checked+1, last)
	err := x.state.Store.Scan(from, to, func(key, value []byte) (bool, error) {
		if !queue.IsUnvisited(value) {
			return true, nil
		}
		ordinal, err := x.state.Keys.ParseU64(key)
		if err == nil {
			err = spare.Decode(ordinal, value)
		}
		if err == nil && (x.rules.URL(spare.URL) != "") != (spare.State == state.Excluded) {
			changed = append(changed, ordinal)
		}
		return err == nil, err
	})
	for _, ordinal := range changed {
		if err == nil {
			err = x.change(ordinal)
		}
		if err == nil {
			err = x.hosts.EvictHosts()
		}
	}
	if err != nil {
		return fmt.Errorf("check excludes: %w", err)
	}
	x.checked = last
	return x.save()
}

// change excludes an entry that is not, and lets one in that is.
func (x *Excluder) change(ordinal uint64) error {
	e, err := x.state.Entry(ordinal)
	if err != nil {
		return err
	}
	switch e.State {
	case state.Excluded:
		x.Release()
		return x.Admit(e)
	case state.Waiting:
		err = x.waits.StopWaiting(e)
	default:
		err = x.queues.Dequeue(e)
	}
	if err == nil {
		_, err = x.Exclude(e)
	}
	return err
}
