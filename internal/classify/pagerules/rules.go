package pagerules

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"forager/internal/classify/critic"
	"forager/internal/classify/taxonomy"
	"forager/internal/platform/modelfile"
	"forager/schemas"
)

const (
	// FileKind is the kind of a model file of rules (package modelfile).
	FileKind    = "rules"
	fileVersion = 1
	// maxFile is the maximum size of a file of rules, bytes.
	maxFile = 1 << 20
)

// Rules is a critic.Classifier. It is safe for concurrent use.
type Rules struct {
	name    string
	source  string
	classes []string // sorted
	rules   []rule
	// The parts of a page that the conditions of all rules need.
	uses  [fields]use
	words map[string]int // number of each single word and each word of a phrase

	pages sync.Pool // of *page
}

// rule is one rule of the file.
type rule struct {
	topic     string // without "/" at either end; "" is the root, whose class is Other
	line      int
	class     int
	condition condition
}

// use is the parts of a field that conditions need.
type use struct {
	words  bool // the words it has
	joined bool // its words in sequence
	whole  bool // the field as it is
}

// Source returns the text of the rules.
func (r *Rules) Source() string { return r.source }

// Len returns the number of rules.
func (r *Rules) Len() int { return len(r.rules) }

// Classes returns the classes, sorted, which must not be modified.
func (r *Rules) Classes() []string { return r.classes }

// ReadsURLs reports whether a rule reads the URL: then pages whose labels follow from their URLs must not be
// judged by the rules.
func (r *Rules) ReadsURLs() bool { return r.uses[url] != use{} }

// Judge returns the class of a page, an index into Classes, and the line of the rule that decided, 0 where none
// holds. The error is that of an inconsistent page.
func (r *Rules) Judge(p *schemas.Page) (class, line int, err error) {
	for _, t := range p.GetTokens() {
		if int(t) >= len(p.GetTerms()) {
			return 0, 0, fmt.Errorf("page %s: token of term %d, it has %d terms", p.GetUrl(), t, len(p.GetTerms()))
		}
	}
	s := r.pages.Get().(*page)
	defer r.pages.Put(s)
	s.read(r, p)
	for _, x := range r.rules {
		if x.condition.holds(s) {
			return x.class, x.line, nil
		}
	}
	class, _ = slices.BinarySearch(r.classes, taxonomy.Other)
	return class, 0, nil
}

// Pruned returns nil: every topic of a rule is a class.
func (r *Rules) Pruned() []taxonomy.Pruned { return nil }

// Predict implements critic.Classifier: the class that the rules decide on has 1, all others 0. The error is that of an
// inconsistent page.
func (r *Rules) Predict(_ context.Context, o *critic.Prediction, p *schemas.Page) error {
	class, _, err := r.Judge(p)
	if err != nil {
		return err
	}
	clear(o.Raw)
	o.Raw[class] = 1
	o.Same()
	return nil
}

// finish sets the fields that follow from the rules.
func (r *Rules) finish() {
	class := func(topic string) string {
		above := slices.ContainsFunc(r.rules, func(o rule) bool { return topic == "" || strings.HasPrefix(o.topic, topic+"/") })
		if above {
			return strings.TrimPrefix(topic+"/"+taxonomy.Other, "/")
		}
		return topic
	}
	r.classes = []string{taxonomy.Other}
	for _, x := range r.rules {
		r.classes = append(r.classes, class(x.topic))
	}
	slices.Sort(r.classes)
	r.classes = slices.Compact(r.classes)
	for i := range r.rules {
		r.rules[i].class, _ = slices.BinarySearch(r.classes, class(r.rules[i].topic))
	}
	r.pages.New = func() any {
		p := new(page)
		for f := range p.has {
			p.has[f] = make([]bool, len(r.words))
		}
		return p
	}
}

// Marshal returns the model file of the rules: the same text, the same bytes.
func (r *Rules) Marshal() []byte {
	var e modelfile.Encoder
	e.String(r.name)
	e.String(r.source)
	return modelfile.Seal(FileKind, fileVersion, e.Bytes())
}

// Unmarshal reads a model file. Errors are those of package modelfile, and those of Parse.
func Unmarshal(b []byte) (*Rules, error) {
	_, body, err := modelfile.Open(b, FileKind, fileVersion)
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	d := modelfile.NewDecoder(body)
	name, source := d.String("name"), d.String("rules")
	if err := d.End(); err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	return Parse(name, source)
}
