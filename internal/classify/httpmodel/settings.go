package httpmodel

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"forager/internal/classify/taxonomy"
	"forager/internal/platform/modelfile"
	"forager/internal/platform/strictyaml"
)

const (
	// FileKind is the kind of a model file of a predicate (package modelfile).
	FileKind    = "predicate"
	fileVersion = 1
	// maxTopics is the maximum number of topics of a predicate, and maxBatch that of pages in a request.
	maxTopics = 1000
	maxBatch  = 256
)

// Settings define the service that judges pages. They are written as YAML.
type Settings struct {
	// URL of the service, http or https.
	URL string `yaml:"url"`
	// Topics that it has probabilities of; the rest is of the class Other.
	Topics []string `yaml:"topics"`
	// Send lists the fields of a page that are sent: url, title, description, language, text; all by default.
	Send []string `yaml:"send"`
	// TextBytes is the maximum length of text, cut between two words; 64 KiB by default.
	TextBytes int `yaml:"text_bytes"`
	// Batch is the maximum number of pages in a request, 16 by default; Concurrent that of requests under way, 2
	// by default.
	Batch      int `yaml:"batch"`
	Concurrent int `yaml:"concurrent"`
	// Timeout of a request; 10 s by default.
	Timeout time.Duration `yaml:"timeout"`
	// Fallback is the critic that judges when the service does not, a name or a version; empty = none.
	Fallback string `yaml:"fallback"`
	// Patience is how long pages wait for a service that fails, without a fallback; 1 min by default.
	Patience time.Duration `yaml:"patience"`
	Breaker  Breaker       `yaml:"breaker"`
	// TokenEnv is the environment variable of critic-score with the service's bearer token.
	TokenEnv string `yaml:"token_env"`
}

// Breaker defines when requests to a service that fails are suspended.
type Breaker struct {
	// Failures in a row, 5 by default, and the Pause after them, 10 s by default.
	Failures int           `yaml:"failures"`
	Pause    time.Duration `yaml:"pause"`
}

// sendable lists the values of Settings.Send.
var sendable = []string{"url", "title", "description", "language", "text"}

// Predicate is a service with its settings.
type Predicate struct {
	name, source string
	settings     Settings
	// fallback is the version of the critic that Settings.Fallback refers to.
	fallback string
	classes  []string // sorted
	class    map[string]int
	other    int
}

// Parse parses settings. name is the file's; the error is a *strictyaml.Error with every problem. fallback is the
// version of the fallback, "" while it is not known.
func Parse(name, source, fallback string) (*Predicate, error) {
	p := &Predicate{name: name, source: source, fallback: fallback, settings: Settings{
		Send: sendable, TextBytes: 64 << 10, Batch: 16, Concurrent: 2, Timeout: 10 * time.Second,
		Patience: time.Minute, Breaker: Breaker{Failures: 5, Pause: 10 * time.Second},
	}}
	r := strictyaml.Decode([]byte(source), &p.settings)
	if len(r.Problems()) == 0 {
		p.check(r)
	}
	if problems := r.Problems(); len(problems) > 0 {
		return nil, &strictyaml.Error{File: name, Problems: problems}
	}
	return p, nil
}

func (p *Predicate) check(r *strictyaml.Report) {
	s := &p.settings
	a := s.address()
	a.check(r)
	p.checkTopics(r)
	checkSend(r, s.Send, sendable)
	within(r, "patience", s.Patience, 0, 24*time.Hour)
}

// address returns the address of the service.
func (s *Settings) address() address {
	return address{
		url: s.URL, textBytes: s.TextBytes, batch: s.Batch, concurrent: s.Concurrent,
		timeout: s.Timeout, breaker: s.Breaker, tokenEnv: s.TokenEnv,
	}
}

// checkSend reports problems of the fields that are to be sent.
func checkSend(r *strictyaml.Report, send, sendable []string) {
	for i, f := range send {
		if !slices.Contains(sendable, f) || slices.Contains(send[:i], f) {
			r.Problem("send", "%q is not one of %s, or is named twice", f, strings.Join(sendable, ", "))
		}
	}
	if len(send) == 0 {
		r.Problem("send", "is empty; name some of %s", strings.Join(sendable, ", "))
	}
}

// checkTopics sets the classes.
func (p *Predicate) checkTopics(r *strictyaml.Report) {
	topics := p.settings.Topics
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

// Name returns the name that Parse was given.
func (p *Predicate) Name() string { return p.name }

// Source returns the text of the settings.
func (p *Predicate) Source() string { return p.source }

// Settings returns the settings, defaults included.
func (p *Predicate) Settings() Settings { return p.settings }

// Fallback returns the version of the critic that judges when the service does not; "" = none.
func (p *Predicate) Fallback() string { return p.fallback }

// Classes returns the classes, sorted, which must not be modified.
func (p *Predicate) Classes() []string { return p.classes }

// topics returns the topics in requests.
func (p *Predicate) topics() []string {
	return slices.Delete(slices.Clone(p.classes), p.other, p.other+1)
}

// ReadsURLs reports whether the URLs of pages are sent to the service.
func (p *Predicate) ReadsURLs() bool { return slices.Contains(p.settings.Send, "url") }

// Marshal returns the model file: the same settings and fallback, the same bytes.
func (p *Predicate) Marshal() []byte {
	var e modelfile.Encoder
	e.String(p.name)
	e.String(p.source)
	e.String(p.fallback)
	return modelfile.Seal(FileKind, fileVersion, e.Bytes())
}

// Unmarshal reads a model file. Errors are those of package modelfile, and those of Parse.
func Unmarshal(b []byte) (*Predicate, error) {
	_, body, err := modelfile.Open(b, FileKind, fileVersion)
	if err != nil {
		return nil, fmt.Errorf("predicate: %w", err)
	}
	d := modelfile.NewDecoder(body)
	name, source, fallback := d.String("name"), d.String("settings"), d.String("fallback")
	if err := d.End(); err != nil {
		return nil, fmt.Errorf("predicate: %w", err)
	}
	return Parse(name, source, fallback)
}
