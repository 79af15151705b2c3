package httpmodel

import (
	"slices"

	"forager/internal/platform/strictyaml"
)

// LinksKind is the kind of a model file of a predicate on links (package modelfile), and the name of its
// ranker.
const LinksKind = "link-predicate"

// LinkSettings define the service that scores links. They are written as YAML. Besides the fields of a page, Send may have anchor (the
// text of each link, cut at TextBytes, too) and judgement; without url the URLs of links are not sent either.
type LinkSettings struct {
	Service `yaml:",inline"`
	Sent    `yaml:",inline"`
}

// linkSendable lists the values of LinkSettings.Send.
var linkSendable = append(slices.Clone(sendable), "anchor", "judgement")

// LinkPredicate is a service that scores the links of pages, with its settings.
type LinkPredicate struct{ definition[LinkSettings] }

// ParseLinks parses settings. name is the file's; the error is a *strictyaml.Error with every problem.
func ParseLinks(name, source string) (*LinkPredicate, error) {
	d, err := parse(name, source, LinkSettings{defaultService(), defaultSent(linkSendable)}, func(s *LinkSettings, r *strictyaml.Report) {
		s.Service.check(r)
		s.Sent.check(r, linkSendable)
	})
	if err != nil {
		return nil, err
	}
	return &LinkPredicate{d}, nil
}

// ReadsURLs reports whether URLs are sent to the service.
func (p *LinkPredicate) ReadsURLs() bool { return p.settings.ReadsURLs() }

// Marshal returns the model file: the same settings, the same bytes.
func (p *LinkPredicate) Marshal() []byte { return seal(LinksKind, p.name, p.source) }

// UnmarshalLinks reads a model file. Errors are those of package modelfile, and those of ParseLinks.
func UnmarshalLinks(b []byte) (*LinkPredicate, error) {
	texts, err := unseal(b, LinksKind, "name", "settings")
	if err != nil {
		return nil, err
	}
	return ParseLinks(texts[0], texts[1])
}
