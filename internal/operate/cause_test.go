package operate

import (
	"math"
	"strings"
	"testing"
	"time"

	"forager/internal/platform/disk"
	"forager/internal/stream"
	"forager/schemas"
)

// TestCausesAreNamed: the sentence names what hinders a crawl with its share and a remedy; of a healthy crawl it names nothing.
func TestCausesAreNamed(t *testing.T) {
	now := time.Now()
	wait := func(c schemas.WaitCause, object string, urls uint64) *schemas.Wait {
		return &schemas.Wait{Cause: c, Object: object, Urls: urls}
	}
	turn, beyond := wait(schemas.WaitCause_WAIT_CAUSE_WINDOW, "", 30), wait(schemas.WaitCause_WAIT_CAUSE_RANK, "", 60)
	pauses := wait(schemas.WaitCause_WAIT_CAUSE_HOST_PAUSE, "a.test", 10)
	idle := &Pipeline{Stages: []StageLag{{Stage: "fetch", Seconds: 40, crawls: map[string]float64{"other": 40}}, {Stage: "parse-dom", Seconds: 1}}}
	behind := func(stage string, seconds float64, crawl string) *Pipeline {
		p := &Pipeline{}
		for _, s := range StageNames[:loop] {
			x := StageLag{Stage: s}
			if s == stage {
				x.Seconds, x.crawls = seconds, map[string]float64{crawl: seconds}
			}
			p.Stages = append(p.Stages, x)
		}
		return p
	}
	parked := func(object string) *Pipeline {
		return &Pipeline{Parked: []ParkedCrawl{{"critic-score", stream.Parked{Unit: "c", Object: object, Since: now, Records: 7, Cause: "not there"}}}}
	}
	for _, k := range []struct {
		name     string
		waits    []*schemas.Wait
		inFlight uint64
		median   uint32
		quiet    time.Duration // since the status was written
		activity string
		p        *Pipeline
		want     []string // in the sentence; none: nothing hinders it
		share    float64
	}{
		{name: "healthy", waits: []*schemas.Wait{pauses, beyond, turn}, inFlight: 16, p: idle},
		{name: "slots left empty for better URLs", waits: []*schemas.Wait{pauses, turn}, inFlight: 3, p: idle},
		{name: "the last pages", inFlight: 3, p: idle},
		{name: "the stages are not known", waits: []*schemas.Wait{turn}, inFlight: 16},
		{name: "slow and steady", waits: []*schemas.Wait{turn}, inFlight: 16, median: 8000, p: behind("critic-score", 9, "c")},
		{name: "its host asks for long pauses", waits: []*schemas.Wait{turn}, inFlight: 16, quiet: time.Second, p: behind("fetch", 20, "c")},
		{name: "pauses", waits: []*schemas.Wait{pauses}, inFlight: 2, p: idle, want: []string{"100 % of the URLs wait", "pauses", "a.test", "seeds"}, share: 1},
		{name: "most wait for robots.txt", waits: []*schemas.Wait{wait(schemas.WaitCause_WAIT_CAUSE_ROBOTS, "b.test", 30), pauses}, inFlight: 2, p: idle, want: []string{"75 %", "robots.txt", "b.test"}, share: .75},
		{name: "refused", waits: []*schemas.Wait{wait(schemas.WaitCause_WAIT_CAUSE_HOST_REFUSED, "b.test", 3)}, p: idle, want: []string{"429 or 503", "politeness.delay"}, share: 1},
		{name: "held, though most did not pass the gate", waits: []*schemas.Wait{wait(schemas.WaitCause_WAIT_CAUSE_GATE, "", 90), wait(schemas.WaitCause_WAIT_CAUSE_PAUSED, "", 10)}, p: idle, want: []string{"10 %", "paused", "forager crawl resume"}, share: .1},
		{name: "the disk", waits: []*schemas.Wait{wait(schemas.WaitCause_WAIT_CAUSE_DISK, "/data", 9)}, p: idle, activity: disk.State{Dir: "/data", Need: 1}.String(), want: []string{"disk /data has 0 B free and needs 1 B (free space"}, share: 1},
		{name: "a stage", waits: []*schemas.Wait{pauses, turn}, inFlight: 16, p: behind("parse-dom", 7, "other"), want: []string{"100 %", "stage parse-dom is behind", "7 s old", "forager up"}, share: 1},
		{name: "a stage, with the rest of the budget", waits: []*schemas.Wait{wait(schemas.WaitCause_WAIT_CAUSE_BUDGET, "", 9)}, inFlight: 4, p: behind("prioritize", 7, "c"), want: []string{"stage prioritize is behind"}, share: 1},
		{name: "the budget, and no stage", waits: []*schemas.Wait{wait(schemas.WaitCause_WAIT_CAUSE_BUDGET, "", 9)}, inFlight: 4, p: idle, want: []string{"budget", "--pages"}, share: 1},
		{name: "fetch", waits: []*schemas.Wait{turn}, inFlight: 16, quiet: 8 * time.Second, p: behind("fetch", 9, "c"), want: []string{"stage fetch is behind"}, share: 1},
		{name: "the critic", waits: []*schemas.Wait{turn}, inFlight: 16, p: parked("critic pages v1"), want: []string{"critic pages v1", "publishes it again"}, share: 1},
		{name: "a fault", waits: []*schemas.Wait{turn}, inFlight: 16, p: parked(""), want: []string{"critic-score has left crawl c aside"}, share: 1},
	} {
		t.Run(k.name, func(t *testing.T) {
			st := &schemas.CrawlStatus{
				State: schemas.ShardState_SHARD_STATE_RUNNING, Waits: k.waits, InFlight: k.inFlight, Queued: 100, Window: 16, LatencyP50Ms: k.median, At: now.Add(-k.quiet).UnixMilli(),
				Activity: k.activity,
			}
			x := Summarize("c", st, k.p)
			x.SetSentence("2.0 pages/s")
			sum := 0.0
			for _, c := range x.Causes {
				sum += c.Share
			}
			if len(x.Causes) > 0 && math.Abs(sum-1) > 1e-9 {
				t.Errorf("the shares sum to %v: %+v", sum, x.Causes)
			}
			if (x.Main != nil) != (len(k.want) > 0) || x.Main == nil && x.Sentence != "running, 2.0 pages/s" || x.Main != nil && x.Main.Share != k.share {
				t.Fatalf("%s\n%+v", x.Sentence, x.Main)
			}
			for _, w := range k.want {
				if !strings.Contains(x.Sentence, w) {
					t.Errorf("%q lacks %q", x.Sentence, w)
				}
			}
		})
	}
	for c := schemas.WaitCause_WAIT_CAUSE_GATE; c <= schemas.WaitCause_WAIT_CAUSE_WINDOW; c++ {
		if text := texts[c]; text[0] == "" || text[1] == "" && c != schemas.WaitCause_WAIT_CAUSE_WINDOW {
			t.Errorf("%v has the texts %q", c, text)
		}
	}
}
