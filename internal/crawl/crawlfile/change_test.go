package crawlfile

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/controls"
	"forager/schemas"
)

const changing = `
name: chemistry
critic: schools
focus: [Science/Chemistry, Science/Physics]
weights: {Science/Physics: 0.5}
seeds: ["http://a.example/"]
budget: {pages: 3000}
ranker: soft-focus-distilled+hard-defer
ranker_shadows: [in-links]
scope: {hosts: [a.example], max_depth: 12}
exclude: {urls: ["/calendar/"], hosts: [b.example]}
politeness: {delay: 1s, contact: you@a.example}
`

// running returns the control record of a crawl that runs by a crawl file.
func running(t *testing.T, text string) *schemas.CrawlControl {
	t.Helper()
	c, problems := parse([]byte(text), below(t.TempDir()), func(*File) {})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	c.Control.Revision, c.Control.Critic = 7, "schools/1f0c"
	return c.Control
}

// paths lists the settings of a crawl file.
func paths(v reflect.Type, under string) (all []string) {
	for f := range v.Fields() {
		path := under + f.Tag.Get("yaml")
		if f.Type.Kind() == reflect.Struct {
			all = append(all, paths(f.Type, path+".")...)
		} else {
			all = append(all, path)
		}
	}
	return all
}

// changes has, for every setting of a crawl file, another value, and the reason if it is refused.
var changes = map[string]struct{ value, refused string }{
	"name":                        {"physics", "keeps its name"},
	"critic":                      {"other", ""},
	"focus":                       {"[Science/Physics]", ""},
	"weights":                     {"{Science/Physics: 0.25}", ""},
	"bad":                         {"[Science/Physics/Optics]", ""},
	"forms":                       {"[Lists]", ""},
	"shadows":                     {"[other]", ""},
	"seeds":                       {`["http://a.example/2"]`, "forager crawl seeds"},
	"seeds_file":                  {"more.urls", "forager crawl seeds"},
	"budget.pages":                {"4000", ""},
	"budget.requests":             {"9000", ""},
	"ranker":                      {"apprentice", ""},
	"ranker_shadows":              {"[apprentice]", ""},
	"guides":                      {"{context-graph: near}", ""},
	"expand":                      {"page", "orders pages|whole crawl|ordered by a guide"},
	"backlinks.source":            {"engine", "backlinks"},
	"backlinks.ration":            {"10", "backlinks"},
	"context_graph.rebuild_every": {"500", "context_graph"},
	"context_graph.bootstrap":     {"50", "context_graph"},
	"labels_from_urls":            {"true", "whole crawl"},
	"scope.hosts":                 {"[c.example]", "which links count"},
	"scope.prefixes":              {`["http://a.example/x/"]`, "which links count"},
	"scope.url_list":              {"list", "cannot change"},
	"scope.max_depth":             {"3", "which links count"},
	"scope.host_cap":              {"5", "which links count"},
	"exclude.urls":                {`["/print/"]`, ""},
	"exclude.hosts":               {"[c.example]", ""},
	"exclude.domains":             {"[example.net]", ""},
	"exclude.prefixes":            {"[/cgi-bin/]", ""},
	"exclude.content_types":       {"[application/xhtml+xml]", ""},
	"exclude.languages":           {"[de]", ""},
	"priority.first":              {"[d.example, www.a.example]", ""},
	"priority.last":               {"[a.example]", ""},
	"window":                      {"50", ""},
	"host_window":                 {"1", ""},
	"max_attempts":                {"5", "which links count"},
	"host_patience":               {"1h", ""},
	"shards":                      {"2", "frontier is divided"},
	"politeness.delay":            {"2s", ""},
	"politeness.address_delay":    {"3s", ""},
	"politeness.network_delay":    {"4s", ""},
	"politeness.contact":          {"them@a.example", ""},
	"politeness.ignore_robots":    {"true", ""},
	"learning.d_max":              {"7", "has learned"},
	"learning.switch_pages":       {"100", ""},
	"learning.refit_pages":        {"100", ""},
	"learning.sync":               {"true", ""},
	"learning.prior":              {"older/1", "began with it"},
	"learning.pairs":              {"forward", "has learned"},
	"learning.topics":             {"top2", "has learned"},
	"learning.features":           {"[anchor]", "has learned"},
	"learning.active":             {"0.25", "has learned"},
	"learning.learner":            {"logistic", "has learned"},
	"learning.count":              {"binary", "has learned"},
	"learning.smooth":             {"1", "has learned"},
	"learning.logistic.rate":      {"0.5", "has learned"},
	"learning.logistic.l1":        {"2", "has learned"},
	"learning.logistic.l2":        {"3", "has learned"},
	"distiller.every":             {"200", ""},
	"distiller.sites":             {"host", ""},
	"distiller.relevance":         {"0.5", ""},
	"distiller.hubs":              {"5", ""},
	"leaves":                      {"paper", "has learned"},
	"random_seed":                 {"9", "whole crawl"},
}

// TestEverySettingTakesEffectOrIsRefused changes each setting of a crawl file alone.
func TestEverySettingTakesEffectOrIsRefused(t *testing.T) {
	all := paths(reflect.TypeFor[File](), "")
	for _, path := range all {
		if _, ok := changes[path]; !ok {
			t.Errorf("%s has no line in the table: does it take effect in a crawl that runs?", path)
		}
		known := slices.ContainsFunc(settings, func(s setting) bool { return s.path == path })
		if seed := strings.HasPrefix(path, "seeds"); known == seed {
			t.Errorf("%s is among the settings: %t", path, known)
		}
	}
	if len(changes) != len(all) {
		t.Errorf("%d settings, and %d lines in the table", len(all), len(changes))
	}
	for path, change := range changes {
		text, value := changing, change.value
		switch {
		case path == "guides":
			text = strings.Replace(changing, "ranker: soft", "guides: {context-graph: far}\nranker: context-graph+soft", 1)
		case strings.HasPrefix(path, "learning.logistic"):
			text += "learning: {learner: logistic}\n"
		}
		inForce := running(t, text)
		c, err := Set(inForce, []string{path + "=" + value})
		if err == nil {
			err = c.Refused()
		}
		if change.refused != "" {
			contains := func(s string) bool { return err != nil && strings.Contains(err.Error(), s) }
			if !slices.ContainsFunc(strings.Split(change.refused, "|"), contains) || !contains(strings.Split(path, ".")[0]) {
				t.Errorf("%s=%s: %v, want it refused: %s", path, value, err, change.refused)
			}
			continue
		}
		if err != nil || len(c.Differences) != 1 || c.Differences[0].Setting != path {
			t.Errorf("%s=%s: %v, %v", path, value, c, err)
			continue
		}
		if proto.Equal(c.Control, inForce) {
			t.Errorf("%s=%s changes nothing in the control record", path, value)
		}
		if err := controls.Check(inForce, c.Control); err != nil {
			t.Errorf("%s=%s: %v", path, value, err)
		}
		if again, err := Set(c.Control, []string{path + "=" + value}); err != nil || len(again.Differences) > 0 {
			t.Errorf("%s=%s again: %v, %v", path, value, again, err)
		}
	}
}

func TestChangeOfAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chemistry.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inForce := running(t, changing)
	write(changing)
	if c, err := Change(inForce, file); err != nil || len(c.Differences) > 0 || !proto.Equal(c.Control, inForce) {
		t.Fatalf("the same file: %+v, %v", c, err)
	}
	write(strings.NewReplacer("pages: 3000", "pages: 5000", `urls: ["/calendar/"], `, "").Replace(changing))
	c, err := Change(inForce, file)
	if err != nil || c.Refused() != nil || len(c.Differences) != 2 || !c.Has("budget.pages") || !c.Has("exclude.urls") || c.Has("critic") {
		t.Fatalf("%+v, %v", c, err)
	}
	if c.Control.GetBudget().GetPages() != 5000 || len(c.Control.GetExcludes().GetUrls()) > 0 || len(c.Control.GetExcludes().GetHosts()) != 1 || c.Control.GetCritic() != "schools/1f0c" {
		t.Errorf("%v", c.Control)
	}
	write(strings.NewReplacer("pages: 3000", "pages: 5000", "max_depth: 12", "max_depth: 3").Replace(changing))
	if c, err = Change(inForce, file); err != nil || c.Refused() == nil || !strings.Contains(c.Refused().Error(), "nothing was changed\n  scope.max_depth is 12 and cannot become 3") {
		t.Errorf("%+v, %v", c.Refused(), err)
	}
}

func TestURLList(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "crawl.yaml")
	text := strings.Replace(changing, "max_depth: 12", "url_list: list", 1)
	for name, content := range map[string]string{"list": "http://a.example/\nhttp://a.example/1\n", "crawl.yaml": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inForce, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	inForce.Control.Scope.UrlList, _ = ListObject("chemistry", inForce.URLList)
	if c, err := Change(inForce.Control, file); err != nil || len(c.Differences) > 0 {
		t.Errorf("the same list: %+v, %v", c, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "list"), []byte("http://a.example/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := Change(inForce.Control, file); err != nil || c.Refused() == nil || !strings.Contains(c.Refused().Error(), "scope.url_list") {
		t.Errorf("another list: %+v, %v", c, err)
	}
}

func TestWordsOfLists(t *testing.T) {
	inForce := running(t, changing)
	c, err := Set(inForce, []string{"exclude.hosts+=c.example", "exclude.hosts-=b.example", "exclude.urls+=/print/", "exclude.urls-=/calendar/"})
	if err != nil {
		t.Fatal(err)
	}
	x := c.Control.GetExcludes()
	if !slices.Equal(x.GetHosts(), []string{"c.example"}) || !slices.Equal(x.GetUrls(), []string{"/print/"}) {
		t.Errorf("%v", x)
	}
	if c, err = Set(c.Control, []string{"exclude.hosts=[]", "exclude.urls=[]"}); err != nil || c.Control.GetExcludes() != nil {
		t.Errorf("no rules are left: %v, %v", c, err)
	}
	for edit, expected := range map[string]string{
		"exclude.hosts-=d.example": `has no "d.example": b.example`,
		"budget.pages+=3":          "is no list of words",
		"exclude.ports+=80":        "is no setting",
		"exclude.ports=80":         "ports",
		"exclude.urls+=(":          "missing closing )",
		"budget":                   "is not SETTING=VALUE",
		"budget.pages=0":           "budget: is missing",
	} {
		if _, err := Set(inForce, []string{edit}); err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("%s: %v, want %s", edit, err, expected)
		}
	}
}

// TestOtherCrawls changes crawls that were not begun by a plain crawl file.
func TestOtherCrawls(t *testing.T) {
	fetching, err := Fetching("list", "you@a.example", 0, []string{"http://a.example/"})
	if err != nil {
		t.Fatal(err)
	}
	bootstrapped := running(t, strings.Replace(changing, "ranker: soft", "context_graph: {rebuild_every: 100, bootstrap: 20}\nranker: context-graph+soft", 1))
	guided := proto.CloneOf(bootstrapped)
	guided.Policies[0] = &schemas.Policy{Name: "context-graph", Ranker: schemas.Ranker_RANKER_GUIDE, Guide: "chemistry/2"}
	for _, inForce := range []*schemas.CrawlControl{fetching.Control, bootstrapped, guided} {
		c, err := Set(inForce, []string{"exclude.languages+=de"})
		if err != nil || len(c.Differences) != 1 || c.Refused() != nil {
			t.Errorf("%v: %v, %v", inForce, c, err)
		}
	}
	c, err := Set(guided, []string{"ranker=context-graph+apprentice"})
	if err != nil || c.Refused() != nil || c.Control.GetPolicies()[0].GetGuide() != "chemistry/2" {
		t.Errorf("%v, %v", c, err)
	}
}
