package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stopWithin is how long a command may take to end after a signal. The bound of a machine that is not busy is 2 s.
const stopWithin = 20 * time.Second

// largeExamples are examples of many classes, on which training takes minutes.
func largeExamples(t *testing.T, path string) {
	t.Helper()
	var b bytes.Buffer
	r := rand.New(rand.NewPCG(1, 2))
	e := json.NewEncoder(&b)
	for i := range 6000 {
		var text strings.Builder
		for range 150 {
			fmt.Fprintf(&text, "word%d ", r.IntN(30000))
		}
		if err := e.Encode(map[string]any{"url": fmt.Sprintf("http://h.example/%d", i), "topics": []string{fmt.Sprintf("T%d", i%120)}, "text": text.String()}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// files are all files below a folder.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && path != dir {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestLongCommandsEndAfterASignal starts each command that computes for long, sends it a signal once it is under way, and
// wants it to end with a code that is not 0 and to leave nothing.
func TestLongCommandsEndAfterASignal(t *testing.T) {
	program := filepath.Join(bin(t), "forager")
	examples := filepath.Join(t.TempDir(), "examples.jsonl")
	largeExamples(t, examples)
	for _, c := range []struct {
		name string
		args []string
	}{
		{"critic train", []string{"critic", "train", examples, "--name", "x", "--minimum", "1", "--model", "logistic", "--dry-run"}},
		{"critic evaluate", []string{"critic", "evaluate", examples, "--minimum", "1", "--model", "logistic", "--html", "OUT/page.html"}},
	} {
		for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
			t.Run(fmt.Sprint(c.name, "/", signal), func(t *testing.T) { endsAfter(t, program, c.args, signal) })
		}
	}
}

func endsAfter(t *testing.T, program string, args []string, signal syscall.Signal) {
	out, temp := t.TempDir(), t.TempDir()
	args = slices.Clone(args)
	for i := range args {
		args[i] = strings.Replace(args[i], "OUT", out, 1)
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var begun time.Time
	for sent := false; ; {
		select {
		case err := <-ended:
			if !sent {
				t.Fatalf("it ended before the signal: %v\n%s", err, &said)
			}
			if took := time.Since(begun); took > stopWithin {
				t.Errorf("it took %s to end", took)
			} else {
				t.Logf("it took %s to end", took)
			}
			if code := cmd.ProcessState.ExitCode(); code != exitFailure {
				t.Errorf("exit code %d\n%s", code, &said)
			}
			if left := append(files(t, out), files(t, temp)...); len(left) > 0 {
				t.Errorf("it left %s", left)
			}
			return
		case <-tick.C:
			cpu, err := cpuTime(cmd.Process.Pid)
			if err != nil || sent {
				continue
			}
			if cpu > time.Second {
				begun, sent = time.Now(), true
				if err := cmd.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
