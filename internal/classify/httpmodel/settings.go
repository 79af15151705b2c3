package httpmodel

import (
	"slices"
	"strings"
	"time"

	"forager/internal/classify/taxonomy"
	"forager/internal/platform/strictyaml"
)

const (
	// FileKind is the kind of a model file of a predicate (package modelfile).
	FileKind = "predicate"
	// maxTopics is the maximum number of topics of a predicate, and maxBatch that of pages in a request.
	maxTopics = 1000
	maxBatch  = 256
)

// Settings define the service that judges pages. They are written as YAML.
type Settings struct {
	Service `yaml:",inline"`
	Sent    `yaml:",inline"`
	// Topics that it has probabilities of; the rest is of the class Other.
	Topics []string `yaml:"topics"`
	// Fallback is the critic that judges when the service does not, a name or a version; empty = none.
	Fallback string `yaml:"fallback"`
	// Patience is how long pages wait for a service that fails, without a fallback; 1 min by default.
	Patience time.Duration `yaml:"patience"`
}

// sendable lists the values of Settings.Send.
var sendable = []string{"url", "title", "description", "language", "text"}

// Predicate is a service with its settings.
type Predicate struct {
	definition[Settings]
	// fallback is the version of the critic that Settings.Fallback refers to.
	fallback string
	classes  []string // sorted
	class    map[string]int
	other    int
}

// Parse parses settings. name is the file's; the error is a *strictyaml.Error with every problem. fallback is the
// version of the fallback, "" while it is not known.
func Parse(name, source, fallback string) (*Predicate, error) {
	p := &Predicate{fallback: fallback}
	defaults := Settings{Service: defaultService(), Sent: defaultSent(sendable), Patience: time.Minute}
	var err error
	p.definition, err = parse(name, source, defaults, func(s *Settings, r *strictyaml.Report) {
		s.Service.check(r)
		p.checkTopics(r, s.Topics)
		s.Sent.check(r, sendable)
		within(r, "patience", s.Patience, 0, 24*time.Hour)
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// checkTopics sets the classes.
func (p *Predicate) checkTopics(r *strictyaml.Report, topics []string) {
	if len(topics) == 0 {
		r.Problem("topics", "is missing; name the topics that the service has probabilities of")
	}
	if len(topics) > maxTopics {
		r.Problem("topics", "there are %d, %d can be", len(topics), maxTopics)
	}
	p.class = make(map[string]int)
	for i, name := range topics {
		topic, err := taxonomy.ParseTopic(name)
		switch {
		case err != nil:
			r.Problem("topics", "%v", err)
		case topic == "" || topic != strings.Trim(name, "/"):
			r.Problem("topics", "%q: %s is what the service's probabilities leave over", name, taxonomy.Other)
		}
		for _, above := range topics[:i] {
			a, b := strings.Trim(above, "/")+"/", topic+"/"
			if strings.HasPrefix(a, b) || strings.HasPrefix(b, a) {
				r.Problem("topics", "%q and %q are one, or one lies below the other: their probabilities would count twice", above, name)
			}
		}
		p.classes = append(p.classes, topic)
	}
	p.classes = append(p.classes, taxonomy.Other)
	slices.Sort(p.classes)
	for i, name := range p.classes {
		p.class[name] = i
	}
	p.other = p.class[taxonomy.Other]
}

// Fallback returns the version of the critic that judges when the service does not; "" = none.
func (p *Predicate) Fallback() string { return p.fallback }

// Classes returns the classes, sorted, which must not be modified.
func (p *Predicate) Classes() []string { return p.classes }

// topics returns the topics in requests.
func (p *Predicate) topics() []string {
	return slices.Delete(slices.Clone(p.classes), p.other, p.other+1)
}

// ReadsURLs reports whether the URLs of pages are sent to the service.
func (p *Predicate) ReadsURLs() bool { return p.settings.ReadsURLs() }

// Marshal returns the model file: the same settings and fallback, the same bytes.
func (p *Predicate) Marshal() []byte { return seal(FileKind, p.name, p.source, p.fallback) }

// Unmarshal reads a model file. Errors are those of package modelfile, and those of Parse.
func Unmarshal(b []byte) (*Predicate, error) {
	texts, err := unseal(b, FileKind, "name", "settings", "fallback")
	if err != nil {
		return nil, err
	}
	return Parse(texts[0], texts[1], texts[2])
}
