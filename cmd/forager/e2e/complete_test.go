package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// bashCompletes returns the completions of a command line by bash itself, with the script of forager completion.
func bashCompletes(t *testing.T, dir string, words ...string) []string {
	t.Helper()
	script := `source <(forager completion bash)
COMP_WORDS=(forager "$@"); COMP_CWORD=$#
_forager
printf '%s\n' "${COMPREPLY[@]}"`
	cmd := exec.CommandContext(t.Context(), "bash", append([]string{"-c", script, "bash"}, words...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin(t)+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("bash: %v\n%s", err, out)
	}
	return strings.Fields(string(out))
}

func TestBashCompletes(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "chemistry.yaml"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"mod"}, "models"},
		{[]string{"crawl", "pa"}, "pause"},
		{[]string{"crawl", "ranker", "x", "mix"}, "mixture"},
		{[]string{"crawl", "ranker", "x", "--shadow", "tiered"}, "tiered-soft-focus"},
		{[]string{"crawl", "start", "chem"}, "chemistry.yaml"},
		{[]string{"dead", "list", "--stage", "crit"}, "critic-score"},
		{[]string{"completion", "f"}, "fish"},
		{[]string{"crawl", "pause", "x"}, ""}, // a missing pipeline file names no broker
	} {
		if got := strings.Join(bashCompletes(t, dir, c.words...), " "); got != c.want {
			t.Errorf("%q: %q, want %q", c.words, got, c.want)
		}
	}
}

// testComplete completes the names of crawls and models in the broker.
func (r *rig) testComplete(t *testing.T) {
	if got := bashCompletes(t, r.dir, "--config", r.path, "crawl", "pause", "s"); !slices.Equal(got, []string{"small"}) {
		t.Errorf("crawl pause s: %q", got)
	}
	if got := bashCompletes(t, r.dir, "--config", r.path, "models", "show", "sim/"); len(got) != 1 || !strings.HasPrefix(got[0], "sim/") {
		t.Errorf("models show sim/: %q", got)
	}
}
