package deploy

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"forager/internal/operate"
	"forager/internal/platform/progress"
	"forager/internal/stream/streamtest"
)

// sleeper starts a process that is not of up.
func sleeper(t *testing.T) Process {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	stat, err := procStat(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return Process{Name: "fetch-0", PID: cmd.Process.Pid, Started: stat[startTime], Log: "fetch-0.log"}
}

// The test binary is also a process whose first thread has ended, while the others wait for the end of its input.
func init() {
	if os.Getenv("WITHOUT_FIRST_THREAD") == "" {
		return
	}
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0) // of a thread; init runs on the first
}

// Or one that ignores SIGTERM and has so much memory that its end takes a while.
func init() {
	if os.Getenv("LARGE_AND_DEAF") == "" {
		return
	}
	signal.Ignore(syscall.SIGTERM)
	memory := bytes.Repeat([]byte{1}, 256<<20)
	fmt.Println("up")
	time.Sleep(10 * time.Minute)
	runtime.KeepAlive(memory)
}

// A process whose first thread has ended has its files and ports until all others have.
func TestZombieWithThreadsIsAlive(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "WITHOUT_FIRST_THREAD=1")
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	x := Process{PID: cmd.Process.Pid}
	stat, err := procStat(x.PID)
	if err != nil {
		t.Fatal(err)
	}
	x.Started = stat[startTime]
	state := func() string {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", x.PID))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		return rest[:1]
	}
	streamtest.Eventually(t, func() bool { return state() == "Z" })
	if !x.Alive() {
		t.Error("a process with threads counts as ended")
	}
	input.Close()
	streamtest.Eventually(t, func() bool { return !x.Alive() })
}

// A process that got the id of one that up had started is not ended.
func TestStopLeavesReusedIDsAlone(t *testing.T) {
	other := sleeper(t)
	stale := other
	stale.Started = "1" + other.Started
	data := t.TempDir()
	p, err := OpenProcesses(data)
	if err != nil {
		t.Fatal(err)
	}
	p.List = []Process{stale}
	if err := p.Save(); err != nil {
		t.Fatal(err)
	}
	if p, err = OpenProcesses(data); err != nil {
		t.Fatal(err)
	}
	if x, ok := p.Running("fetch-0"); ok {
		t.Errorf("%v counts as running", x)
	}
	killed, err := p.Stop(t.Context(), []string{"fetch-0"}, 5*time.Second)
	if err != nil || len(killed) != 0 {
		t.Errorf("killed %v, error %v", killed, err)
	}
	if !other.Alive() {
		t.Error("a process was ended that only has the same id")
	}
	if p, err = OpenProcesses(data); err != nil || len(p.List) != 0 {
		t.Errorf("the list holds %v (%v)", p.List, err)
	}
}

func TestStopEndsWhatWasStarted(t *testing.T) {
	data := t.TempDir()
	p, err := OpenProcesses(data)
	if err != nil {
		t.Fatal(err)
	}
	logs := filepath.Join(data, "logs")
	// The second must be killed, and has not ended at once.
	for name, command := range map[string][]string{"docile": {"sh", "-c", "echo up; exec sleep 600"}, "deaf": {os.Args[0]}} {
		if err := p.Start(name, logs, []string{"LARGE_AND_DEAF=1"}, command[0], command[1:]...); err != nil {
			t.Fatal(err)
		}
		wait(t, name, func() bool {
			b, _ := os.ReadFile(filepath.Join(logs, name+".log"))
			return strings.Contains(string(b), "up")
		})
	}
	if p, err = OpenProcesses(data); err != nil || len(p.List) != 2 {
		t.Fatalf("the list holds %v (%v)", p.List, err)
	}
	started := slices.Clone(p.List)
	killed, err := p.Stop(t.Context(), []string{"docile", "deaf"}, 2*time.Second)
	if err != nil || len(killed) != 1 || killed[0] != "deaf" {
		t.Errorf("killed %v, error %v", killed, err)
	}
	for _, x := range started {
		if x.Alive() {
			t.Errorf("%s runs on", x.Name)
		}
	}
}

// TestProcessesWithoutAList: while the list cannot be written, nothing is started, and running processes can be stopped.
func TestProcessesWithoutAList(t *testing.T) {
	data := t.TempDir()
	p, err := OpenProcesses(data)
	if err != nil {
		t.Fatal(err)
	}
	logs := filepath.Join(data, "logs")
	if err := p.Start("one", logs, nil, "sleep", "600"); err != nil {
		t.Fatal(err)
	}
	one := p.List[0]
	t.Cleanup(func() { syscall.Kill(one.PID, syscall.SIGKILL) })
	if err := os.Mkdir(p.File+".new", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := p.Start("two", logs, nil, "sleep", "600"); err == nil || !strings.Contains(err.Error(), "two is not started: write the list of started processes") {
		t.Errorf("started without a list: %v", err)
	}
	wait(t, "the second has ended", func() bool { return !p.List[1].Alive() })
	if _, err := checkRestarts(data, p); err == nil || !strings.Contains(err.Error(), "two has ended") || strings.Contains(err.Error(), "one has") {
		t.Errorf("ended: %v", err)
	}
	if killed, err := p.Stop(t.Context(), []string{"one"}, 5*time.Second); len(killed) != 0 || err == nil || !strings.Contains(err.Error(), "one ended, but ") || one.Alive() {
		t.Errorf("killed %v, error %v", killed, err)
	}
}

func TestDamagedProcessList(t *testing.T) {
	data := t.TempDir()
	path := filepath.Join(data, "run", "processes.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`{"processes":[{"name":"fe`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenProcesses(data); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v", err)
	}
}

// TestProcessesOfACommandThatEndsEarly: processes of a command that ends what it starts are killed when it
// dies, also if they ignore SIGTERM.
func TestProcessesOfACommandThatEndsEarly(t *testing.T) {
	left, dir := new(progress.Leftovers), t.TempDir()
	p, err := OpenProcesses(dir)
	if err != nil {
		t.Fatal(err)
	}
	p.Ending = progress.Keep(t.Context(), left)
	if err := p.Start("deaf", dir, nil, "/bin/sh", "-c", `trap "" TERM; exec sleep 600`); err != nil {
		t.Fatal(err)
	}
	left.Remove()
	ended, err := operate.Poll(t.Context(), time.Minute, func() (bool, error) { return !p.List[0].Alive(), nil })
	if err != nil || !ended {
		t.Errorf("it runs on (%v)", err)
		syscall.Kill(p.List[0].PID, syscall.SIGKILL)
	}
}

// wait waits until ok.
func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	if done, err := operate.Poll(t.Context(), time.Minute, func() (bool, error) { return ok(), nil }); err != nil || !done {
		t.Fatalf("%s: not within a minute (%v)", what, err)
	}
}
