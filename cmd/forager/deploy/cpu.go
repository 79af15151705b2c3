package deploy

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Tick is the unit of CPU times in /proc: 1/100 s on Linux (USER_HZ).
const Tick = 10 * time.Millisecond

// CPUTime is the user and system time that a process has used.
func CPUTime(pid int) (time.Duration, error) {
	fields, err := procStat(pid)
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/%d/stat: %w", pid, err)
		}
		sum += time.Duration(n) * Tick
	}
	return sum, nil
}

// PeakMemory is the largest resident size of a process so far, bytes.
func PeakMemory(pid int) (int64, error) { return Memory(pid, "VmHWM") }

// Memory is a size in /proc/PID/status, bytes.
func Memory(pid int, name string) (int64, error) {
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

// CPUTimes returns the CPU times of all processes of a stack, by stage ("fetch", "local").
func (s *Stack) CPUTimes() map[string]time.Duration {
	times := make(map[string]time.Duration)
	for _, p := range s.Processes.List {
		if t, err := CPUTime(p.PID); err == nil {
			times[StageOf(p.Name)] += t
		}
	}
	return times
}

// StageOf is the stage of a process name ("parse-dom-0" → "parse-dom").
func StageOf(process string) string {
	if i := strings.LastIndexByte(process, '-'); i > 0 {
		if _, err := strconv.Atoi(process[i+1:]); err == nil {
			return process[:i]
		}
	}
	return process
}
