package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/platform/objects/objectstest"
	"forager/internal/platform/pipeline"
	"forager/internal/platform/segment"
	"forager/internal/stream"
	"forager/internal/web/warc"
	"forager/schemas"
)

// configVariable makes this program the stage, with the configuration that it holds as JSON.
const configVariable = "FORAGER_FETCH_TEST_CONFIG"

func TestMain(m *testing.M) {
	config := os.Getenv(configVariable)
	if config == "" {
		objectstest.Main(m)
		return
	}
	cfg := &pipeline.Config{}
	err := json.Unmarshal([]byte(config), cfg)
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		err = declared.Run(ctx, environment(cfg))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// process starts the stage as a process of its own.
func (b *bed) process(failpoint string) *exec.Cmd {
	b.t.Helper()
	config, err := json.Marshal(b.cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), configVariable+"="+string(config), stream.FailpointVariable+"="+failpoint)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { cmd.Process.Kill() })
	return cmd
}

// distinct are the requests in page.fetched by id, and how often each is there.
func (b *bed) distinct() (pages map[string]*schemas.PageFetched, times map[string]int) {
	b.t.Helper()
	pages, times = map[string]*schemas.PageFetched{}, map[string]int{}
	for _, r := range b.read(schemas.TopicPageFetched) {
		page := &schemas.PageFetched{}
		if err := proto.Unmarshal(r.Value, page); err != nil {
			b.t.Fatal(err)
		}
		pages[page.Url] = page
		times[page.Url]++
	}
	return pages, times
}

// Killed at critical points, with requests waiting, the stage continues after a restart: every
// request is completed, and completed ones are not fetched again.
func TestKilled(t *testing.T) {
	for _, failpoint := range []string{"segment-before-record:3", "acked-before-commit:3"} {
		t.Run(failpoint, func(t *testing.T) {
			t.Parallel()
			// Ten rounds with pauses between: outputs that come together are one batch.
			const pages, hosts, pause = 40, 4, 50 * time.Millisecond
			b := newBed(t, page)
			var requests []*schemas.FetchRequest
			for i := range pages {
				requests = append(requests, b.request("crawl", fmt.Sprintf("http://h%d.test/%d", i%hosts, i), 1, pause))
			}
			b.send(requests...)
			err := b.process(failpoint).Wait()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the stage ended with %v", err)
			}
			before, _ := b.distinct()
			if len(before) == pages {
				t.Fatal("nothing was left to do")
			}
			second := b.process("")
			deadline := time.Now().Add(60 * time.Second)
			answered, times := b.distinct()
			for len(answered) < pages && time.Now().Before(deadline) {
				time.Sleep(5 * time.Millisecond)
				answered, times = b.distinct()
			}
			if err := second.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := second.Wait(); err != nil {
				t.Errorf("the second run ended with %v", err)
			}
			asked := map[string]int{}
			for _, v := range b.seen("") {
				asked[v.url]++
			}
			store := b.store.Store(t)
			for _, r := range requests {
				p := answered[r.Url]
				if p == nil || p.Outcome != schemas.Outcome_OUTCOME_DELIVERED || times[r.Url] != 1 {
					t.Errorf("%s: %d times, %v", r.Url, times[r.Url], p)
					continue
				}
				if before[r.Url] != nil && asked[r.Url] != 1 {
					t.Errorf("%s was answered before the kill and asked for %d times", r.Url, asked[r.Url])
				}
				stored, err := segment.Read(t.Context(), store, p.Object, p.Offset, p.Length)
				if err != nil || warc.Digest(stored.Body) != p.Digest {
					t.Errorf("%s: %v", r.Url, err)
				}
			}
			if again := len(b.seen("")) - pages; strings.HasPrefix(failpoint, "segment") && again == 0 {
				t.Error("no page was fetched twice: the kill hit nothing")
			}
		})
	}
}
