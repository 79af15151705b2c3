package taxonomy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Focus returns, for every class, whether it is one of the focus topics or lies below one.
// Names may begin or end with "/". Errors, all of them at once: no name, a topic that is
// unknown or was pruned, a topic twice or below another one.
func Focus(classes []string, pruned []Pruned, names []string) ([]bool, error) {
	if len(names) == 0 {
		return nil, errors.New("no focus topic is named")
	}
	in := make([]bool, len(classes))
	var problems []error
	topics := make([]string, len(names))
	for i, name := range names {
		topics[i] = strings.Trim(name, "/")
		found := false
		for k, class := range classes {
			if topics[i] != "" && within(class, topics[i]) {
				in[k], found = true, true
			}
		}
		if !found {
			problems = append(problems, missing(classes, pruned, name, topics[i]))
		}
	}
	for i, a := range topics {
		for j, b := range topics {
			switch {
			case i < j && a == b:
				problems = append(problems, fmt.Errorf("focus topic %q is named twice", a))
			case a != b && within(b, a):
				problems = append(problems, fmt.Errorf("focus topic %q lies below focus topic %q: name one of them", b, a))
			}
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return in, nil
}

// within says whether a topic is an ancestor or lies below it.
func within(topic, ancestor string) bool {
	return strings.HasPrefix(topic, ancestor) && (len(topic) == len(ancestor) || topic[len(ancestor)] == '/')
}

func missing(classes []string, pruned []Pruned, name, topic string) error {
	i, ok := slices.BinarySearchFunc(pruned, topic, func(p Pruned, t string) int { return strings.Compare(p.Topic, t) })
	if ok {
		p := pruned[i]
		took := fmt.Sprintf("topic %q took them", p.Into)
		if p.Into == "" {
			took = "no topic above it stayed, so they went to the class of everything else, " + Other
		}
		return fmt.Errorf("focus topic %q was pruned: %d examples are fewer than the minimum, and %s; give more examples, lower the minimum, or choose a topic that stayed",
			name, p.Examples, took)
	}
	// What is there at the deepest part of the name that exists.
	at := topic
	for at != "" && !slices.ContainsFunc(classes, func(c string) bool { return within(c, at) }) {
		at = at[:max(0, strings.LastIndexByte(at, '/'))]
	}
	const show = 12
	var have []string
	for _, c := range classes {
		rest := c
		if at != "" {
			if !within(c, at) || c == at {
				continue
			}
			rest = c[len(at)+1:]
		}
		part, _, _ := strings.Cut(rest, "/")
		if child := strings.TrimPrefix(at+"/"+part, "/"); !slices.Contains(have, child) {
			have = append(have, child)
		}
	}
	if len(have) == 0 {
		return fmt.Errorf("focus topic %q is unknown to the critic: nothing lies below %q", name, at)
	}
	more := ""
	if len(have) > show {
		have, more = have[:show], fmt.Sprintf(" and %d more", len(have)-show)
	}
	return fmt.Errorf("focus topic %q is unknown to the critic; it knows %s%s", name, strings.Join(have, ", "), more)
}
