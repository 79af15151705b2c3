package root

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"forager/cmd/internal/cli"
	"forager/internal/measure/sizing"
)

// The tables of docs/sizing.md are what the command prints.
func TestSizingPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/sizing.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^    \\$ forager (size [^\n]*)\n(.*?)\n\n").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 4 {
		t.Fatalf("%d calls of the command, want those of 10⁶, 10⁸ and 10⁹ pages, and of 10⁹ by an apprentice", len(blocks))
	}
	for _, b := range blocks {
		var out, errs bytes.Buffer
		if code := Run(t.Context(), strings.Fields(b[1]), &out, &errs); code != cli.ExitOK {
			t.Fatalf("forager %s: %d, %s", b[1], code, &errs)
		}
		want := "    " + strings.ReplaceAll(strings.TrimRight(out.String(), "\n"), "\n", "\n    ")
		if b[2] != want {
			t.Errorf("docs/sizing.md shows of forager %s\n%s\nand it prints\n%s", b[1], b[2], want)
		}
	}
}

func TestSize(t *testing.T) {
	var out, errs bytes.Buffer
	if code := Run(t.Context(), strings.Fields("--json size --pages 2592000 --hosts 2 --requests 2 --delay 3"), &out, &errs); code != cli.ExitOK {
		t.Fatalf("%d, %s", code, &errs)
	}
	var p sizing.Plan
	if err := json.Unmarshal(out.Bytes(), &p); err != nil || p.PagesPerSecond != 1 || p.RequestsPerSecond != 2 || p.Machines != 1 || p.S3 <= 0 {
		t.Errorf("%v, %+v", err, p)
	}
	out.Reset()
	if Run(t.Context(), strings.Fields("size --pages 2592000 --hosts 2 --requests 2 --delay 3"), &out, &errs); !strings.Contains(out.String(), "too few hosts") || !strings.Contains(out.String(), "5 months") {
		t.Errorf("two hosts are enough:\n%s", &out)
	}
	for _, bad := range []string{"--pages 0 --hosts 1", "--pages 1e6 --hosts -1", "--pages NaN --hosts 1", "--pages 1e6 --hosts 1 --busy 0", "--pages 1e6 --hosts 1 --links -1"} {
		if code := Run(t.Context(), strings.Fields("size "+bad), &out, &errs); code != cli.ExitUsage {
			t.Errorf("size %s: exit %d", bad, code)
		}
	}
}
