package stateful_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forager/internal/stream/stateful"
	"forager/internal/stream/streamtest"
)

// layout returns the stage of Lots whose state has a layout, and refuses that of others.
func (l *lots) layout(layout string) func(seen func(partition, n int)) stateful.Stage {
	return func(seen func(partition, n int)) stateful.Stage {
		s := kept(l.in, l.log, l.bucket, never, seen)
		s.Layout = layout
		open := s.Open
		s.Open = func(partition int, epoch uint64, store *stateful.Store) (stateful.Processor, error) {
			found, ok, err := store.Get([]byte("layout"))
			switch {
			case err != nil:
				return nil, err
			case ok && string(found) != layout:
				return nil, stateful.OtherLayout(fmt.Errorf("the state has layout %s, this program reads %s", found, layout))
			}
			if err := store.Set([]byte("layout"), []byte(layout)); err != nil {
				return nil, err
			}
			return open(partition, epoch, store)
		}
		return s
	}
}

// State of another layout is replaced by a snapshot of the layout of the stage, or rebuilt from the topics. Where neither is possible the
// stage stops, names both layouts and what can be done, and leaves the directory as it is.
func TestStateOfAnotherLayout(t *testing.T) {
	t.Parallel()
	l := newLots(t)
	l.feed(200)
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "other")
	l.runStage(dir, 200, nil, l.layout("1"))
	if err := os.CopyFS(other, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	l.feed(30)
	log, series := l.runStage(dir, 230, nil, l.layout("2"))
	if series["forager_stage_snapshots_unfit_total layout"] != 1 || series["forager_stage_records_in_total "+l.in] != 230 ||
		!strings.Contains(log, "layout 1, this program reads 2") || !strings.Contains(log, "rebuilt from the topics") {
		t.Errorf("not rebuilt: %v\n%s", series, log)
	}
	checkLots(t, l.client, l.in, l.log, dir, 1, 230)

	log, series = l.runStage(other, 230, nil, l.layout("2"))
	if series["forager_stage_state_restored_total"] != 1 || !strings.Contains(log, `directory="of another layout"`) {
		t.Errorf("not restored: %s", log)
	}
	checkLots(t, l.client, l.in, l.log, other, 1, 230)

	l.trim(230, nil)
	c, _ := l.w.Dial(t)
	err := l.layout("3")(func(int, int) {}).Run(streamtest.Within(t, time.Minute), c, dir)
	for _, want := range []string{"layout 2, this program reads 3", "the topics do not have all records", stateful.AcceptLossFile} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, seen := l.state(dir); seen != 230 {
		t.Errorf("%d records are left", seen)
	}
	if err := os.WriteFile(filepath.Join(dir, stateful.AcceptLossFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l.feed(10)
	l.runStage(dir, 10, nil, l.layout("3"))
}
