//go:build endurance

package e2e

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/internal/platform/analytics"
	"forager/schemas"
)

// TestEnduranceVerifyAMillionLinks verifies a crawl of a million links, with the default memory, and one of a
// quarter of the pages. For the former, verify and ClickHouse may need only slightly more memory than for the
// latter, and ClickHouse no more than its limit.
func TestEnduranceVerifyAMillionLinks(t *testing.T) {
	const pages, links = 2000, 560
	g, web := simulated(t)
	w := &crowded{next: g.Handler, links: links}
	for n := range uint64(3 * pages) {
		w.urls = append(w.urls, web.URL(n))
	}
	r := newRig(t, w)
	r.s.Context = t.Context()
	r.parts()
	r.start(cli.StageNames)
	db, err := analytics.Open(r.cfg.ClickHouse)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()

	type memories struct{ verify, clickhouse int64 }
	verified := func(name string, pages uint64) (m memories) {
		r.begin(r.crawl(g, name, "mixture", pages, func(c *schemas.CrawlControl) { c.Budget.Pages = pages }))
		st := r.until(name, "finished", 2*time.Minute, finished)
		var found uint64
		t.Logf("%s: %d pages in %d s", name, st.GetPages(), (st.GetAt()-st.GetStartedAt())/1000)
		if err := crawls.Settle(r.s, r.books, 5*time.Minute); err != nil {
			t.Fatal(err)
		}
		if err := db.Each(r.s, "SELECT count() FROM links WHERE crawl = {crawl:String}", analytics.Params{"crawl": name}, func(row []any) error {
			found = row[0].(uint64)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if want := pages * 500; st.GetPages() != pages || found < want {
			t.Errorf("%s: %d pages with %d links, want %d and at least %d", name, st.GetPages(), found, pages, want)
		}
		began := time.Now()
		m.verify, m.clickhouse = r.verifyProcess(name, db)
		t.Logf("%s: %d pages, %d links verified in %.1f s: verify %d MiB, ClickHouse %d MiB", name, pages, found, time.Since(began).Seconds(), m.verify>>20, m.clickhouse>>20)
		return m
	}
	small, large := verified("small", pages/4), verified("large", pages)
	if limit := r.cfg.Local.ClickHouseBytes; large.clickhouse > limit {
		t.Errorf("ClickHouse took %d bytes, it has %d", large.clickhouse, limit)
	}
	if large.verify > small.verify*5/4+(16<<20) {
		t.Errorf("verify took %d MiB for %d pages and %d MiB for %d", large.verify>>20, pages, small.verify>>20, pages/4)
	}
}

// verifyProcess runs forager verify as a separate process, and returns its peak memory and that of ClickHouse during the run, bytes.
func (r *rig) verifyProcess(crawl string, db *analytics.DB) (verify, clickhouse int64) {
	r.t.Helper()
	cmd := exec.CommandContext(r.s, filepath.Join(bin(r.t), "forager"), "--config", r.path, "verify", crawl)
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for tick := time.NewTicker(100 * time.Millisecond); ; {
		select {
		case err := <-ended:
			r.t.Logf("%s", &printed)
			if err != nil {
				r.t.Errorf("verify %s: %v", crawl, err)
			}
			return cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10, clickhouse
		case <-tick.C:
			err := db.Each(r.s, "SELECT value FROM system.metrics WHERE metric = 'MemoryTracking'", nil, func(row []any) error {
				clickhouse = max(clickhouse, row[0].(int64))
				return nil
			})
			if err != nil {
				r.t.Fatal(err)
			}
		}
	}
}
