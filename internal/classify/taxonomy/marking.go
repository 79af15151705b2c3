package taxonomy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"forager/schemas"
)

// Marking is the topics that a crawl looks for (1999, "administration": topics are marked good or bad, also while
// it runs). Names may begin or end with "/".
type Marking struct {
	// Good are the focus topics: at least one, none below another.
	Good []string
	// Weights in (0,1] of focus topics, by their names in Good; a topic without one has 1.
	Weights map[string]float64
	// Bad are topics below focus topics that are excluded, with all that is below them.
	Bad []string
	// Forms are topics that name the form of a page and no subject, with all that is below them; none is at, above or below a focus topic.
	// Empty: the classes whose last part is one of formNames.
	Forms []string
}

// formNames are the last parts of the names of classes for the form of a page, or for pages that have no subject among the
// others, in lower case.
var formNames = map[string]bool{"other": true, "_other": true, "listing": true, "navigation": true}

// Weights are what a marking makes of the classes of a critic, in their order.
type Weights struct {
	// Focus is the weight of a class in R(u) = Σ weight × Pr(class|u), in [0,1].
	Focus []float64
	// Form: the class names the form of a page. It is never one that has a weight.
	Form []bool
}

// MarkingOf returns the marking of a crawl.
func MarkingOf(ctl *schemas.CrawlControl) Marking {
	return Marking{Good: ctl.GetFocus(), Weights: ctl.GetWeights(), Bad: ctl.GetBad(), Forms: ctl.GetForms()}
}

// Weigh returns the weight of every class: that of the focus topic which it is, or is below; 0 where there is
// none, and at and below bad topics. The error names all invalid names and weights;
// for a topic that was pruned, the one that took its examples; for a topic that does not exist, those with a
// similar name.
func (m Marking) Weigh(classes []string, pruned []Pruned) (*Weights, error) {
	if len(m.Good) == 0 {
		return nil, errors.New("no focus topic is named")
	}
	m = m.clean()
	known := directory{classes: classes, pruned: pruned}
	problems := slices.Concat(
		known.missing("focus", m.Good), nested(m.Good),
		known.missing("bad", m.Bad), outside(m.Bad, m.Good), m.badWeights(),
		known.missing("form", m.Forms), overlapping(m.Forms, m.Good),
	)
	weights := make([]float64, len(classes))
	for _, topic := range m.Good {
		weight, ok := m.Weights[topic]
		if !ok {
			weight = 1
		}
		left := 0
		for k, class := range classes {
			if Within(class, topic) && !slices.ContainsFunc(m.Bad, func(b string) bool { return Within(class, b) }) {
				weights[k] = weight
				left++
			}
		}
		if left == 0 && known.has(topic) && !slices.Contains(m.Bad, topic) {
			problems = append(problems, fmt.Errorf("nothing is left of focus topic %q: all below it is marked bad", topic))
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return &Weights{Focus: weights, Form: m.forms(classes, weights)}, nil
}

// forms reports which classes name the form of a page.
func (m Marking) forms(classes []string, weights []float64) []bool {
	in := make([]bool, len(classes))
	for k, class := range classes {
		switch {
		case weights[k] > 0:
		case len(m.Forms) > 0:
			in[k] = slices.ContainsFunc(m.Forms, func(f string) bool { return Within(class, f) })
		default:
			in[k] = formNames[strings.ToLower(class[strings.LastIndexByte(class, '/')+1:])]
		}
	}
	return in
}

// Focus reports, for every class, whether it is one of the focus topics or is below one: Weigh of a marking
// without weights and bad topics.
func Focus(classes []string, pruned []Pruned, names []string) ([]bool, error) {
	weights, err := Marking{Good: names}.Weigh(classes, pruned)
	if err != nil {
		return nil, err
	}
	in := make([]bool, len(classes))
	for k, w := range weights.Focus {
		in[k] = w > 0
	}
	return in, nil
}

// clean returns the marking with its names as classes have them.
func (m Marking) clean() Marking {
	weights := make(map[string]float64, len(m.Weights))
	for name, w := range m.Weights {
		weights[strings.Trim(name, "/")] = w
	}
	return Marking{Good: trim(m.Good), Weights: weights, Bad: trim(m.Bad), Forms: trim(m.Forms)}
}

func trim(names []string) []string {
	topics := make([]string, len(names))
	for i, name := range names {
		topics[i] = strings.Trim(name, "/")
	}
	return topics
}

func (m Marking) badWeights() (problems []error) {
	for _, topic := range slices.Sorted(maps.Keys(m.Weights)) {
		switch w := m.Weights[topic]; {
		case !slices.Contains(m.Good, topic):
			problems = append(problems, fmt.Errorf("topic %q has a weight and is no focus topic", topic))
		case !(w > 0 && w <= 1): // also if it is not a number
			problems = append(problems, fmt.Errorf("the weight of focus topic %q is %v; it must be above 0 and at most 1", topic, w))
		}
	}
	return problems
}

// nested finds focus topics that are ancestors of others.
func nested(good []string) (problems []error) {
	for i, a := range good {
		for j, b := range good {
			switch {
			case i < j && a == b:
				problems = append(problems, fmt.Errorf("focus topic %q is named twice", a))
			case a != b && Within(b, a):
				problems = append(problems, fmt.Errorf("focus topic %q lies below focus topic %q: name one of them", b, a))
			}
		}
	}
	return problems
}

// outside finds bad topics that exclude nothing.
func outside(bad, good []string) (problems []error) {
	for i, b := range bad {
		switch {
		case slices.Contains(bad[:i], b):
			problems = append(problems, fmt.Errorf("bad topic %q is named twice", b))
		case slices.Contains(good, b):
			problems = append(problems, fmt.Errorf("topic %q is marked good and bad", b))
		case !below(b, good):
			problems = append(problems, fmt.Errorf("bad topic %q lies below no focus topic: it does not count as it is", b))
		}
	}
	return problems
}

// overlapping finds topics that name a form and share classes with a focus topic.
func overlapping(forms, good []string) (problems []error) {
	for i, form := range forms {
		if slices.Contains(forms[:i], form) {
			problems = append(problems, fmt.Errorf("form %q is named twice", form))
		}
		for _, topic := range good {
			if Within(form, topic) || Within(topic, form) {
				problems = append(problems, fmt.Errorf("form %q and focus topic %q share classes: a form is no subject", form, topic))
			}
		}
	}
	return problems
}

// Change is a change of a marking by an operator.
type Change struct {
	// Good become focus topics and include those below them; one that was bad below a focus topic is included
	// again.
	Good []string
	// Bad are no longer focus topics or, below one, are excluded.
	Bad []string
	// Weights of focus topics, new ones among them, by name.
	Weights map[string]float64
}

// Apply returns the marking after a change. Marks of topics below one that is no longer a focus topic are dropped.
// The error is a contradictory change; whether a critic can judge by the result is checked by Weigh.
func (m Marking) Apply(c Change) (Marking, error) {
	m = m.clean()
	c.Good, c.Bad = trim(c.Good), trim(c.Bad)
	marked := slices.Concat(c.Good, c.Bad)
	for i, topic := range marked {
		if slices.Contains(marked[:i], topic) {
			return Marking{}, fmt.Errorf("topic %q is marked twice", topic)
		}
	}
	stays := func(topic string) bool { return !slices.Contains(marked, topic) }
	next := Marking{Forms: m.Forms, Good: keep(m.Good, func(t string) bool { return stays(t) && !below(t, c.Good) }), Bad: keep(m.Bad, stays)}
	for _, topic := range c.Good {
		if !slices.Contains(m.Bad, topic) || !below(topic, next.Good) {
			next.Good = append(next.Good, topic)
		}
	}
	next.Bad = keep(next.Bad, func(topic string) bool { return below(topic, next.Good) })
	for _, topic := range c.Bad {
		if below(topic, next.Good) || !slices.Contains(m.Good, topic) {
			next.Bad = append(next.Bad, topic)
		}
	}
	next.Weights = Marking{Weights: c.Weights}.clean().Weights
	for topic, w := range m.Weights {
		if _, isNew := next.Weights[topic]; !isNew && slices.Contains(next.Good, topic) {
			next.Weights[topic] = w
		}
	}
	return next, nil
}

func keep(topics []string, want func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(topics), func(t string) bool { return !want(t) })
}

// below reports whether a topic is below one of others, and is none of them.
func below(topic string, others []string) bool {
	return slices.ContainsFunc(others, func(o string) bool { return topic != o && Within(topic, o) })
}

// Within reports whether a topic is another one or is below it.
func Within(topic, ancestor string) bool {
	return strings.HasPrefix(topic, ancestor) && (len(topic) == len(ancestor) || topic[len(ancestor)] == '/')
}
