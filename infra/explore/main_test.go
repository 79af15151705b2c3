package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestAFailureIsFoundAndRepeats explores tests one of which fails once in many thousand checks. It is found,
// the others are not reported, and the printed command fails in the same way.
func TestAFailureIsFoundAndRepeats(t *testing.T) {
	program := t.TempDir() + "/explore"
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// Without the failure it would run until its time is over.
	out, err := exec.Command(program, "-seconds", "300", "-seed", "1", "./testdata/wrong").CombinedOutput()
	text := string(out)
	if err == nil {
		t.Fatalf("nothing has failed: %s", text)
	}
	_, command, ok := strings.Cut(text, "repeat it with: ")
	command, _, _ = strings.Cut(command, "\n")
	if !ok || !strings.Contains(command, "TestDoesNotHold$") || strings.Count(text, "repeat it with") != 1 || !strings.Contains(text, "seed 1 (") {
		t.Fatalf("printed %s", text)
	}
	again := exec.Command("bash", "-c", command)
	again.Env = append(os.Environ(), "RAPID_NOFAILFILE=true")
	if out, err := again.CombinedOutput(); err == nil || !strings.Contains(string(out), "failed after 0 tests: not for ") {
		t.Errorf("%s: %v: %s", command, err, out)
	}
}

func TestProperties(t *testing.T) {
	tests, err := properties("wrong", "testdata/wrong")
	if err != nil {
		t.Fatal(err)
	}
	if want := []test{
		{pkg: "wrong", dir: "testdata/wrong", name: "TestDoesNotHold"}, {pkg: "wrong", dir: "testdata/wrong", name: "TestHolds"},
		{pkg: "wrong", dir: "testdata/wrong", name: "TestSimulationHolds", simulates: true},
	}; !slices.Equal(tests, want) {
		t.Errorf("tests %v, want %v", tests, want)
	}
}

// TestTheTimeIsKept: with no time at all nothing runs.
func TestTheTimeIsKept(t *testing.T) {
	if failed, err := run(t.Context(), 1, time.Now(), []test{{program: "/nowhere"}}); failed != 0 || err != nil {
		t.Errorf("%d failed: %v", failed, err)
	}
}
