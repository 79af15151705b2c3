package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"forager/internal/platform/progress"
)

// Process is a program that up started. Started (clock ticks since boot, field 22 of /proc/PID/stat)
// distinguishes it from a later process with the same id.
type Process struct {
	Name    string `json:"name"` // "fetch-0", "local"
	PID     int    `json:"pid"`
	Started string `json:"started"`
	Log     string `json:"log"`
	// Command is the program with its arguments, a JSON list.
	Command string `json:"command,omitempty"`
}

// Processes is the list of programs that up started for one data folder.
type Processes struct {
	File string `json:"-"`
	// Ending is the context of a command that ends what it starts: if its own process ends early, they are
	// killed (package progress). nil = they continue.
	Ending context.Context `json:"-"`
	List   []Process       `json:"processes"`
}

// OpenProcesses reads the list in the data folder; a missing one is an empty list.
func OpenProcesses(data string) (*Processes, error) {
	p := &Processes{File: filepath.Join(data, "run", "processes.json")}
	b, err := os.ReadFile(p.File)
	if errors.Is(err, os.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of started processes: %w", err)
	}
	if err := json.Unmarshal(b, p); err != nil {
		return nil, fmt.Errorf("%s is damaged (%w); end the processes it names by hand and remove it", p.File, err)
	}
	return p, nil
}

func (p *Processes) Save() error {
	b, err := json.MarshalIndent(p, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(p.File), 0o700)
	}
	tmp := p.File + ".new"
	if err == nil {
		err = os.WriteFile(tmp, append(b, '\n'), 0o600)
	}
	if err == nil {
		err = os.Rename(tmp, p.File)
	}
	if err != nil {
		return fmt.Errorf("write the list of started processes: %w", err)
	}
	return nil
}

// Running returns the process of that name if it is alive.
func (p *Processes) Running(name string) (Process, bool) {
	for _, x := range p.List {
		if x.Name == name && x.Alive() {
			return x, true
		}
	}
	return Process{}, false
}

func (x Process) Alive() bool {
	fields, err := procStat(x.PID)
	// Of a process that was killed the first thread may be a zombie while others, which still have its files, their locks and its ports, are
	// being ended.
	return err == nil && fields[startTime] == x.Started && !(fields[0] == "Z" && fields[17] == "1")
}

// startTime is the index of the start time of a process.
const startTime = 19

// procStat returns the fields of /proc/PID/stat from the state of the process on, at least up to its start time. The name before them may
// contain blanks.
func procStat(pid int) ([]string, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	if err == nil && len(fields) <= startTime {
		err = fmt.Errorf("/proc/%d/stat cannot be read", pid)
	}
	return fields, err
}

// Start runs a program in a session of its own, with its output appended to a log file, and adds it to the
// list. Environment variables in env are added to the caller's.
func (p *Processes) Start(name, logDir string, env []string, program string, args ...string) error {
	path := filepath.Join(logDir, name+".log")
	cmd, log, err := p.command(path, env, program, args...)
	if err != nil {
		return err
	}
	defer log.Close()
	if err := p.begin(cmd); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	stat, err := procStat(cmd.Process.Pid)
	if err != nil {
		return fmt.Errorf("%s ended at once; see %s", name, path)
	}
	// Reap it if it ends while this command still runs.
	go func() { _ = cmd.Wait() }()
	p.List = slices.DeleteFunc(p.List, func(x Process) bool { return x.Name == name })
	command, err := json.Marshal(append([]string{program}, args...))
	if err != nil {
		return errors.Join(err, cmd.Process.Kill())
	}
	p.List = append(p.List, Process{Name: name, PID: cmd.Process.Pid, Started: stat[startTime], Log: path, Command: string(command)})
	if err := p.Save(); err != nil {
		// No later command could find it to stop it.
		return errors.Join(fmt.Errorf("%s is not started: %w", name, err), cmd.Process.Kill())
	}
	return nil
}

func (p *Processes) begin(cmd *exec.Cmd) error {
	if p.Ending == nil {
		return cmd.Start()
	}
	_, err := progress.Leave(p.Ending, func() (kill func(), err error) {
		return func() { cmd.Process.Kill() }, cmd.Start()
	})
	return err
}

// command prepares a program that runs in a session of its own, with its output appended to a log file.
func (p *Processes) command(path string, env []string, program string, args ...string) (*exec.Cmd, *os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, nil, err
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, log, nil
}

// Stop sends SIGTERM to the named processes, all at once, and waits for them; those that still run at the
// deadline are killed, which may take a second: until then they have their ports and locks. It returns the names of the killed.
func (p *Processes) Stop(ctx context.Context, names []string, deadline time.Duration) ([]string, error) {
	var waiting []Process
	for _, x := range p.List {
		if !slices.Contains(names, x.Name) || !x.Alive() {
			continue
		}
		if err := syscall.Kill(x.PID, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
			return nil, fmt.Errorf("end %s (process %d): %w", x.Name, x.PID, err)
		}
		waiting = append(waiting, x)
	}
	wait := func(most time.Duration) error {
		for end := time.Now().Add(most); len(waiting) > 0 && time.Now().Before(end); {
			waiting = slices.DeleteFunc(waiting, func(x Process) bool { return !x.Alive() })
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(20 * time.Millisecond):
			}
		}
		return nil
	}
	if err := wait(deadline); err != nil {
		return nil, err
	}
	var killed []string
	for _, x := range waiting {
		killed = append(killed, x.Name)
		if err := syscall.Kill(x.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return killed, fmt.Errorf("kill %s (process %d): %w", x.Name, x.PID, err)
		}
	}
	if err := wait(time.Second); err != nil {
		return killed, err
	}
	p.List = slices.DeleteFunc(p.List, func(x Process) bool { return slices.Contains(names, x.Name) })
	if err := p.Save(); err != nil { // the start time identifies processes, so that an outdated list does no harm
		return killed, fmt.Errorf("%s ended, but %w", strings.Join(names, ", "), err)
	}
	return killed, nil
}

// LastLines returns the end of a log file, for error messages.
func LastLines(path string, n int) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
