package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"forager/internal/classify/critic"
	"forager/internal/page/text"
)

// speedDump is the CPU time that a flat critic takes for texts, on one core.
type speedDump struct {
	Bytes      int64   `json:"bytes"`
	Train      float64 `json:"train"` // seconds
	Score      float64 `json:"score"` // seconds
	Right      int     `json:"right"` // texts whose best class is their own
	Vocabulary int     `json:"vocabulary"`
}

// dumpSpeed trains on the texts of a file, one JSON list [class, text] a line, and classifies them.
func dumpSpeed(args []string) error {
	flags := flag.NewFlagSet("speed", flag.ExitOnError)
	path := flags.String("texts", "", "texts, one JSON list [class, text] a line")
	if err := flags.Parse(args); err != nil {
		return err
	}
	runtime.GOMAXPROCS(1)
	texts, err := readTexts(*path)
	if err != nil {
		return err
	}
	var out speedDump
	begin, err := cpuTime()
	if err != nil {
		return err
	}
	examples := critic.NewExamples(text.Settings{})
	for i, x := range texts {
		out.Bytes += int64(len(x[1]))
		if err := examples.AddText(fmt.Sprint("page:", i), x[:1], x[1]); err != nil {
			return err
		}
	}
	m, _, err := critic.Train(context.Background(), examples, critic.Settings{Exact: true, Unmeasured: true})
	if err != nil {
		return err
	}
	trained, err := cpuTime()
	if err != nil {
		return err
	}
	focus := m.Classes()[:1]
	for _, x := range texts {
		j, err := m.JudgeText(x[1], focus)
		if err != nil {
			return err
		}
		if j.Topics[0].Topic == x[0] {
			out.Right++
		}
	}
	end, err := cpuTime()
	if err != nil {
		return err
	}
	out.Train, out.Score, out.Vocabulary = (trained - begin).Seconds(), (end - trained).Seconds(), m.Words()
	return writeJSON(out)
}

func readTexts(path string) (texts [][]string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var x []string
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil || len(x) != 2 {
			return nil, fmt.Errorf("line %d is no list of a class and a text: %v", len(texts)+1, err)
		}
		texts = append(texts, x)
	}
	return texts, lines.Err()
}

// cpuTime returns the CPU time that the process has used so far.
func cpuTime() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
