package root

import (
	"bytes"
	"strings"
	"testing"

	"forager/cmd/internal/cli"
)

// TestMovedCommandsNameTheirProgram calls the former names of commands of forager-lab.
func TestMovedCommandsNameTheirProgram(t *testing.T) {
	for _, args := range []string{"bench --out x", "soak", "experiment run plan.yaml -o x", "experiment-simweb --cues peaked", "serve-simweb", "bench-floor x", "demo --web x.warc.gz --task y", "guide query shark-search x.critic --focus T"} {
		name, _, _ := strings.Cut(args, " ")
		if name == "guide" {
			name = "experiment"
		}
		var out, errs bytes.Buffer
		code := Run(t.Context(), strings.Fields(args), &out, &errs)
		if code != cli.ExitUsage || out.Len() > 0 || !strings.Contains(errs.String(), "forager-lab "+name) {
			t.Errorf("forager %s: exit %d, %q, %q", args, code, out.String(), errs.String())
		}
	}
}
