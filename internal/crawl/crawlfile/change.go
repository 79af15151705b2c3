package crawlfile

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/platform/strictyaml"
	"forager/schemas"
)

// Difference is a setting of a crawl file that differs from the control record in force.
type Difference struct {
	// Setting is the path in a crawl file ("budget.pages").
	Setting string `json:"setting"`
	// Before and After are its values, as text.
	Before string `json:"before"`
	After  string `json:"after"`
	// Refused is why a crawl that began cannot take it; empty = it takes effect.
	Refused string `json:"refused,omitempty"`
}

// Changed is what a crawl file, or some settings of one, would change in a crawl.
type Changed struct {
	// Control is the record in force with the differences that take effect; critics and guides may be names without a version.
	Control     *schemas.CrawlControl
	Differences []Difference
}

// Refused returns an error that names every difference that a running crawl cannot take, with the reason; nil if there is none.
func (c *Changed) Refused() error {
	var refused []string
	for _, d := range c.Differences {
		if d.Refused != "" {
			refused = append(refused, fmt.Sprintf("%s is %s and cannot become %s: %s", d.Setting, d.Before, d.After, d.Refused))
		}
	}
	if refused == nil {
		return nil
	}
	return fmt.Errorf("crawl %q: nothing was changed\n  %s", c.Control.GetCrawl(), strings.Join(refused, "\n  "))
}

// Has reports whether one of these settings differs.
func (c *Changed) Has(settings ...string) bool {
	return slices.ContainsFunc(c.Differences, func(d Difference) bool { return slices.Contains(settings, d.Setting) })
}

// Change compares a crawl file with the control record in force; what the file leaves out has its default. Seeds are not in a control
// record and are not compared.
func Change(inForce *schemas.CrawlControl, path string) (*Changed, error) {
	c, err := Load(path)
	if err != nil {
		return nil, err
	}
	if c.URLList != nil {
		c.Control.Scope.UrlList, _ = ListObject(c.Control.GetCrawl(), c.URLList)
	}
	return compare(inForce, c.Control, func(s setting) bool { return !s.versions || !named(s.value(inForce), s.value(c.Control)) }), nil
}

// Between returns the settings in which two control records of a crawl differ.
func Between(before, after *schemas.CrawlControl) []Difference {
	return compare(before, after, func(setting) bool { return true }).Differences
}

// Set compares single settings with the control record in force: each edit is "setting=value", with a value in YAML, or, for a list
// of words, "setting+=value" and "setting-=value" with one of them. The name of a critic or a guide means its newest version, while in a
// crawl file it means any.
func Set(inForce *schemas.CrawlControl, edits []string) (*Changed, error) {
	f := defaults()
	f.begun(inForce)
	r := strictyaml.Decode(nil, f)
	var named []string
	for _, edit := range edits {
		setting, value, ok := strings.Cut(edit, "=")
		add, remove := strings.HasSuffix(setting, "+"), strings.HasSuffix(setting, "-")
		setting = strings.TrimSpace(strings.TrimRight(setting, "+-"))
		if !ok || setting == "" {
			r.Problem("", "%q is not SETTING=VALUE", edit)
			continue
		}
		named = append(named, setting)
		if !add && !remove {
			if setting == "weights" { // else those of before would stay
				f.Weights = nil
			}
			r.Override(f, strings.Split(setting, "."), value)
		} else if err := f.edit(setting, value, add); err != nil {
			r.Problem(setting, "%v", err)
		}
	}
	for _, name := range named {
		switch {
		case strings.HasPrefix(name, "seeds"):
			r.Problem(name, "forager crawl seeds gives a crawl more seeds")
		case name == "scope.url_list":
			r.Problem(name, "the list of a crawl that began cannot change")
		}
	}
	for name := range f.Guides { // those of rankers that were given up
		if !slices.Contains(strings.Split(f.Ranker, "+"), name) && !slices.Contains(f.RankerShadows, name) {
			delete(f.Guides, name)
		}
	}
	c := &Crawl{Control: f.control()}
	f.convert(r, c)
	if slices.ContainsFunc(named, func(n string) bool { return strings.HasPrefix(n, "distiller") }) && !schemas.Raises(c.Control) {
		r.Problem("distiller", "%s raises nothing that hubs link to, so that the crawl has no distiller", f.Ranker)
	}
	if problems := r.Problems(); len(problems) > 0 {
		return nil, &strictyaml.Error{File: inForce.GetCrawl(), Problems: problems}
	}
	return compare(inForce, c.Control, func(s setting) bool {
		return slices.ContainsFunc(named, func(n string) bool { return s.path == n || strings.HasPrefix(s.path, n+".") })
	}), nil
}

// edit adds a word to a list, or removes it.
func (f *File) edit(setting, word string, add bool) error {
	v := reflect.ValueOf(f).Elem()
	for key := range strings.SplitSeq(setting, ".") {
		if v.Kind() != reflect.Struct {
			return errors.New("is no list")
		}
		i := slices.IndexFunc(reflect.VisibleFields(v.Type()), func(x reflect.StructField) bool { return x.Tag.Get("yaml") == key })
		if i < 0 {
			return errors.New("is no setting of a crawl file")
		}
		v = v.Field(i)
	}
	list, ok := v.Addr().Interface().(*[]string)
	switch {
	case !ok:
		return fmt.Errorf("is no list of words; write %s=VALUE", setting)
	case add && !slices.Contains(*list, word):
		*list = append(slices.Clone(*list), word)
	case !add && !slices.Contains(*list, word):
		return fmt.Errorf("has no %q: %s", word, strings.Join(*list, ", "))
	case !add:
		*list = slices.DeleteFunc(slices.Clone(*list), func(x string) bool { return x == word })
	}
	return nil
}

// begun sets what a crawl file must have, what its lists are, and what its checks compare, from the control record of a crawl.
func (f *File) begun(ctl *schemas.CrawlControl) {
	f.Name, f.Critic, f.Focus, f.Weights, f.Bad, f.Forms, f.Shadows = ctl.GetCrawl(), ctl.GetCritic(), ctl.GetFocus(), ctl.GetWeights(), ctl.GetBad(), ctl.GetForms(), ctl.GetShadows()
	f.Budget.Pages, f.Budget.Requests = ctl.GetBudget().GetPages(), ctl.GetBudget().GetRequests()
	f.Shards, f.Window = ctl.GetShards(), ctl.GetWindow()
	f.Politeness.Delay = time.Duration(ctl.GetPoliteness().GetDelayMs()) * time.Millisecond
	f.Politeness.AddressDelay = time.Duration(ctl.GetPoliteness().GetAddressDelayMs()) * time.Millisecond
	f.Politeness.NetworkDelay = time.Duration(ctl.GetPoliteness().GetNetworkDelayMs()) * time.Millisecond
	f.Politeness.Contact, f.Politeness.IgnoreRobots = contactOf(ctl), ctl.GetPoliteness().GetIgnoreRobots()
	x := ctl.GetExcludes()
	f.Exclude.URLs, f.Exclude.Hosts, f.Exclude.Domains, f.Exclude.Prefixes = x.GetUrls(), x.GetHosts(), x.GetDomains(), x.GetPrefixes()
	f.Exclude.ContentTypes, f.Exclude.Languages = x.GetContentTypes(), x.GetLanguages()
	f.Priority.First, f.Priority.Last = ctl.GetPriority().GetFirst(), ctl.GetPriority().GetLast()
	for _, p := range ctl.GetRankerShadows() {
		f.RankerShadows = append(f.RankerShadows, p.GetName())
	}
	f.Ranker, f.Guides = NameOf(ctl), guidesOf(ctl)
	if slices.ContainsFunc(ctl.GetPolicies(), func(p *schemas.Policy) bool { return p.GetExpand() == schemas.Expand_EXPAND_PAGE }) {
		f.Expand = "page"
	}
	f.ContextGraph.RebuildEvery, f.ContextGraph.Bootstrap = ctl.GetRenewal().GetEvery(), ctl.GetRenewal().GetBootstrap()
	if f.ContextGraph.Bootstrap > 0 {
		delete(f.Guides, contextGraph)
	}
	if ctl.GetLearning().GetLearner() == schemas.Learner_LEARNER_LOGISTIC {
		f.Learning.Learner = "logistic"
	}
	if f.Critic == "" { // a crawl that only fetches
		f.Critic, f.Focus = "none", []string{"none"}
	}
}

func contactOf(ctl *schemas.CrawlControl) string {
	_, c, _ := strings.Cut(ctl.GetPoliteness().GetUserAgent(), "(+")
	return strings.TrimPrefix(strings.TrimSuffix(c, ")"), "mailto:")
}

// guidesOf are the guides of a crawl by their policies.
func guidesOf(ctl *schemas.CrawlControl) map[string]string {
	guides := make(map[string]string)
	for _, p := range schemas.Orders(ctl) {
		if p.GetGuide() != "" {
			guides[p.GetName()] = p.GetGuide()
		}
	}
	return guides
}

// compare returns those of some settings in which a control record made of a crawl file differs from the one in force.
func compare(inForce, file *schemas.CrawlControl, of func(setting) bool) *Changed {
	c := &Changed{Control: proto.CloneOf(inForce), Differences: []Difference{}}
	for _, s := range settings {
		before, after := s.value(inForce), s.value(file)
		if before == after || !of(s) {
			continue
		}
		c.Differences = append(c.Differences, Difference{Setting: s.path, Before: before, After: after, Refused: s.refused})
		if s.refused == "" {
			s.set(c.Control, file)
		}
	}
	return c
}

// named reports whether words are versions of the names in others, in their order.
func named(versions, names string) bool {
	v, n := strings.Split(versions, ", "), strings.Split(names, ", ")
	if len(v) != len(n) {
		return false
	}
	for i := range v {
		if v[i] != n[i] && !strings.HasPrefix(v[i], n[i]+"/") {
			return false
		}
	}
	return true
}
