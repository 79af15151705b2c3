//go:build endurance

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"forager/cmd/forager/deploy"
	"forager/cmd/internal/cli"
	"forager/internal/platform/analytics"
	"forager/internal/platform/disk"
	"forager/internal/platform/freeport"
	"forager/internal/platform/objects"
	"forager/schemas"
)

// smallDisk is the size of the file system that TestEnduranceDisk fills.
const smallDisk = 1 << 30

// diskFolder is the environment variable that names the folder of the small file system in the child process.
const diskFolder = "FORAGER_TEST_DISK"

// TestEnduranceDisk runs a crawl in a file system in memory, whose free space gets low and then zero. It runs
// itself in a mount namespace; root may create one, and other users if the kernel permits user namespaces.
func TestEnduranceDisk(t *testing.T) {
	if dir := os.Getenv(diskFolder); dir != "" {
		onSmallDisk(t, dir)
		return
	}
	dir := t.TempDir()
	var failures []error
	for _, flags := range []uintptr{syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, syscall.CLONE_NEWNS} {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestEnduranceDisk$", "-test.v", "-test.timeout=30m")
		cmd.Env = append(os.Environ(), diskFolder+"="+dir)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
		if flags&syscall.CLONE_NEWUSER != 0 {
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
		}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		if !bytes.Contains(out.Bytes(), []byte(noMount)) && !errors.Is(err, syscall.EPERM) {
			t.Logf("%s", &out)
			if err != nil {
				t.Error(err)
			}
			return
		}
		failures = append(failures, fmt.Errorf("%v: %s", err, &out))
	}
	t.Fatalf("no file system can be mounted here, which this test needs (run it as root, or allow user namespaces): %v", errors.Join(failures...))
}

// clickHouseKeeps is the free space that the embedded ClickHouse requires.
const clickHouseKeeps = 64 << 20

const noMount = "the file system cannot be mounted"

// ballast occupies disk space.
type ballast struct {
	t    *testing.T
	dir  string
	path string
}

// leave fills the disk until that many bytes are free.
func (b *ballast) leave(free uint64) {
	b.t.Helper()
	f, err := os.OpenFile(b.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		b.t.Fatal(err)
	}
	defer f.Close()
	for {
		room, err := disk.Free(b.dir)
		if err != nil {
			b.t.Fatal(err)
		}
		if room <= free {
			return
		}
		info, err := f.Stat()
		if err != nil {
			b.t.Fatal(err)
		}
		// Other programs write meanwhile, so there may be less space than a moment ago.
		err = syscall.Fallocate(int(f.Fd()), 0, info.Size(), int64(room-free))
		if err != nil && !errors.Is(err, syscall.ENOSPC) {
			b.t.Fatal(err)
		}
	}
}

// away frees the space.
func (b *ballast) away() {
	b.t.Helper()
	if err := os.Remove(b.path); err != nil {
		b.t.Fatal(err)
	}
}

func onSmallDisk(t *testing.T, dir string) {
	if err := syscall.Mount("forager", dir, "tmpfs", 0, fmt.Sprintf("size=%d", smallDisk)); err != nil {
		t.Fatalf("%s: %v", noMount, err)
	}
	data := filepath.Join(dir, "data")
	const limit = 256 << 20
	g, _ := simulated(t)
	addresses, err := freeport.Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	metrics := addresses[0]
	r := newRig(t, g.Handler, "\n    prioritize:\n", "\n    prioritize:\n        metrics: "+metrics+"\n", "data: data", "data: "+data, "pause_below: 1073741824", fmt.Sprint("pause_below: ", limit))
	r.parts()
	r.start(cli.StageNames)
	fill := &ballast{t, dir, filepath.Join(dir, "ballast")}

	narrow := func(ctl *schemas.CrawlControl) { ctl.Window = 4 } // so that it lasts
	r.begin(r.crawl(g, "low", "apprentice", 600, narrow))
	r.until("low", "under way", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > 30 })
	fill.leave(limit * 3 / 4)
	st := r.until("low", "paused", time.Minute, func(st *schemas.CrawlStatus) bool {
		return st.GetState() == schemas.ShardState_SHARD_STATE_PAUSED
	})
	t.Logf("%d pages, %s", st.GetPages(), st.GetActivity())
	if !strings.Contains(st.GetActivity(), "disk "+dir) || st.GetDiskNeeded() != limit || st.GetDiskFree() > limit {
		t.Errorf("status %v", st)
	}
	if out := r.mustRun("crawl", "status", "low"); !strings.Contains(out, "paused") || !strings.Contains(out, "disk.pause_below") {
		t.Errorf("crawl status: %s", out)
	}
	r.fails(t, cli.ExitFailure, []string{"doctor"}, "crawls are paused", data, "free space there")
	fill.away()
	if st := r.until("low", "finished", time.Minute, finished); st.GetPages() != 600 {
		t.Errorf("%d pages, want 600", st.GetPages())
	}
	r.verified("low")

	// This one is not paused: the disk is full before the free space is checked.
	r.begin(r.crawl(g, "full", "apprentice", 500, narrow))
	r.until("full", "under way", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > 50 })
	fill.leave(clickHouseKeeps - 1<<20)
	db, err := analytics.Open(r.cfg.ClickHouse)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r.refused(db)
	before := refusals(t, metrics)
	wait(t, "the broker refuses several times what prioritize writes", func() bool {
		fill.leave(0) // including what was freed since
		return refusals(t, metrics) >= before+4
	})
	// The engine would write an empty mutation, with which it does not start.
	if err := db.Exec(t.Context(), "DELETE FROM letters_rows WHERE of_offset = 0 SETTINGS lightweight_deletes_sync = 0", nil); !analytics.Unavailable(err) {
		t.Errorf("rows deleted on a full disk: %v", err)
	}
	for _, p := range r.stack.Processes.List {
		if !p.Alive() {
			t.Errorf("%s did not survive the full disk:\n%s", p.Name, deploy.LastLines(p.Log, 10))
		}
	}
	r.restarted(t, fill)
	fill.away()
	if st := r.until("full", "finished", 2*time.Minute, finished); st.GetPages() != 500 {
		t.Errorf("%d pages, want 500", st.GetPages())
	}
	r.verified("full")
}

// restarted stops everything on the full disk, and starts it again with some space for logs and lists, but less
// than what stages require to continue.
func (r *rig) restarted(t *testing.T, fill *ballast) {
	r.t.Helper()
	r.run("down", "--wait", "5s") // processes that wait for space are killed
	wait(t, "all have ended", func() bool { return !slices.ContainsFunc(r.stack.Processes.List, deploy.Process.Alive) })
	fill.leave(0)
	up := []string{"up", "--bin", r.stack.Bin}
	r.fails(t, cli.ExitFailure, up, "local is not started", "no space left on device")
	if deploy.Answers(r.cfg.Kafka.Brokers[0]) {
		t.Error("something runs that no list names")
	}
	fill.away()
	fill.leave(clickHouseKeeps / 2)
	r.mustRun(up...)
	var err error
	if r.stack, err = deploy.NewStack(r.path, r.cfg, r.stack.Bin); err != nil {
		r.t.Fatal(err)
	}
	for _, name := range []string{"prioritize-0", "load-clickhouse-0"} {
		wait(r.t, name+" waits", func() bool {
			p, ok := r.stack.Processes.Running(name)
			return ok && strings.Contains(deploy.LastLines(p.Log, 1), "msg=waiting")
		})
	}
}

// refused checks that store and ClickHouse refuse what does not fit, with a temporary error.
func (r *rig) refused(db *analytics.DB) {
	r.t.Helper()
	insert := func() error {
		return db.Exec(r.s, "INSERT INTO letters_rows (of_offset, error) SELECT number, randomPrintableASCII(1000) FROM numbers(1000)", nil)
	}
	wait(r.t, "ClickHouse refuses rows", func() bool { return insert() != nil })
	if err := insert(); !analytics.Unavailable(err) {
		r.t.Errorf("rows on a full disk: %v", err)
	}
	store, err := objects.Open(r.cfg.S3)
	if err != nil {
		r.t.Fatal(err)
	}
	content := make([]byte, clickHouseKeeps)
	if err := store.Put(r.s, "full/one", bytes.NewReader(content), int64(len(content))); !errors.Is(err, objects.ErrUnavailable) {
		r.t.Errorf("an object on a full disk: %v", err)
	}
}

// refusals returns how often the stage that serves its metrics at an address was refused something that it tries again.
func refusals(t *testing.T, metrics string) (n int) {
	t.Helper()
	const counter = `forager_stage_errors_total{class="unavailable"} %d`
	for line := range strings.Lines(scrape(t, "http://"+metrics+"/metrics")) {
		if _, err := fmt.Sscanf(line, counter, &n); err == nil {
			return n
		}
	}
	t.Fatalf("%s serves no %s", metrics, counter)
	return 0
}
