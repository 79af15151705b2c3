package pipeline

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"forager/internal/platform/strictyaml"
)

const shipped = "../../../pipeline.yaml"

// explicit is a file that has a value for every setting, as shipped files once had.
const explicit = "testdata/explicit.yaml"

func TestShippedFileLoads(t *testing.T) {
	c, err := Load(shipped)
	if err != nil {
		t.Fatal(err)
	}
	want, err := filepath.Abs("../../../build/data")
	if err != nil {
		t.Fatal(err)
	}
	if c.Data != want {
		t.Errorf("data is %s, want it below the file's folder: %s", c.Data, want)
	}
	if c.Stages.Fetch.SegmentAge != 250*time.Millisecond || c.Stages.Prioritize.Replicas != 1 {
		t.Errorf("values not read: %+v", c.Stages)
	}
	if d, problems := parse([]byte(open)); len(problems) > 0 || cmp.Diff(d.Stages, c.Stages) != "" {
		t.Errorf("the shipped stages differ from the defaults: %+v\n%s", problems, cmp.Diff(d.Stages, c.Stages))
	}
}

func TestEveryProblemIsReportedByItsPath(t *testing.T) {
	b, err := os.ReadFile(explicit)
	if err != nil {
		t.Fatal(err)
	}
	s := string(b)
	for _, r := range [][2]string{
		{`brokers: ["127.0.0.1:19092"]`, `brokers: ["nowhere"]`},
		{"  endpoint: http://127.0.0.1:19000\n", ""},
		{"hold: 30s", "hold: soon\n    resolver: localhost:53"},
		{"concurrency: 64", "concurrency: 0\n    speed: 11"},
		{"  crawl.control:   {partitions: 1, compact: true", "  crawl.control:   {partitions: 3, compact: false"},
		{"  dead.letter:     {partitions: 1", "  dead.letters: {partitions: 0"},
		{"bucket: forager", "bucket:"},
		{"file_age: 1m, memory_bytes: 268435456", "file_age: 1m, memory_bytes: 100000000"},
		{"data: build/data", "data: build/data\ndata: twice"},
	} {
		if !strings.Contains(s, r[0]) {
			t.Fatalf("the shipped file has no %q", r[0])
		}
		s = strings.Replace(s, r[0], r[1], 1)
	}
	path := filepath.Join(t.TempDir(), "pipeline.yaml")
	if err := os.WriteFile(path, []byte(s), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = Load(path)
	var e *strictyaml.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v", err)
	}
	got := make(map[string]bool)
	for _, p := range e.Problems {
		got[p.Path] = true
		if !strings.Contains(err.Error(), p.Path) {
			t.Errorf("%s is not in the message", p.Path)
		}
	}
	want := map[string]bool{
		"kafka.brokers": true, "s3.endpoint": true, "stages.fetch.hold": true,
		"stages.fetch.concurrency": true, "stages.fetch.speed": true, "stages.fetch.resolver": true,
		"topics.crawl.control.partitions": true, "topics.crawl.control.compact": true,
		"topics.dead.letters": true, "s3.bucket": true, "data": true,
		"stages.archive-parquet.memory_bytes": true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths reported (-want +got):\n%s\n%v", diff, err)
	}
}

func TestMissingFileAndForeignFile(t *testing.T) {
	if _, err := Load(filepath.Join(t.TempDir(), "none.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	for _, s := range []string{"\x00\x01", "- a\n- b", "a: [", "just words"} {
		path := filepath.Join(t.TempDir(), "p.yaml")
		if err := os.WriteFile(path, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
		var e *strictyaml.Error
		if _, err := Load(path); !errors.As(err, &e) || len(e.Problems) == 0 {
			t.Errorf("%q: error %v", s, err)
		}
	}
}

func TestKeysComeFromTheEnvironment(t *testing.T) {
	t.Setenv("FORAGER_TEST_KEY", "k")
	s := S3{AccessKey: "a", SecretKey: "b", AccessKeyEnv: "FORAGER_TEST_KEY"}
	l, err := s.Login()
	if err != nil || l != (Login{User: "k", Password: "b"}) {
		t.Errorf("%+v %v", l, err)
	}
	s.SecretKeyEnv = "FORAGER_TEST_NOT_SET"
	if _, err := s.Login(); err == nil || !strings.Contains(err.Error(), "FORAGER_TEST_NOT_SET") {
		t.Errorf("error %v does not name the variable", err)
	}
}

func FuzzParse(f *testing.F) {
	b, err := os.ReadFile(shipped)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	if b, err = os.ReadFile(explicit); err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte("data: &a [*a]"))
	f.Add([]byte("topics: {x: {partitions: 1e9}}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, problems := parse(b); len(problems) == 0 {
			c.Write(io.Discard, true)
		}
	})
}

func TestAllowPrivateIsAList(t *testing.T) {
	for value, want := range map[string]string{
		"[10.1.0.0/16, 127.0.0.1, '::1', intranet.example]": "", "[]": "",
		"true": "a list of networks and hosts", "false": "a list of networks and hosts", "10.0.0.0/8": "a list of networks and hosts",
		"[10.0.0.0/33]": `"10.0.0.0/33"`, "['http://a.test/']": "neither a network", "[300.1.2.3]": "neither a network", "[Ä.test]": "xn--",
	} {
		_, problems := parse([]byte("stages: {fetch: {allow_private: " + value + "}}"))
		var got string
		for _, p := range problems {
			if p.Path == "stages.fetch.allow_private" {
				got = p.Message
			}
		}
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
}

func TestWebhooksAreChecked(t *testing.T) {
	for value, want := range map[string]string{
		"[]": "", "[{url: 'https://h.test/x'}]": "", "[{url: 'http://h.test', harvest_below: 1}]": "",
		"[{url: 'http://h.test', events: [harvest-below, finished], harvest_below: 0.2, secret_env: S}]": "",
		"[{}]": "1.url: is missing", "[{url: h.test}]": "1.url: \"h.test\" is not", "[{url: 'http://h.test'}, {url: 'http://u:p@h.test'}]": "2.url: has a user",
		"[{url: 'http://h.test', events: [ended]}]":    "1.events: \"ended\" is not one of finished, stalled",
		"[{url: 'http://h.test', crawls: '[a'}]":       "1.crawls: \"[a\" is not a pattern",
		"[{url: 'http://h.test', harvest_below: 1.5}]": "1.harvest_below: is 1.5", "[{url: 'http://h.test', harvest_below: .nan}]": "1.harvest_below: is NaN",
		"[{url: 'http://h.test', events: [harvest-below]}]":                "1.harvest_below: belongs together",
		"[{url: 'http://h.test', events: [finished], harvest_below: 0.1}]": "1.harvest_below: belongs together",
		"[{url: 'http://h.test', secret: a, secret_file: b}]":              "1.secret: give one", "[{url: 'http://h.test', secrets: a}]": "1.secrets: unknown field",
		"[" + strings.Repeat("{url: 'http://h.test'},", 17) + "]": "has 17 receivers", "true": "is not a list of receivers",
	} {
		_, problems := parse([]byte(open + "stages: {monitor: {webhooks: " + value + "}}"))
		var got []string
		for _, p := range problems {
			got = append(got, strings.TrimPrefix(p.Path, "stages.monitor.webhooks.")+": "+p.Message)
		}
		if (want == "") != (got == nil) || len(got) > 1 || !strings.Contains(strings.Join(got, ""), want) {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
}

// TestSecretsOfWebhooks come from the file or the environment as they are now; a file without one, or too large, is an error that does not
// show it.
func TestSecretsOfWebhooks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	w := Webhook{SecretFile: path}
	for content, want := range map[string]string{" s1\n": "s1", "s2": "s2", "\n": "", strings.Repeat("s", 5000): ""} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := w.Key(); got != want && err == nil || (err != nil) != (want == "") || err != nil && (strings.Contains(err.Error(), "sss") || !strings.Contains(err.Error(), path)) {
			t.Errorf("%.10q: %.10q, %v", content, got, err)
		}
	}
	t.Setenv("FORAGER_TEST_KEY", "k")
	if got, err := (&Webhook{SecretEnv: "FORAGER_TEST_KEY"}).Key(); got != "k" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := (&Webhook{Secret: "inline"}).Key(); got != "inline" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestServices(t *testing.T) {
	c := defaults()
	c.Kafka.Brokers = []string{"127.0.0.1:19092", "k.example:9093"}
	c.S3.Endpoint, c.ClickHouse.URL = "https://s3.example", "http://[::1]:18123"
	c.Local.Metrics, c.Stages.Fetch.Metrics, c.Stages.Fetch.Replicas, c.Stages.Fetch.Proxy = ":9100", "0.0.0.0:9101", 2, "http://127.0.0.1:18080"
	c.Stages.Fetch.Resolver, c.Stages.Prioritize.Address = "127.0.0.1:53", "p.example:9100"
	c.Stages.Monitor.Address, c.Stages.Monitor.Replicas, c.Stages.Monitor.TLSCert = "m.example:8443", 2, "cert.pem"
	want := []Service{
		{"0.0.0.0:9101", false}, {"0.0.0.0:9102", false}, {"127.0.0.1:18080", false}, {"127.0.0.1:19092", false}, {"127.0.0.1:53", false}, {":9100", false},
		{"[::1]:18123", false}, {"k.example:9093", false}, {"m.example:8443", true}, {"m.example:8444", true}, {"p.example:9100", false}, {"s3.example:443", true},
	}
	if diff := cmp.Diff(want, c.Services()); diff != "" {
		t.Error(diff)
	}
}

// TestTheMonitorBeyondLoopback needs a token and TLS; on loopback a token is generated, once.
func TestTheMonitorBeyondLoopback(t *testing.T) {
	const file = "data: d\nkafka: {brokers: ['127.0.0.1:1']}\ns3: {endpoint: 'http://127.0.0.1:2', bucket: b}\nclickhouse: {url: 'http://127.0.0.1:3'}\nstages: {monitor: {%s}}\n"
	for settings, problems := range map[string][]string{
		"": nil, "address: 'localhost:8'": nil, "address: '[::1]:8'": nil,
		"address: '0.0.0.0:8'":                                          {"tls_cert", "tls_key", "token_env"},
		"address: '192.0.2.1:8', token_env: T, tls_cert: c":             {"tls_cert", "tls_key"},
		"address: ':8'":                                                 {"address"},
		"address: 'h.example:8', token_env: T, tls_cert: c, tls_key: k": nil,
	} {
		_, found := parse(fmt.Appendf(nil, file, settings))
		var got []string
		for _, p := range found {
			got = append(got, strings.TrimPrefix(p.Path, "stages.monitor."))
		}
		slices.Sort(got)
		if !slices.Equal(got, problems) {
			t.Errorf("%s: problems %v, want %v", settings, found, problems)
		}
	}
	cfg := &Config{Data: t.TempDir()}
	first, err := cfg.Token()
	again, errAgain := cfg.Token()
	if err != nil || errAgain != nil || first != again || len(first) < minToken {
		t.Errorf("tokens %q and %q, %v, %v", first, again, err, errAgain)
	}
}
