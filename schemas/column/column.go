package column

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Table is a TableOption, resolved.
type Table struct {
	*TableOption
	Message protoreflect.MessageDescriptor
	// Of is the field Each; nil = a row for each message.
	Of      protoreflect.FieldDescriptor
	Columns []Column
}

// Column is a column of a table, or of a list in one. Its option has the type, also where that of the field applies.
type Column struct {
	*ColumnOption
	// Func is the name of a function; empty = the value is that of the only argument, a field. Without arguments the program
	// sets the column.
	Func string
	Args []Arg
	// Columns are those of each element of a list.
	Columns []Column
}

// Arg is a path of fields; none of them = the message itself. Index: the index in Table.Of instead.
type Arg struct {
	Path  []protoreflect.FieldDescriptor
	Index bool
}

// Tables returns the ClickHouse tables of the messages of files, in their order.
func Tables(files []protoreflect.FileDescriptor) ([]Table, error) {
	return resolve(files, func(o *descriptorpb.MessageOptions) []*TableOption {
		return proto.GetExtension(o, E_Table).([]*TableOption)
	})
}

// Archives returns the columns of messages in the archive.
func Archives(files []protoreflect.FileDescriptor) ([]Table, error) {
	return resolve(files, func(o *descriptorpb.MessageOptions) []*TableOption {
		if !proto.HasExtension(o, E_Archive) {
			return nil
		}
		return []*TableOption{proto.GetExtension(o, E_Archive).(*TableOption)}
	})
}

func resolve(files []protoreflect.FileDescriptor, of func(*descriptorpb.MessageOptions) []*TableOption) (all []Table, err error) {
	r := resolver{messages: make(map[protoreflect.Name]protoreflect.MessageDescriptor)}
	var messages []protoreflect.MessageDescriptor
	for _, f := range files {
		for i := range f.Messages().Len() {
			m := f.Messages().Get(i)
			r.messages[m.Name()] = m
			messages = append(messages, m)
		}
	}
	for _, m := range messages {
		options, err := optionsOf[descriptorpb.MessageOptions](m)
		if err != nil {
			return nil, err
		}
		for _, option := range of(options) {
			t := Table{TableOption: option, Message: m}
			if option.Each != "" {
				if t.Of = m.Fields().ByName(protoreflect.Name(option.Each)); t.Of == nil {
					return nil, fmt.Errorf("%s: table %s: no field %s", m.Name(), option.Name, option.Each)
				}
			}
			if t.Columns, err = r.columns(m, t.Of, option.Column); err != nil {
				return nil, fmt.Errorf("%s: table %s: %w", m.Name(), option.Name, err)
			}
			all = append(all, t)
		}
	}
	return all, nil
}

// optionsOf returns the options of a descriptor, with the extensions of this package also where a compiler made the descriptor.
func optionsOf[O any, P interface {
	*O
	proto.Message
}](d protoreflect.Descriptor) (P, error) {
	b, err := proto.Marshal(d.Options())
	if err != nil {
		return nil, err
	}
	o := P(new(O))
	return o, proto.Unmarshal(b, o)
}

// resolver finds the fields that columns name.
type resolver struct {
	messages map[protoreflect.Name]protoreflect.MessageDescriptor
}

func (r *resolver) columns(m protoreflect.MessageDescriptor, each protoreflect.FieldDescriptor, options []*ColumnOption) (all []Column, err error) {
	for _, option := range options {
		c, err := r.column(m, each, option)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", option.Name, err)
		}
		all = append(all, c)
	}
	return all, nil
}

func (r *resolver) column(m protoreflect.MessageDescriptor, each protoreflect.FieldDescriptor, option *ColumnOption) (c Column, err error) {
	c.ColumnOption = proto.CloneOf(option)
	from := option.From
	switch {
	case from == "-":
	case strings.HasSuffix(from, ")"):
		name, args, _ := strings.Cut(strings.TrimSuffix(from, ")"), "(")
		c.Func = name
		for _, path := range strings.Split(args, ", ") {
			arg, err := r.arg(m, path)
			if err != nil {
				return c, err
			}
			c.Args = append(c.Args, arg)
		}
		if name == "len" && c.Type == "" {
			c.Type = "UInt32"
		}
	default:
		if from == "" {
			from = option.Name
		}
		arg, err := r.arg(m, from)
		if err != nil {
			return c, err
		}
		c.Args = []Arg{arg}
		if last := arg.Path[len(arg.Path)-1]; len(option.Column) > 0 {
			if c.Columns, err = r.columns(last.Message(), nil, option.Column); err != nil {
				return c, err
			}
			c.Type = "Nested"
		} else if c.Type == "" {
			c.Type = typeOf(arg.Path, each)
		}
	}
	if c.Type == "" {
		return c, fmt.Errorf("no type for %q", from)
	}
	return c, nil
}

func (r *resolver) arg(m protoreflect.MessageDescriptor, path string) (Arg, error) {
	switch path {
	case ".":
		return Arg{}, nil
	case "i":
		return Arg{Index: true}, nil
	}
	var a Arg
	for name := range strings.SplitSeq(path, ".") {
		if m == nil {
			return a, fmt.Errorf("no message has the field %s of %s", name, path)
		}
		f := m.Fields().ByName(protoreflect.Name(name))
		if f == nil {
			return a, fmt.Errorf("%s has no field %s", m.Name(), name)
		}
		a.Path = append(a.Path, f)
		if m = f.Message(); m == nil {
			held, err := Held(f)
			if err != nil {
				return a, err
			}
			m = r.messages[protoreflect.Name(held)]
		}
	}
	return a, nil
}

// Held returns the name of the message whose bytes a field has; empty = none.
func Held(f protoreflect.FieldDescriptor) (string, error) {
	o, err := optionsOf[descriptorpb.FieldOptions](f)
	if err != nil {
		return "", err
	}
	return proto.GetExtension(o, E_Holds).(string), nil
}

// typeOf returns the ClickHouse type of the last of fields.
func typeOf(path []protoreflect.FieldDescriptor, each protoreflect.FieldDescriptor) string {
	last := path[len(path)-1]
	if last.IsMap() {
		return "Map(LowCardinality(String), " + scalar[last.MapValue().Kind()] + ")"
	}
	kind := scalar[last.Kind()]
	for _, f := range path {
		if f.IsList() && f != each && kind != "" {
			return "Array(" + kind + ")"
		}
	}
	return kind
}

// scalar has the ClickHouse types; bytes are ids.
var scalar = map[protoreflect.Kind]string{
	protoreflect.StringKind: "String", protoreflect.BytesKind: "FixedString(16)", protoreflect.BoolKind: "Bool", protoreflect.EnumKind: "LowCardinality(String)",
	protoreflect.Uint32Kind: "UInt32", protoreflect.Fixed32Kind: "UInt32", protoreflect.Int32Kind: "Int32", protoreflect.Sint32Kind: "Int32",
	protoreflect.Uint64Kind: "UInt64", protoreflect.Fixed64Kind: "UInt64", protoreflect.Int64Kind: "Int64", protoreflect.DoubleKind: "Float64",
}

// OfPlace reports whether a column has the place of a row's record. Every ClickHouse table has these columns, after its own.
func OfPlace(name string) bool {
	return name == "partition" || name == "precedence" || name == "recorded_at"
}

// List applies a function to each element of a repeated field; nil for none. The generated conversions of rows call it.
func List[E, T any](all []E, of func(E) T) []T {
	if len(all) == 0 {
		return nil
	}
	values := make([]T, len(all))
	for i, x := range all {
		values[i] = of(x)
	}
	return values
}
