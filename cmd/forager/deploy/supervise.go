package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"forager/cmd/internal/cli"
)

// SuperviseCommand is the process that forager up leaves running. It restarts programs that up started and that ended by themselves.
type SuperviseCommand struct{}

func (c *SuperviseCommand) Run(s *cli.Session) error {
	cfg, err := s.Pipeline()
	if err != nil {
		return err
	}
	v := &supervisor{Data: cfg.Data, First: time.Second, Longest: time.Minute, Steady: time.Minute, Every: 250 * time.Millisecond}
	return v.Run(s)
}

// supervision is what the supervisor records in DATA/run/supervisor.json. It is written by the supervisor only.
type supervision struct {
	// Supervisor is the process.
	Supervisor Process `json:"supervisor"`
	// Restarts are the programs that were restarted, by name.
	Restarts map[string]restart `json:"restarts"`
}

// restart records how often a program ended by itself.
type restart struct {
	Count int `json:"count"`
	// Failures are those without a minute of work between them; they determine the pause before the next start.
	Failures int       `json:"failures"`
	Last     time.Time `json:"last"`
	// Line is the last line of its log then.
	Line string `json:"line"`
	// Next is the time of the next start; zero = it was started.
	Next time.Time `json:"next,omitzero"`
}

func supervisionFile(data string) string { return filepath.Join(data, "run", "supervisor.json") }

// readSupervision returns nil if no supervisor was started.
func readSupervision(data string) (*supervision, error) {
	b, err := os.ReadFile(supervisionFile(data))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	x := new(supervision)
	if err := json.Unmarshal(b, x); err != nil {
		return nil, fmt.Errorf("%s is damaged (%w); remove it", supervisionFile(data), err)
	}
	return x, nil
}

func (x *supervision) Save(data string) error {
	b, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return err
	}
	path := supervisionFile(data)
	if err := os.WriteFile(path+".new", append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// supervisor restarts programs, after a pause that doubles from first to longest while they do not run for steady.
type supervisor struct {
	Data                          string
	First, Longest, Steady, Every time.Duration
}

// Run checks the programs until ctx ends, or until another supervisor has taken over.
func (v *supervisor) Run(ctx context.Context) error {
	stat, err := procStat(os.Getpid())
	if err != nil {
		return err
	}
	x, err := readSupervision(v.Data)
	if err != nil || x == nil {
		x = new(supervision)
	}
	if x.Restarts == nil {
		x.Restarts = make(map[string]restart)
	}
	x.Supervisor = Process{Name: "supervisor", PID: os.Getpid(), Started: stat[startTime]}
	if err := os.MkdirAll(filepath.Join(v.Data, "run"), 0o700); err != nil {
		return err
	}
	if err := x.Save(v.Data); err != nil {
		return fmt.Errorf("write the supervisor's record: %w", err)
	}
	ticker := time.NewTicker(v.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		now, err := readSupervision(v.Data)
		if err == nil && (now == nil || now.Supervisor != x.Supervisor) {
			return nil
		}
		if err := v.look(x); err != nil {
			fmt.Fprintf(os.Stderr, "%s supervisor: %v\n", time.Now().UTC().Format(time.RFC3339), err)
		}
	}
}

// look restarts programs that ended, if their pause is over.
func (v *supervisor) look(x *supervision) error {
	list, err := OpenProcesses(v.Data)
	if err != nil {
		return err
	}
	changed := false
	for _, p := range slices.Clone(list.List) {
		r := x.Restarts[p.Name]
		now := time.Now()
		switch {
		case p.Command == "":
			continue // by an older version of up
		case p.Alive():
			if r.Failures == 0 || now.Sub(r.Last) < v.Steady {
				continue
			}
			r.Failures = 0
		case r.Next.IsZero():
			pause := min(v.First<<min(r.Failures, 20), v.Longest)
			r.Failures++
			r.Last, r.Next, r.Line = now, now.Add(pause), LastLines(p.Log, 1)
			fmt.Fprintf(os.Stderr, "%s %s ended and is started again in %s; last line of its log: %s\n", now.UTC().Format(time.RFC3339), p.Name, pause, r.Line)
		case now.Before(r.Next):
			continue
		default:
			var command []string
			if err := json.Unmarshal([]byte(p.Command), &command); err != nil {
				return fmt.Errorf("command of %s: %w", p.Name, err)
			}
			r.Count, r.Last, r.Next = r.Count+1, now, time.Time{}
			if err := list.Start(p.Name, filepath.Dir(p.Log), nil, command[0], command[1:]...); err != nil {
				fmt.Fprintf(os.Stderr, "%s %v\n", now.UTC().Format(time.RFC3339), err)
			}
		}
		x.Restarts[p.Name], changed = r, true
	}
	if !changed {
		return nil
	}
	return x.Save(v.Data)
}

// startSupervisor starts the process that restarts programs, and replaces one that already runs.
func (s *Stack) startSupervisor(ctx context.Context) error {
	if err := stopSupervisor(ctx, s.Config.Data); err != nil {
		return err
	}
	path := filepath.Join(s.Logs(), "supervisor.log")
	cmd, log, err := s.Processes.command(path, s.Env, filepath.Join(s.Bin, "forager"), "--config", s.configPath, "supervise")
	if err != nil {
		return err
	}
	defer log.Close()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	for {
		x, err := readSupervision(s.Config.Data)
		if err != nil {
			return err
		}
		if x != nil && x.Supervisor.PID == cmd.Process.Pid {
			return nil
		}
		select {
		case err := <-exited:
			return fmt.Errorf("the supervisor ended at once (%v): %s", err, LastLines(path, 5))
		case <-ctx.Done():
			return errors.Join(ctx.Err(), cmd.Process.Kill())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stopSupervisor ends the supervisor of a data folder, if there is one, so that nothing that is being stopped is restarted.
func stopSupervisor(ctx context.Context, data string) error {
	x, err := readSupervision(data)
	if err != nil || x == nil {
		return err
	}
	signal, deadline := syscall.SIGTERM, time.Now().Add(5*time.Second)
	for x.Supervisor.Alive() {
		if err := syscall.Kill(x.Supervisor.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("end the supervisor (process %d): %w", x.Supervisor.PID, err)
		}
		if time.Now().After(deadline) {
			signal = syscall.SIGKILL
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	if err := os.Remove(supervisionFile(data)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Of describes how often a program was restarted; "" = it was not.
func (x *supervision) Of(name string) string {
	if x == nil || x.Restarts[name].Count+x.Restarts[name].Failures == 0 {
		return ""
	}
	r := x.Restarts[name]
	text := fmt.Sprintf("started again %d times, it last ended at %s", r.Count, r.Last.UTC().Format(time.RFC3339))
	if !r.Next.IsZero() {
		text += ", next start at " + r.Next.UTC().Format(time.RFC3339)
	}
	return text + ": " + cli.OneLine(r.Line, 200)
}

// checkRestarts describes which programs were restarted, and is an error if one is down or keeps ending.
func checkRestarts(data string, list *Processes) (detail string, err error) {
	x, err := readSupervision(data)
	if err != nil {
		return "", err
	}
	if x != nil && !x.Supervisor.Alive() {
		err = errors.New("the supervisor has ended: programs that end are not started again")
	}
	var notes []string
	for _, p := range list.List {
		text := x.Of(p.Name)
		switch {
		case !p.Alive():
			text = strings.Trim(p.Name+" has ended ("+p.Log+"); "+text, "; ")
			err = errors.Join(err, errors.New(text))
		case text != "" && x.Restarts[p.Name].Failures > 1:
			err = errors.Join(err, fmt.Errorf("%s keeps ending: %s", p.Name, text))
		case text != "":
			notes = append(notes, p.Name+" was "+text)
		}
	}
	return strings.Join(append([]string{"all that forager up started run"}, notes...), "; "), err
}
