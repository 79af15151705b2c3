package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"forager/cmd/forager/deploy"
	"forager/cmd/internal/cli"
	"forager/infra/simweb"
	"forager/internal/lab/experiment/worldtest"
	"forager/internal/platform/pipeline"
)

// readme returns the code blocks of a language in the README and then in docs/OPERATIONS.md, in order.
func readme(t testing.TB, language string) []string {
	t.Helper()
	var blocks []string
	for _, path := range []string{"../../../README.md", "../../../docs/OPERATIONS.md"} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(b), -1) {
			blocks = append(blocks, m[1])
		}
	}
	return blocks
}

// smallWeb writes tasks.json.gz and the web that it names into a folder.
func smallWeb(t *testing.T, dir string) {
	w := worldtest.Random(5, 60)
	w.Seeds = append(w.Seeds, w.Seeds...)
	from := w.Write(t)
	for _, name := range []string{"web.warc.gz", "web.labels.tsv", "tasks.json"} {
		b, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		to := strings.Replace(name, "web.", "small.", 1)
		if name == "tasks.json" {
			var z bytes.Buffer
			packed := gzip.NewWriter(&z)
			packed.Write(bytes.ReplaceAll(b, []byte("web.warc.gz"), []byte("small.warc.gz")))
			packed.Close()
			b, to = z.Bytes(), "tasks.json.gz"
		}
		if err := os.WriteFile(filepath.Join(dir, to), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestREADME runs the commands of the README and of docs/OPERATIONS.md on a synthetic web: its seed, topic and examples take
// the place of those of the README, nothing else is changed.
func TestREADME(t *testing.T) {
	t.Parallel()
	env, web := simulated(t)
	r := newRig(t, env.Handler)
	topic := env.Topic

	// The examples: pages of another web about the same topics.
	other, err := simweb.New(simweb.Default(3))
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for _, name := range other.Topics() {
		for _, url := range other.Examples(name, 40) {
			html, _, _ := other.Page(url)
			b, err := json.Marshal(map[string]any{"url": url, "topics": []string{name}, "html": html})
			if err != nil {
				t.Fatal(err)
			}
			lines.Write(append(b, '\n'))
		}
	}
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("examples.jsonl", lines.String())
	files := readme(t, "yaml")
	if len(files) != 2 || !strings.HasPrefix(files[0], "# chemistry.yaml") {
		t.Fatalf("README and OPERATIONS have %d YAML blocks", len(files))
	}
	write("pipeline-webhooks.yaml", "kafka: {brokers: ['h:1']}\ns3: {endpoint: 'http://h:2'}\nclickhouse: {url: 'http://h:3'}\n"+files[1])
	if cfg, err := pipeline.Load(filepath.Join(r.dir, "pipeline-webhooks.yaml")); err != nil || len(cfg.Stages.Monitor.Webhooks) != 2 {
		t.Errorf("the settings of OPERATIONS: %v", err)
	}
	seeds := web.Examples(topic, 2)
	write("chemistry.yaml", strings.NewReplacer(
		"Science/Chemistry", topic, "https://example.org/chemistry/", seeds[0],
		"pages: 3000", "pages: 60", "delay: 1s", "delay: 20ms",
	).Replace(files[0]))
	if err := os.MkdirAll(filepath.Join(r.dir, "pages", topic), 0o755); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join("pages", topic, "page.html"), "<title>A page of one's own</title><p>with a few words")
	write("list.urls", "["+topic+"]\n"+strings.Join(web.Examples(topic, 12)[10:], "\n"))
	rules := readme(t, "rules")
	if len(rules) != 1 {
		t.Fatalf("the README has %d blocks of rules", len(rules))
	}
	topics := strings.NewReplacer("Science/Chemistry", topic, "Science/Physics", web.Topics()[0])
	write("physics.rules", topics.Replace(rules[0]))
	write("likes.txt", strings.Join(web.Examples(topic, 10), "\n"))
	// The other crawl is slow enough to be changed while it runs.
	write("physics.yaml", strings.NewReplacer(
		"name: chemistry", "name: physics", "Science/Chemistry", topic, "https://example.org/chemistry/", seeds[0],
		"pages: 3000", "pages: 120",
	).Replace(files[0]))

	write("plan.yaml", "name: few\ntasks: [tasks.json.gz]\ndraws: {count: 2}\nrankers: [soft-focus, apprentice, random, oracle]\n")
	smallWeb(t, r.dir)

	var script strings.Builder
	script.WriteString("set -eu -o pipefail\n")
	ran := 0
	for _, block := range readme(t, "sh") {
		for _, line := range strings.Split(strings.TrimSpace(block), "\n") {
			line, _, _ = strings.Cut(line, " #")
			line = topics.Replace(line)
			line = strings.NewReplacer("https://example.org/physics/", seeds[1], "https://example.org/acids/", seeds[0], "https://example.org/chemistry/", seeds[0],
				"--like-file likes.txt", "--like-file likes.txt --delay 20ms --pages 110 --background 30",
				"list.urls examples.jsonl", "list.urls examples.jsonl --delay 20ms", "propose likes.txt", "propose likes.txt --delay 20ms").Replace(line)
			switch line = strings.TrimSpace(line); {
			case line == "make build", strings.HasPrefix(line, "make demo"):
				// The build is done; the demo has a target of its own.
			case strings.HasPrefix(line, "forager serve-web"):
				// The pages that the crawl stored are a web, too: served until it has printed its address.
				script.WriteString("cp \"$(ls data/local/s3/objects/forager/segments/*/*.warc.gz | head -1)\" web.warc.gz\n" +
					line + " > served.txt & web=$!\nfor i in $(seq 100); do [ -s served.txt ] && break; sleep 0.1; done\n" +
					"kill $web; [ -s served.txt ] && [ -s web.urls ]\n")
				ran++
			case strings.HasPrefix(line, "export PATH"):
				script.WriteString("export PATH=\"" + bin(t) + ":$PATH\"\n")
			case strings.HasPrefix(line, "forager models list "):
				// Training may be behind a crawl that has just ended.
				script.WriteString("for i in $(seq 300); do " + line + " | grep -q \"^no models\" || break; sleep 0.1; done\n")
				fallthrough
			default:
				script.WriteString("echo \"\\$ " + strings.ReplaceAll(line, "\"", "\\\"") + "\"\n" + line + "\n")
				ran++
			}
		}
	}
	if ran < 20 {
		t.Fatalf("only %d commands in the README", ran)
	}
	cmd := exec.CommandContext(r.s, "bash", "-c", script.String())
	cmd.Dir = r.dir
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	// What up started is in the list that the rig stops.
	if p, listErr := deploy.OpenProcesses(r.cfg.Data); listErr == nil {
		r.stack.Processes = p
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"10 pages that are on topic, ", "acids has finished: pages budget spent", "1 pages marked for critic acids", "1 marked as wrong",
		"has finished: pages budget spent; 60 pages", fmt.Sprintf("stopped %d processes", 1+len(cli.Programs)), "delivered",
		"physics: paused", "1 seeds for physics", "physics: running", "physics has finished: pages budget spent; 120 pages",
		" examples of ", "BEFORE: ", "AFTER, ", "chosen: --minimum ", "chosen: --model ", "focus: [" + topic, "LOG ODDS", "no dead letters", "0 requests are to be tried again", " in physics.warc.gz", "120 pages of physics in physics.jsonl.gz",
		"tiny, access seeds: tasks 1, draws 4", "tiny, access seeds: tasks 1, draws 2", "bit for bit the model that live training published", "published as models/apprentice/chemistry/60-", "physics is deleted: ",
		" targets\nLAYER ", "context-graph of ", "published near/",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in what was printed", want)
		}
	}
}

// TestREADMENamesEveryStage keeps the README's table and picture complete.
func TestREADMENamesEveryStage(t *testing.T) {
	b, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, stage := range cli.StageNames {
		if strings.Count(string(b), stage) < 2 {
			t.Errorf("the README names %s less than twice", stage)
		}
	}
}
