package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"forager/cmd/forager-lab/experiment"
	"forager/cmd/forager-lab/lab"
	"forager/cmd/forager/demo"
	"forager/cmd/forager/deploy"
	"forager/cmd/forager/root"
	"forager/cmd/internal/cli"
	"forager/internal/platform/pipeline"
)

// stopWithin is how long a command may take to end after a signal, with an allowance for a busy machine.
const stopWithin = cli.Grace + 5*time.Second

// manyTimes makes a command that reads examples once read for seconds.
var manyTimes = strings.Repeat("IN/a.jsonl ", 40)

// largeExamples are examples of many classes, on which training takes minutes.
func largeExamples(t *testing.T, path string) {
	t.Helper()
	var b bytes.Buffer
	r := rand.New(rand.NewPCG(1, 2))
	e := json.NewEncoder(&b)
	for i := range 6000 {
		var text strings.Builder
		for range 150 {
			fmt.Fprintf(&text, "word%d ", r.IntN(30000))
		}
		if err := e.Encode(map[string]any{"url": fmt.Sprintf("http://h.example/%d", i), "topics": []string{fmt.Sprintf("T%d", i%120)}, "text": text.String()}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// files are all files below a folder.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && path != dir {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// signalled describes how to interrupt a command during its work: with arguments for which it waits for a
// broker, a store or ClickHouse that never responds, computes for long, or prints something and continues. OUT
// is an empty folder, IN one of examples.
type signalled struct {
	asks, computes, prints string
	// code is the exit code; 0 = cli.ExitFailure.
	code int
	// brief is the reason why a command needs no test.
	brief string
}

// each describes the interruption of a command that waits and of the same that computes one by one.
func (c signalled) each() []signalled {
	if c.asks == "" || c.computes == "" {
		return []signalled{c}
	}
	return []signalled{{asks: c.asks}, {computes: c.computes}}
}

// signals are all commands.
var signals = map[string]signalled{
	"doctor":           {asks: ""},
	"setup":            {asks: ""},
	"reload":           {asks: "--within 1m"},
	"up":               {brief: "what it starts stays, and down ends it"},
	"down":             {brief: "it ends processes, and its list is right at any time"},
	"supervise":        {brief: "hidden: up starts it; see TestASupervisorEndsWhenAnotherTakesOver"},
	"complete":         {brief: "hidden: a shell waits for it"},
	"completion":       {brief: "prints a text"},
	"size":             {brief: "computes a few numbers"},
	"config":           {brief: "reads the pipeline file only"},
	"report show":      {asks: "c"},
	"report hosts":     {asks: "c"},
	"export":           {asks: "c -o OUT/x.jsonl.gz"},
	"rejudge":          {asks: "c --critic x"},
	"query":            {asks: "SELECT+1"},
	"retrain":          {asks: "c -o OUT/model"},
	"verify":           {asks: "c"},
	"why":              {asks: "http://h.example/ --crawl c"},
	"localgraph":       {asks: "--crawl c --target http://h.example/"},
	"serve-web":        {prints: "IN/small.warc.gz --listen 127.0.0.1:0", code: cli.ExitOK},
	"serve-simweb":     {prints: "--listen 127.0.0.1:0", code: cli.ExitOK},
	"demo":             {brief: "see TestDemosEndTheirProcesses"},
	"bench":            {brief: "see TestDemosEndTheirProcesses"},
	"soak":             {brief: "see TestDemosEndTheirProcesses"},
	"bench-floor":      {brief: "hidden: bench starts and ends it"},
	"critic import":    {computes: "IN/a.jsonl IN/a.jsonl IN/a.jsonl IN/a.jsonl -o OUT/x.jsonl.gz"},
	"critic taxonomy":  {computes: manyTimes + "--minimum 1"},
	"critic train":     {computes: "IN/a.jsonl --name x --minimum 1 --model logistic --dry-run"},
	"critic evaluate":  {computes: "IN/a.jsonl --minimum 1 --model logistic --html OUT/page.html"},
	"critic propose":   {asks: "IN/small.jsonl --critic c"},
	"critic rules":     {asks: "IN/a.rules --name x"},
	"critic predicate": {asks: "IN/service.yaml --name x"},
	"critic expand":    {asks: "c"},
	"critic mark":      {asks: "c http://h.example/ --right"},
	"critic retrain":   {asks: "c"},
	"critic explain":   {asks: "IN/page.html --crawl c"},
	"guide train": {
		asks:     "context-graph --crawl c --target http://h.example/ -o OUT/guide",
		computes: "memm --warc IN/small.warc.gz --target http://h0.test/0 --target http://h1.test/1 --walks 300000 -o OUT/guide",
	},
	"guide rebuild":   {asks: "c --guide g"},
	"guide publish":   {brief: "reads one file and announces it"},
	"guide predicate": {asks: "IN/links.yaml --name x"},
	"guide backlinks": {asks: "IN/edges.txt --name x"},
	"models list":     {asks: ""},
	"models show":     {asks: "c"},
	"models use":      {asks: "c newest"},
	"dead list":       {asks: ""},
	"dead show":       {asks: "1"},
	"dead replay":     {asks: "--crawl c"},
	"dead drop":       {asks: "--crawl c"},
	"crawl list":      {asks: ""},
	"crawl start":     {asks: "IN/crawl.yaml"},
	"crawl status":    {asks: ""},
	"crawl watch":     {asks: "c"},
	"crawl seeds":     {asks: "c http://h.example/"},
	"crawl pause":     {asks: "c"},
	"crawl resume":    {asks: "c"},
	"crawl ranker":    {asks: "c soft-focus"},
	"crawl change":    {asks: "c --set window=7"},
	"crawl focus":     {asks: "c --good T1"},
	"crawl critic":    {asks: "c x"},
	"crawl stop":      {asks: "c"},
	"crawl delete":    {asks: "c"},

	"experiment-simweb": {computes: ""},
	"experiment bench":  {computes: "IN/tasks.json.gz --draws 2 --random-runs 10000"},
	"experiment run":    {computes: "IN/plan.yaml -o OUT"},
	"experiment papers": {computes: "-o OUT/papers.md"},
	"experiment report": {brief: "reads one file"},
}

// TestCommandsEndAfterASignal sends a signal to every command that may take long, while it runs, and checks
// that it ends soon, with a code other than 0, and leaves nothing. A command that is not in the table fails.
func TestCommandsEndAfterASignal(t *testing.T) {
	in := t.TempDir()
	signalInputs(t, in)
	known := make(map[string]bool)
	test := func(program string, leaf *kong.Node) {
		words := strings.Fields(leaf.Path())
		words = slices.DeleteFunc(words, func(w string) bool { return w[0] == '<' || w[0] == '[' })
		name := strings.Join(words, " ")
		if known[name] {
			return
		}
		known[name] = true
		c, ok := signals[name]
		if !ok {
			t.Errorf("%s is not in the table: add how it can take long, or why it cannot", name)
			return
		}
		if c.brief != "" {
			return
		}
		for _, c := range c.each() {
			t.Run(name, func(t *testing.T) {
				c.endsAfter(t, program, in, words, []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}[len(known)%2])
			})
		}
	}
	for name, tree := range map[string]any{"forager": new(root.Commands), "forager-lab": new(lab.Commands)} {
		parser, err := kong.New(tree)
		if err != nil {
			t.Fatal(err)
		}
		for _, leaf := range parser.Model.Leaves(false) {
			if !leaf.Passthrough {
				test(filepath.Join(bin(t), name), leaf)
			}
		}
	}
	for name := range signals {
		if !known[name] {
			t.Errorf("there is no command %s", name)
		}
	}
}

// signalInputs writes the input of commands into a folder.
func signalInputs(t *testing.T, in string) {
	largeExamples(t, filepath.Join(in, "a.jsonl"))
	smallWeb(t, in)
	for name, text := range map[string]string{
		"small.jsonl": smallExamples(), "page.html": "<p>words", "edges.txt": "http://a.example/ http://b.example/\n",
		"a.rules":      "T1: title has \"physics\"\n",
		"links.yaml":   "url: http://127.0.0.1:1/\n",
		"service.yaml": "url: http://127.0.0.1:1/\ntopics: [T1]\n",
		"crawl.yaml":   crawlFile("c", "x", "T1", "http://h.example/"),
		"plan.yaml":    "name: few\ntasks: [tasks.json.gz]\ndraws: {count: 2}\nrandom_runs: 100000\nrankers: [soft-focus, apprentice, random, oracle]\n",
	} {
		if err := os.WriteFile(filepath.Join(in, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// silent are addresses that accept connections and never respond.
type silent struct {
	addresses [3]string
	asked     chan struct{} // closed after the first connection
}

func newSilent(t *testing.T) *silent {
	s := &silent{asked: make(chan struct{})}
	var first sync.Once
	for i := range s.addresses {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		s.addresses[i] = l.Addr().String()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				first.Do(func() { close(s.asked) })
				t.Cleanup(func() { c.Close() })
			}
		}()
	}
	return s
}

// pipeline writes a pipeline file with these addresses and a data folder next to it.
func (s *silent) pipeline(t *testing.T) string {
	dir := t.TempDir()
	set := []demo.Setting{
		{Value: []string{s.addresses[0]}, Path: []string{"kafka", "brokers"}}, {Value: "http://" + s.addresses[1], Path: []string{"s3", "endpoint"}},
		{Value: "http://" + s.addresses[2], Path: []string{"clickhouse", "url"}},
	}
	path, err := demo.WriteDemoPipeline("../../../pipeline.yaml", dir, "", set...)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := pipeline.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"kafka", "s3", "clickhouse"} {
		if _, err := cfg.MakeSecret(part); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// printout is what a process prints.
type printout struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *printout) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *printout) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (c signalled) endsAfter(t *testing.T, program, in string, name []string, signal syscall.Signal) {
	out, temp := t.TempDir(), t.TempDir()
	refused := newSilent(t)
	args := append([]string{"--config", refused.pipeline(t)}, name...)
	for _, a := range strings.Fields(c.asks + c.computes + c.prints) {
		a = strings.NewReplacer("OUT", out, "IN/", in+"/", "+", " ").Replace(a)
		args = append(args, a)
	}
	code := cli.ExitFailure
	if c.prints != "" {
		code = c.code
	}
	var printed printout
	underway := func(pid int) bool {
		switch {
		case c.prints != "":
			return printed.String() != ""
		case c.computes != "" || slices.Equal(name, []string{"experiment-simweb"}):
			cpu, err := deploy.CPUTime(pid)
			return err == nil && cpu > 200*time.Millisecond
		}
		select {
		case <-refused.asked:
			return true
		default:
			return false
		}
	}
	signalOnce(t, program, args, temp, &printed, underway, signal, code)
	left := append(files(t, out), files(t, temp)...)
	left = slices.DeleteFunc(left, func(file string) bool { return filepath.Base(file) == experiment.StudyLog }) // from which a study continues
	if len(left) > 0 {
		t.Errorf("it left %s", left)
	}
}

// signalOnce starts a command, sends it a signal while it runs, and checks that it ends soon with a code.
func signalOnce(t *testing.T, program string, args []string, temp string, printed *printout, underway func(pid int) bool, signal syscall.Signal, code int) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	cmd.Stdout, cmd.Stderr = printed, printed
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var sent atomic.Int64 // when, nanoseconds
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			if sent.Load() == 0 {
				t.Fatalf("%q ended before the signal: %v\n%s", args, err, printed)
			}
			took := time.Since(time.Unix(0, sent.Load()))
			if t.Logf("it took %s to end", took.Round(time.Millisecond)); took > stopWithin {
				t.Errorf("it took %s to end", took)
			}
			if got := cmd.ProcessState.ExitCode(); got != code {
				t.Errorf("exit code %d, want %d\n%s", got, code, printed)
			}
			return
		case <-tick.C:
			if sent.Load() == 0 && underway(cmd.Process.Pid) {
				sent.Store(time.Now().UnixNano())
				if err := cmd.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestDemosEndTheirProcesses interrupts a demo while its parts start, and a soak while its stages run: all
// processes that they started end.
func TestDemosEndTheirProcesses(t *testing.T) {
	for name, last := range map[string]string{"demo": "local", "bench": "local", "soak": "archive-parquet-0"} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			started := func() *deploy.Processes {
				list := new(deploy.Processes)
				for _, dir := range []string{out, filepath.Join(out, "simweb")} {
					if p, err := deploy.OpenProcesses(filepath.Join(dir, "data")); err == nil && len(p.List) > 0 {
						list = p
					}
				}
				return list
			}
			var before []deploy.Process
			underway := func(int) bool {
				before = started().List
				return slices.ContainsFunc(before, func(p deploy.Process) bool { return p.Name == last })
			}
			args := []string{name, "--out", out, "--bin", bin(t), "--from", "../../../pipeline.yaml", "--pages", "300"}
			program := "forager-lab"
			switch name {
			case "demo":
				program = "forager"
			case "bench":
				args = append(args, "--cores", "1") // it refuses more than there are
			}
			signalOnce(t, filepath.Join(bin(t), program), args, t.TempDir(), new(printout), underway, syscall.SIGTERM, cli.ExitFailure)
			for _, p := range append(before, started().List...) {
				if p.Alive() {
					t.Errorf("%s runs on", p.Name)
					syscall.Kill(p.PID, syscall.SIGKILL)
				}
			}
		})
	}
}
