package main

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
	p, err := openProcesses(data)
	if err != nil {
		t.Fatal(err)
	}
	logs := filepath.Join(data, "logs")
	if err := p.start("steady", logs, nil, "sh", "-c", "echo at work; exec sleep 600"); err != nil {
		t.Fatal(err)
	}
	if err := p.start("broken", logs, nil, "sh", "-c", "echo the disk is on fire; exit 1"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	v := &supervisor{data: data, first: 2 * time.Millisecond, longest: 200 * time.Millisecond, steady: time.Hour, every: time.Millisecond}
	go func() { ended <- v.run(ctx) }()
	current := func(name string) process {
		list, err := openProcesses(data)
		if err != nil {
			t.Fatal(err)
		}
		x, _ := list.running(name)
		return x
	}
	t.Cleanup(func() {
		stop()
		if x := current("steady"); x.PID != 0 {
			syscall.Kill(x.PID, syscall.SIGKILL)
		}
	})
	first := current("steady")
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
	wait(t, "the longest pause", func() bool { return record("broken").Failures > 9 && !record("broken").Next.IsZero() })
	if r := record("broken"); r.Next.Sub(r.Last) != v.longest || r.Line != "the disk is on fire" {
		t.Errorf("pause %v, last line %q", r.Next.Sub(r.Last), r.Line)
	}
	wait(t, "its record", func() bool { return record("steady").Count == 1 })
	list, err := openProcesses(data)
	if err != nil {
		t.Fatal(err)
	}
	_, err = checkRestarts(data, list)
	if err == nil || !strings.Contains(err.Error(), "broken") || !strings.Contains(err.Error(), "the disk is on fire") || strings.Contains(err.Error(), "steady") {
		t.Errorf("doctor: %v", err)
	}
	x, err := readSupervision(data)
	if err != nil || !strings.Contains(x.of("steady"), "started again 1 times") || !strings.Contains(x.of("steady"), "at work") {
		t.Errorf("of the program that was killed it says %q, %v", x.of("steady"), err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestASupervisorEndsWhenAnotherTakesOver, so that no two start the same program.
func TestASupervisorEndsWhenAnotherTakesOver(t *testing.T) {
	data := t.TempDir()
	v := &supervisor{data: data, first: time.Second, longest: time.Second, steady: time.Second, every: time.Millisecond}
	ended := make(chan error, 1)
	go func() { ended <- v.run(t.Context()) }()
	wait(t, "its record", func() bool { x, err := readSupervision(data); return err == nil && x != nil })
	other := &supervision{Supervisor: process{Name: "supervisor", PID: os.Getpid(), Started: "another start"}}
	if err := other.save(data); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
