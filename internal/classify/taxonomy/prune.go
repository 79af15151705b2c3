package taxonomy

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// Other is the last part of the class that holds an internal topic's own examples.
const Other = "Other"

// Bounds of a topic's name, far above those of existing directories (DMOZ: 15 parts).
const (
	// MaxDepth is the number of its parts.
	MaxDepth = 64
	// MaxTopic is its length, bytes.
	MaxTopic = 1024
)

// ErrTooFew is returned when there are fewer than two classes.
var ErrTooFew = errors.New("a critic needs two")

// Settings of Prune.
type Settings struct {
	// Minimum is k, the examples a leaf must have to stay (2002: 300); 0 keeps every leaf.
	Minimum int
	// Cap is the number of examples a class has at most (2002: 300); 0 = no cap.
	Cap int
	// Seed of the samples that Cap draws.
	Seed uint64
}

// Example is an example for pruning: its URL and topics, names from ParseTopic.
type Example struct {
	URL    string
	Topics []string
}

// Class is a leaf that remains.
type Class struct {
	// Name is the topic, or an internal topic + "/Other" ("Other" for the root's).
	Name string
	// Examples are indices into what Prune was given, ascending; at least one.
	Examples []int
	// Cut is the number of examples that the cap excluded.
	Cut int
}

// Pruned is a topic that was deleted.
type Pruned struct {
	// Topic that had too few examples.
	Topic string
	// Examples that it had when it was deleted, those of its deleted children included.
	Examples int
	// Into is the nearest ancestor that remains; "" is the root.
	Into string
}

// Tree is the result of Prune.
type Tree struct {
	Classes []Class  // by name
	Pruned  []Pruned // by topic
}

// ParseTopic checks the topic of an example and returns it without leading and trailing "/", and without a last
// part Other. "" is the root. A name has parts between "/" that are neither empty nor begin or end with white
// space, in UTF-8, without invisible characters.
func ParseTopic(name string) (string, error) {
	topic := strings.Trim(name, "/")
	switch {
	case topic == "":
		return "", fmt.Errorf("topic %q is empty", name)
	case len(topic) > MaxTopic:
		return "", fmt.Errorf("topic %.40q… has %d bytes, more than %d", topic, len(topic), MaxTopic)
	case depth(topic) > MaxDepth:
		return "", fmt.Errorf("topic %.40q… has %d parts, more than %d", topic, depth(topic), MaxDepth)
	case !utf8.ValidString(topic):
		return "", fmt.Errorf("topic %q is not UTF-8", topic)
	}
	for rest, more := topic, true; more; {
		var part string
		part, rest, more = strings.Cut(rest, "/")
		if part == "" || strings.TrimSpace(part) != part || strings.ContainsFunc(part, invisible) {
			return "", fmt.Errorf("topic %q: part %q is empty, or has control characters or white space at its ends", name, part)
		}
		if part == Other {
			if more {
				return "", fmt.Errorf("topic %q: nothing may lie below %q, the name for a topic's own examples", name, Other)
			}
			topic = strings.TrimSuffix(strings.TrimSuffix(topic, Other), "/")
		}
	}
	return topic, nil
}

// invisible are characters that make a name look like another one.
func invisible(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

type node struct {
	topic    string
	parent   *node
	children int // that remain
	examples []int
	deleted  bool
}

// Prune takes the steps described in the package documentation.
func Prune(examples []Example, s Settings) (*Tree, error) {
	nodes := map[string]*node{"": {}}
	var place func(topic string) *node
	place = func(topic string) *node {
		n, ok := nodes[topic]
		if !ok {
			n = &node{topic: topic, parent: place(topic[:max(0, strings.LastIndexByte(topic, '/'))])}
			n.parent.children++
			nodes[topic] = n
		}
		return n
	}
	for i, e := range examples {
		for _, topic := range e.Topics {
			n := place(topic)
			n.examples = append(n.examples, i)
		}
	}

	// Deepest first: children are decided before their parent.
	order := make([]*node, 0, len(nodes))
	for _, n := range nodes {
		order = append(order, n)
	}
	slices.SortFunc(order, func(a, b *node) int {
		return cmp.Or(-cmp.Compare(depth(a.topic), depth(b.topic)), strings.Compare(a.topic, b.topic))
	})
	for _, n := range order {
		slices.Sort(n.examples)
		n.examples = slices.Compact(n.examples)
		if n.parent != nil && n.children == 0 && len(n.examples) < s.Minimum {
			n.deleted = true
			n.parent.children--
			n.parent.examples = append(n.parent.examples, n.examples...)
		}
	}

	t := new(Tree)
	for _, n := range order {
		switch {
		case n.deleted:
			into := n.parent
			for into.deleted {
				into = into.parent
			}
			t.Pruned = append(t.Pruned, Pruned{Topic: n.topic, Examples: len(n.examples), Into: into.topic})
		case len(n.examples) > 0:
			c := Class{Name: n.topic, Examples: n.examples}
			if n.children > 0 || n.parent == nil {
				c.Name = strings.TrimPrefix(n.topic+"/"+Other, "/")
			}
			t.Classes = append(t.Classes, c)
		}
	}
	slices.SortFunc(t.Pruned, func(a, b Pruned) int { return strings.Compare(a.Topic, b.Topic) })
	if err := t.finish(examples, s); err != nil {
		return nil, fmt.Errorf("%d examples at %d topics, with a minimum of %d: %w", len(examples), len(nodes)-1, s.Minimum, err)
	}
	return t, nil
}

// Flat takes the topics of the examples as classes: no tree, no minimum.
func Flat(examples []Example, s Settings) (*Tree, error) {
	classes := make(map[string][]int)
	for i, e := range examples {
		for _, topic := range e.Topics {
			classes[topic] = append(classes[topic], i)
		}
	}
	t := new(Tree)
	for name, members := range classes {
		t.Classes = append(t.Classes, Class{Name: name, Examples: slices.Compact(members)})
	}
	if err := t.finish(examples, s); err != nil {
		return nil, fmt.Errorf("%d examples: %w", len(examples), err)
	}
	return t, nil
}

// finish sorts the classes and samples them down to the cap.
func (t *Tree) finish(examples []Example, s Settings) error {
	slices.SortFunc(t.Classes, func(a, b Class) int { return strings.Compare(a.Name, b.Name) })
	for i := range t.Classes {
		c := &t.Classes[i]
		if s.Cap > 0 && len(c.Examples) > s.Cap {
			c.Cut = len(c.Examples) - s.Cap
			c.Examples = sample(examples, c.Name, c.Examples, s)
		}
	}
	if len(t.Classes) < 2 {
		return fmt.Errorf("%d class is left, %w: give more examples or lower the minimum", len(t.Classes), ErrTooFew)
	}
	return nil
}

func depth(topic string) int {
	if topic == "" {
		return 0
	}
	return 1 + strings.Count(topic, "/")
}

// sample returns Cap of the examples of a class, ascending.
func sample(examples []Example, class string, of []int, s Settings) []int {
	type drawn struct {
		hash  uint64
		index int
	}
	all := make([]drawn, len(of))
	for i, e := range of {
		b := binary.LittleEndian.AppendUint64(nil, s.Seed)
		b = append(append(append(b, class...), 0), examples[e].URL...)
		all[i] = drawn{xxhash.Sum64(b), e}
	}
	slices.SortFunc(all, func(a, b drawn) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), strings.Compare(examples[a.index].URL, examples[b.index].URL), cmp.Compare(a.index, b.index))
	})
	kept := make([]int, s.Cap)
	for i := range kept {
		kept[i] = all[i].index
	}
	slices.Sort(kept)
	return kept
}
