package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"forager/internal/platform/freeport"
	"forager/internal/platform/pipeline"
)

// TestMain also serves as the program itself.
func TestMain(m *testing.M) {
	if args := os.Getenv("FORAGER_TEST_LOCAL"); args != "" {
		os.Args = append(os.Args[:1], strings.Fields(args)...)
		main()
		return
	}
	os.Exit(m.Run())
}

// address returns a free loopback address.
func address(t *testing.T) string {
	t.Helper()
	addresses, err := freeport.Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	return addresses[0]
}

func writeConfig(t *testing.T, kafka, s3, clickhouse string) string {
	t.Helper()
	var topics strings.Builder
	for _, name := range pipeline.TopicNames() {
		compact := slices.Contains([]string{"crawl.control", "crawl.status", "model.published", "hub.ranked"}, name)
		fmt.Fprintf(&topics, "  %s: {partitions: 1, compact: %t, max_message_bytes: 8388608}\n", name, compact)
	}
	path := filepath.Join(t.TempDir(), "pipeline.yaml")
	text := fmt.Sprintf("data: data\nkafka: {brokers: [%q]}\ns3: {endpoint: %q, access_key: forager, secret_key: forager-secret}\nclickhouse: {url: %q}\nlocal: {memory_bytes: 536870912, clickhouse_bytes: 268435456}\ntopics:\n%s",
		kafka, s3, clickhouse, &topics)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

type program struct {
	*exec.Cmd
	lines *bufio.Scanner
}

func launch(t *testing.T, args ...string) *program {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FORAGER_TEST_LOCAL="+strings.Join(args, " "))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return &program{cmd, bufio.NewScanner(out)}
}

// until reads the program's lines up to last.
func (p *program) until(t *testing.T, last string) (lines []string) {
	t.Helper()
	for p.lines.Scan() {
		lines = append(lines, p.lines.Text())
		if p.lines.Text() == last {
			return lines
		}
	}
	t.Fatalf("the program ended after %q, before it printed %q", lines, last)
	return nil
}

// load reads the pipeline file, with the logins that local generated.
func load(t *testing.T, config string) *pipeline.Config {
	t.Helper()
	cfg, err := pipeline.Load(config)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func get(t *testing.T, config, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	login, err := load(t, config).ClickHouse.Login()
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-ClickHouse-Key", login.Password)
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestServesAndStops(t *testing.T) {
	broker, objects, tables := address(t), address(t), address(t)
	config := writeConfig(t, broker, "http://"+objects, "http://"+tables)
	p := launch(t, "-config", config)
	lines := p.until(t, "ready")
	want := []string{"clickhouse   ready at " + tables, "s3           ready at " + objects, "kafka        ready at " + broker, "ready"}
	if !slices.Equal(lines, want) {
		t.Errorf("it printed %q, want %q", lines, want)
	}
	if code, body := get(t, config, "http://"+tables+"/?query=CREATE+DATABASE+kept"); code != 200 {
		t.Errorf("ClickHouse answers %d %s", code, body)
	}
	if code, body := get(t, config, "http://"+tables+"/?query=SELECT+uniqExact(number)+FROM+numbers(100000000)"); code == 200 || !strings.Contains(body, "Code: 241") || !strings.Contains(body, "maximum: 256.00 MiB") {
		t.Errorf("with local.clickhouse_bytes of 256 MiB, a query that needs more is answered %d %s", code, body)
	}
	second := launch(t, "-config", config)
	if err := second.Wait(); err == nil {
		t.Error("a second program serves the same folder")
	}
	p.Process.Signal(syscall.SIGTERM)
	p.until(t, "stopped")
	if err := p.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	p = launch(t, "-config", config, "-parts", "clickhouse")
	p.until(t, "ready")
	if code, body := get(t, config, "http://"+tables+"/?query=SHOW+CREATE+DATABASE+kept"); code != 200 {
		t.Errorf("after the restart ClickHouse answers %d %s", code, body)
	}
	// A second signal stops it at once, while it waits for a query.
	slow := make(chan struct{})
	go func() {
		defer close(slow)
		login, _ := load(t, config).ClickHouse.Login()
		http.Post("http://"+tables+"/?query=SELECT+sleepEachRow(0.1)+FROM+numbers(600)+SETTINGS+max_block_size%3D1&password="+login.Password, "", nil)
	}()
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		if _, body := get(t, config, "http://"+tables+"/?query=SELECT+count()+FROM+system.processes"); body == "2\n" {
			break
		}
	}
	p.Process.Signal(syscall.SIGTERM)
	for conn, err := net.Dial("tcp", tables); err == nil; conn, err = net.Dial("tcp", tables) {
		conn.Close() // until it is stopping
	}
	p.Process.Signal(syscall.SIGTERM)
	if err := p.Wait(); err == nil || p.ProcessState.ExitCode() != 1 {
		t.Errorf("after two signals: %v", err)
	}
	<-slow
}

func TestChoose(t *testing.T) {
	own := func(change func(*pipeline.Config)) *pipeline.Config {
		c := &pipeline.Config{
			Kafka: pipeline.Kafka{Brokers: []string{"localhost:19092"}},
			S3:    pipeline.S3{Endpoint: "http://127.0.0.1:19000"}, ClickHouse: pipeline.ClickHouse{URL: "http://[::1]:18123", User: "default"},
		}
		change(c)
		return c
	}
	for _, c := range []struct {
		name   string
		change func(*pipeline.Config)
		wanted []string
		served string
		failed string
	}{
		{name: "all", change: func(*pipeline.Config) {}, served: "clickhouse s3 kafka"},
		{name: "some", change: func(*pipeline.Config) {}, wanted: []string{"s3"}, served: "s3"},
		{name: "foreign", change: func(c *pipeline.Config) { c.Kafka.Brokers = []string{"kafka.example:9092"}; c.Kafka.TLS.Enabled = true }, served: "clickhouse s3"},
		{name: "foreign https", change: func(c *pipeline.Config) { c.ClickHouse.URL = "https://ch.example" }, served: "s3 kafka"},
		{name: "none", change: func(c *pipeline.Config) {
			c.Kafka.Brokers, c.S3.Endpoint, c.ClickHouse.URL = []string{"k:1"}, "http://s:1", "http://c:1"
		}, failed: "no loopback address"},
		{name: "unknown", change: func(*pipeline.Config) {}, wanted: []string{"redis"}, failed: `"redis"`},
		{name: "foreign wanted", change: func(c *pipeline.Config) { c.S3.Endpoint = "http://192.0.2.1:9000" }, wanted: []string{"s3"}, failed: "192.0.2.1:9000"},
		{name: "https", change: func(c *pipeline.Config) { c.S3.Endpoint = "https://127.0.0.1:9000" }, failed: "http:// only"},
		{name: "passwords", change: func(c *pipeline.Config) { c.Kafka.SASL.Mechanism = "plain" }, failed: "kafka.sasl"},
		{name: "user", change: func(c *pipeline.Config) { c.ClickHouse.User = "ann" }, failed: "clickhouse.user"},
	} {
		plan, err := choose(own(c.change), c.wanted)
		var served []string
		for _, p := range plan {
			if p.elsewhere == "" {
				served = append(served, p.name)
			}
		}
		if got := strings.Join(served, " "); got != c.served || (err == nil) != (c.failed == "") || err != nil && !strings.Contains(err.Error(), c.failed) {
			t.Errorf("%s: %q, %v; want %q, %q", c.name, got, err, c.served, c.failed)
		}
	}
}

func TestShareOfMemory(t *testing.T) {
	const mib = 1 << 20
	served, elsewhere := []part{{name: "kafka"}, {name: "clickhouse"}}, []part{{name: "kafka"}, {name: "clickhouse", elsewhere: "not asked for"}}
	for _, x := range []struct {
		memory, clickhouse int64
		plan               []part
		want               int64
	}{
		{768 * mib, 384 * mib, served, 192 * mib},
		{768 * mib, 384 * mib, elsewhere, 768 * mib},
		{640 * mib, 384 * mib, served, 64 * mib},
		{512 * mib, 0, served, 512 * mib},
		{0, 384 * mib, served, 0},
	} {
		got, err := share(pipeline.Local{Process: pipeline.Process{MemoryBytes: x.memory}, ClickHouseBytes: x.clickhouse}, x.plan)
		if err != nil || got.MemoryBytes != x.want {
			t.Errorf("of %d next to %d: %d, want %d, %v", x.memory, x.clickhouse, got.MemoryBytes, x.want, err)
		}
	}
	_, err := share(pipeline.Local{Process: pipeline.Process{MemoryBytes: 640*mib - 1}, ClickHouseBytes: 384 * mib}, served)
	if err == nil || !strings.Contains(err.Error(), "local.memory_bytes") || !strings.Contains(err.Error(), fmt.Sprint(640*mib)) {
		t.Errorf("too little: %v", err)
	}
}

func TestRunNamesWhatIsWrong(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	config := writeConfig(t, taken.Addr().String(), "http://"+address(t), "http://"+address(t))
	var told strings.Builder
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-config", "/nowhere/pipeline.yaml"}, "/nowhere/pipeline.yaml"},
		{[]string{"-config", config, "s3"}, `"s3"`},
		{[]string{"-config", config, "-parts", "kafka"}, "kafka.brokers"},
	} {
		told.Reset()
		err := run(context.Background(), c.args, io.Discard, &told)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want it to name %s", c.args, err, c.want)
		}
	}
	if !strings.Contains(told.String(), "s3.access_key") {
		t.Errorf("the warning about published keys is %q", &told)
	}
}
