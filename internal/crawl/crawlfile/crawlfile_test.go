package crawlfile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"forager/internal/platform/strictyaml"
	"forager/internal/rank/policy"
	"forager/schemas"
)

const whole = `
name: chemistry
critic: schools
focus: [Science/Chemistry]
seeds: ["HTTP://Example.org/a#top", "http://example.org/a"]
seeds_file: seeds.txt
weights: {Science: 0.5}
bad: [Science/Physics]
shadows: [other]
budget: {pages: 3000}
ranker: apprentice-gated
scope: {hosts: [Example.org], prefixes: ["http://example.org"], url_list: list.txt, max_depth: 4, host_cap: 9}
politeness: {delay: 1500ms, contact: me@example.org}
learning: {d_max: 7, pairs: forward, topics: top2, features: [near-text, anchor], active: 0.25, learner: logistic, logistic: {rate: 0.2}}
leaves: paper
`

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// asWritten parses the text of a file to which the caller adds nothing.
func asWritten(b []byte, dir string) (*Crawl, []strictyaml.Problem) {
	return parse(b, below(filepath.Join(dir, "crawl.yaml")), func(*File) {})
}

func TestWholeFile(t *testing.T) {
	dir := folder(t, map[string]string{
		"crawl.yaml": whole, "seeds.txt": "# seeds\n\nhttp://example.org/b\n", "list.txt": "http://example.org/a\nhttp://example.org/b\n",
	})
	c, err := Load(filepath.Join(dir, "crawl.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"http://example.org/a", "http://example.org/b"}, c.Seeds); diff != "" {
		t.Errorf("seeds: %s", diff)
	}
	if diff := cmp.Diff([]string{"http://example.org/a", "http://example.org/b"}, c.URLList); diff != "" {
		t.Errorf("URL list: %s", diff)
	}
	ctl := c.Control
	if ctl.GetPoliteness().GetDelayMs() != 1500 || ctl.GetPoliteness().GetUserAgent() != "Forager/1.0 (+mailto:me@example.org)" {
		t.Errorf("politeness: %v", ctl.GetPoliteness())
	}
	if ctl.GetWeights()["Science"] != .5 || len(ctl.GetBad()) != 1 || len(ctl.GetShadows()) != 1 || ctl.GetShadows()[0] != "other" {
		t.Errorf("judged by weights %v, without %v, shadows %v", ctl.GetWeights(), ctl.GetBad(), ctl.GetShadows())
	}
	if s := ctl.GetScope(); s.GetHosts()[0] != "example.org" || s.GetPrefixes()[0] != "http://example.org/" || s.GetHostCap() != 9 {
		t.Errorf("scope: %v", s)
	}
	if l := ctl.GetLearning(); l.GetDMax() != 7 || l.GetPairs() != schemas.Pairs_PAIRS_FORWARD || l.GetTopics() != schemas.TopicFeatures_TOPIC_FEATURES_TOP2 {
		t.Errorf("learning: %v", l)
	}
	if ctl.GetLeaves() != schemas.LeafMode_LEAF_MODE_PAPER || ctl.GetPolicies()[0].GetGate().GetAction() != schemas.GateAction_GATE_ACTION_DEFER {
		t.Errorf("control: %v", ctl)
	}
}

// TestASentFileNamesNoFile: the sender of a crawl file does not learn what the files of this machine have, nor which there are.
func TestASentFileNamesNoFile(t *testing.T) {
	dir := folder(t, map[string]string{"seeds.txt": "http://example.org/secret\n"})
	text := strings.ReplaceAll(strings.ReplaceAll(whole, "seeds.txt", filepath.Join(dir, "seeds.txt")), "list.txt", filepath.Join(dir, "none.txt"))
	_, err := Parse([]byte(text))
	var wrong *strictyaml.Error
	if !errors.As(err, &wrong) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), dir) {
		t.Fatalf("%v", err)
	}
	named := make(map[string]string)
	for _, p := range wrong.Problems {
		named[p.Path] = p.Message
	}
	for _, path := range []string{"seeds_file", "scope.url_list"} {
		if !strings.HasPrefix(named[path], "names a file") {
			t.Errorf("%s: %q", path, named[path])
		}
	}
	const alone = `{"name": "a", "critic": "c", "focus": ["T"], "seeds": ["http://a.example"], "budget": {"pages": 1}, "politeness": {"contact": "me@example.org"}}`
	if c, err := Parse([]byte(alone)); err != nil || len(c.Seeds) != 1 {
		t.Errorf("one in JSON that names none: %v, %v", c, err)
	}
}

func TestEveryProblemAtOnce(t *testing.T) {
	dir := folder(t, nil)
	_, problems := asWritten([]byte(`
name: "Not A Name"
seeds: ["nonsense", "mailto:x@y"]
seeds_file: none.txt
ranker: psychic
scope: {prefixes: ["/relative"], hosts: ["a b"], url_list: none.txt}
politeness: {delay: -1s, address_delay: -1s, network_delay: 2h, contact: "a)b"}
learning: {d_max: 101, pairs: sideways, topics: everything, sync: true, learner: oracle, count: some, smooth: 9, features: [smell], active: 2}
distiller: {sites: planets, relevance: 0, hubs: 101}
leaves: some
shards: 300
window: 3
speed: 11
`), dir)
	got := make(map[string]int)
	for _, p := range problems {
		got[p.Path]++
	}
	want := map[string]int{
		"name": 1, "critic": 1, "focus": 1, "budget": 1, "seeds": 2, "seeds_file": 1, "ranker": 1,
		"scope.prefixes": 1, "scope.hosts": 1, "scope.url_list": 1, "politeness.delay": 1, "politeness.address_delay": 1, "politeness.network_delay": 1, "politeness.contact": 1,
		"learning.d_max": 1, "learning.pairs": 1, "learning.topics": 1, "learning.learner": 1, "learning.count": 1, "learning.smooth": 1, "learning.features": 1, "learning.active": 1, "leaves": 1,
		"distiller.sites": 1, "distiller.relevance": 1, "distiller.hubs": 1, "speed": 1, "shards": 1, "window": 1, "learning.sync": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems by path (-want +got):\n%s", diff)
	}
}

func TestTheDistillerIsSetUp(t *testing.T) {
	for file, want := range map[string]*schemas.Distiller{
		"ranker: soft-focus":           nil,
		"ranker: soft-focus-distilled": {Relevance: .15, Hubs: 20},
		"{ranker: unfocused+soft-focus-distilled, distiller: {every: 50, sites: host, relevance: 0.5, hubs: 3}}": {Every: 50, ByHost: true, Relevance: .5, Hubs: 3},
	} {
		c, problems := asWritten([]byte(file), "")
		if diff := cmp.Diff(want, c.Control.GetDistiller(), protocmp.Transform()); diff != "" {
			t.Errorf("%s: %v\n%s", file, problems, diff)
		}
		if slices.ContainsFunc(problems, func(p strictyaml.Problem) bool { return strings.HasPrefix(p.Path, "distiller") || p.Path == "ranker" }) {
			t.Errorf("%s: %v", file, problems)
		}
	}
}

func TestLogisticRegressionIsSetUp(t *testing.T) {
	for settings, want := range map[string]*schemas.Logistic{
		"learner: bayes": nil, "learner: logistic": {Rate: .1, L2: 1}, "learner: logistic, logistic: {rate: 0.5, l1: 2}": {Rate: .5, L1: 2, L2: 1},
	} {
		c, problems := asWritten([]byte(strings.Replace(whole, "learner: logistic, logistic: {rate: 0.2}", settings, 1)), folder(t, map[string]string{"seeds.txt": "http://example.org/b", "list.txt": "http://example.org/a\nhttp://example.org/b\n"}))
		families := []schemas.FeatureFamily{schemas.FeatureFamily_FEATURE_FAMILY_NEAR_TEXT, schemas.FeatureFamily_FEATURE_FAMILY_ANCHOR}
		if l := c.Control.Learning; !slices.Equal(l.GetFeatures(), families) || l.GetActive() != .25 {
			t.Errorf("features %v, active %v", l.GetFeatures(), l.GetActive())
		}
		if diff := cmp.Diff(want, c.Control.Learning.GetLogistic(), protocmp.Transform()); diff != "" || len(problems) > 0 {
			t.Errorf("%s: %v\n%s", settings, problems, diff)
		}
	}
	if c, problems := asWritten([]byte(strings.Replace(whole, "features: [near-text, anchor], active: 0.25, learner: logistic, logistic: {rate: 0.2}", "count: binary, smooth: 3", 1)), folder(t, map[string]string{"seeds.txt": "http://example.org/b", "list.txt": "http://example.org/a\nhttp://example.org/b\n"})); c.Control.Learning.GetCount() != schemas.Counting_COUNTING_BINARY || c.Control.Learning.GetSmooth() != 3 || len(problems) > 0 {
		t.Errorf("count and smooth: %v, %v", c.Control.Learning, problems)
	}
	_, problems := asWritten([]byte("learning: {learner: logistic, logistic: {rate: 11}}"), "")
	if !slices.ContainsFunc(problems, func(p strictyaml.Problem) bool { return p.Path == "learning.logistic" }) {
		t.Errorf("a rate of 11 is taken: %v", problems)
	}
}

func TestEveryNamedRankerIsAPolicyOrTheMixture(t *testing.T) {
	for _, name := range Rankers {
		arms := []string{name}
		if name == "mixture" {
			arms = Arms
		}
		r, err := Rank(name)
		if err != nil || len(r.Policies) != len(arms) || (r.Mixture != nil) != (len(arms) > 1) {
			t.Fatalf("%s: %v, %v", name, r, err)
		}
		if got := NameOf(&schemas.CrawlControl{Policies: r.Policies, Mixture: r.Mixture}); got != name {
			t.Errorf("%s is called %s", name, got)
		}
		for i, p := range r.Policies {
			if p.GetName() != arms[i] {
				t.Errorf("%s: arm %d is %s", name, i, p.GetName())
			}
			if _, err := policy.New(p, 0); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestComparatorsAreRefused(t *testing.T) {
	for _, name := range []string{"interest", "soft-focus+tag-bandit", "fish-search", "random+shark-search", "rennie-mccallum"} {
		if _, err := Rank(name); err == nil || !strings.Contains(err.Error(), "is a comparator of the laboratory: run it by forager-lab experiment") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRankersWithGuides(t *testing.T) {
	r, err := RankBy("context-graph+mine+hard-defer", map[string]string{"context-graph": "layers", "mine": "links/0123456789ab"})
	if err != nil || r.Mixture == nil || r.Policies[0].GetGuide() != "layers" || r.Policies[1].GetGuide() != "links/0123456789ab" ||
		r.Policies[1].GetName() != "mine" || r.Policies[1].GetRanker() != schemas.Ranker_RANKER_GUIDE || r.Policies[2].GetGuide() != "" {
		t.Errorf("%v, %v", r, err)
	}
	for expected, c := range map[string]struct {
		ranker string
		guides map[string]string
	}{
		"context-graph ranks by a guide: name a published one": {"context-graph+hard-defer", nil},
		`"other" is no ranker of context-graph`:                {"context-graph", map[string]string{"context-graph": "x", "other": "y"}},
		`"hard-defer" ranks without one`:                       {"hard-defer", map[string]string{"hard-defer": "x"}},
		`"mine" names no published guide`:                      {"mine", map[string]string{"mine": ""}},
		"1–64 of a–z":                                          {"Mine", map[string]string{"Mine": "x"}},
		"with a published guide: context-graph":                {"psychic", nil},
		"twice":                                                {"mine+mine", map[string]string{"mine": "x"}},
	} {
		if r, err := RankBy(c.ranker, c.guides); err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("%s: %v, %v; want one with %q", c.ranker, r, err, expected)
		}
	}
	for _, name := range Guides {
		if slices.Contains(Rankers, name) {
			t.Errorf("%s ranks with a guide and without", name)
		}
	}
	text := strings.Replace(whole, "ranker: apprentice-gated", "ranker: mine\nguides: {mine: links}\nlabels_from_urls: true", 1)
	c, problems := asWritten([]byte(text), folder(t, map[string]string{"seeds.txt": "http://example.org/b", "list.txt": "http://example.org/a\nhttp://example.org/b\n"}))
	if len(problems) > 0 || c.Control.GetPolicies()[0].GetGuide() != "links" || !c.Control.GetLabelsFromUrls() {
		t.Errorf("%v, %v", c.Control.GetPolicies(), problems)
	}
}

func TestMixturesByTheirArms(t *testing.T) {
	r, err := Rank("hard-defer+random")
	if err != nil || len(r.Policies) != 2 || r.Policies[1].GetName() != "random" || r.Mixture == nil {
		t.Errorf("%v, %v", r, err)
	}
	for name, expected := range map[string]string{
		"psychic": `no ranker "psychic"; known: unfocused`, "random+psychic": `no ranker "psychic"`, "random+": `no ranker ""`,
		"random+hard-defer+random": "random is an arm of random+hard-defer+random twice", "random+mixture": "mixture is no arm",
	} {
		if _, err := Rank(name); err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("%s: %v, want %q", name, err, expected)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("name: x\nseeds: &a [*a]\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, problems := asWritten(b, t.TempDir())
		if len(problems) == 0 && (len(c.Seeds) == 0 || len(c.Control.GetPolicies()) == 0) {
			t.Errorf("no problem, yet %v", c)
		}
	})
}
