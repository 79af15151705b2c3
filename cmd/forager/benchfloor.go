package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"forager/internal/lab/floor"
)

type benchFloorCommand struct {
	URLs  string `arg:"" name:"urls" help:"File of URLs, one a line." type:"existingfile"`
	Proxy string `required:"" help:"HTTP proxy."`
}

func (c *benchFloorCommand) Run(s *session) error {
	b, err := os.ReadFile(c.URLs)
	if err != nil {
		return err
	}
	proxy, err := url.Parse(c.Proxy)
	if err != nil {
		return err
	}
	f, err := floor.Measure(s, proxy, strings.Fields(string(b)))
	if err != nil {
		return err
	}
	return json.NewEncoder(s.out).Encode(f)
}

// floor measures the floor over URLs of the bench's web in a separate process.
func (b *bench) floor(urls []string) (floor.Figures, error) {
	var f floor.Figures
	path := filepath.Join(b.command.Out, "floor.urls")
	if err := writeLines(path, urls); err != nil {
		return f, err
	}
	cmd := exec.CommandContext(b.s, filepath.Join(b.stack.bin, "forager"), "bench-floor", path, "--proxy", b.proxy)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return f, fmt.Errorf("%w: %s", err, stderr.String())
	}
	return f, json.Unmarshal(out, &f)
}
