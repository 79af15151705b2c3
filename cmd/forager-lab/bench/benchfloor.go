package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"forager/cmd/forager/data"
	"forager/cmd/internal/cli"
	"forager/internal/lab/baseline"
)

// FloorCommand is the command "forager-lab bench-floor".
type FloorCommand struct {
	URLs  string `arg:"" name:"urls" help:"File of URLs, one a line." type:"existingfile"`
	Proxy string `required:"" help:"HTTP proxy."`
}

func (c *FloorCommand) Run(s *cli.Session) error {
	b, err := os.ReadFile(c.URLs)
	if err != nil {
		return err
	}
	proxy, err := url.Parse(c.Proxy)
	if err != nil {
		return err
	}
	f, err := baseline.Measure(s, proxy, strings.Fields(string(b)))
	if err != nil {
		return err
	}
	return json.NewEncoder(s.Stdout).Encode(f)
}

// floor measures the floor over URLs of the bench's web in a separate process.
func (b *bench) floor(urls []string) (baseline.Figures, error) {
	var f baseline.Figures
	path := filepath.Join(b.command.Out, "floor.urls")
	if err := data.WriteLines(path, urls); err != nil {
		return f, err
	}
	cmd := exec.CommandContext(b.S, filepath.Join(b.Stack.Bin, "forager-lab"), "bench-floor", path, "--proxy", b.proxy)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return f, fmt.Errorf("%w: %s", err, stderr.String())
	}
	return f, json.Unmarshal(out, &f)
}
