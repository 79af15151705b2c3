package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forager/cmd/internal/cli"
	"forager/infra/simweb"
)

// TestServeSimweb runs the command as its help shows it.
func TestServeSimweb(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	var printed bytes.Buffer
	ended := make(chan int, 1)
	access := filepath.Join(t.TempDir(), "access.log")
	go func() {
		ended <- Run(ctx, []string{"serve-simweb", "--listen", "127.0.0.1:0", "--seeds", "401,402", "--pages", "100000000", "--hazards", "--hazard", "throttled=0,slow=0,stalled=1", "--access-log", access}, writer, &printed)
		writer.Close()
	}()
	defer func() {
		cancel()
		if code := <-ended; code != cli.ExitOK {
			t.Errorf("exit code %d: %s", code, &printed)
		}
	}()
	line := make([]byte, 300)
	n, err := reader.Read(line)
	if err != nil {
		t.Fatalf("it did not begin: %v, %s", err, &printed)
	}
	_, rest, _ := strings.Cut(strings.TrimSpace(string(line[:n])), "the proxy ")
	address, example, ok := strings.Cut(rest, "; such as ")
	if !ok {
		t.Fatalf("it printed %q", line[:n])
	}
	var truth simweb.Truth
	resp, err := http.Get(address + "/.truth?url=" + url.QueryEscape(example))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&truth); err != nil || truth.Kind != "page" || truth.URL != example || truth.HostHazard != simweb.HazardStalled {
		t.Errorf("truth of %s: %+v, %v", example, truth, err)
	}
	proxy, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}, Timeout: 10 * time.Second}
	if resp, err := client.Get(example[:strings.LastIndexByte(example, '/')] + "/robots.txt"); err != nil {
		t.Error(err)
	} else {
		resp.Body.Close()
	}
	client.CloseIdleConnections()
	if b, err := os.ReadFile(access); err != nil || !strings.Contains(string(b), "/robots.txt") {
		t.Errorf("access log: %q, %v", b, err)
	}
}

func TestServeSimwebRefuses(t *testing.T) {
	for args, expected := range map[string]string{
		"--pages 5": "5 pages, want", "--cues loud": "loud", "--listen 192.0.2.1:80": "not a loopback address", "--seeds x": "seeds",
		"--hazard fire=1": "no hazard \"fire\"; there are: calendars", "--hazard huge=2": "huge is 2, want a share", "--branches 0": "topics",
	} {
		var out, stderr bytes.Buffer
		code := Run(t.Context(), append([]string{"serve-simweb"}, strings.Fields(args)...), &out, &stderr)
		if code != cli.ExitUsage || !strings.Contains(stderr.String(), expected) {
			t.Errorf("%s: exit %d, %s", args, code, &stderr)
		}
	}
}
