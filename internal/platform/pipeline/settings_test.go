package pipeline

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"forager/internal/platform/strictyaml"
)

var update = flag.Bool("update", false, "write docs/settings.md")

// The shipped file has what an operator decides, and no more.
func TestShippedFileIsShort(t *testing.T) {
	b, err := os.ReadFile(shipped)
	if err != nil {
		t.Fatal(err)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(b, &root); err != nil {
		t.Fatal(err)
	}
	if n := values(root.Content[0]); n > 30 {
		t.Errorf("%d values", n)
	}
}

func values(n *yaml.Node) int {
	if n.Kind != yaml.MappingNode {
		return 1
	}
	sum := 0
	for i := 1; i < len(n.Content); i += 2 {
		sum += values(n.Content[i])
	}
	return sum
}

// The shipped file has the same effect as that of earlier versions, which has a value for every setting.
func TestEarlierFileHasTheSameEffect(t *testing.T) {
	before, err := Load(explicit)
	if err != nil {
		t.Fatal(err)
	}
	after, err := Load(shipped)
	if err != nil {
		t.Fatal(err)
	}
	opts := cmp.Options{
		cmpopts.IgnoreUnexported(Config{}, Kafka{}, S3{}, ClickHouse{}), cmpopts.IgnoreFields(Config{}, "Data", "Memory"),
	}
	if diff := cmp.Diff(before, after, opts); diff != "" {
		t.Error(diff)
	}
}

func TestEverySettingIsExplained(t *testing.T) {
	_, problems := parse([]byte("kafka: {brokers: ['127.0.0.1:1']}\ns3: {endpoint: http://127.0.0.1:2}\nclickhouse: {url: http://127.0.0.1:3}\n"))
	if len(problems) > 0 {
		t.Fatalf("the defaults are refused: %+v", problems)
	}
	for _, s := range defaults().Settings() {
		if s.Help == "" {
			t.Errorf("%s has no explanation", s.Path)
		}
	}
}

// What Write prints has the same effect, with and without explanations, apart from secrets.
func TestWrittenConfigurationLoads(t *testing.T) {
	for _, text := range []string{
		"", "memory: 3GiB\n", "memory: 20GiB\nstages: {prioritize: {replicas: 4}, distill: {replicas: 0}}\n",
		"stages: {fetch: {proxy: 'http://127.0.0.1:8080', resolver: '[::1]:53', allow_private: [10.0.0.0/8, a.test]}}\ntopics: {page.judged: {partitions: 7, retention: 90m}}\n",
		"data: '#x: \"y'\n", "data: 'true'\n", "data: \"a\\nb\"\n",
	} {
		want, problems := parse([]byte(open + text))
		if len(problems) > 0 {
			t.Fatalf("%s: %+v", text, problems)
		}
		for _, explain := range []bool{false, true} {
			var b bytes.Buffer
			want.Write(&b, explain)
			got, problems := parse(b.Bytes())
			if len(problems) > 0 {
				t.Fatalf("%s: %+v\n%s", text, problems, &b)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(Config{}, Kafka{}, S3{}, ClickHouse{})); diff != "" {
				t.Errorf("%s: %s", text, diff)
			}
		}
	}
}

// open and addresses are the required settings, without and with secrets.
const open = "kafka: {brokers: ['127.0.0.1:1']}\ns3: {endpoint: 'http://127.0.0.1:2'}\nclickhouse: {url: 'http://127.0.0.1:3'}\n"

const addresses = "kafka: {brokers: ['127.0.0.1:1']}\ns3: {endpoint: 'http://127.0.0.1:2', secret_key: hunter2, access_key: hunter3}\nclickhouse: {url: 'http://u:hunter4@127.0.0.1:3'}\n"

func TestSecretsAreHidden(t *testing.T) {
	c, problems := parse([]byte(addresses + "stages: {fetch: {proxy: 'http://me:hunter5@127.0.0.1:8080'}, monitor: {webhooks: [{url: 'http://h.test', secret: hunter6}]}}\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var b bytes.Buffer
	c.Write(&b, true)
	if strings.Contains(b.String(), "hunter") || strings.Count(b.String(), "hidden") != 5 || c.Stages.Monitor.Webhooks[0].Secret != "hunter6" {
		t.Errorf("%s", &b)
	}
}

func TestSettingsPage(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("# Settings\n\nAll settings of `pipeline.yaml`. `forager config --all` prints them with the values in effect. This page is generated from the\n" +
		"tags in `internal/platform/pipeline` (`go test ./internal/platform/pipeline -run TestSettingsPage -update`).\n\n")
	b.WriteString("## Memory\n\n`memory` is divided among the processes on this machine. A budget between the sum of the least and the sum of the normal\n" +
		"values (each times its replicas) gives every process its least value and, of the rest, a share in proportion to normal − least. A larger\n" +
		"budget gives every process its normal value, and divides the rest by growth. A process with `memory_bytes` in the file has that;\n" +
		"the others share what is left. Without `memory`, each process has its normal value.\n\n| process | least | normal | growth |\n|---|---|---|---|\n")
	for _, p := range new(Config).processes() {
		fmt.Fprintf(&b, "| %s | %dMiB | %dMiB | %d |\n", strings.TrimPrefix(p.path, "stages."), p.least, p.normal, p.growth)
	}
	b.WriteString("\nWithout the embedded ClickHouse, local has 64MiB, 192MiB and 0.\n\n## All settings\n\n| setting | default | range | |\n|---|---|---|---|\n")
	for _, s := range defaults().Settings() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", s.Path, s.Default, s.Range, s.Help)
	}
	const page = "../../../docs/settings.md"
	if *update {
		if err := os.WriteFile(page, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil || !bytes.Equal(got, b.Bytes()) {
		t.Errorf("%s is not the generated one; write it with -update: %v", page, err)
	}
}

// For every budget and number of replicas the division stays within the budget and above the least values; a budget that is too
// small is refused with the number that is enough.
func TestMemoryIsDivided(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stages strings.Builder
		for _, s := range new(Stages).all() {
			fmt.Fprintf(&stages, "  %s: {replicas: %d", s.name, rapid.IntRange(0, 5).Draw(t, s.name))
			if rapid.IntRange(0, 4).Draw(t, "explicit") == 0 {
				fmt.Fprintf(&stages, ", memory_bytes: %d", rapid.Int64Range(300<<20, 4<<30).Draw(t, "bytes"))
			}
			stages.WriteString("}\n")
		}
		text := addresses
		if rapid.Bool().Draw(t, "other ClickHouse") {
			text = strings.Replace(text, "127.0.0.1:3", "ch.example:3", 1)
		}
		load := func(budget string) (*Config, []strictyaml.Problem) {
			return parse([]byte(text + "memory: " + budget + "\nstages:\n" + stages.String()))
		}
		budget := rapid.Int64Range(1, 200<<30).Draw(t, "budget")
		c, problems := load(fmt.Sprint(budget))
		if len(problems) > 0 {
			if len(problems) != 1 || problems[0].Path != "memory" {
				t.Fatalf("%+v", problems)
			}
			_, rest, _ := strings.Cut(problems[0].Message, "; ")
			needed, _, _ := strings.Cut(rest, " ")
			if c, problems = load(needed); len(problems) > 0 || c.Memory <= budget {
				t.Fatalf("%d is refused: %s is too: %+v", budget, needed, problems)
			}
			// 2 MiB less is too little: the message rounds up once.
			if _, problems := load(fmt.Sprint(c.Memory - 2<<20)); len(problems) == 0 {
				t.Fatalf("less than %s is enough", needed)
			}
			budget = c.Memory
		}
		var sum int64
		for _, s := range c.shares {
			sum += int64(s.Replicas) * s.MemoryBytes
			if s.MemoryBytes < s.Least {
				t.Fatalf("%+v", s)
			}
		}
		if sum > budget || sum == 0 {
			t.Fatalf("%d of %d are divided", sum, budget)
		}
	})
}

func TestNormalBudget(t *testing.T) {
	normal, problems := parse([]byte(addresses))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	same, problems := parse([]byte(addresses + "memory: 4736MiB"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if diff := cmp.Diff(normal.shares, same.shares); diff != "" || normal.Stages.Prioritize.FrontierBytes != 160<<20 || normal.Local.ClickHouseBytes != 384<<20 {
		t.Errorf("%s %+v", diff, normal)
	}
}

// A memory_bytes of 0 is no limit, which no budget can bound.
func TestUnlimitedProcessContradictsBudget(t *testing.T) {
	_, problems := parse([]byte(addresses + "memory: 8GiB\nstages: {fetch: {memory_bytes: 0}}"))
	if len(problems) != 1 || problems[0].Path != "stages.fetch.memory_bytes" {
		t.Errorf("%+v", problems)
	}
}

// A topic needs only what differs from its defaults.
func TestTopicsHaveDefaults(t *testing.T) {
	c, problems := parse([]byte(addresses[:len("kafka: {")] + "partitions: 6, " + addresses[len("kafka: {"):] + "topics: {page.judged: {partitions: 2}, dead.letter: {retention: 1h}}"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for name, want := range map[string]Topic{
		"page.judged": {Partitions: 2, Retention: 24 * 3600e9, MaxMessageBytes: 4 << 20},
		"page.parsed": {Partitions: 6, Retention: 24 * 3600e9, MaxMessageBytes: 4 << 20},
		"dead.letter": {Partitions: 1, Retention: 3600e9, MaxMessageBytes: 8 << 20},
	} {
		if diff := cmp.Diff(want, c.Topics[name]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestOverriddenSettings(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "p.yaml")
	if err := os.WriteFile(path, []byte(addresses), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path, "stages.fetch.concurrency=8", "topics.page.judged.partitions=9", "memory=3GiB")
	if err != nil || c.Stages.Fetch.Concurrency != 8 || c.Topics["page.judged"].Partitions != 9 || c.Memory != 3<<30 {
		t.Errorf("%+v %v", c, err)
	}
	for _, wrong := range []string{"", "=1", "x", "stages.fetch.speed=1", "stages.fetch=1", "memory=lots"} {
		if _, err := Load(path, wrong); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}
