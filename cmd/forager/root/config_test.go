package root

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forager/cmd/internal/cli"
	"forager/internal/platform/pipeline"
)

// What forager config prints is a pipeline file with the same effect; --set is in it.
func TestConfig(t *testing.T) {
	config := func(want int, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := Run(t.Context(), append([]string{"config", "--config", "../../../pipeline.yaml"}, args...), &out, &errs); code != want {
			t.Fatalf("forager config %q: %d, %s", args, code, &errs)
		}
		return out.String() + errs.String()
	}
	path := filepath.Join(t.TempDir(), "pipeline.yaml")
	for _, args := range [][]string{{"--set", "stages.fetch.concurrency=8"}, {"--all", "--set", "stages.fetch.concurrency=8"}} {
		if err := os.WriteFile(path, []byte(config(cli.ExitOK, args...)), 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := pipeline.Load(path); err != nil || c.Stages.Fetch.Concurrency != 8 || c.Stages.Prioritize.FrontierBytes != 160<<20 {
			t.Errorf("%q: %+v, %v", args, c, err)
		}
	}
	if out := config(cli.ExitFailure, "--set", "memory=1GiB"); !strings.Contains(out, "2560MiB at least is needed") {
		t.Errorf("too little memory: %s", out)
	}
	var list []struct{ Path, Value, Help string }
	if err := json.Unmarshal([]byte(config(cli.ExitOK, "--json")), &list); err != nil || len(list) < 80 || list[1].Path != "memory" || list[1].Value != "4736MiB" {
		t.Errorf("%+v %v", list, err)
	}
}
