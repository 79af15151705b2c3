package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"forager/cmd/forager/demo"
	reportcmd "forager/cmd/forager/report"
	"forager/cmd/internal/cli"
	"forager/internal/platform/analytics"
	"forager/schemas"
)

// service is an HTTP predicate with a settable response.
type service struct {
	topic string
	takes time.Duration
	mode  atomic.Value // "fine", "rubbish", "slow", "away"
	met   sync.Map     // the modes in which it was asked
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Version int
		Topics  []string
		Pages   []struct{ URL, Text string }
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked.Version != 1 || !slices.Equal(asked.Topics, []string{s.topic}) {
		http.Error(w, fmt.Sprint("asked was ", asked, err), http.StatusBadRequest)
		return
	}
	mode := s.mode.Load()
	s.met.Store(mode, true)
	switch mode {
	case "rubbish":
		io.WriteString(w, `{"pages": "all of them"}`)
		return
	case "slow":
		select {
		case <-time.After(time.Minute):
		case <-r.Context().Done():
		}
		return
	case "away":
		panic(http.ErrAbortHandler)
	}
	time.Sleep(s.takes)
	type judged struct {
		Probabilities map[string]float64 `json:"probabilities"`
	}
	answer := struct {
		Pages []judged `json:"pages"`
	}{}
	for _, p := range asked.Pages {
		if p.URL == "" || p.Text == "" {
			http.Error(w, "a page without its URL or its words", http.StatusBadRequest)
			return
		}
		answer.Pages = append(answer.Pages, judged{map[string]float64{s.topic: .625}})
	}
	json.NewEncoder(w).Encode(answer)
}

// judgedAnew changes the focus of a running crawl, adds a shadow critic, and replaces its critic by one that
// calls a service, which returns garbage, responds late and not at all.
func (r *rig) rejudged(t *testing.T, g *demo.Environment) {
	_, web := simulated(t)
	s := &service{topic: g.Topic}
	s.mode.Store("fine")
	srv := httptest.NewServer(s)
	defer srv.Close()
	branch := path.Dir(g.Topic)
	other := web.Topics()[slices.IndexFunc(web.Topics(), func(topic string) bool { return path.Dir(topic) != branch })]
	const crawl = "judged"
	slowly := func(ctl *schemas.CrawlControl) { ctl.Window, ctl.Politeness.DelayMs = 8, 100 }
	r.begin(r.crawl(g, crawl, "soft-focus", 100_000, slowly))
	r.begin(r.crawl(g, "hard", "hard-focus", 100_000, slowly))
	more := func(crawl string, pages uint64) {
		t.Helper()
		asked := time.Now().UnixMilli() // a status is a second old or less: pages from before do not count
		before := r.until(crawl, "reported", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetAt() >= asked }).GetPages()
		r.until(crawl, "further", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() >= before+pages })
	}
	more(crawl, 40)
	r.testChangesRefused(t, g.Topic, other)

	out := r.mustRun("crawl", "focus", crawl, "--good", branch, "--bad", g.Topic, "--good", other, "--weight", other+"=0.5")
	if want := fmt.Sprintf("revision 2\nfocus %s, %s × 0.5; without %s\n", branch, other, g.Topic); !strings.Contains(out, want) {
		t.Errorf("crawl focus printed not %q but\n%s", want, out)
	}
	more("hard", 30)
	r.mustRun("crawl", "focus", "hard", "--good", other)
	more(crawl, 40)
	r.mustRun("crawl", "stop", "hard")
	r.mustRun("crawl", "focus", crawl, "--good", g.Topic, "--bad", branch, "--bad", other)
	more(crawl, 40)

	ruled := r.file("sim.rules", fmt.Sprintf("Other: title has 'never'\n%s: url matches '^http' and not text has 'nowhere at all'\n", g.Topic))
	if out := r.mustRun("critic", "rules", ruled, "--name", "ruled"); !strings.Contains(out, "2 rules; classes Other, "+g.Topic) || !strings.Contains(out, "published ruled/") {
		t.Errorf("critic rules: %s", out)
	}
	if out := r.mustRun("crawl", "critic", crawl, "--shadow", "ruled"); !strings.Contains(out, "for comparison only: ruled/") {
		t.Errorf("crawl critic: %s", out)
	}
	more(crawl, 40)

	asking := "url: " + srv.URL + "\ntopics: [" + g.Topic + "]\ntimeout: 200ms\nbreaker: {failures: 3, pause: 500ms}\n"
	if out := r.mustRun("critic", "predicate", r.file("asked.yaml", asking+"fallback: test\n"), "--name", "asked"); !strings.Contains(out, "it answered in") || !strings.Contains(out, "fallback test/") {
		t.Errorf("critic predicate: %s", out)
	}
	r.mustRun("crawl", "critic", crawl, "asked")
	more(crawl, 40)
	for _, mode := range []string{"rubbish", "slow", "away"} {
		s.mode.Store(mode)
		wait(t, "the service is asked while it is "+mode, func() bool { _, ok := s.met.Load(mode); return ok }) // not while its breaker is open
		more(crawl, 20)
	}
	r.mustRun("critic", "predicate", r.file("alone.yaml", asking+"patience: 300ms\n"), "--name", "alone")
	r.begin(r.crawl(g, "alone", "soft-focus", 100, func(ctl *schemas.CrawlControl) { ctl.Critic = "alone" }))
	r.mustRun("crawl", "critic", crawl, "test", "--no-shadow")
	more(crawl, 40)
	if st := r.until("alone", "finished", time.Minute, finished); st.GetPages() != 0 || st.GetOutcomes()["failed:critic-score"] != uint64(len(g.Seeds)) {
		t.Errorf("without a fallback: %v", st)
	}
	r.mustRun("crawl", "stop", crawl)
	for _, crawl := range []string{crawl, "hard", "alone"} {
		r.verified(crawl)
	}
	r.testRejudged(t, g.Topic, branch, other)
	r.testReportOfJudges(t)
}

func (r *rig) testChangesRefused(t *testing.T, topic, other string) {
	refuses := func(want string, args ...string) {
		t.Helper()
		r.fails(t, cli.ExitFailure, args, want)
	}
	focus := func(want string, args ...string) {
		t.Helper()
		refuses(want, append([]string{"crawl", "focus", "judged"}, args...)...)
	}
	focus(fmt.Sprintf("did you mean %q?", topic), "--good", path.Base(topic))
	focus(fmt.Sprintf("did you mean %q?", other), "--good", other[:len(other)-2]+"x")
	focus("lies below no focus topic", "--bad", other)
	focus("has a weight and is no focus topic", "--weight", other+"=0.5")
	focus("must be above 0 and at most 1", "--weight", topic+"=1.5")
	focus("no focus topic would be left", "--bad", topic)
	focus(fmt.Sprintf("%q is marked twice", topic), "--bad", topic, "--good", topic)
	refuses(`no crawl "nothing"`, "crawl", "focus", "nothing", "--good", topic)
	refuses(`no critic "nothing"; there are: test`, "crawl", "critic", "judged", "nothing")
	refuses("judges the crawl already", "crawl", "critic", "judged", "--shadow", "test")
	refuses(`bad.rules:2: rule "B": regular expression`, "critic", "rules", r.file("bad.rules", "A: title has 'x'\nB: title matches 'a(b'\n"), "--name", "bad")
	refuses("topics: is missing", "critic", "predicate", r.file("bad.yaml", "url: http://127.0.0.1/"), "--name", "bad")
	refuses(`fallback: critic test/`, "critic", "predicate", r.file("bad.yaml", "url: http://127.0.0.1/\ntopics: [Elsewhere]\nfallback: test"), "--name", "bad")
	r.mustRun("critic", "rules", r.file("other.rules", "A: title has 'x'\n"), "--name", "elsewhere")
	refuses(fmt.Sprintf("focus topic %q is unknown to the critic", topic), "crawl", "critic", "judged", "elsewhere")
	refuses("shadow: critic elsewhere/", "crawl", "critic", "judged", "--shadow", "elsewhere")
	if out := r.mustRun("crawl", "focus", "judged"); !strings.Contains(out, "revision 1\nfocus "+topic+"\n") {
		t.Errorf("crawl focus, nothing changed: %s", out)
	}
}

// testJudgedAnew checks the changes in the judgements of the crawls judged and hard.
func (r *rig) testRejudged(t *testing.T, topic, branch, other string) {
	db, err := analytics.Open(r.cfg.ClickHouse)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	p := analytics.Params{"topic": topic, "branch": branch + "/", "other": other}
	number := func(query string) (n uint64) {
		t.Helper()
		if err := db.Each(r.s, query, p, func(row []any) error { n = row[0].(uint64); return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const judged = "SELECT count() FROM judgements WHERE crawl = 'judged' AND outcome = 'delivered' AND "
	for marking := 1; marking <= 6; marking++ {
		if n := number(judged + fmt.Sprint("marking = ", marking)); n < 20 {
			t.Errorf("%d pages are judged under revision %d", n, marking)
		}
	}
	for what, wrong := range map[string]string{
		"revision": "marking NOT BETWEEN 1 AND 7" /* the last is the stop */, "no critic": "critic = ''",
		"critic": "marking != 5 AND (critic NOT LIKE 'test/%' OR degraded != '')", "service": "marking = 5 AND critic LIKE 'asked/%' AND (relevance != 0.625 OR degraded != '')",
		"fallback":                "marking = 5 AND critic NOT LIKE 'asked/%' AND (critic NOT LIKE 'test/%' OR degraded = '')",
		"shadow":                  "length(shadow_critics) != (marking IN (4, 5)) OR shadow_relevances != arrayMap(c -> 1., shadow_critics) OR shadow_failures != arrayMap(c -> '', shadow_critics)",
		"hard focus's best class": "marking = 2 AND best_is_focus != (topics[1] != {topic:String} AND (startsWith(topics[1], {branch:String}) OR topics[1] = {other:String}))",
		"relevance": `marking = 2 AND arraySum(posteriors) > 0.99999 AND abs(tempered - arraySum(
			(t, p) -> p * multiIf(t = {topic:String}, 0, startsWith(t, {branch:String}), 1, t = {other:String}, 0.5, 0), topics, posteriors)) > 1e-4`,
	} {
		if n := number(judged + "(" + wrong + ")"); n > 0 {
			t.Errorf("%s: %d judgements are wrong", what, n)
		}
	}
	for _, there := range []string{
		"critic LIKE 'asked/%'", "degraded = 'rubbish'", "degraded = 'timeout'", "degraded = 'open'", "degraded = 'unreachable'",
		"marking = 2 AND arraySum(posteriors) > 0.99999 AND tempered < 0.01 AND topics[1] = {topic:String} AND posteriors[1] > 0.9",
	} {
		if number(judged+there) == 0 {
			t.Errorf("no page with %s", there)
		}
	}
	if n := number(`SELECT count() FROM requests WHERE crawl = 'hard' AND via != '' AND hops = 0 AND url NOT IN (
		SELECT v FROM links WHERE crawl = 'hard' AND request IN (SELECT id FROM judgements WHERE crawl = 'hard' AND best_is_focus))`); n > 0 {
		t.Errorf("hard focus followed %d links of pages that are on no focus topic", n)
	}
	if n := number("SELECT count() FROM judgements WHERE crawl = 'hard' AND marking = 2 AND best_is_focus"); n == 0 {
		t.Error("no page of the hard-focused crawl was judged under its new marking")
	}
}

// testReportOfJudges compares the report with the rows it is computed from.
func (r *rig) testReportOfJudges(t *testing.T) {
	out := r.mustRun("report", "judged")
	for _, want := range []string{"JUDGED BY", "as the fallback: timeout", "shadow ruled/", "they agree on"} {
		if !strings.Contains(out, want) {
			t.Errorf("the report does not contain %q:\n%s", want, out)
		}
	}
	t.Logf("%s", out)
	var report reportcmd.CrawlReport
	if err := json.Unmarshal([]byte(r.mustRun("--json", "report", "judged")), &report); err != nil {
		t.Fatal(err)
	}
	for _, x := range report.Shadows {
		// The shadow gives each page 1, and the service .625: both classify it as on topic.
		asked := strings.HasPrefix(x.Used, "asked/")
		if x.Pages == 0 || x.Failures != 0 || x.OnTopic != 1 || x.Agreement != x.OnTopicUsed || x.Cut != .5 || asked && (x.Agreement != 1 || math.Abs(x.Difference-.375) > 1e-9) || x.Apart != x.Difference {
			t.Errorf("shadow %+v", x)
		}
	}
	if len(report.Shadows) != 2 || len(report.Judged) < 9 {
		t.Errorf("%d pairs of shadows, %d lines of judges", len(report.Shadows), len(report.Judged))
	}
}
