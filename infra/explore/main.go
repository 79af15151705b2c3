package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

func main() {
	log.SetFlags(0)
	seconds := flag.Uint("seconds", 120, "time to run tests for, not counting what it takes to build them")
	seed := flag.Uint64("seed", 0, "seed of the whole; 0 = another one each time")
	flag.Parse()
	if *seed == 0 {
		*seed = rand.Uint64N(1 << 40)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed, err := explore(ctx, *seed, time.Duration(*seconds)*time.Second, flag.Args())
	if err != nil {
		log.Fatal(err)
	}
	if failed > 0 {
		log.Fatalf("explore: %d tests failed", failed)
	}
}

// explore builds and runs the tests of packages, and returns the number of failed tests.
func explore(ctx context.Context, seed uint64, lasts time.Duration, packages []string) (failed int, err error) {
	dir, err := os.MkdirTemp("", "explore")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	tests, err := build(ctx, dir, packages)
	if err != nil {
		return 0, err
	}
	if len(tests) == 0 {
		return 0, fmt.Errorf("explore: no property test in %v", packages)
	}
	fmt.Printf("explore: %d tests for %v, seed %d (repeat with -seed=%d)\n", len(tests), lasts, seed, seed)
	r := rand.New(rand.NewPCG(seed, 0))
	r.Shuffle(len(tests), func(i, k int) { tests[i], tests[k] = tests[k], tests[i] })
	return run(ctx, seed, time.Now().Add(lasts), tests)
}

// run runs the tests in turn, several concurrently, until a time or until one has failed.
func run(ctx context.Context, seed uint64, until time.Time, tests []test) (failed int, err error) {
	var mu sync.Mutex
	var group sync.WaitGroup
	next, runs := 0, 0
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for {
				mu.Lock()
				t, own := &tests[next%len(tests)], seed+uint64(next)
				next++
				over := failed > 0 || ctx.Err() != nil || time.Now().After(until)
				mu.Unlock()
				if over {
					return
				}
				output, failure := t.run(ctx, own)
				mu.Lock()
				if runs++; failure != nil && ctx.Err() == nil {
					failed++
					fmt.Printf("%s\n%s %s, seed %d: %v\nrepeat it with: %s\n\n", output, t.pkg, t.name, own, failure, t.repeat(own, output))
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	fmt.Printf("explore: %d runs of %d tests, %d failed\n", runs, len(tests), failed)
	return failed, ctx.Err()
}

// The number of checks or schedules in a run of a test.
const checks, schedules = 100, 40

// run runs the test with a seed.
func (t *test) run(ctx context.Context, seed uint64) (output []byte, err error) {
	cmd := exec.CommandContext(ctx, t.program, append([]string{"-test.run", "^" + t.name + "$", "-test.timeout", "20m"}, t.args(seed)...)...)
	cmd.Dir = t.dir
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Second
	return cmd.CombinedOutput()
}

// args returns the arguments that seed the test.
func (t *test) args(seed uint64) []string {
	if t.simulates {
		return []string{fmt.Sprintf("-crash.first=%d", seed), fmt.Sprintf("-crash.seeds=%d", schedules)}
	}
	return []string{fmt.Sprintf("-rapid.seed=%d", seed), fmt.Sprintf("-rapid.checks=%d", checks), "-rapid.nofailfile"}
}

// seedOf matches the seed in the failure messages of rapid and crashtest.
var seedOf = regexp.MustCompile(`-(?:rapid|crash)\.seed=\d+`)

// repeat returns the command that repeats a failure: of the single check or schedule if the output names it.
func (t *test) repeat(seed uint64, output []byte) string {
	args := t.args(seed)
	if at := seedOf.Find(output); at != nil {
		args = []string{string(at)}
	}
	return fmt.Sprintf("go test -count=1 -run '^%s$' %s %s", t.name, t.pkg, strings.Join(args, " "))
}

// build builds the test programs of packages into a folder and lists their property tests.
func build(ctx context.Context, dir string, packages []string) (tests []test, err error) {
	if len(packages) == 0 {
		packages = []string{"./..."}
	}
	const each = `{{.ImportPath}} {{.Dir}}{{range .TestImports}} {{.}}{{end}}{{range .XTestImports}} {{.}}{{end}}`
	list, err := exec.CommandContext(ctx, "go", append([]string{"list", "-f", each}, packages...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	// The go command compiles on all processors and links on one.
	group, building := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for line := range strings.Lines(string(list)) {
		fields := strings.Fields(line)
		if !slices.Contains(fields, rapidPath) && !slices.Contains(fields, crashtestPath) {
			continue
		}
		found, err := properties(fields[0], fields[1])
		if err != nil {
			return nil, errors.Join(err, group.Wait())
		}
		if len(found) == 0 {
			continue
		}
		program := filepath.Join(dir, strconv.Itoa(len(tests))+".test")
		group.Go(func() error {
			if out, err := exec.CommandContext(building, "go", "test", "-c", "-ldflags=-s -w", "-o", program, fields[0]).CombinedOutput(); err != nil {
				return fmt.Errorf("build the tests of %s: %w\n%s", fields[0], err, bytes.TrimSpace(out))
			}
			return nil
		})
		for i := range found {
			found[i].program = program
		}
		tests = append(tests, found...)
	}
	return tests, group.Wait()
}
