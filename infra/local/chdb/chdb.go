package chdb

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Env is the environment variable that names the library file.
const Env = "FORAGER_LIBCHDB"

const inModules = "node_modules/@chdb/lib-linux-x64-gnu/libchdb.so"

// Find returns the absolute path of libchdb.so: the value of the variable Env, or else the npm package's file
// in a node_modules folder at or above the working directory or the program.
func Find() (string, error) {
	if path := os.Getenv(Env); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("environment variable %s: %w", Env, err)
		}
		return filepath.Abs(path)
	}
	var starts []string
	if dir, err := os.Getwd(); err == nil {
		starts = append(starts, dir)
	}
	if exe, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(exe))
	}
	for _, dir := range starts {
		for {
			path := filepath.Join(dir, inModules)
			if _, err := os.Stat(path); err == nil {
				return path, nil
			}
			up := filepath.Dir(dir)
			if up == dir {
				break
			}
			dir = up
		}
	}
	return "", fmt.Errorf("the ClickHouse engine is not installed: run \"make deps\" (npm brings %s) or name the file in %s; looked in and above %s",
		inModules, Env, strings.Join(starts, " and "))
}

// Param is the value of a query parameter, escaped like a TabSeparated field.
type Param struct{ Name, Value string }

// Result is the output of a query. Data is memory of the engine and invalid after Free.
type Result struct {
	Data []byte
	// Seconds of execution; rows and bytes read from tables, rows written to tables.
	Seconds             float64
	ReadRows, ReadBytes uint64
	Written             uint64
	free                func()
}

// Free releases the memory; call it exactly once.
func (r *Result) Free() {
	r.Data = nil
	r.free()
}

// Exception is an error of the engine.
type Exception struct {
	// Code is ClickHouse's error number; 0 if the message has none.
	Code int
	// Message is the engine's text, "Code: 60. DB::Exception: …".
	Message string
}

func (e *Exception) Error() string { return e.Message }

var codePattern = regexp.MustCompile(`Code: (\d+)\.`)

func newException(message string) *Exception {
	e := &Exception{Message: strings.TrimSpace(message)}
	if m := codePattern.FindStringSubmatchIndex(e.Message); m != nil {
		e.Code, _ = strconv.Atoi(e.Message[m[2]:m[3]])
		e.Message = e.Message[m[0]:]
	}
	return e
}
