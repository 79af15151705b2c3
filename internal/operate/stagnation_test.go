package operate

import (
	"reflect"
	"strings"
	"testing"

	"forager/internal/frontier"
	"forager/schemas"
)

// TestStagnation: of a crawl that has no link to follow the rejected classes are shown, and the parents and siblings of its focus that would
// take them in; of any other crawl nothing is.
func TestStagnation(t *testing.T) {
	gate := []*schemas.Wait{{Cause: schemas.WaitCause_WAIT_CAUSE_GATE, Urls: 9}}
	funds := map[string]uint64{"Business/Investing/Other": 40, "Business/Investing/Stocks/Tips": 9, "Business/Jobs": 5, "Other": 30}
	running := &schemas.CrawlStatus{State: schemas.ShardState_SHARD_STATE_RUNNING, Window: 16, Waits: gate, Rejected: funds}
	ended := &schemas.CrawlStatus{State: schemas.ShardState_SHARD_STATE_FINISHED, EndReason: frontier.EndStagnated, Waits: gate, Rejected: funds}
	narrow := &schemas.CrawlControl{Focus: []string{"Business/Investing/Funds"}}
	wide := []Rejection{{"Business/Investing", 49}, {"Business/Investing/Stocks", 9}}
	for _, k := range []struct {
		name  string
		ctl   *schemas.CrawlControl
		st    *schemas.CrawlStatus
		marks []Rejection
		want  []string // in the sentence; none: nothing is shown
	}{
		{"the parent takes in most", narrow, running, wide, []string{"lets no link", "as Business/Investing/Other (40), Other (30), Business/Investing/Stocks/Tips (9)", "good: Business/Investing (49), Business/Investing/Stocks (9) (forager crawl focus c --good TOPIC)"}},
		{"it has ended", narrow, ended, wide, []string{"stagnated: ", "Business/Investing (49)", "(forager crawl focus c --good TOPIC, then forager crawl resume c with seeds)"}},
		{"classes without a parent", &schemas.CrawlControl{Focus: []string{"Funds"}}, running, []Rejection{{"Business", 54}}, []string{"good: Business (54)"}},
		{"two topics of one parent, one of them marked since", &schemas.CrawlControl{Focus: []string{"Business/Jobs", "Business/Arts"}}, running, []Rejection{{"Business", 49}, {"Business/Investing", 49}}, []string{"good: Business (49)"}},
		{"bad topics are offered no more", &schemas.CrawlControl{Focus: []string{"Business/Investing/Funds"}, Bad: []string{"Business/Investing/Stocks"}}, running, []Rejection{{"Business/Investing", 40}}, []string{"good: Business/Investing (40)"}},
		{"nothing is near", &schemas.CrawlControl{Focus: []string{"Science/Chemistry"}}, running, nil, []string{"Business/Jobs (5)"}},
		{"it goes on", narrow, &schemas.CrawlStatus{State: schemas.ShardState_SHARD_STATE_RUNNING, Window: 16, InFlight: 16, Waits: gate, Rejected: funds}, nil, nil},
		{"its budget is spent", narrow, &schemas.CrawlStatus{State: schemas.ShardState_SHARD_STATE_FINISHED, EndReason: frontier.EndPages, Waits: gate, Rejected: funds}, nil, nil},
	} {
		x := Summarize("c", k.st, nil)
		x.stagnation(k.ctl, k.st)
		x.SetSentence("")
		if !reflect.DeepEqual(x.Marks, k.marks) || (len(x.Rejected) > 0) != (len(k.want) > 0) || strings.Contains(x.Sentence, "rejected") != (len(k.want) > 0) {
			t.Errorf("%s: marks %v, rejected %v: %s", k.name, x.Marks, x.Rejected, x.Sentence)
		}
		for _, w := range k.want {
			if !strings.Contains(x.Sentence, w) {
				t.Errorf("%s: %q lacks %q", k.name, x.Sentence, w)
			}
		}
	}
}
