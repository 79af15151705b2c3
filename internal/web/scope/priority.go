package scope

import (
	"errors"
	"fmt"
	"strings"

	"forager/internal/web/weburl"
	"forager/schemas"
)

// Groups of hosts, in their order. Without a Priority all hosts are in group 0.
const (
	groupFirst = iota
	groupOther
	groupLast
)

// Priority orders hosts by a schemas.HostPriority. It is immutable and safe for concurrent use; nil has all hosts in one group.
type Priority struct {
	first, last map[string]bool
}

// NewPriority returns the order of hosts, nil if there are no rules, or an error that names the list and the domain that is wrong.
func NewPriority(x *schemas.HostPriority) (*Priority, error) {
	p := new(Priority)
	if n := len(x.GetFirst()) + len(x.GetLast()); n == 0 {
		return nil, nil
	} else if n > maxRules {
		return nil, fmt.Errorf("priority: there are more than %d domains", maxRules)
	}
	for _, list := range []struct {
		name    string
		domains []string
		take    func(string) error
	}{{"first", x.GetFirst(), setOf(&p.first)}, {"last", x.GetLast(), setOf(&p.last)}} {
		for _, domain := range list.domains {
			err := checkRule(domain)
			if err == nil {
				err = list.take(domain)
			}
			if err == nil && p.first[domain] && p.last[domain] {
				err = errors.New("it is in both lists")
			}
			if err != nil {
				return nil, fmt.Errorf("priority.%s: %.100q: %w", list.name, domain, err)
			}
		}
	}
	return p, nil
}

// Group is the number of the group of a canonical URL: those of lower groups are requested before it, those of higher ones after it.
func (p *Priority) Group(url string) uint32 {
	if p == nil {
		return 0
	}
	_, group := p.domain(url)
	return group
}

// Rule returns the rule for a canonical URL as it is in a crawl file (`priority.last: example.org`); "" if there is none.
func (p *Priority) Rule(url string) string {
	if p == nil {
		return ""
	}
	switch name, group := p.domain(url); group {
	case groupFirst:
		return "priority.first: " + name
	case groupLast:
		return "priority.last: " + name
	}
	return ""
}

// domain is the longest domain of a rule that the host is in, and its group.
func (p *Priority) domain(url string) (name string, group uint32) {
	for name = hostname(weburl.Host(url)); name != ""; _, name, _ = strings.Cut(name, ".") {
		if p.first[name] {
			return name, groupFirst
		}
		if p.last[name] {
			return name, groupLast
		}
	}
	return "", groupOther
}
