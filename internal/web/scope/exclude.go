package scope

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"forager/internal/web/weburl"
	"forager/schemas"
)

// Bounds of the rules of a crawl: how many there are, and how long each is, bytes.
const (
	maxRules      = 1000
	maxRuleLength = 1000
)

// Excludes decide what a crawl does not request by a schemas.Excludes. They are immutable and safe for concurrent use; nil excludes
// nothing.
type Excludes struct {
	// any matches what one of patterns matches, whose sources are normal forms; nil if there is none.
	any                              *regexp.Regexp
	patterns                         []*regexp.Regexp
	sources                          []string
	hosts, domains, types, languages map[string]bool
	prefixes, paths                  []string
}

// NewExcludes returns rules, nil if there are none, or an error that names the list and the rule that is wrong.
func NewExcludes(x *schemas.Excludes) (*Excludes, error) {
	out := new(Excludes)
	rules := 0
	for _, list := range []struct {
		name  string
		rules []string
		take  func(string) error
	}{
		{"urls", x.GetUrls(), out.pattern},
		{"hosts", x.GetHosts(), setOf(&out.hosts)},
		{"domains", x.GetDomains(), setOf(&out.domains)},
		{"prefixes", x.GetPrefixes(), out.prefix},
		{"content_types", x.GetContentTypes(), setOf(&out.types)},
		{"languages", x.GetLanguages(), setOf(&out.languages)},
	} {
		for _, rule := range list.rules {
			if rules++; rules > maxRules {
				return nil, fmt.Errorf("exclude: there are more than %d rules", maxRules)
			}
			err := checkRule(rule)
			if err == nil {
				err = list.take(rule)
			}
			if err != nil {
				return nil, fmt.Errorf("exclude.%s: %.100q: %w", list.name, rule, err)
			}
		}
	}
	if rules == 0 {
		return nil, nil
	}
	if len(out.sources) > 0 {
		var err error
		if out.any, err = regexp.Compile("(?:" + strings.Join(out.sources, ")|(?:") + ")"); err != nil {
			return nil, fmt.Errorf("exclude.urls: all of them together: %w", err)
		}
	}
	return out, nil
}

func checkRule(rule string) error {
	switch {
	case rule == "":
		return errors.New("it is empty")
	case len(rule) > maxRuleLength:
		return fmt.Errorf("it has %d bytes, rules have at most %d", len(rule), maxRuleLength)
	}
	return nil
}

func (x *Excludes) pattern(rule string) error {
	p, err := regexp.Compile(rule)
	if err != nil {
		return err
	}
	parsed, err := syntax.Parse(rule, syntax.Perl)
	if err != nil {
		return err
	}
	x.patterns, x.sources = append(x.patterns, p), append(x.sources, parsed.String()) // an open \Q would reach into the next one
	return nil
}

func (x *Excludes) prefix(rule string) error {
	if strings.HasPrefix(rule, "/") {
		x.paths = append(x.paths, rule)
	} else {
		x.prefixes = append(x.prefixes, rule)
	}
	return nil
}

// setOf returns a function that adds lower-case words to a set.
func setOf(to *map[string]bool) func(string) error {
	return func(rule string) error {
		if rule != strings.ToLower(rule) {
			return fmt.Errorf("it would match nothing: write %q", strings.ToLower(rule))
		}
		if *to == nil {
			*to = make(map[string]bool)
		}
		(*to)[rule] = true
		return nil
	}
}

// URL returns the rule that excludes a canonical URL as it is in a crawl file (`exclude.hosts: example.org`); "" if there is none.
func (x *Excludes) URL(url string) (rule string) {
	if x == nil {
		return ""
	}
	host := weburl.Host(url)
	if x.hosts[host] {
		return "exclude.hosts: " + host
	}
	if x.domains != nil {
		for name := hostname(host); name != ""; _, name, _ = strings.Cut(name, ".") {
			if x.domains[name] {
				return "exclude.domains: " + name
			}
		}
	}
	for _, p := range x.prefixes {
		if strings.HasPrefix(url, p) {
			return "exclude.prefixes: " + p
		}
	}
	if len(x.paths) > 0 {
		_, path, _ := strings.Cut(url, "://"+host)
		for _, p := range x.paths {
			if strings.HasPrefix(path, p) {
				return "exclude.prefixes: " + p
			}
		}
	}
	if x.any == nil || !x.any.MatchString(url) {
		return ""
	}
	for _, p := range x.patterns {
		if p.MatchString(url) {
			return "exclude.urls: " + p.String()
		}
	}
	return ""
}

// hostname is a host without its port.
func hostname(host string) string {
	if port := strings.LastIndexByte(host, ':'); port > strings.LastIndexByte(host, ']') {
		return host[:port]
	}
	return host
}

// Page returns the rule that excludes a fetched page by its content type, parameters and case aside, or by its language; "" if
// there is none.
func (x *Excludes) Page(contentType, language string) (rule string) {
	if x == nil {
		return ""
	}
	media, _, _ := strings.Cut(contentType, ";")
	if media = strings.ToLower(strings.TrimSpace(media)); x.types[media] {
		return "exclude.content_types: " + media
	}
	if x.languages[language] {
		return "exclude.languages: " + language
	}
	return ""
}
