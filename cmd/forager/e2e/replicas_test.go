//go:build endurance || kafka

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"forager/cmd/internal/cli"
	"forager/internal/crawl/crawlfile"
	"forager/internal/stream"
	"forager/schemas"
)

// keepPause checks that every host got one request at a time, with the pause between the end of one and the
// start of the next. A client starts before the server gets the request and ends after the server did, so a
// pause that was kept is seen to be kept.
func (w *politeWeb) keepPause(t *testing.T, pause time.Duration) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	asks, least := 0, time.Hour
	for host, all := range w.asks {
		slices.SortFunc(all, func(a, b asked) int { return a.begin.Compare(b.begin) })
		for i := range all[1:] {
			got := all[i+1].begin.Sub(all[i].end)
			least = min(least, got)
			if got < pause {
				t.Errorf("%s was asked again after a pause of %s, want %s", host, got, pause)
			}
		}
		asks += len(all)
	}
	t.Logf("%d requests to %d hosts, the shortest pause %s", asks, len(w.asks), least)
}

// partitionsOf returns the number of partitions last assigned to a process; -1 before that.
func (r *rig) partitionsOf(process string) int {
	r.t.Helper()
	if _, ok := r.stack.Processes.Running(process); !ok {
		return -1
	}
	b := r.log(process)
	at := bytes.LastIndex(b, []byte("msg=joined"))
	if at < 0 || at < bytes.LastIndex(b, []byte("msg=started")) || at < bytes.LastIndex(b, []byte("msg=draining")) {
		return -1
	}
	line, _, _ := strings.Cut(string(b[at:]), "\n")
	_, number, _ := strings.Cut(line, "partitions=")
	n, err := strconv.Atoi(number)
	if err != nil {
		r.t.Fatalf("%s: %v in %q", process, err, line)
	}
	return n
}

// handled returns the number of records that a process has read from its inputs, by its metrics.
func (r *rig) handled(process string) int {
	r.t.Helper()
	n, err := r.metric(process, "forager_stage_records_in_total{")
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// metric returns the sum of the metrics of a process that begin with a prefix; 0 if it does not serve them yet.
func (r *rig) metric(process, prefix string) (n int, err error) {
	if _, ok := r.stack.Processes.Running(process); !ok {
		return 0, fmt.Errorf("%s does not run", process)
	}
	b := r.log(process)
	at := bytes.LastIndex(b, []byte("msg=metrics"))
	if at < 0 {
		return 0, nil
	}
	line, _, _ := strings.Cut(string(b[at:]), "\n")
	_, address, _ := strings.Cut(line, "address=")
	resp, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, prefix) {
			x, err := strconv.Atoi(line[strings.LastIndexByte(line, ' ')+1:])
			if err != nil {
				return 0, fmt.Errorf("%s: %w", line, err)
			}
			n += x
		}
	}
	return n, nil
}

// inPartitions returns a name of a crawl whose records are in one of two halves of the partitions: each replica
// of prioritize and of apprentice-train has a half.
func inPartitions(name string, low bool, partitions int) string {
	for i := 0; ; i++ {
		candidate := fmt.Sprint(name, "-", i)
		a := stream.PartitionOf([]byte(schemas.ShardKey(candidate, 0)), partitions)
		b := stream.PartitionOf([]byte(candidate), partitions)
		if (a < partitions/2) == low && (b < partitions/2) == low {
			return candidate
		}
	}
}

// everyStage waits until a condition holds for each stage.
func (r *rig) everyStage(what string, ok func(stage string) bool) {
	r.t.Helper()
	for _, stage := range cli.StageNames {
		wait(r.t, stage+" "+what, func() bool { return ok(stage) })
	}
}

// replica returns the name of a process.
func replica(stage string, n int) string { return fmt.Sprint(stage, "-", n) }

// inHalves reports whether both replicas of a stage have partitions.
func (r *rig) inHalves(stage string) bool {
	return r.partitionsOf(replica(stage, 0)) > 0 && r.partitionsOf(replica(stage, 1)) > 0
}

// twoReplicas runs two replicas of every stage on two crawls, and one of four shards, that share the hosts of a
// polite web; moves the partitions of fetch by an orderly stop, kills one replica of each stage while the
// crawls run, and checks that the others end all of them.
func twoReplicas(t *testing.T, budget uint64) {
	const pause = 1200 * time.Millisecond // longer than a rebalance takes
	g, _ := simulated(t)
	web := &politeWeb{hosts: 40, takes: 30 * time.Millisecond, asks: make(map[string][]asked)}
	r := newRig(t, web, "replicas: 1", "metrics: 127.0.0.1:0\n        replicas: 2")
	r.parts()
	r.start(cli.StageNames)
	r.everyStage("in two halves", r.inHalves)
	all := make(map[string]int) // partitions by stage
	for _, stage := range cli.StageNames {
		all[stage] = r.partitionsOf(replica(stage, 0)) + r.partitionsOf(replica(stage, 1))
	}

	partitions := r.cfg.Topics[schemas.TopicLinkFound].Partitions
	crawls := []string{inPartitions("soft", true, partitions), inPartitions("learning", false, partitions), "sharded"}
	for i, ranker := range []string{"soft-focus", "apprentice", "soft-focus"} {
		// Few are in flight, so that hosts are often requested for which no request waits.
		c := r.crawl(g, crawls[i], ranker, budget, func(ctl *schemas.CrawlControl) {
			ctl.Politeness.DelayMs, ctl.Window = uint32(pause.Milliseconds()), 16
			if crawls[i] == "sharded" {
				ctl.Shards = 4
			}
		})
		c.Seeds = []string{web.url(i, 0), web.url(i+7, 1)}
		r.begin(c)
	}
	underWay := func(pages uint64) {
		for _, name := range crawls {
			st := r.until(name, "under way", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() >= pages })
			if finished(st) {
				t.Fatalf("%s had ended before anything happened to it", name)
			}
		}
	}
	underWay(budget / 8)

	// A fetch stops in order and starts again: its partitions move twice within moments.
	if killed, err := r.stack.Processes.Stop(r.s, []string{"fetch-0"}, 20*time.Second); err != nil || len(killed) > 0 {
		t.Fatalf("end fetch-0: killed %v, %v", killed, err)
	}
	wait(t, "fetch-1 with every partition", func() bool { return r.partitionsOf("fetch-1") == all["fetch"] })
	r.start([]string{"fetch"})

	r.everyStage("in two halves", r.inHalves)
	r.everyStage("at work in both halves", func(stage string) bool {
		return r.handled(replica(stage, 0)) > 0 && r.handled(replica(stage, 1)) > 0
	})
	underWay(budget / 4)
	for i, stage := range cli.StageNames {
		victim, other := replica(stage, i%2), replica(stage, 1-i%2)
		t.Logf("%-18s has read %4d records, %-18s %4d", victim, r.handled(victim), other, r.handled(other))
		r.kill(victim)
	}
	for i, stage := range cli.StageNames {
		survivor := replica(stage, 1-i%2)
		wait(t, survivor+" with every partition", func() bool { return r.partitionsOf(survivor) == all[stage] })
	}
	for _, name := range crawls {
		if st := r.books.Status(name); finished(st) {
			t.Errorf("%s had ended when the partitions were taken over", name)
		}
	}
	for _, name := range crawls {
		st := r.until(name, "finished", time.Minute, finished)
		if st.GetPages() != budget || st.GetEndReason() != "pages budget spent" {
			t.Errorf("%s: %d pages of %d, ended with %q", name, st.GetPages(), budget, st.GetEndReason())
		}
	}
	web.keepPause(t, pause)
	for _, name := range crawls {
		r.verified(name)
	}
	// Topics that feed no other stage are complete, too.
	r.sameAsTopics(t)
	r.learnt(crawls[1], budget)
	if printed := r.retrain(crawls[1]); !printed.Live || printed.Pages != budget {
		t.Errorf("the newest model is not that of all leaps: %+v", printed)
	}
}

func TestEnduranceTwoReplicas(t *testing.T) { twoReplicas(t, 140) }

// machine is the data folder of the replicas with a number, which share none with others: a partition moves to a folder that lacks it, or has
// it as it was long ago.
func (r *rig) machine(n int) string { return filepath.Join(r.dir, fmt.Sprint("machine-", n)) }

// folder makes a data folder of that name with the passwords of the rig, if there is none, and returns a pipeline file for it.
func (r *rig) folder(name string) (file string) {
	r.t.Helper()
	file = filepath.Join(r.dir, name+".yaml")
	b, err := os.ReadFile(r.path)
	if err != nil {
		r.t.Fatal(err)
	}
	text := strings.Replace(string(b), "data: data\n", "data: "+name+"\n", 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(r.dir, name), r.cfg.SecretsDir()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := os.Symlink(r.cfg.SecretsDir(), filepath.Join(r.dir, name, "secrets")); err != nil && !os.IsExist(err) {
		r.t.Fatal(err)
	}
	return file
}

// startOn starts a replica of stages on a machine.
func (r *rig) startOn(n int, stages ...string) {
	r.t.Helper()
	file := r.folder(filepath.Base(r.machine(n)))
	for _, stage := range stages {
		err := r.stack.Processes.Start(replica(stage, n), r.stack.Logs(), nil, filepath.Join(r.stack.Bin, stage), "-config", file, "-replica", fmt.Sprint(n))
		if err != nil {
			r.t.Fatal(err)
		}
	}
}

// TestEnduranceRollingRestart restarts every replica of every stage in turn while two crawls of several shards run, then loses a machine with its
// state and adds another one. Nothing is lost, and the pauses of hosts are kept. The stages that are restarted may be those of an earlier
// version, with programs in the folder FORAGER_PREVIOUS.
func TestEnduranceRollingRestart(t *testing.T) {
	const pause = 1200 * time.Millisecond // longer than a rebalance takes
	g, _ := simulated(t)
	web := &politeWeb{hosts: 40, takes: 30 * time.Millisecond, asks: make(map[string][]asked)}
	r := newRig(t, web, "replicas: 1", "metrics: 127.0.0.1:0\n        replicas: 2", "\nkafka:\n", "\nsnapshots:\n    every: 2s\nkafka:\n")
	r.parts()
	present := r.stack.Bin
	if previous := os.Getenv("FORAGER_PREVIOUS"); previous != "" {
		r.stack.Bin = previous
	}
	r.startOn(0, cli.StageNames...)
	r.startOn(1, cli.StageNames...)
	shared := func(a, b int) func(string) bool {
		return func(stage string) bool {
			return r.partitionsOf(replica(stage, a)) > 0 && r.partitionsOf(replica(stage, b)) > 0
		}
	}
	r.everyStage("in two halves", shared(0, 1))
	all := make(map[string]int) // partitions by stage
	for _, stage := range cli.StageNames {
		all[stage] = r.partitionsOf(replica(stage, 0)) + r.partitionsOf(replica(stage, 1))
	}
	crawls := []string{"first", "second"}
	for i, name := range crawls {
		c := r.crawl(g, name, []string{"mixture", crawlfile.DefaultRanker}[i], 30_000, func(ctl *schemas.CrawlControl) {
			ctl.Politeness.DelayMs, ctl.Window, ctl.Shards = uint32(pause.Milliseconds()), 24, uint32(3+i)
			ctl.Distiller = &schemas.Distiller{Every: 60}
		})
		c.Seeds = []string{web.url(i, 0), web.url(i+7, 1), web.url(i+17, 2)}
		r.begin(c)
	}
	goOn := func(after string) {
		t.Helper()
		for _, name := range crawls {
			at := r.books.Status(name).GetPages()
			r.until(name, "going on "+after, time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > at+20 })
		}
	}
	goOn("at first")

	r.stack.Bin = present
	for _, stage := range slices.Backward(cli.StageNames) { // the order of an upgrade
		for n := range 2 {
			name := replica(stage, n)
			if killed, err := r.stack.Processes.Stop(r.s, []string{name}, 30*time.Second); err != nil || len(killed) > 0 {
				t.Fatalf("end %s: killed %v, %v", name, killed, err)
			}
			wait(t, replica(stage, 1-n)+" with every partition", func() bool { return r.partitionsOf(replica(stage, 1-n)) == all[stage] })
			r.startOn(n, stage)
			wait(t, stage+" in two halves", func() bool { return shared(0, 1)(stage) })
		}
		goOn("with " + stage + " restarted")
	}

	for _, stage := range cli.StageNames {
		r.kill(replica(stage, 1))
	}
	if err := os.RemoveAll(r.machine(1)); err != nil {
		t.Fatal(err)
	}
	r.everyStage("on one machine", func(stage string) bool { return r.partitionsOf(replica(stage, 0)) == all[stage] })
	goOn("on one machine")
	r.startOn(2, cli.StageNames...)
	r.everyStage("in two halves", shared(0, 2))
	goOn("on another machine")

	for _, name := range crawls {
		r.mustRun("crawl", "stop", name)
	}
	for _, name := range crawls {
		if st := r.until(name, "finished", time.Minute, finished); st.GetEndReason() != "stopped" || st.GetInFlight() != 0 {
			t.Errorf("%s ended with %v", name, st)
		}
	}
	web.keepPause(t, pause)
	for _, name := range crawls {
		r.verified(name)
	}
	r.sameAsTopics(t)
	for _, stage := range stateful {
		restored := 0
		for n := range 3 {
			restored += r.logged(replica(stage, n), "restored from a snapshot")
		}
		if restored == 0 {
			t.Errorf("no replica of %s restored a snapshot", stage)
		}
	}
}

// longestGap returns the longest time without a request since a time.
func (w *politeWeb) longestGap(since time.Time) (longest time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	begins := []time.Time{since, time.Now()}
	for _, all := range w.asks {
		for _, x := range all {
			begins = append(begins, x.begin)
		}
	}
	slices.SortFunc(begins, time.Time.Compare)
	for i := slices.IndexFunc(begins, since.Equal) + 1; i < len(begins); i++ {
		longest = max(longest, begins[i].Sub(begins[i-1]))
	}
	return longest
}

// TestEnduranceMove moves each stage with state to another machine, which has no state, by a replica that joins there and the end of the first. The crawl
// stands still for less than half of the session timeout for which it would if the first were killed.
func TestEnduranceMove(t *testing.T) {
	const pause, session = 1200 * time.Millisecond, 30 * time.Second
	g, _ := simulated(t)
	web := &politeWeb{hosts: 40, takes: 30 * time.Millisecond, asks: make(map[string][]asked)}
	r := newRig(t, web, "replicas: 1", "metrics: 127.0.0.1:0\n        replicas: 1", "session_timeout: 10s", fmt.Sprint("session_timeout: ", session))
	r.parts()
	r.startOn(0, cli.StageNames...)
	const crawl = "moved"
	c := r.crawl(g, crawl, "mixture", 30_000, func(ctl *schemas.CrawlControl) {
		ctl.Politeness.DelayMs, ctl.Window = uint32(pause.Milliseconds()), 8 // which are soon fetched
		ctl.Distiller = &schemas.Distiller{Every: 60}
	})
	c.Seeds = []string{web.url(0, 0), web.url(7, 1), web.url(17, 2)}
	r.begin(c)
	goOn := func(when string, pages uint64) {
		t.Helper()
		at := r.books.Status(crawl).GetPages()
		r.until(crawl, "going on "+when, time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > at+pages })
	}
	goOn("at first", 300)
	began := time.Now()
	goOn("quietly", 200)
	t.Logf("the longest gap between requests is %s", web.longestGap(began))
	for _, stage := range stateful {
		all := r.partitionsOf(replica(stage, 0))
		began := time.Now()
		r.startOn(1, stage)
		wait(t, stage+" in two halves", func() bool { return r.inHalves(stage) })
		goOn("with "+stage+" in two halves", 100)
		joined, left := web.longestGap(began), time.Now()
		if killed, err := r.stack.Processes.Stop(r.s, []string{replica(stage, 0)}, session); err != nil || len(killed) > 0 {
			t.Fatalf("end %s: killed %v, %v", stage, killed, err)
		}
		wait(t, stage+" on the other machine", func() bool { return r.partitionsOf(replica(stage, 1)) == all })
		goOn("with "+stage+" on the other machine", 100)
		gap := web.longestGap(left)
		t.Logf("%s: no request for %s when the other replica joined, for %s when the first left", stage, joined, gap)
		if max(joined, gap) > session/2 {
			t.Errorf("the crawl stood still for %s when %s moved", max(joined, gap), stage)
		}
		if r.logged(replica(stage, 1), "restored from a snapshot") == 0 {
			t.Errorf("%s restored nothing", stage)
		}
	}
	r.mustRun("crawl", "stop", crawl)
	r.until(crawl, "finished", time.Minute, finished)
	web.keepPause(t, pause)
	r.verified(crawl)
}
