package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	crawlcmd "forager/cmd/forager/crawl"
	criticcmd "forager/cmd/forager/critic"
	reportcmd "forager/cmd/forager/report"
	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/internal/classify/pulearning"
	"forager/internal/operate"
	"forager/internal/platform/analytics"
	"forager/schemas"
)

// TestLike starts a crawl from some pages that are on topic; its critic is trained again during the crawl and
// with marks of its errors, and finds more such pages.
func TestLike(t *testing.T) {
	t.Parallel()
	g, web := simulated(t)
	r := newRig(t, g.Handler)
	r.parts()
	r.start(cli.StageNames)
	likes := web.Examples(g.Topic, 10)
	gone := strings.TrimRight(likes[0], "/") + "/not/there"
	file := r.file("like.yaml", "name: liked\nranker: soft-focus\npoliteness: {delay: 50ms, contact: you@example.org}\nwindow: 4\n")

	r.fails(t, cli.ExitUsage, append([]string{"crawl", "start", file, "--like"}, likes[:3]...), "3 pages that are on topic, at least 5")
	r.fails(t, cli.ExitUsage, append([]string{"crawl", "start", file, "--check", "--like"}, likes...), "--check")
	r.fails(t, cli.ExitFailure, append([]string{"crawl", "start", "--name", "x", "--like"}, likes...), "politeness.contact")
	bad := []string{"crawl", "start", file, "--like", gone}
	for i := range 4 {
		bad = append(bad, fmt.Sprint(gone, i))
	}
	r.fails(t, cli.ExitFailure, bad, "only 0 of 5 likes", gone, "client-error")

	args := append([]string{"--json", "crawl", "start", file, "--pages", "250", "--background", "40", "--like", gone}, likes...)
	var got crawlcmd.LikeResult
	if err := json.Unmarshal([]byte(r.mustRun(args...)), &got); err != nil {
		t.Fatal(err)
	}
	r.until("liked", "at 100 pages", time.Minute, func(st *schemas.CrawlStatus) bool { return st.GetPages() >= crawlcmd.RetrainAt })
	r.mustRun("crawl", "pause", "liked")
	if err := crawls.Settle(r.s, r.books, time.Minute); err != nil { // what is proposed is found in ClickHouse
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{gone: "client-error"}, got.Failed); diff != "" {
		t.Error(diff)
	}
	if got.Report.Liked != 10 || got.Fetched < 30 || got.Fetched > 50 || got.Budget != 250-uint64(got.Fetched) {
		t.Errorf("%d likes, %d pages fetched for the critic, a budget of %d", got.Report.Liked, got.Fetched, got.Budget)
	}
	second := r.trainLiked(t, "liked", g.Truth)
	r.mustRun("critic", "mark", "liked", likes[2], "--wrong") // so that the next version differs
	third := r.watchLiked("liked", second)
	r.verified("liked")
	judged, on := r.judged("liked", g.Truth)
	t.Logf("%s: harvest by truth %.3f; begun with %s, then %s and %v; pages by critic %v", g.Topic, on, got.Critic, second, third, judged)
	if on < .3 { // a twentieth of the web is on topic
		t.Errorf("%.3f of the pages are on topic", on)
	}
	if judged[got.Critic] < crawlcmd.RetrainAt || len(third) == 0 || judged[third[0]] == 0 {
		t.Errorf("pages by critic: %v; begun with %s, went on with %s and %v", judged, got.Critic, second, third)
	}
	r.fails(t, cli.ExitFailure, []string{"critic", "retrain", "liked", "--crawl", "liked", "--use"}, "has finished")
	r.askAbout(t, "liked", g.Truth)
	r.markExamples(t, likes[:4])
	r.fails(t, cli.ExitFailure, args, `crawl "liked" exists already`)
}

// watchLiked follows the crawl to its end as --watch does, and returns the critics that it trained. The crawl
// is paused until it has the first of them.
func (r *rig) watchLiked(crawl, second string) []string {
	r.t.Helper()
	opened, err := criticcmd.OpenCritic(r.s, crawl)
	if err != nil {
		r.t.Fatal(err)
	}
	resumed := make(chan error, 1)
	go func() {
		_, err := operate.Poll(r.s, 5*time.Minute, func() (bool, error) {
			ctl, err := r.books.Control(crawl)
			return ctl.GetCritic() != second, err
		})
		if _, printed, code := r.run("crawl", "resume", crawl); err == nil && code != cli.ExitOK {
			err = errors.New(printed)
		}
		resumed <- err
	}()
	l, result := &crawlcmd.Liking{S: r.s, Parts: opened.Parts}, &crawlcmd.LikeResult{Crawl: crawl}
	if err := errors.Join(l.Watch(opened.Critic, opened.Set, result), <-resumed); err != nil {
		r.t.Fatal(err)
	}
	if result.Ended.Pages < 200 {
		r.t.Errorf("it ended with %+v", result.Ended)
	}
	return result.Critics
}

// judged counts the pages of a crawl by critic, and returns the share of them that is on topic by the truth.
func (r *rig) judged(crawl string, truth func(string) bool) (by map[string]int, on float64) {
	r.t.Helper()
	db, err := analytics.Open(r.cfg.ClickHouse)
	if err != nil {
		r.t.Fatal(err)
	}
	defer db.Close()
	by = make(map[string]int)
	all := 0.
	const sql = "SELECT url, critic FROM judgements WHERE outcome = 'delivered' AND crawl = {crawl:String}"
	err = db.Each(r.s, sql, analytics.Params{"crawl": crawl}, func(row []any) error {
		by[row[1].(string)]++
		all++
		if truth(row[0].(string)) {
			on++
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return by, on / all
}

// teachLiked marks pages, expands the examples, trains the critic again and makes the crawl use it.
func (r *rig) trainLiked(t *testing.T, crawl string, truth func(string) bool) (critic string) {
	var found []criticcmd.Proposal
	if err := json.Unmarshal([]byte(r.mustRun("--json", "critic", "expand", crawl, "-n", "12")), &found); err != nil {
		t.Fatal(err)
	}
	var yes, no strings.Builder
	right := 0
	for i, p := range found {
		if p.Linked+p.Links+p.Together == 0 || i > 0 && p.Probability > found[i-1].Probability {
			t.Errorf("proposal %d: %+v", i, p)
		}
		if truth(p.URL) {
			right++
			fmt.Fprintln(&yes, p.URL)
		} else {
			fmt.Fprintln(&no, p.URL)
		}
	}
	if len(found) != 12 || right < 6 {
		t.Errorf("%d pages proposed, %d of them on topic", len(found), right)
	}
	good, bad := r.file("yes.txt", yes.String()), r.file("no.txt", no.String()+"# nothing more\n")
	if out := r.mustRun("critic", "expand", crawl, "--yes", good, "--no", bad); !strings.Contains(out, fmt.Sprintf("%d pages are on topic, %d are not", right, 12-right)) {
		t.Errorf("answers: %s", out)
	}
	r.fails(t, cli.ExitFailure, []string{"critic", "expand", crawl, "--yes", good, "--no", good}, "both files")
	r.fails(t, cli.ExitFailure, []string{"critic", "mark", crawl, "http://nowhere.example/", "--right"}, "http://nowhere.example/", "nothing was marked")
	r.fails(t, cli.ExitUsage, []string{"critic", "mark", crawl, "http://nowhere.example/"}, "--right")
	r.fails(t, cli.ExitFailure, []string{"critic", "mark", "nobody", "http://nowhere.example/", "--right"}, "neither a crawl nor a critic")

	// Pages judged correctly are marked as wrong: the mark takes precedence.
	first := strings.Fields(yes.String())[0]
	r.mustRun("critic", "mark", crawl, first, "--wrong")
	r.fails(t, cli.ExitUsage, []string{"critic", "retrain", crawl, "--use"}, "--crawl NAME")
	var again struct {
		Critic string
		Report struct{ Liked, Wrong int }
	}
	if err := json.Unmarshal([]byte(r.mustRun("--json", "critic", "retrain", crawl, "--crawl", crawl, "--use")), &again); err != nil {
		t.Fatal(err)
	}
	if again.Report.Liked != 10+right-1 || again.Report.Wrong != 12-right+1 || !strings.HasPrefix(again.Critic, "liked/") {
		t.Errorf("trained again: %+v", again)
	}
	var next []criticcmd.Proposal
	if err := json.Unmarshal([]byte(r.mustRun("--json", "critic", "expand", crawl, "-n", "1000")), &next); err != nil {
		t.Fatal(err)
	}
	var more []criticcmd.Proposal
	if err := json.Unmarshal([]byte(r.mustRun("--json", "critic", "expand", crawl, "-n", "1000", "--fetch", "6", "--contact", "you@example.org", "--delay", "20ms")), &more); err != nil {
		t.Fatal(err)
	}
	if len(more) <= len(next) || len(more) > len(next)+6 {
		t.Errorf("%d proposals, %d after 6 more pages were fetched", len(next), len(more))
	}
	for _, p := range more {
		if strings.Contains(yes.String()+no.String(), p.URL+"\n") {
			t.Errorf("%s is proposed again", p.URL)
		}
	}
	if out := r.mustRun("models", "show", again.Critic); !strings.Contains(out, "learnt from pages on topic") {
		t.Errorf("models show: %s", out)
	}
	return again.Critic
}

// askAbout marks drawn pages of the crawl, a few and then all: the estimate is that of the marks.
func (r *rig) askAbout(t *testing.T, crawl string, truth func(string) bool) {
	known := func() *crawls.OnTopic {
		t.Helper()
		var report reportcmd.CrawlReport
		if err := json.Unmarshal([]byte(r.mustRun("--json", "report", crawl)), &report); err != nil || report.OnTopic == nil {
			t.Fatalf("report: %+v, %v", report.OnTopic, err)
		}
		return report.OnTopic
	}
	if x := known(); x.From != "likes" || x.High <= x.Low || x.Pages < 200 {
		t.Errorf("before anything is marked: %+v", x)
	}
	if out := r.mustRun("report", crawl); !strings.Contains(out, "on topic: at most ") || !strings.Contains(out, "critic mark "+crawl+" --ask") {
		t.Errorf("report: %s", out)
	} else if strings.Index(out, "harvest ") < strings.Index(out, "on topic: ") {
		t.Errorf("the critic's own figure comes first: %s", out)
	}
	if out := r.mustRun("crawl", "status", crawl); !strings.Contains(out, "<=") || !strings.Contains(out, "critic mark "+crawl+" --ask") {
		t.Errorf("crawl status: %s", out)
	}
	chosen := r.file("chosen.txt", "http://nowhere.example/\n")
	r.fails(t, cli.ExitUsage, []string{"critic", "mark", crawl, "--ask", "4", "--yes", chosen}, "was not drawn", "Nothing was marked")
	r.fails(t, cli.ExitUsage, []string{"critic", "mark", crawl, "--ask", "4", "http://nowhere.example/"}, "--ask chooses the pages")
	for _, n := range []int{12, 1000} {
		var pages []analytics.DrawnPage
		if err := json.Unmarshal([]byte(r.mustRun("--json", "critic", "mark", crawl, "--ask", fmt.Sprint(n))), &pages); err != nil {
			t.Fatal(err)
		}
		var yes, no strings.Builder
		for _, p := range pages {
			to := &no
			if truth(p.URL) {
				to = &yes
			}
			fmt.Fprintln(to, p.URL)
		}
		out := r.mustRun("critic", "mark", crawl, "--ask", fmt.Sprint(n), "--yes", r.file("yes.txt", yes.String()), "--no", r.file("no.txt", no.String()))
		x := known()
		if x.From != "marks" || x.Marked < 12 || !strings.Contains(out, fmt.Sprintf("%d pages that were drawn", x.Marked)) {
			t.Errorf("asked about %d: %+v, %s", n, x, out)
		}
		if n == 12 {
			r.calibrated(t, crawl, x.Marked)
		}
		if wide := x.High - x.Low; n == 12 && (wide < .1 || wide > .8) || n == 1000 && (wide > 1e-9 || x.Marked != x.Pages) {
			t.Errorf("asked about %d: %+v", n, x)
		}
	}
}

// calibrated trains the critic again: on the drawn pages that were marked, and its prior is that of pages of the crawl and around the
// likes, of which more than a twentieth and fewer than all are on topic.
func (r *rig) calibrated(t *testing.T, crawl string, drawn int) {
	t.Helper()
	var again struct{ Report pulearning.Report }
	if err := json.Unmarshal([]byte(r.mustRun("--json", "critic", "retrain", crawl)), &again); err != nil {
		t.Fatal(err)
	}
	if x := again.Report; x.Drawn != drawn || x.Prior < .02 || x.Prior > .9 {
		t.Errorf("trained with %d marks of drawn pages: %+v", drawn, x)
	}
}

// markExamples marks pages for a critic of a taxonomy, and trains it again with them.
func (r *rig) markExamples(t *testing.T, urls []string) {
	train := []string{"--json", "critic", "train", r.file("topics.jsonl", smallExamples()), "--name", "topics", "--minimum", "5"}
	examples := func(args ...string) map[string]int {
		var got struct {
			Report struct {
				Classes []struct {
					Name     string
					Examples int
				}
			}
		}
		if err := json.Unmarshal([]byte(r.mustRun(append(train, args...)...)), &got); err != nil {
			t.Fatal(err)
		}
		by := make(map[string]int)
		for _, c := range got.Report.Classes {
			by[c.Name] = c.Examples
		}
		return by
	}
	examples()
	r.fails(t, cli.ExitUsage, append([]string{"critic", "mark", "topics", "--wrong"}, urls...), "what are the pages about?")
	r.fails(t, cli.ExitFailure, []string{"critic", "expand", "topics"}, "forager critic train EXAMPLES --name topics --marks")
	r.fails(t, cli.ExitUsage, append([]string{"critic", "mark", "liked", "--right", "--topic", "Arts"}, urls...), "has one topic, liked")
	if out := r.mustRun(append([]string{"critic", "mark", "topics", "--right", "--topic", "Science/Alchemy"}, urls...)...); !strings.Contains(out, "--marks") {
		t.Errorf("critic mark: %s", out)
	}
	want := map[string]int{"Arts/Music": 12, "Science/Alchemy": 3 + len(urls), "Science/Physics": 12}
	if diff := cmp.Diff(want, examples("--marks")); diff != "" {
		t.Errorf("trained with the marks: %s", diff)
	}
}
