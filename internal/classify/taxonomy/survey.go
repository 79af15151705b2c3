package taxonomy

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Topic is a topic of the examples, before pruning.
type Topic struct {
	Name string `json:"topic"`
	// Own examples are labelled with the topic itself; All are those and the ones below, each counted once.
	Own int `json:"own"`
	All int `json:"all"`
}

// Topics returns the tree of the examples, by name: every topic, and those above it.
func Topics(examples []Example) []Topic {
	at := make(map[string]int)
	var topics []Topic
	seen := []int{} // by topic: the example that was counted last, + 1
	number := func(name string) int {
		i, ok := at[name]
		if !ok {
			i = len(topics)
			at[name] = i
			topics, seen = append(topics, Topic{Name: name}), append(seen, 0)
		}
		return i
	}
	for n, e := range examples {
		for k, name := range e.Topics {
			if slices.Contains(e.Topics[:k], name) {
				continue
			}
			if name != "" {
				topics[number(name)].Own++
			}
			for up := name; up != ""; up = up[:max(0, strings.LastIndexByte(up, '/'))] {
				if i := number(up); seen[i] != n+1 {
					seen[i] = n + 1
					topics[i].All++
				}
			}
		}
	}
	slices.SortFunc(topics, func(a, b Topic) int { return strings.Compare(a.Name, b.Name) })
	return topics
}

// Moved returns how many labels of pruned topics came to each topic that remains, "" for the root.
func (t *Tree) Moved(examples []Example) map[string]int {
	into := make(map[string]string, len(t.Pruned))
	for _, p := range t.Pruned {
		into[p.Topic] = p.Into
	}
	moved := make(map[string]int)
	for _, e := range examples {
		for _, name := range e.Topics {
			if to, ok := into[name]; ok {
				moved[to]++
			}
		}
	}
	return moved
}

// Similar returns groups of sibling topics whose names differ in case, space and punctuation only: most likely the
// same topic, written in two ways.
func Similar(topics []Topic) [][]string {
	groups := make(map[string][]string)
	for _, t := range topics {
		i := strings.LastIndexByte(t.Name, '/') + 1
		plain := strings.Map(func(r rune) rune {
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				return -1
			}
			return unicode.ToLower(r)
		}, t.Name[i:])
		if plain != "" {
			key := t.Name[:i] + plain
			groups[key] = append(groups[key], t.Name)
		}
	}
	var out [][]string
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		if len(groups[key]) > 1 {
			out = append(out, groups[key])
		}
	}
	return out
}
