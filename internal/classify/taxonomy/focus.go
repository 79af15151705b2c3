package taxonomy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// directory is the names that exist: classes and the topics above them, and what was pruned.
type directory struct {
	classes []string
	pruned  []Pruned // by topic
}

// has reports whether there is a class at or below a topic.
func (d directory) has(topic string) bool {
	return topic != "" && slices.ContainsFunc(d.classes, func(c string) bool { return Within(c, topic) })
}

// missing returns errors for the topics that do not exist. kind is how they are marked.
func (d directory) missing(kind string, topics []string) (problems []error) {
	for _, topic := range topics {
		if !d.has(topic) {
			problems = append(problems, d.explain(kind, topic))
		}
	}
	return problems
}

func (d directory) explain(kind, topic string) error {
	i, ok := slices.BinarySearchFunc(d.pruned, topic, func(p Pruned, t string) int { return strings.Compare(p.Topic, t) })
	if ok {
		p := d.pruned[i]
		took := fmt.Sprintf("topic %q took them", p.Into)
		if p.Into == "" {
			took = "no topic above it stayed, so they went to the class of everything else, " + Other
		}
		return fmt.Errorf("%s topic %q was pruned: %d examples are fewer than the minimum, and %s; give more examples, lower the minimum, or choose a topic that stayed",
			kind, topic, p.Examples, took)
	}
	guess := ""
	if near := d.nearest(topic); len(near) > 0 {
		guess = fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
	}
	at, have := d.deepest(topic)
	if len(have) == 0 {
		return fmt.Errorf("%s topic %q is unknown to the critic: nothing lies below %q%s", kind, topic, at, guess)
	}
	const show = 12
	more := ""
	if len(have) > show {
		have, more = have[:show], fmt.Sprintf(" and %d more", len(have)-show)
	}
	return fmt.Errorf("%s topic %q is unknown to the critic; its topics are %s%s%s", kind, topic, strings.Join(have, ", "), more, guess)
}

// deepest returns the deepest part of a name that exists, and what is directly below it.
func (d directory) deepest(topic string) (at string, have []string) {
	at = topic
	for at != "" && !d.has(at) {
		at = at[:max(0, strings.LastIndexByte(at, '/'))]
	}
	for _, c := range d.classes {
		rest := c
		if at != "" {
			if !Within(c, at) || c == at {
				continue
			}
			rest = c[len(at)+1:]
		}
		part, _, _ := strings.Cut(rest, "/")
		if child := strings.TrimPrefix(at+"/"+part, "/"); !slices.Contains(have, child) {
			have = append(have, child)
		}
	}
	return at, have
}

const (
	// guesses is the maximum number of similar names that are suggested.
	guesses = 3
	// guessable is the maximum length of a name for which similar ones are searched, bytes.
	guessable = 200
)

// nearest returns the topics whose names are most similar to one that does not exist: those that end as it does
// ("Chemistry" for "Science/Chemistry"), then those with the fewest changed letters, in the whole or in the last
// part; a third of the letters at most. Case is ignored.
func (d directory) nearest(topic string) []string {
	if topic == "" || len(topic) > guessable {
		return nil
	}
	type guess struct {
		topic string
		far   int
	}
	var all []guess
	want := strings.ToLower(topic)
	for _, name := range d.topics() {
		if len(name) > guessable {
			continue
		}
		have := strings.ToLower(name)
		far := 0
		if have != want && !strings.HasSuffix(have, "/"+want) {
			far = min(distance(want, have), 1+distance(last(want), last(have)))
			if 3*far > len(last(want)) {
				continue
			}
		}
		all = append(all, guess{name, far})
	}
	slices.SortFunc(all, func(a, b guess) int { return cmp.Or(cmp.Compare(a.far, b.far), strings.Compare(a.topic, b.topic)) })
	var names []string
	for _, g := range all[:min(len(all), guesses)] {
		names = append(names, fmt.Sprintf("%q", g.topic))
	}
	return names
}

// topics returns all names, sorted.
func (d directory) topics() []string {
	seen := make(map[string]bool)
	for _, c := range d.classes {
		for at := c; at != "" && !seen[at]; at = at[:max(0, strings.LastIndexByte(at, '/'))] {
			seen[at] = true
		}
	}
	all := make([]string, 0, len(seen))
	for topic := range seen {
		all = append(all, topic)
	}
	slices.Sort(all)
	return all
}

func last(topic string) string { return topic[strings.LastIndexByte(topic, '/')+1:] }

// distance is the number of letters to insert, delete, change, or swap with their neighbour to make b of a
// (optimal string alignment).
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	rows := [3][]int{make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(x); i++ {
		before, above, row := rows[0], rows[1], rows[2]
		row[0] = i
		for j := 1; j <= len(y); j++ {
			change := 1
			if x[i-1] == y[j-1] {
				change = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+change)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		rows = [3][]int{above, row, before}
	}
	return rows[1][len(y)]
}
