package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"forager/cmd/forager/data"
	"forager/cmd/internal/cli"
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
	f, err := measureFloor(s, proxy, strings.Fields(string(b)))
	if err != nil {
		return err
	}
	return json.NewEncoder(s.Stdout).Encode(f)
}

// floor measures the floor over URLs of the bench's web in a separate process.
func (b *bench) floor(urls []string) (FloorFigures, error) {
	var f FloorFigures
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

// FloorFigures are the cost of the list: CPU milliseconds of this process, user and system, for each page with status 200.
type FloorFigures struct {
	Pages int64 `json:"pages"`
	// Fetch is net/http alone, Parse is net/http and html.Parse.
	Fetch float64 `json:"cpu_ms_per_page_fetch"`
	Parse float64 `json:"cpu_ms_per_page_parse"`
}

// concurrency is the number of requests in flight: the default of fetch.
const concurrency = 64

// measureFloor fetches the URLs through an HTTP proxy, twice: without parsing and with. Nothing else should run in the process.
func measureFloor(ctx context.Context, proxy *url.URL, urls []string) (FloorFigures, error) {
	client := &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyURL(proxy), MaxIdleConnsPerHost: concurrency},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var f FloorFigures
	for _, pass := range []struct {
		cost  *float64
		parse bool
	}{{&f.Fetch, false}, {&f.Parse, true}} {
		before, err := used()
		if err != nil {
			return f, err
		}
		if f.Pages, err = fetchAll(ctx, client, urls, pass.parse); err != nil {
			return f, err
		}
		after, err := used()
		if err != nil {
			return f, err
		}
		*pass.cost = float64((after - before).Microseconds()) / 1000 / float64(max(1, f.Pages))
	}
	return f, nil
}

// fetchAll fetches every URL and returns the number of responses with status 200. The cost of failed requests (https
// through a proxy without it) is included.
func fetchAll(ctx context.Context, client *http.Client, urls []string, parse bool) (int64, error) {
	var pages atomic.Int64
	var g errgroup.Group
	g.SetLimit(concurrency)
	for _, u := range urls {
		g.Go(func() error {
			ok, err := fetchOne(ctx, client, u, parse)
			if ok {
				pages.Add(1)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil && pages.Load() == 0 {
		return 0, err
	}
	return pages.Load(), ctx.Err()
}

func fetchOne(ctx context.Context, client *http.Client, u string, parse bool) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return false, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return false, err
	}
	if parse {
		// html.Parse refuses few pages; their cost up to the error is included.
		_, _ = html.Parse(bytes.NewReader(body))
	}
	return true, nil
}

// used returns the user and system time of this process so far.
func used() (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
