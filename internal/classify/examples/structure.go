package examples

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Structure is the statistics of the structure of a dump.
type Structure struct {
	// Topics is the number of topics; of these, Empty ones have no page of their own.
	Topics int64 `json:"topics"`
	Empty  int64 `json:"empty"`
	// Symbolic is the number of symbolic links between topics, which are not followed; Dangling ones lead to a missing topic.
	Symbolic int64 `json:"symbolic"`
	Dangling int64 `json:"dangling"`
	// Astray is the number of narrow elements whose topic is not directly below by its name; the name decides.
	Astray int64 `json:"astray"`
	// OnCircles is the number of topics on a cycle of narrower topics and symbolic links.
	OnCircles int64 `json:"on_circles"`
}

// structure is a structure while it is read. Topics are identified by the hashes of their names.
type structure struct {
	Structure
	number map[uint64]uint32
	exists []bool // by number: it has an element; others are only linked to
	pages  []bool
	next   [][]uint32 // narrower and linked topics
}

func (x *structure) topic(name string) uint32 {
	h := hashOf(name)
	n, ok := x.number[h]
	if !ok {
		n = uint32(len(x.exists))
		x.number[h] = n
		x.exists, x.pages, x.next = append(x.exists, false), append(x.pages, false), append(x.next, nil)
	}
	return n
}

// page records that a topic has a page, and reports whether the topic exists. Without a structure every topic does.
func (x *structure) page(name string) bool {
	if x == nil {
		return true
	}
	n, ok := x.number[hashOf(name)]
	if ok {
		x.pages[n] = true
	}
	return ok && x.exists[n]
}

// readStructure reads structure.rdf.u8.
func readStructure(ctx context.Context, r io.Reader, name string, in *Intake) (*structure, error) {
	x := &structure{number: make(map[uint64]uint32)}
	s := newRDFScanner(r)
	at, topic, ended := uint32(0), "", false
	within := false
	err := s.each(ctx, name, func(t rdfToken) error {
		switch {
		case t.kind == rdfText:
		case t.kind == rdfClose:
			ended = ended || t.name == "RDF"
			within = within && t.name != "Topic"
		case t.broken && t.name != "Topic":
			in.repair(BrokenTag, Place{Source: name, Unit: "byte", At: t.at}, t.name)
		case t.name == "Topic":
			id, _ := rdfString(t.value)
			topic = topicOf(id)
			at, within = x.topic(topic), true
			x.exists[at] = true
		case t.name == "Alias":
			within = false
		case within && (t.name == "narrow" || t.name == "letterbar"):
			id, _ := rdfString(t.value)
			x.narrow(at, topic, topicOf(id))
		case within && t.name == "symbolic":
			id, _ := rdfString(t.value)
			if i := strings.LastIndex(id, ":"+top); i >= 0 {
				id = id[i+1:]
			}
			x.Symbolic++
			x.next[at] = append(x.next[at], x.topic(topicOf(id))|symbolicBit)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(x.exists) == 0 {
		return nil, fmt.Errorf("%s has no Topic: is it the structure.rdf.u8 of a dump?", name)
	}
	if !ended {
		if err := offEnd(s, name, in); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// symbolicBit marks an edge that is a symbolic link.
const symbolicBit = 1 << 31

func (x *structure) narrow(at uint32, topic, child string) {
	parent := ""
	if i := strings.LastIndexByte(child, '/'); i >= 0 {
		parent = child[:i]
	}
	if parent != topic || child == "" {
		x.Astray++
	}
	x.next[at] = append(x.next[at], x.topic(child))
}

// count sets the numbers that need the whole structure.
func (x *structure) count() {
	for n, there := range x.exists {
		if there {
			x.Topics++
			if !x.pages[n] {
				x.Empty++
			}
		}
		for _, to := range x.next[n] {
			if to&symbolicBit != 0 && !x.exists[to&^symbolicBit] {
				x.Dangling++
			}
		}
	}
	x.OnCircles = x.circles()
}

// circles counts the topics on cycles: those of strongly connected components of several topics, or with an edge
// to themselves (Tarjan 1972, without recursion).
func (x *structure) circles() (on int64) {
	const none = ^uint32(0)
	type frame struct {
		at   uint32
		next int
	}
	var (
		index = make([]uint32, len(x.next))
		low   = make([]uint32, len(x.next))
		held  = make([]bool, len(x.next))
		stack []uint32
		calls []frame
		count uint32
	)
	for i := range index {
		index[i] = none
	}
	enter := func(v uint32) {
		index[v], low[v], held[v] = count, count, true
		count++
		stack = append(stack, v)
		calls = append(calls, frame{at: v})
	}
	for root := range index {
		if index[root] != none {
			continue
		}
		enter(uint32(root))
		for len(calls) > 0 {
			f := &calls[len(calls)-1]
			v := f.at
			if f.next < len(x.next[v]) {
				w := x.next[v][f.next] &^ symbolicBit
				f.next++
				switch {
				case index[w] == none:
					enter(w)
				case held[w]:
					low[v] = min(low[v], index[w])
				}
				continue
			}
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				u := calls[len(calls)-1].at
				low[u] = min(low[u], low[v])
			}
			if low[v] != index[v] {
				continue
			}
			size := int64(0)
			for {
				w := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				held[w] = false
				size++
				if w == v {
					break
				}
			}
			if size > 1 || slices.ContainsFunc(x.next[v], func(n uint32) bool { return n&^symbolicBit == v }) {
				on += size
			}
		}
	}
	return on
}
