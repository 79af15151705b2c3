package deploy

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTheSupervisorStartsProgramsAgain: a program that is killed is restarted, one that ends at once is
// restarted less and less often, and doctor's check names both with the last line of the log.
func TestTheSupervisorStartsProgramsAgain(t *testing.T) {
	data := t.TempDir()
	p, err := OpenProcesses(data)
	if err != nil {
		t.Fatal(err)
	}
	logs := filepath.Join(data, "logs")
	if err := p.Start("steady", logs, nil, "sh", "-c", "echo at work; exec sleep 600"); err != nil {
		t.Fatal(err)
	}
	if err := p.Start("broken", logs, nil, "sh", "-c", "echo the disk is on fire; exit 1"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	v := &supervisor{Data: data, First: 2 * time.Millisecond, Longest: 200 * time.Millisecond, Steady: time.Hour, Every: time.Millisecond}
	go func() { ended <- v.Run(ctx) }()
	current := func(name string) Process {
		list, err := OpenProcesses(data)
		if err != nil {
			t.Fatal(err)
		}
		x, _ := list.Running(name)
		return x
	}
	t.Cleanup(func() {
		stop()
		if x := current("steady"); x.PID != 0 {
			syscall.Kill(x.PID, syscall.SIGKILL)
		}
	})
	first := current("steady")
	wait(t, "its first line", func() bool { return LastLines(first.Log, 1) == "at work" })
	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait(t, "another process", func() bool { x := current("steady"); return x.PID != 0 && x.PID != first.PID })
	record := func(name string) restart {
		x, err := readSupervision(data)
		if err != nil {
			t.Fatal(err)
		}
		if x == nil {
			return restart{}
		}
		return x.Restarts[name]
	}
	var r restart // while it pauses: it is started again soon
	wait(t, "the longest pause", func() bool { r = record("broken"); return r.Failures > 9 && !r.Next.IsZero() })
	if r.Next.Sub(r.Last) != v.Longest || r.Line != "the disk is on fire" {
		t.Errorf("pause %v, last line %q", r.Next.Sub(r.Last), r.Line)
	}
	wait(t, "its record", func() bool { return record("steady").Count == 1 })
	list, err := OpenProcesses(data)
	if err != nil {
		t.Fatal(err)
	}
	_, err = checkRestarts(data, list)
	if err == nil || !strings.Contains(err.Error(), "broken") || !strings.Contains(err.Error(), "the disk is on fire") || strings.Contains(err.Error(), "steady") {
		t.Errorf("doctor: %v", err)
	}
	x, err := readSupervision(data)
	if err != nil || !strings.Contains(x.Of("steady"), "started again 1 times") || !strings.Contains(x.Of("steady"), "at work") {
		t.Errorf("of the program that was killed it has %q, %v", x.Of("steady"), err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestASupervisorEndsWhenAnotherTakesOver, so that no two start the same program.
func TestASupervisorEndsWhenAnotherTakesOver(t *testing.T) {
	data := t.TempDir()
	v := &supervisor{Data: data, First: time.Second, Longest: time.Second, Steady: time.Second, Every: time.Millisecond}
	ended := make(chan error, 1)
	go func() { ended <- v.Run(t.Context()) }()
	wait(t, "its record", func() bool { x, err := readSupervision(data); return err == nil && x != nil })
	other := &supervision{Supervisor: Process{Name: "supervisor", PID: os.Getpid(), Started: "another start"}}
	if err := other.Save(data); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
