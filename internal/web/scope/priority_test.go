package scope

import (
	"strings"
	"testing"

	"forager/schemas"
)

func TestPriority(t *testing.T) {
	p, err := NewPriority(&schemas.HostPriority{First: []string{"a.example", "www.b.example"}, Last: []string{"b.example", "slow.a.example"}})
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"http://a.example/":             "priority.first: a.example",
		"http://x.a.example:8080/b":     "priority.first: a.example",
		"http://slow.a.example/":        "priority.last: slow.a.example",
		"http://b.example/":             "priority.last: b.example",
		"https://x.www.b.example/":      "priority.first: www.b.example",
		"http://aa.example/":            "",
		"http://example/a.example":      "",
		"http://a.example.test/x?y=z":   "",
		"http://[2001:db8::1]:8080/a.b": "",
	} {
		group := uint32(groupOther)
		switch {
		case strings.HasPrefix(want, "priority.first"):
			group = groupFirst
		case want != "":
			group = groupLast
		}
		if rule := p.Rule(url); rule != want || p.Group(url) != group {
			t.Errorf("%s: %q, group %d; want %q", url, rule, p.Group(url), want)
		}
	}
	if none, err := NewPriority(new(schemas.HostPriority)); none != nil || err != nil || none.Group("http://a.example/") != 0 || none.Rule("http://a.example/") != "" {
		t.Errorf("no rules: %v, %v", none, err)
	}
	for want, x := range map[string]*schemas.HostPriority{
		`priority.last: "a": it is in both lists`:   {First: []string{"a"}, Last: []string{"b", "a"}},
		`priority.first: "": it is empty`:           {First: []string{""}},
		`priority.first: "A": it would match nothi`: {First: []string{"A"}},
		"more than 1000":                            {Last: make([]string, maxRules+1)},
	} {
		if _, err := NewPriority(x); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}
