package column

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Need has the fields of a message that columns are made of, and its id, with those of the messages in them; nil = all.
type Need map[protowire.Number]Need

// Needs returns the fields of a message that tables need.
func Needs(tables []Table, message protoreflect.Name) Need {
	n := make(Need)
	for _, t := range tables {
		for _, c := range t.Columns {
			for _, a := range c.Args {
				if t.Message.Name() != message || a.Index {
					continue
				}
				if len(a.Path) == 0 {
					return nil
				}
				n.add(a.Path)
			}
		}
	}
	return n
}

// add adds the last of fields, or the first list in the path: its elements are needed whole.
func (n Need) add(path []protoreflect.FieldDescriptor) {
	for i, f := range path {
		if id := f.ContainingMessage().Fields().ByName("id"); id != nil {
			n[id.Number()] = nil
		}
		inner, ok := n[f.Number()]
		switch {
		case i == len(path)-1 || f.IsList():
			n[f.Number()] = nil
			return
		case !ok:
			n[f.Number()] = make(Need)
		case inner == nil:
			return
		}
		n = n[f.Number()]
	}
}

// Of returns an encoded message without the fields that are not needed. What cannot be read is kept, for the decoder to report.
func (n Need) Of(message []byte) []byte {
	if n == nil {
		return message
	}
	var kept []byte
	for rest := message; len(rest) > 0; {
		number, kind, tag := protowire.ConsumeTag(rest)
		size := protowire.ConsumeFieldValue(number, kind, rest[max(tag, 0):])
		if tag < 0 || size < 0 {
			return message
		}
		field := rest[:tag+size]
		switch inner, ok := n[number]; {
		case inner != nil && kind == protowire.BytesType:
			value, _ := protowire.ConsumeBytes(field[tag:])
			kept = protowire.AppendBytes(append(kept, field[:tag]...), inner.Of(value))
		case ok:
			kept = append(kept, field...)
		}
		rest = rest[len(field):]
	}
	return kept
}
