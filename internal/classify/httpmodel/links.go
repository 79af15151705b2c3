package httpmodel

import (
	"fmt"
	"slices"
	"time"

	"forager/internal/platform/modelfile"
	"forager/internal/platform/strictyaml"
)

const (
	// LinksKind is the kind of a model file of a predicate on links (package modelfile), and the name of its
	// ranker.
	LinksKind    = "link-predicate"
	linksVersion = 1
)

// LinkSettings define the service that scores links. They are written as YAML; defaults are those of Settings.
type LinkSettings struct {
	// URL of the service, http or https.
	URL string `yaml:"url"`
	// Send lists what is sent: the fields of a page that Settings.Send allows, anchor (the text of each link) and
	// judgement; all by default. Without url the URLs of links are not sent either.
	Send []string `yaml:"send"`
	// TextBytes is the maximum length of a page's text, cut between two words, and that of a link.
	TextBytes int `yaml:"text_bytes"`
	// Batch is the maximum number of pages in a request; Concurrent that of requests under way.
	Batch      int `yaml:"batch"`
	Concurrent int `yaml:"concurrent"`
	// Timeout of a request. A page waits for twice that at most.
	Timeout time.Duration `yaml:"timeout"`
	Breaker Breaker       `yaml:"breaker"`
	// TokenEnv is the environment variable of critic-score with the service's bearer token.
	TokenEnv string `yaml:"token_env"`
}

// linkSendable lists the values of LinkSettings.Send.
var linkSendable = append(slices.Clone(sendable), "anchor", "judgement")

// LinkPredicate is a service that scores the links of pages, with its settings.
type LinkPredicate struct {
	name, source string
	settings     LinkSettings
}

// ParseLinks parses settings. name is the file's; the error is a *strictyaml.Error with every problem.
func ParseLinks(name, source string) (*LinkPredicate, error) {
	p := &LinkPredicate{name: name, source: source, settings: LinkSettings{
		Send: linkSendable, TextBytes: 64 << 10, Batch: 16, Concurrent: 2, Timeout: 10 * time.Second,
		Breaker: Breaker{Failures: 5, Pause: 10 * time.Second},
	}}
	r := strictyaml.Decode([]byte(source), &p.settings)
	if len(r.Problems()) == 0 {
		a := p.settings.address()
		a.check(r)
		checkSend(r, p.settings.Send, linkSendable)
	}
	if problems := r.Problems(); len(problems) > 0 {
		return nil, &strictyaml.Error{File: name, Problems: problems}
	}
	return p, nil
}

// address returns the address of the service.
func (s *LinkSettings) address() address {
	return address{
		url: s.URL, textBytes: s.TextBytes, batch: s.Batch, concurrent: s.Concurrent,
		timeout: s.Timeout, breaker: s.Breaker, tokenEnv: s.TokenEnv,
	}
}

// Source returns the text of the settings.
func (p *LinkPredicate) Source() string { return p.source }

// ReadsURLs reports whether URLs are sent to the service.
func (p *LinkPredicate) ReadsURLs() bool { return slices.Contains(p.settings.Send, "url") }

// Marshal returns the model file: the same settings, the same bytes.
func (p *LinkPredicate) Marshal() []byte {
	var e modelfile.Encoder
	e.String(p.name)
	e.String(p.source)
	return modelfile.Seal(LinksKind, linksVersion, e.Bytes())
}

// UnmarshalLinks reads a model file. Errors are those of package modelfile, and those of ParseLinks.
func UnmarshalLinks(b []byte) (*LinkPredicate, error) {
	_, body, err := modelfile.Open(b, LinksKind, linksVersion)
	if err != nil {
		return nil, fmt.Errorf("predicate on links: %w", err)
	}
	d := modelfile.NewDecoder(body)
	name, source := d.String("name"), d.String("settings")
	if err := d.End(); err != nil {
		return nil, fmt.Errorf("predicate on links: %w", err)
	}
	return ParseLinks(name, source)
}
