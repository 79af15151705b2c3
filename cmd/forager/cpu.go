package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// ticks is the unit of CPU times in /proc: 1/100 s on Linux (USER_HZ).
const tick = 10 * time.Millisecond

// cpuTime is the user and system time that a process has used.
func cpuTime(pid int) (time.Duration, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 14 {
		return 0, fmt.Errorf("/proc/%d/stat cannot be read", pid)
	}
	var sum time.Duration
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/%d/stat: %w", pid, err)
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

// peakMemory is the largest resident size of a process so far, bytes.
func peakMemory(pid int) (int64, error) { return memory(pid, "VmHWM") }

// memory is a size in /proc/PID/status, bytes.
func memory(pid int, name string) (int64, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, err
	}
	for _, line := range strings.Split(string(b), "\n") {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status names no %s", pid, name)
}

// cpuTimes returns the CPU times of all processes of a stack, by stage ("fetch", "local").
func (s *stack) cpuTimes() map[string]time.Duration {
	times := make(map[string]time.Duration)
	for _, p := range s.processes.List {
		if t, err := cpuTime(p.PID); err == nil {
			times[stageOf(p.Name)] += t
		}
	}
	return times
}

// stageOf is the stage of a process name ("parse-dom-0" → "parse-dom").
func stageOf(process string) string {
	if i := strings.LastIndexByte(process, '-'); i > 0 {
		if _, err := strconv.Atoi(process[i+1:]); err == nil {
			return process[:i]
		}
	}
	return process
}
