package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"forager/cmd/forager/data"
	"forager/cmd/forager/demo"
	"forager/cmd/forager/deploy"
	"forager/cmd/forager/root"
	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/cmd/internal/models"
	"forager/infra/simweb"
	"forager/internal/audit"
	"forager/internal/audit/audittest"
	"forager/internal/crawl/crawlfile"
	"forager/internal/frontier"
	"forager/internal/operate"
	"forager/internal/platform/pipeline"
	"forager/schemas"
)

// rig is everything that a crawl needs, in its own folder and on its own ports: the embedded parts and the
// stages are the real processes.
type rig struct {
	t     testing.TB
	dir   string
	path  string // pipeline file
	cfg   *pipeline.Config
	stack *deploy.Stack
	s     *cli.Session
	books *cli.Topics
	web   *accessLog
}

// bin is where make build puts the programs.
func bin(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("../../../build/bin")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append([]string{"local", "forager", "forager-lab"}, cli.Programs...) {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Fatalf("%v; run make build first", err)
		}
	}
	return dir
}

// accessLog counts requests by host and records their times.
type accessLog struct {
	mu      sync.Mutex
	handler http.Handler
	times   map[string][]time.Time
}

func (l *accessLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	l.times[r.URL.Host] = append(l.times[r.URL.Host], time.Now())
	handler := l.handler
	l.mu.Unlock()
	handler.ServeHTTP(w, r)
}

// serve replaces the web.
func (l *accessLog) serve(web http.Handler) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handler = web
}

// A rig has a pipeline file of its own; commands that tests run must not find the one of the caller's deployment.
func init() { os.Unsetenv("FORAGER_CONFIG") }

// newRig writes the pipeline file and starts the web only. change edits the text of the pipeline file.
func newRig(t testing.TB, web http.Handler, change ...string) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), web: &accessLog{handler: web, times: make(map[string][]time.Time)}}
	srv := httptest.NewServer(r.web)
	t.Cleanup(srv.Close)
	path, err := demo.WriteDemoPipeline("../../../internal/platform/pipeline/testdata/explicit.yaml", r.dir, srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// A killed member is detected sooner, to shorten tests.
	b = []byte(strings.NewReplacer(append([]string{"session_timeout: 10s", "session_timeout: 6s", "file_age: 1m", "file_age: 1s"}, change...)...).Replace(string(b)))
	if broker := os.Getenv("FORAGER_KAFKA"); broker != "" {
		b = []byte(realKafka(t, string(b), broker))
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	r.path = path
	if r.cfg, err = pipeline.Load(path); err != nil {
		t.Fatal(err)
	}
	if r.stack, err = deploy.NewStack(path, r.cfg, bin(t)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	t.Cleanup(cancel)
	r.s = &cli.Session{Context: ctx, Stdout: io.Discard, Stderr: &lines{t: t}, Config: path, Log: slog.New(slog.DiscardHandler)}
	t.Cleanup(func() {
		if t.Failed() {
			for _, p := range r.stack.Processes.List {
				t.Logf("the end of %s:\n%s", p.Log, deploy.LastLines(p.Log, 15))
			}
			r.keepLogs()
		}
		for _, end := range r.s.Ends {
			end()
		}
		if _, err := r.stack.Stop(context.Background(), 10*time.Second); err != nil {
			t.Error(err)
		}
	})
	return r
}

// keepLogs ends the stages with a dump of their goroutines, and copies all logs below build/failed: some tests fail after hours, and
// what a stage waited for is not in the last lines.
func (r *rig) keepLogs() {
	var err error
	var stages []string
	for _, p := range r.stack.Processes.List {
		if p.Alive() && slices.ContainsFunc(cli.StageNames, func(stage string) bool { return strings.HasPrefix(p.Name, stage+"-") }) {
			err = errors.Join(err, syscall.Kill(p.PID, syscall.SIGQUIT))
			stages = append(stages, p.Name)
		}
	}
	for _, name := range stages {
		err = errors.Join(err, r.gone(name, 5*time.Second))
	}
	name := strings.ReplaceAll(r.t.Name(), "/", "-")
	folder := filepath.Join("../../../build/failed", name)
	if err := errors.Join(err, os.RemoveAll(folder), os.CopyFS(folder, os.DirFS(r.stack.Logs()))); err != nil {
		r.t.Errorf("not all logs are kept: %v", err)
	}
	r.t.Logf("the logs are in build/failed/%s", name)
}

// realKafka sets the broker of the pipeline file to another one.
func realKafka(t testing.TB, file, broker string) string {
	i := strings.Index(file, "brokers:")
	j := strings.Index(file[i:], "127.0.0.1:")
	if i < 0 || j < 0 {
		t.Fatal("the pipeline file names no broker")
	}
	start := i + j
	end := start + strings.IndexAny(file[start:], "\n\"")
	return file[:start] + broker + file[end:]
}

// lines writes the output of a command to the log of the test.
type lines struct{ t testing.TB }

func (l *lines) Write(b []byte) (int, error) {
	l.t.Helper()
	l.t.Logf("%s", bytes.TrimRight(b, "\n"))
	return len(b), nil
}

// parts starts the embedded parts and sets everything up.
func (r *rig) parts() {
	r.t.Helper()
	if _, err := r.stack.StartParts(r.s, time.Minute); err != nil {
		r.t.Fatal(err)
	}
	if err := deploy.SetUp(r.s, r.cfg, r.s.Log); err != nil {
		r.t.Fatal(err)
	}
	b, err := cli.OpenTopics(r.s, r.s, r.cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.books = b
	r.t.Cleanup(b.Close)
}

// start starts stages; failpoints are name=value pairs of their environment.
func (r *rig) start(names []string, env ...string) {
	r.t.Helper()
	r.stack.Env = env
	if err := r.stack.StartStages(names); err != nil {
		r.t.Fatal(err)
	}
	r.stack.Env = nil
}

var simulatedEnvironment = sync.OnceValues(func() (*demo.Environment, error) { return demo.SimEnvironment(context.Background(), 300) })

// simulated is a small synthetic web with a critic for it; the critic is trained once for all tests.
func simulated(t testing.TB) (*demo.Environment, *simweb.Web) {
	t.Helper()
	made, err := simulatedEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	w, err := simweb.New(simweb.Default(1))
	if err != nil {
		t.Fatal(err)
	}
	g := *made
	g.Seeds = slices.Clone(made.Seeds)
	return &g, w
}

// step is a subtest on a rig that is shared with others: a failure ends the subtest.
func (r *rig) step(t *testing.T, name string, test func(t *testing.T)) bool {
	return t.Run(name, func(sub *testing.T) {
		r.t = sub
		defer func() { r.t = t }()
		test(sub)
	})
}

// waits reports whether the last line of a process's log is that it waits for something.
func (r *rig) waits(name string) bool {
	p, ok := r.stack.Processes.Running(name)
	if !ok {
		r.t.Fatalf("%s does not run", name)
	}
	return strings.Contains(deploy.LastLines(p.Log, 1), "msg=waiting")
}

// crawl returns a crawl of the ground, not started.
func (r *rig) crawl(g *demo.Environment, name, ranker string, pages uint64, change func(*schemas.CrawlControl)) *crawlfile.Crawl {
	r.t.Helper()
	published, err := models.PublishCritic(r.s, r.cfg, r.books, "test", g.Critic, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	d := &demo.Demo{Environment: g}
	ctl, err := d.Control(name, ranker, published.GetVersion(), pages, "")
	if err != nil {
		r.t.Fatal(err)
	}
	if change != nil {
		change(ctl)
	}
	return &crawlfile.Crawl{Control: ctl, Seeds: g.Seeds, URLList: g.URLList}
}

func (r *rig) begin(c *crawlfile.Crawl) {
	r.t.Helper()
	if err := crawls.StartCrawl(r.s, r.cfg, r.books, c, false); err != nil {
		r.t.Fatal(err)
	}
}

// until waits for a condition on the crawl's status while the crawl makes progress: it fails after a time
// without any, however slow the machine is.
func (r *rig) until(crawl, what string, within time.Duration, ok func(*schemas.CrawlStatus) bool) *schemas.CrawlStatus {
	r.t.Helper()
	var reached string
	end := time.Now().Add(within)
	for {
		st := r.books.Status(crawl)
		if st != nil && ok(st) {
			return st
		}
		if err := r.stack.Ended(); err != nil {
			r.t.Fatal(err)
		}
		if now := fmt.Sprint(st.GetState(), st.GetDispatched(), st.GetPages(), st.GetTrained(), st.GetModel()); now != reached {
			reached, end = now, time.Now().Add(within)
		}
		if time.Now().After(end) || r.s.Err() != nil {
			r.t.Fatalf("%s: not %s, and for %s nothing has happened (%v); status %v", crawl, what, within, r.s.Err(), st)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func finished(st *schemas.CrawlStatus) bool {
	return st.GetState() == schemas.ShardState_SHARD_STATE_FINISHED
}

// verified waits until all records have been read and audits the crawl.
func (r *rig) verified(crawl string) *audit.Result {
	r.t.Helper()
	if err := crawls.Settle(r.s, r.books, time.Minute); err != nil {
		r.t.Fatal(err)
	}
	result, err := data.AuditCrawl(r.s, r.cfg, r.books, crawl)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range result.Figures {
		r.t.Logf("%8d %s", f.Value, f.Name)
	}
	if !result.OK {
		r.t.Errorf("verify: %d differences:\n%s", len(result.Problems)+result.More, strings.Join(result.Problems, "\n"))
	}
	if left, err := filepath.Glob(filepath.Join(r.cfg.Data, "verify-*")); err != nil || len(left) > 0 {
		r.t.Errorf("verify left %s (%v)", left, err)
	}
	return result
}

// evidence returns everything that an audit of a crawl that has ended reads, in memory.
func (r *rig) evidence(crawl string) *audittest.Evidence {
	r.t.Helper()
	statuses, _, err := data.ShardStatuses(r.books, crawl)
	if err != nil {
		r.t.Fatal(err)
	}
	live, closeLive, err := (&data.Audit{Cfg: r.cfg, Books: r.books, Crawl: crawl, Statuses: statuses}).Open(r.s)
	if err != nil {
		r.t.Fatal(err)
	}
	defer closeLive()
	e, err := audittest.Collect(r.s, live.Case, live)
	if err != nil {
		r.t.Fatal(err)
	}
	return e
}

// memoryStore is an audit's store in memory.
type memoryStore struct{ frontier.Store }

func (memoryStore) Commit() error { return nil }

func judged(t *testing.T, e *audittest.Evidence) *audit.Result {
	t.Helper()
	r, err := e.Judge(memoryStore{frontier.NewMemory()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// run runs the whole command in this process and returns what it printed. A command reads the topics itself: what it has waited for is
// in r.books, too, when run returns.
func (r *rig) run(args ...string) (stdout, stderr string, code int) {
	r.t.Helper()
	var out, err bytes.Buffer
	code = root.Run(r.s, append([]string{"--config", r.path}, args...), &out, &err)
	if r.books != nil && deploy.Answers(r.cfg.Kafka.Brokers[0]) {
		r.current()
	}
	return out.String(), err.String(), code
}

// current waits until r.books have read what is in the topics now.
func (r *rig) current() {
	r.t.Helper()
	ends, err := r.books.Client.Ends(r.s, operate.Followed...)
	if err != nil {
		r.t.Fatal(err)
	}
	wait(r.t, "the topics are read", func() bool {
		r.books.Mu.Lock()
		defer r.books.Mu.Unlock()
		return !slices.ContainsFunc(operate.Followed, func(topic string) bool { return r.books.Next[topic] < ends[topic][0] })
	})
}

func (r *rig) mustRun(args ...string) string {
	r.t.Helper()
	out, stderr, code := r.run(args...)
	if code != cli.ExitOK {
		r.t.Fatalf("forager %s: exit %d\n%s%s", strings.Join(args, " "), code, out, stderr)
	}
	return out
}

// pid returns that of a running process of the stack.
func (r *rig) pid(name string) int {
	r.t.Helper()
	p, ok := r.stack.Processes.Running(name)
	if !ok {
		r.t.Fatalf("%s does not run", name)
	}
	return p.PID
}

// gone waits until a process has ended by itself.
func (r *rig) gone(name string, within time.Duration) error {
	end := time.Now().Add(within)
	for time.Now().Before(end) {
		if _, ok := r.stack.Processes.Running(name); !ok {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("%s still runs after %s", name, within)
}

// kill kills a process; it may be started again.
func (r *rig) kill(name string) {
	r.t.Helper()
	if err := syscall.Kill(r.pid(name), syscall.SIGKILL); err != nil {
		r.t.Fatal(err)
	}
	if err := r.gone(name, 10*time.Second); err != nil {
		r.t.Fatal(err)
	}
	r.stack.Processes.List = slices.DeleteFunc(r.stack.Processes.List, func(p deploy.Process) bool { return p.Name == name })
}

// log returns the lines of the log of a process, which appends. A line that is being written is left out: a reader may see a part of it.
func (r *rig) log(process string) []byte {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.stack.Logs(), process+".log"))
	if err != nil {
		r.t.Fatal(err)
	}
	return b[:bytes.LastIndexByte(b, '\n')+1]
}

// logged returns how often the log of a process has a text.
func (r *rig) logged(process, text string) int {
	r.t.Helper()
	return bytes.Count(r.log(process), []byte(text))
}

// joined reports whether a stage has joined its consumer group since its last start.
func (r *rig) joined(name string) bool {
	if _, ok := r.stack.Processes.Running(name); !ok {
		return false
	}
	b := r.log(name)
	return bytes.LastIndex(b, []byte("msg=joined")) > bytes.LastIndex(b, []byte("msg=started"))
}

// gate lets the web respond to n more requests until open is called. A crawl may fetch hundreds of pages between two statuses.
func (r *rig) gate(n int) (open func()) {
	web := &gated{handler: r.web.handler, permits: make(chan struct{}, n)}
	web.permit(n)
	r.web.serve(web)
	return func() {
		close(web.permits)
		r.web.serve(web.handler)
	}
}

// gated is a web that responds to a limited number of requests, besides those for robots.txt, so that a crawl
// is still running at a certain point; the others wait. When permits is closed it responds to all.
type gated struct {
	handler http.Handler
	permits chan struct{}
}

func (g *gated) permit(n int) {
	for range n {
		g.permits <- struct{}{}
	}
}

func (g *gated) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		g.handler.ServeHTTP(w, r)
		return
	}
	select {
	case <-g.permits:
		g.handler.ServeHTTP(w, r)
	case <-r.Context().Done():
	}
}
