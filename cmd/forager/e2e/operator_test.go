package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/cmd/forager/demo"
	"forager/cmd/forager/deploy"
	"forager/cmd/forager/root"
	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/cmd/internal/models"
	"forager/infra/simweb"
	"forager/internal/platform/objects"
	"forager/internal/stream"
	"forager/internal/web/warc"
	"forager/schemas"
	tables "forager/schemas/clickhouse"
)

// file writes a file into the rig's folder and returns its path.
func (r *rig) file(name, content string) string {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// fails runs the command, which must fail with the code, print all of want to stderr, and print no stack. It
// takes seconds; the limit of a minute allows for a busy machine and is less than the waits of commands that
// wait.
func (r *rig) fails(t *testing.T, code int, args []string, want ...string) {
	t.Helper()
	begun := time.Now()
	stdout, stderr, got := r.run(args...)
	printed := stdout + stderr
	if got != code {
		t.Errorf("forager %s: exit %d, want %d:\n%s", strings.Join(args, " "), got, code, printed)
	}
	for _, w := range want {
		if !strings.Contains(printed, w) {
			t.Errorf("forager %s: does not contain %q:\n%s", strings.Join(args, " "), w, printed)
		}
	}
	if strings.Contains(printed, "goroutine ") || !strings.Contains(stderr, "forager: ") {
		t.Errorf("forager %s: not an error message:\n%s", strings.Join(args, " "), printed)
	}
	if d := time.Since(begun); d > time.Minute {
		t.Errorf("forager %s: took %s to fail", strings.Join(args, " "), d)
	}
}

// examples of two topics that are large enough and one that is not.
func smallExamples() string {
	var b strings.Builder
	for topic, n := range map[string]int{"Science/Physics": 12, "Science/Alchemy": 3, "Arts/Music": 12} {
		for i := range n {
			fmt.Fprintf(&b, "{\"url\":\"http://examples.test/%s/%d\",\"topics\":[%q],\"text\":\"%s words %d of the page\"}\n", topic, i, topic, topic, i)
		}
	}
	return b.String()
}

func crawlFile(name, critic, focus, seed string, more ...string) string {
	return fmt.Sprintf("name: %s\ncritic: %s\nfocus: [%s]\nseeds: [%q]\nbudget: {pages: 60}\nranker: soft-focus\n"+
		"politeness: {delay: 0s, contact: you@example.org}\nhost_window: 4\n%s", name, critic, focus, seed, strings.Join(more, "\n"))
}

// TestOperator uses the command as an operator does, mostly when something is wrong. The subtests share one
// rig, and each starts from the state that the previous ones left.
func TestOperator(t *testing.T) {
	t.Parallel()
	g, _ := simulated(t)
	r := newRig(t, withListed(g.Handler))
	for _, c := range []struct {
		name string
		test func(t *testing.T)
	}{
		{"usage", r.testUsage},
		{"bad pipeline file", r.testBadPipeline},
		{"parts away", r.testPartsAway},
		{"parts without topics", r.testPartsOnly},
		{"setup", r.testSetup},
		{"critic train", r.testCriticTrain},
		{"critic evaluate", r.testCriticEvaluate},
		{"no crawls", r.testNoCrawls},
		{"crawl start refuses", func(t *testing.T) { r.testCrawlStart(t, g) }},
		{"no stages", func(t *testing.T) { r.testNoStages(t, g) }},
		{"two operators", r.testTwoOperators},
		{"garbage on page.fetched", func(t *testing.T) { r.testGarbage(t, g) }},
		{"up twice", r.testUpTwice},
		{"dead letters", func(t *testing.T) { r.testDead(t, g) }},
		{"critic that cannot be read", func(t *testing.T) { r.testHalfCritic(t, g) }},
		{"a small crawl", func(t *testing.T) { r.testSmallCrawl(t, g) }},
		{"queries", r.testQueries},
		{"serve-web", r.testServeWeb},
		{"export", r.testExport},
		{"rejudge", func(t *testing.T) { r.testRejudge(t, g) }},
		{"critic explain", r.testCriticExplain},
		{"a list of URLs", r.testFetchList},
		{"completion", r.testComplete},
		{"crawl stop", func(t *testing.T) { r.testStop(t, g) }},
	} {
		if !r.step(t, c.name, c.test) {
			break // the next ones need its state
		}
		if c.name == "setup" {
			r.parts() // opens the books, for all later ones
		}
	}
}

func (r *rig) testUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"harvest", "unexpected argument harvest"},
		{"setup --force", "unknown flag --force"},
		{"crawl", "expected one of"},
		{"crawl start", "<file>"},
		{"crawl start nowhere.yaml", "nowhere.yaml: no such file"},
		{"serve-web nowhere.warc.gz", "nowhere.warc.gz: no such file"},
		{"critic train nowhere.jsonl --name x", "nowhere.jsonl: no such file"},
		{"critic train " + r.path, "--name"},
		{"critic train " + r.path + " --name Schools", `"Schools" is not a name`},
		{"query", "give a query"},
		{"query --example loss", "give --crawl NAME"},
		{"query --example nothing --crawl x", "forager query --list"},
		{"query --example harvest --crawl x", "leave the crawl out"},
		{"dead list --stage harvest", `"harvest" is none of fetch, `},
		{"crawl stop x --wait soon", "--wait"},
	} {
		r.fails(t, cli.ExitUsage, strings.Fields(c.args), c.want)
	}
	var out, errs bytes.Buffer
	for _, args := range [][]string{nil, {"--help"}, {"crawl", "start", "--help"}, {"query", "--list"}} {
		out.Reset()
		if code := root.Run(r.s, args, &out, &errs); code != cli.ExitOK || out.Len() == 0 {
			t.Errorf("forager %v: exit %d, printed %q %q", args, code, &out, &errs)
		}
	}
}

func (r *rig) testBadPipeline(t *testing.T) {
	good, err := os.ReadFile(r.path)
	if err != nil {
		t.Fatal(err)
	}
	bad := r.file("bad.yaml", strings.NewReplacer("hold: 30s", "hold: soon", "partitions: 1\n", "partitions: 0\n", "bucket: forager", "bucked: forager", "endpoint: http", "endpoynt: http").Replace(string(good)))
	for _, command := range []string{"setup", "up", "crawl status", "query SHOW", "doctor"} {
		args := append(strings.Fields(command), "--config", bad)
		r.fails(t, cli.ExitFailure, args, bad, "stages.fetch.hold", "topics.crawl.control.partitions", "s3.bucked", "s3.endpoint: is missing")
	}
	old := r.file("old.yaml", strings.Replace(string(good), "bucket: forager", "bucket: forager\n    access_key: forager\n    secret_key: forager-secret", 1))
	r.fails(t, cli.ExitFailure, []string{"up", "--config", old, "--bin", r.dir}, "s3.access_key")
	r.fails(t, cli.ExitFailure, []string{"setup", "--config", filepath.Join(r.dir, "none.yaml")}, "none.yaml", "no such file")
	r.fails(t, cli.ExitFailure, []string{"setup", "--config", r.file("no.yaml", "{")}, "no.yaml", "not YAML")
}

func (r *rig) testPartsAway(t *testing.T) {
	r.fails(t, cli.ExitFailure, []string{"doctor", "--timeout", "500ms"},
		"kafka.brokers", "correct s3.*", "correct clickhouse.*", "forager up --parts", "3 of 7 checks failed")
	r.fails(t, cli.ExitFailure, []string{"crawl", "status", "--within", "500ms"}, "forager up", "forager doctor", r.cfg.Kafka.Brokers[0])
	r.fails(t, cli.ExitFailure, []string{"setup", "--timeout", "500ms"}, "forager up --parts")
	r.fails(t, cli.ExitFailure, []string{"query", "SELECT 1"}, "forager up")
	if out := r.mustRun("down"); out != "stopped 0 processes\n" {
		t.Errorf("down when nothing runs: %q", out)
	}
}

// doctor returns the findings by their subjects.
func (r *rig) doctor(t *testing.T, code int) map[string]deploy.Finding {
	t.Helper()
	stdout, stderr, got := r.run("--json", "doctor")
	var list []deploy.Finding
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || got != code {
		t.Fatalf("doctor --json: exit %d, want %d; %v\n%s%s", got, code, err, stdout, stderr)
	}
	byName := make(map[string]deploy.Finding)
	for _, f := range list {
		byName[f.What] = f
	}
	return byName
}

// again reads the list of processes, which commands have changed.
func (r *rig) again(t *testing.T) []deploy.Process {
	t.Helper()
	p, err := deploy.OpenProcesses(r.cfg.Data)
	if err != nil {
		t.Fatal(err)
	}
	r.stack.Processes = p
	return byName(r.stack)
}

// byName returns the processes, sorted by name.
func byName(s *deploy.Stack) []deploy.Process {
	return slices.SortedFunc(slices.Values(s.Processes.List), func(a, b deploy.Process) int { return strings.Compare(a.Name, b.Name) })
}

func (r *rig) testPartsOnly(t *testing.T) {
	r.mustRun("up", "--parts", "--bin", bin(t))
	first := r.again(t)
	r.mustRun("up", "--parts", "--bin", bin(t))
	if second := r.again(t); len(first) != 1 || !slices.Equal(first, second) {
		t.Errorf("up --parts twice: %v, then %v", first, second)
	}
	found := r.doctor(t, cli.ExitFailure)
	if f := found["topics"]; f.OK || !strings.Contains(f.Detail, "page.parsed is missing") || !strings.Contains(f.Fix, "forager setup") {
		t.Errorf("doctor on topics before setup: %+v", f)
	}
	if !found["kafka"].OK || found["s3"].OK || found["clickhouse"].OK {
		t.Errorf("doctor before setup: %+v", found)
	}
	r.fails(t, cli.ExitFailure, []string{"crawl", "status", "--within", "500ms"}, "crawl.control", "forager doctor")
}

func (r *rig) testSetup(t *testing.T) {
	first := r.mustRun("setup")
	if second := r.mustRun("setup"); second != first {
		t.Errorf("setup printed %q, then %q", first, second)
	}
	for name, f := range r.doctor(t, cli.ExitOK) {
		if !f.OK || f.Fix != "" {
			t.Errorf("doctor after setup: %s: %+v", name, f)
		}
	}
	// A file with other settings for page.parsed: reported, not applied.
	good, err := os.ReadFile(r.path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(good, []byte("page.parsed:"))
	other := r.file("other.yaml", string(good[:at])+strings.Replace(string(good[at:]), "partitions: 4", "partitions: 7", 1))
	want := "page.parsed: partitions is 4, pipeline.yaml has 7"
	r.fails(t, cli.ExitFailure, []string{"setup", "--config", other}, want)
	r.fails(t, cli.ExitFailure, []string{"doctor", "--config", other}, want)
	r.doctor(t, cli.ExitOK)
	away := r.file("away.yaml", strings.Replace(string(good), r.cfg.S3.Endpoint, "http://127.0.0.1:9", 1))
	r.fails(t, cli.ExitFailure, []string{"models", "list", "--config", away}, "object store unavailable", "forager up", "forager doctor")
}

func (r *rig) testCriticTrain(t *testing.T) {
	bad := r.file("bad.jsonl", smallExamples()+"{\"url\":\n\n{\"url\":\"http://a.test/\",\"topics\":[],\"text\":\"x\"}\n[]\n")
	r.fails(t, cli.ExitFailure, []string{"critic", "train", bad, "--name", "x", "--strict"}, "line 28", "line 30", "line 31", "2  line is no example", "--strict")
	good := r.file("good.jsonl", smallExamples())
	r.fails(t, cli.ExitFailure, []string{"critic", "train", good, "--name", "x"}, "minimum of 20", "give more examples or lower the minimum")
	r.fails(t, cli.ExitFailure, []string{"critic", "train", r.file("empty.jsonl", "{}\n"), "--name", "x"}, "there is no example", "1 refused", "topics is empty")
	args := []string{"critic", "train", good, "--name", "small", "--minimum", "10"}
	if out := r.mustRun("critic", "train", bad, "--name", "small", "--minimum", "10", "--dry-run"); !strings.Contains(out, "2  line is no example") || !strings.Contains(out, "27 examples of 3 topics") {
		t.Errorf("critic train of a file with bad lines: %s", out)
	}
	if out := r.mustRun(append(args, "--dry-run")...); strings.Contains(out, "published") || !strings.Contains(out, "Science/Alchemy had 3 examples") {
		t.Errorf("critic train --dry-run: %s", out)
	}
	r.fails(t, cli.ExitFailure, []string{"critic", "propose", good, "--critic", "none"}, `no critic "none"`)
	first := r.mustRun(args...)
	physics := r.file("physics.jsonl", `{"url":"http://mine.test/","text":"physics words of science"}`+"\n"+`{"url":"http://too.test/","topics":["mine"],"text":"Science/Physics"}`)
	if out := r.mustRun("critic", "propose", physics, "--critic", "small"); !strings.Contains(out, "2/2") || !strings.HasSuffix(out, "\nfocus: [Science/Physics]\n") {
		t.Errorf("critic propose: %s", out)
	}
	if second := r.mustRun(args...); !strings.Contains(first, "published small/") || second != first {
		t.Errorf("critic train printed %q, then %q", first, second)
	}
}

func (r *rig) testNoCrawls(t *testing.T) {
	if out := r.mustRun("crawl", "status"); !strings.Contains(out, "no crawls") {
		t.Errorf("crawl status: %q", out)
	}
	if out := r.mustRun("--json", "crawl", "status"); strings.TrimSpace(out) != "[]" {
		t.Errorf("crawl status --json: %q", out)
	}
	for _, command := range []string{"crawl watch", "dead list --crawl"} {
		r.fails(t, cli.ExitFailure, append(strings.Fields(command), "nothing"), `no crawl "nothing"`, "forager crawl start")
	}
}

func (r *rig) testCrawlStart(t *testing.T, g *demo.Environment) {
	seed := g.Seeds[0]
	for name, c := range map[string]struct {
		file string
		want []string
	}{
		"not YAML":       {"name: [", []string{"c.yaml", "not YAML"}},
		"everything bad": {"name: A b\nranker: best\nseeds: [\"chemistry\", \"ftp://a.test/\"]\nbudjet: 3\npoliteness: {delay: often}\n", []string{"name:", "critic:", "focus:", "budget", "budjet", "politeness.delay", "politeness.contact", "ranker", "number 1", "number 2"}},
		"unknown critic": {crawlFile("c", "schools", "Arts", seed), []string{`no critic "schools"`, "there are: small"}},
		"unknown topic":  {crawlFile("c", "small", "Science/Chemistry", seed), []string{`"Science/Chemistry" is unknown`, "Science/Physics"}},
		"pruned topic":   {crawlFile("c", "small", "Science/Alchemy", seed), []string{`"Science/Alchemy" was pruned`, `topic "Science" took them`}},
		"not a URL":      {crawlFile("c", "small", "Arts", "chemistry"), []string{"seeds", "number 1"}},
		"unknown prior":  {crawlFile("c", "small", "Arts", seed, "learning: {prior: c/1-abc}"), []string{"learning.prior", "c/1-abc"}},
		"lists away":     {crawlFile("c", "small", "Arts", seed, "seeds_file: seeds.txt", "scope: {url_list: urls.txt}"), []string{"seeds_file", "seeds.txt", "scope.url_list", "urls.txt"}},
	} {
		t.Run(name, func(t *testing.T) {
			r.fails(t, cli.ExitFailure, []string{"crawl", "start", r.file("c.yaml", c.file)}, c.want...)
		})
	}
	r.mustRun("crawl", "start", "--check", r.file("c.yaml", crawlFile("c", "small", "Science", seed)))
	if out := r.mustRun("--json", "crawl", "status"); strings.TrimSpace(out) != "[]" {
		t.Errorf("a refused or a checked crawl began: %s", out)
	}
}

// testNoStages starts, watches and stops a crawl while no stage runs.
func (r *rig) testNoStages(t *testing.T, g *demo.Environment) {
	r.mustRun("crawl", "start", r.file("idle.yaml", crawlFile("idle", "small", "Science", g.Seeds[0])))
	r.watchUntil("idle", "waiting: prioritize has not taken it up yet (forager up")
	r.fails(t, cli.ExitFailure, []string{"verify", "idle"}, `crawl "idle" has not begun`, "forager crawl watch idle")
	r.fails(t, cli.ExitFailure, []string{"crawl", "stop", "idle", "--wait", "200ms"}, "but is not after", "forager up")
}

// letters returns the dead letters of a stage.
func (r *rig) letters(t *testing.T, stage string) []*schemas.DeadLetter {
	t.Helper()
	var letters []*schemas.DeadLetter
	r.all(t, schemas.TopicDeadLetter, func(rec stream.Record) {
		l := new(schemas.DeadLetter)
		if err := proto.Unmarshal(rec.Value, l); err != nil {
			t.Fatal(err)
		}
		if l.GetStage() == stage {
			letters = append(letters, l)
		}
	})
	return letters
}

// all reads every record that is in a topic now.
func (r *rig) all(t *testing.T, topic string, f func(stream.Record)) {
	t.Helper()
	for p := range r.cfg.Topics[topic].Partitions {
		first, end, err := r.books.Client.Offsets(r.s, topic, p)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.books.Client.Read(r.s, topic, p, first, end, func(rec stream.Record) error { f(rec); return nil }); err != nil {
			t.Fatal(err)
		}
	}
}

// wait polls until ok.
func wait(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// testGarbage responds to the requests of a crawl in place of fetch, with undecodable bytes.
func (r *rig) testGarbage(t *testing.T, g *demo.Environment) {
	var others []string
	for _, s := range cli.StageNames {
		if s != "fetch" {
			others = append(others, s)
		}
	}
	r.start(others)
	published, err := models.PublishCritic(r.s, r.cfg, r.books, "sim", g.Critic, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.mustRun("crawl", "start", r.file("garbled.yaml", crawlFile("garbled", published.GetVersion(), g.Topic, g.Seeds[0])))
	var request stream.Record
	wait(t, "the request for the seed", func() bool {
		r.all(t, schemas.TopicFetchRequested, func(rec stream.Record) {
			if rec.Headers[schemas.HeaderID] != "" {
				request = rec
			}
		})
		return request.Value != nil
	})
	garbage := []byte{0xff, 0xff, 0xff}
	at, err := r.books.Client.Produce(r.s, []stream.Out{
		{Topic: schemas.TopicPageFetched, Partition: 1, Key: []byte("nobody"), Value: garbage},
		{Topic: schemas.TopicPageFetched, Partition: 2, Key: request.Key, Value: garbage, Headers: request.Headers},
	})
	if err != nil {
		t.Fatal(err)
	}
	st := r.until("garbled", "finished", time.Minute, finished)
	if idle := r.until("idle", "stopped", time.Minute, finished); idle.GetRequests() != 0 || idle.GetInFlight() != 0 {
		t.Errorf("a crawl stopped before it began: %v", idle)
	}
	if st.GetOutcomes()["failed:parse-dom"] != 1 || st.GetInFlight() != 0 || st.GetPages() != 0 {
		t.Errorf("the request of the undecodable record: %v", st)
	}
	var letters []*schemas.DeadLetter
	wait(t, "two dead letters", func() bool { letters = r.letters(t, "parse-dom"); return len(letters) >= 2 })
	for _, pos := range at {
		i := slices.IndexFunc(letters, func(l *schemas.DeadLetter) bool {
			return l.GetTopic() == schemas.TopicPageFetched && int(l.GetPartition()) == pos.Partition && l.GetOffset() == pos.Offset
		})
		if i < 0 {
			t.Errorf("no dead letter of page.fetched partition %d offset %d among %v", pos.Partition, pos.Offset, letters)
		} else if l := letters[i]; l.GetError() == "" || !bytes.Equal(l.GetValue(), garbage) {
			t.Errorf("the dead letter lacks the error or the bytes: %v", l)
		}
	}
	for _, s := range others {
		r.pid(s + "-0") // none of them ended because of it
	}
}

func (r *rig) testUpTwice(t *testing.T) {
	before := byName(r.stack)
	r.mustRun("up", "--bin", bin(t))
	first := r.again(t)
	r.mustRun("up", "--bin", bin(t))
	if second := r.again(t); !slices.Equal(first, second) || len(first) != len(before)+2 { // fetch and the monitor
		t.Errorf("there were %v, after up %v, after another %v", before, first, second)
	}
	killed := r.pid("feature-extract-0")
	if err := syscall.Kill(killed, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait(t, "feature-extract to come back", func() bool {
		r.again(t)
		x, ok := r.stack.Processes.Running("feature-extract-0")
		return ok && x.PID != killed
	})
	wait(t, "doctor to report it", func() bool { // the supervisor notes a restart after it
		out, _, _ := r.run("doctor")
		return strings.Contains(out, "feature-extract-0 was started again 1 times")
	})
}

// testHalfCritic publishes a critic of which half was stored: the command refuses it, and the stage that is to
// use it waits until it is complete.
func (r *rig) testHalfCritic(t *testing.T, g *demo.Environment) {
	// A new one: stages cache critics by digest, whatever their names.
	web, err := simweb.New(simweb.Default(4))
	if err != nil {
		t.Fatal(err)
	}
	model, err := demo.SimCritic(t.Context(), web)
	if err != nil {
		t.Fatal(err)
	}
	half, err := models.PublishCritic(r.s, r.cfg, r.books, "half", model, nil)
	if err != nil {
		t.Fatal(err)
	}
	whole := proto.Clone(half).(*schemas.ModelPublished)
	store, err := objects.Open(r.cfg.S3)
	if err != nil {
		t.Fatal(err)
	}
	data := model.Marshal()
	half.Object += "-half"
	if err := store.Put(r.s, half.Object, bytes.NewReader(data[:len(data)/2]), int64(len(data)/2)); err != nil {
		t.Fatal(err)
	}
	announce := func(m *schemas.ModelPublished) {
		if _, err := r.books.Send(r.s, schemas.TopicModelPublished, schemas.ModelKey(m), nil, m); err != nil {
			t.Fatal(err)
		}
		r.books.Note(m)
	}
	announce(half)
	r.fails(t, cli.ExitFailure, []string{"crawl", "start", r.file("half.yaml", crawlFile("half", "half", g.Topic, g.Seeds[0]))},
		"critic "+half.GetVersion(), half.GetObject(), "digest")

	// A crawl that was started nevertheless.
	c := r.crawl(g, "half", "soft-focus", 10, nil)
	c.Control.Critic, c.Control.Revision, c.Control.CreatedAt = half.GetVersion(), 1, time.Now().UnixMilli()
	if _, err := r.books.Send(r.s, schemas.TopicCrawlControl, "half", map[string]string{schemas.HeaderCrawl: "half"}, c.Control); err != nil {
		t.Fatal(err)
	}
	headers := map[string]string{schemas.HeaderCrawl: "half", schemas.HeaderShard: "0"}
	if _, err := r.books.Send(r.s, schemas.TopicLinkFound, schemas.ShardKey("half", 0), headers, schemas.SeedPage("half", c.Seeds)); err != nil {
		t.Fatal(err)
	}
	pid := r.pid("critic-score-0")
	log := filepath.Join(r.stack.Logs(), "critic-score-0.log")
	wait(t, "a word about the critic in "+log, func() bool {
		b, err := os.ReadFile(log)
		return err == nil && bytes.Contains(b, []byte(half.GetVersion()))
	})
	if now := r.pid("critic-score-0"); now != pid {
		t.Errorf("critic-score is process %d, it was %d", now, pid)
	}
	wait(t, "the parked crawl in the report", func() bool {
		return strings.Contains(r.mustRun("report", "half"), "parked: 1 pages of crawl half wait in critic-score")
	})
	r.fails(t, cli.ExitFailure, []string{"doctor"}, "crawl half wait in critic-score", half.GetVersion(), "digest")
	announce(whole)
	r.until("half", "finished once its critic is whole", time.Minute, finished)
	r.verified("half")
	r.verified("idle")
}

func (r *rig) testSmallCrawl(t *testing.T, g *demo.Environment) {
	file := r.file("small.yaml", crawlFile("small", "sim", g.Topic, g.Seeds[0]))
	out := r.mustRun("crawl", "start", file, "--watch")
	if !strings.Contains(out, "small has finished: pages budget spent; 60 pages") {
		t.Errorf("crawl start --watch: %q", out)
	}
	r.fails(t, cli.ExitFailure, []string{"crawl", "start", file}, `crawl "small" exists already`, "choose another")
	r.fails(t, cli.ExitFailure, []string{"crawl", "stop", "small"}, "has finished already", "pages budget spent")
	for _, command := range []string{"crawl status", "crawl watch", "crawl stop", "report", "verify"} {
		r.fails(t, cli.ExitFailure, append(strings.Fields(command), "smal"), `no crawl "smal"; there are: garbled, half, idle, lost, small`)
	}
	r.verified("small")
	for _, command := range []string{"crawl status small", "crawl watch small", "report small", "verify small"} {
		args := strings.Fields(command)
		if out := r.mustRun(args...); out == "" {
			t.Errorf("forager %s prints nothing", command)
		}
		if out := r.mustRun(append([]string{"--json"}, args...)...); !json.Valid([]byte(out)) {
			t.Errorf("forager --json %s prints %s", command, out)
		}
	}
	r.drawnReport(t)
}

// drawnReport writes the report of two crawls; its numbers are those of the status.
func (r *rig) drawnReport(t *testing.T) {
	r.fails(t, cli.ExitUsage, []string{"report", "small", "small"}, "small is named twice")
	page, dir := filepath.Join(r.dir, "report.html"), filepath.Join(r.dir, "figures")
	var compared struct {
		Crawls  []struct{ Pages, Requests uint64 }
		Overlap [][]struct{ Pages uint64 }
	}
	if err := json.Unmarshal([]byte(r.mustRun("--json", "report", "small", "half", "--html", page, "--figures", dir)), &compared); err != nil ||
		len(compared.Crawls) != 2 || compared.Crawls[0].Pages != 60 || compared.Overlap[0][0].Pages == 0 || compared.Overlap[0][1] != compared.Overlap[1][0] {
		t.Errorf("report of two crawls: %+v, %v", compared, err)
	}
	if out := r.mustRun("report", "small", "half"); !strings.Contains(out, "pages with R ≥ 0.5") || !strings.Contains(out, "100.0 %") {
		t.Errorf("report of two crawls prints %s", out)
	}
	html, err := os.ReadFile(page)
	if err != nil || !bytes.Contains(html, []byte("Report of small, half")) || bytes.Count(html, []byte("<svg")) != 7 {
		t.Errorf("the page, %d bytes: %v", len(html), err)
	}
	st := r.books.Status("small")
	b, err := os.ReadFile(filepath.Join(dir, "loss.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("small,60,%.6f", 60-st.GetRelevanceRaw()); !strings.Contains(string(b), want) {
		t.Errorf("loss.csv has no %s:\n%s", want, b)
	}
}

func (r *rig) testQueries(t *testing.T) {
	r.fails(t, cli.ExitUsage, []string{"query", "SELEC 1"}, "this is no SELECT", "--write")
	r.fails(t, cli.ExitFailure, []string{"query", "SELECT 1 1"}, "Syntax error")
	r.fails(t, cli.ExitFailure, []string{"query", "SELECT nothing FROM pages"}, "nothing")
	r.fails(t, cli.ExitFailure, []string{"query", "SELECT {c:String}"}, "c")
	if out := r.mustRun("query", "--format", "CSV", "SELECT {c:String}, 2", "--param", "c=chemistry"); out != "\"chemistry\",2\n" {
		t.Errorf("query with a parameter: %q", out)
	}
	r.fails(t, cli.ExitFailure, []string{"query", "--example", "loss", "--crawl", "smal"}, `no rows of a crawl "smal"; it has of: `, "small")
	for _, args := range [][]string{{"query", "SELECT 1"}, {"models", "list"}, {"--json", "models", "list"}} {
		var errs bytes.Buffer
		if code := root.Run(r.s, append([]string{"--config", r.path}, args...), fullDisk{}, &errs); code != cli.ExitFailure || !strings.Contains(errs.String(), "no space left") || strings.Contains(errs.String(), "doctor") {
			t.Errorf("forager %v to a full disk: exit %d, %s", args, code, &errs)
		}
	}
	list := r.mustRun("query", "--list")
	for _, q := range tables.Queries() {
		if !strings.Contains(list, q.Name) {
			t.Errorf("query --list lacks %s", q.Name)
		}
		args := []string{"--json", "query", "--example", q.Name}
		if q.OfCrawl {
			args = append(args, "--crawl", "small")
			r.mustRun("query", q.SQL, "--crawl", "nothing") // succeeds without any rows
		}
		var result struct{ Data []json.RawMessage }
		if err := json.Unmarshal([]byte(r.mustRun(args...)), &result); err != nil {
			t.Errorf("query --example %s: %v", q.Name, err)
		}
		t.Logf("%-24s %d rows", q.Name, len(result.Data))
	}
}

// fullDisk is a device to which standard output may be redirected.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// testServeWeb serves what the small crawl stored, once undamaged and once with damage.
func (r *rig) testServeWeb(t *testing.T) {
	r.fails(t, cli.ExitFailure, []string{"serve-web", r.path}, r.path, "no readable HTTP answer")
	segments, err := filepath.Glob(filepath.Join(r.cfg.Data, "local/s3/objects", r.cfg.S3.Bucket, "segments/*/*.warc.gz"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("no segments below %s (%v)", r.cfg.Data, err)
	}
	var web []byte
	for _, s := range segments {
		b, err := os.ReadFile(s)
		if err != nil {
			t.Fatal(err)
		}
		web = append(web, b...)
	}
	whole := r.file("web.warc.gz", string(web))
	urls := func(name string) []string {
		b, err := os.ReadFile(filepath.Join(r.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(b))
	}
	r.fails(t, cli.ExitUsage, []string{"serve-web", whole, "--listen", "192.0.2.1:80"}, "not a loopback address")
	client, _ := r.served(t, whole, "--urls", filepath.Join(r.dir, "whole.urls"))
	all := urls("whole.urls")
	get(t, client, all, http.StatusOK)
	get(t, client, []string{"http://nowhere.test/"}, http.StatusNotFound)

	// The member of a page that no other crawl fetched.
	at, lost := onlyMember(t, web)
	broken := slices.Clone(web)
	for i := at + 30; i < at+60; i++ {
		broken[i] ^= 0xa5
	}
	client, printed := r.served(t, r.file("broken.warc.gz", string(broken)), "--urls", filepath.Join(r.dir, "rest.urls"))
	if want := fmt.Sprintf("offset %d is damaged", at); !strings.Contains(printed.String(), want) {
		t.Errorf("serve-web does not contain %q: %s", want, printed)
	}
	rest := urls("rest.urls")
	if want := slices.DeleteFunc(all, func(u string) bool { return u == lost }); !slices.Equal(rest, want) {
		t.Errorf("%d URLs are served with one member of %d damaged", len(rest), len(want)+1)
	}
	get(t, client, rest, http.StatusOK)
}

// onlyMember returns the offset of a member with a unique URL, and the URL.
func onlyMember(t *testing.T, web []byte) (at int64, url string) {
	t.Helper()
	offsets := make(map[string][]int64)
	for reader := warc.NewReader(bytes.NewReader(web), int64(len(web)), warc.Limits{}); ; {
		record, err := reader.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if record.Type == warc.TypeResponse {
			offsets[record.TargetURI] = append(offsets[record.TargetURI], record.Offset)
		}
	}
	for u, o := range offsets {
		if len(o) == 1 && o[0] > at {
			at, url = o[0], u
		}
	}
	if url == "" {
		t.Fatal("every page was fetched twice")
	}
	return at, url
}

// get checks that every URL gets a response with a status.
func get(t *testing.T, client *http.Client, urls []string, status int) {
	t.Helper()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, u := range urls {
		resp, err := client.Get(u)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != status {
			t.Errorf("%s: %s", u, resp.Status)
		}
	}
}

func (r *rig) testStop(t *testing.T, g *demo.Environment) {
	r.mustRun("crawl", "start", r.file("long.yaml", strings.NewReplacer("pages: 60", "pages: 50000", "delay: 0s", "delay: 200ms").Replace(crawlFile("long", "sim", g.Topic, g.Seeds[0]))))
	r.until("long", "under way", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() > 20 })
	r.testPause(t, "long", g)
	if out := r.mustRun("verify", "long"); !strings.Contains(out, "The crawl runs: ") || !strings.Contains(out, "everything agrees") {
		t.Errorf("verify of a running crawl: %s", out)
	}
	r.fails(t, cli.ExitFailure, []string{"crawl", "delete", "long"}, `"long" is running`, "forager crawl stop long", "--stop")
	out := r.mustRun("--json", "crawl", "stop", "long")
	var x crawls.Summary
	if err := json.Unmarshal([]byte(out), &x); err != nil || x.State != "finished" || x.InFlight != 0 || x.Pages < 20 {
		t.Errorf("crawl stop: %v, %s", err, out)
	}
	r.verified("long")
	r.testDelete(t, "long", "small")
	if out := r.mustRun("down"); out != fmt.Sprintf("stopped %d processes\n", len(cli.Programs)+1) {
		t.Errorf("down: %q", out)
	}
	r.again(t)
	if out := r.mustRun("down"); out != "stopped 0 processes\n" {
		t.Errorf("down again: %q", out)
	}
}

// served runs serve-web until the test ends and returns a client that uses its proxy.
func (r *rig) served(t *testing.T, args ...string) (client *http.Client, printed *bytes.Buffer) {
	t.Helper()
	ctx, cancel := context.WithCancel(r.s)
	reader, writer := io.Pipe()
	printed = new(bytes.Buffer)
	ended := make(chan int, 1)
	go func() {
		ended <- root.Run(ctx, append([]string{"serve-web", "--listen", "127.0.0.1:0"}, args...), writer, printed)
		writer.Close()
	}()
	t.Cleanup(func() {
		cancel()
		if code := <-ended; code != cli.ExitOK {
			t.Errorf("serve-web ended with exit code %d: %s", code, printed)
		}
	})
	line := make([]byte, 200)
	n, err := reader.Read(line)
	if err != nil {
		t.Fatalf("serve-web did not begin: %v", err)
	}
	_, address, _ := strings.Cut(strings.TrimSpace(string(line[:n])), "the proxy ")
	proxy, err := url.Parse(address)
	if err != nil || proxy.Host == "" {
		t.Fatalf("serve-web printed %q (%v)", line[:n], err)
	}
	transport := &http.Transport{Proxy: http.ProxyURL(proxy)}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 10 * time.Second}, printed
}

// watchUntil interrupts crawl watch once it has printed a text.
func (r *rig) watchUntil(crawl, text string) {
	r.t.Helper()
	ctx, interrupt := context.WithCancel(r.s)
	var printed printout
	ended := make(chan int)
	go func() {
		ended <- root.Run(ctx, []string{"--config", r.path, "crawl", "watch", crawl}, &printed, &printed)
	}()
	wait(r.t, "crawl watch prints "+text, func() bool { return strings.Contains(printed.String(), text) })
	interrupt()
	if code := <-ended; code != cli.ExitFailure {
		r.t.Errorf("crawl watch, interrupted: exit %d\n%s", code, &printed)
	}
}
