package stagemain

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"forager/internal/platform/pipeline"
)

// stages are what the test binary runs as a process of its own, by BOOT_CHILD.
var stages = map[string]func(ctx context.Context, env *Env) error{
	"drains": func(ctx context.Context, env *Env) error {
		fmt.Println("up")
		<-ctx.Done()
		fmt.Println("drained")
		return nil
	},
	"returns the context's error": func(ctx context.Context, env *Env) error {
		fmt.Println("up")
		<-ctx.Done()
		return fmt.Errorf("fetch: %w", ctx.Err())
	},
	"fails while it drains": func(ctx context.Context, env *Env) error {
		fmt.Println("up")
		<-ctx.Done()
		return errors.New("the segment is lost")
	},
	"hangs": func(ctx context.Context, env *Env) error {
		fmt.Println("up")
		<-ctx.Done()
		fmt.Println("draining")
		select {}
	},
	"fails": func(ctx context.Context, env *Env) error { return errors.New("offset out of range") },
	"ends":  func(ctx context.Context, env *Env) error { return nil },
	"cancels itself": func(ctx context.Context, env *Env) error {
		return fmt.Errorf("own time-out: %w", context.Canceled)
	},
	"tells": func(ctx context.Context, env *Env) error {
		fmt.Println(env.Stage, env.Replica, env.StateDir, env.Config.Kafka.Group)
		return nil
	},
}

func TestMain(m *testing.M) {
	if name := os.Getenv("BOOT_CHILD"); name != "" {
		os.Exit(start("parse-dom", os.Args[1:], os.Stderr, stages[name]))
	}
	os.Exit(m.Run())
}

// pipelineFile writes a copy of the shipped pipeline.yaml with a metrics address.
func pipelineFile(t *testing.T, metrics string, more ...string) string {
	t.Helper()
	b, err := os.ReadFile("../../../pipeline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	re := regexp.MustCompile(`parse-dom: *\{`)
	if !re.Match(b) {
		t.Fatal("pipeline.yaml has no line for parse-dom")
	}
	path := filepath.Join(t.TempDir(), "pipeline.yaml")
	if err := os.WriteFile(path, re.ReplaceAll(b, fmt.Appendf(nil, "parse-dom: {metrics: %q, %s", metrics, strings.Join(more, ""))), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// child is a running stage.
type child struct {
	*exec.Cmd
	out    *bufio.Reader
	stderr io.Reader
}

func launch(t *testing.T, name string, args ...string) *child {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	p := &child{Cmd: exec.CommandContext(ctx, os.Args[0], args...)}
	p.Env = append(os.Environ(), "BOOT_CHILD="+name)
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if p.stderr, err = p.StderrPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// line waits for a line of standard output.
func (p *child) line(t *testing.T, want string) {
	t.Helper()
	got, err := p.out.ReadString('\n')
	if strings.TrimSpace(got) != want {
		t.Fatalf("wrote %q, want %q (%v)", got, want, err)
	}
}

// end waits for the end: exit code, what else was written, and the last line of standard error.
func (p *child) end(t *testing.T) (code int, out, last string) {
	t.Helper()
	rest, _ := io.ReadAll(p.out)
	text, _ := io.ReadAll(p.stderr)
	_ = p.Wait() // the exit code is read below
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return p.ProcessState.ExitCode(), string(rest), lines[len(lines)-1]
}

func TestSignalsAndExitCodes(t *testing.T) {
	t.Parallel()
	config := pipelineFile(t, "")
	for _, k := range []struct {
		name    string
		signals []syscall.Signal
		code    int
		out     string
		last    string // of standard error
	}{
		{"drains", []syscall.Signal{syscall.SIGTERM}, 0, "drained\n", "msg=ended"},
		{"drains", []syscall.Signal{syscall.SIGINT}, 0, "drained\n", "msg=ended"},
		{"returns the context's error", []syscall.Signal{syscall.SIGTERM}, 0, "", "msg=started"},
		{"fails while it drains", []syscall.Signal{syscall.SIGTERM}, 1, "", "parse-dom: the segment is lost"},
		{"hangs", []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}, 128 + 15, "", "msg=started"},
		{"hangs", []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}, 128 + 2, "", "msg=started"},
		{"fails", nil, 1, "", "parse-dom: offset out of range"},
		{"ends", nil, 0, "", "msg=ended"},
		{"cancels itself", nil, 1, "", "parse-dom: own time-out"},
	} {
		t.Run(fmt.Sprint(k.name, k.signals), func(t *testing.T) {
			t.Parallel()
			p := launch(t, k.name, "-config", config)
			for i, s := range k.signals {
				p.line(t, []string{"up", "draining"}[i])
				if err := p.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
			}
			if code, out, last := p.end(t); code != k.code || out != k.out || !strings.Contains(last, k.last) {
				t.Errorf("exit code %d, wrote %q, and last %q", code, out, last)
			}
		})
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	config := pipelineFile(t, "")
	broken := filepath.Join(t.TempDir(), "broken.yaml")
	if err := os.WriteFile(broken, []byte("kafka: {brokers: [x], gruop: y}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		args []string
		code int
		out  string
		last string
	}{
		{[]string{"-config", config, "-replica", "3"}, 0, "parse-dom 3 " + filepath.Join(filepath.Dir(config), "build/data/state/parse-dom") + " forager\n", ""},
		{[]string{"-config", config, "-check"}, 0, "", ""},
		{[]string{"-config", broken, "-check"}, 1, "", ""},
		{[]string{"-config", "/no/such/file"}, 1, "", "/no/such/file"},
		{[]string{"-config", config, "more"}, 2, "", `unexpected argument "more"`},
		{[]string{"-config", config, "-replica", "-1"}, 2, "", "-replica is -1"},
		{[]string{"-no-such-flag"}, 2, "", ""},
		{[]string{"-help"}, 0, "", ""},
	} {
		t.Run(strings.Join(k.args, " "), func(t *testing.T) {
			t.Parallel()
			if code, out, last := launch(t, "tells", k.args...).end(t); code != k.code || out != k.out || !strings.Contains(last, k.last) {
				t.Errorf("exit code %d, wrote %q, and last %q", code, out, last)
			}
		})
	}
}

func TestMetricsEndpoint(t *testing.T) {
	t.Parallel()
	metricsEndpoint(t, pipelineFile(t, "127.0.0.1:0"), false)
	metricsEndpoint(t, pipelineFile(t, "127.0.0.1:0", "profiles: true, "), true)
}

// metricsEndpoint reads metrics, and profiles if the pipeline file enables them.
func metricsEndpoint(t *testing.T, config string, profiles bool) {
	t.Helper()
	p := launch(t, "drains", "-config", config, "-replica", "2")
	lines := bufio.NewScanner(p.stderr)
	var addr string
	for addr == "" && lines.Scan() {
		if m := regexp.MustCompile(`msg=metrics .*address=(\S+)`).FindStringSubmatch(lines.Text()); m != nil {
			addr = m[1]
		}
	}
	resp, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status, err)
	}
	for _, want := range []string{`forager_stage_info{replica="2",stage="parse-dom"} 1`, "process_cpu_seconds_total", "go_goroutines"} {
		if !strings.Contains(string(body), want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
	resp, err = http.Get("http://" + addr + "/debug/pprof/goroutine")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if (resp.StatusCode == http.StatusOK) != profiles {
		t.Errorf("profiles %t: %s", profiles, resp.Status)
	}
	for path, want := range map[string]int{"/livez": http.StatusOK, "/readyz": http.StatusServiceUnavailable} { // the stage joins no group
		resp, err := http.Get("http://" + addr + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %s, want %d", path, resp.Status, want)
		}
	}
	p.line(t, "up")
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code, _, _ := p.end(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestAMetricsAddressInUseIsAnError(t *testing.T) {
	t.Parallel()
	first := launch(t, "drains", "-config", pipelineFile(t, "127.0.0.1:0"))
	first.line(t, "up")
	line, err := bufio.NewReader(first.stderr).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	addr := regexp.MustCompile(`address=(\S+)`).FindStringSubmatch(line)[1]
	code, _, last := launch(t, "drains", "-config", pipelineFile(t, addr)).end(t)
	if code != 1 || !strings.Contains(last, "stages.parse-dom.metrics") {
		t.Errorf("exit code %d, %q", code, last)
	}
	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	first.end(t)
}

func TestEachReplicaHasItsPort(t *testing.T) {
	for _, k := range []struct {
		metrics string
		replica int
		want    string
	}{{"", 4, ""}, {"127.0.0.1:9100", 0, "127.0.0.1:9100"}, {"[::1]:9100", 3, "[::1]:9103"}, {":0", 3, ":0"}} {
		if got, err := pipeline.ReplicaAddress(k.metrics, k.replica); err != nil || got != k.want {
			t.Errorf("%q, replica %d: %q, %v", k.metrics, k.replica, got, err)
		}
	}
	if _, err := pipeline.ReplicaAddress("127.0.0.1:http", 0); err == nil {
		t.Error("a port that is a name was taken")
	}
	if got := new(pipeline.Stages).Common("no-such-stage"); got != (pipeline.Common{}) {
		t.Errorf("a stage that is not in the file: %+v", got)
	}
}
