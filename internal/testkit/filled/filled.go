package filled

import "google.golang.org/protobuf/reflect/protoreflect"

// Message sets every field of m, and of the messages in it, to a value that depends on the field's number only, so that a
// field that moved or changed its type shows. Lists get two elements, maps one.
func Message(m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case f.IsMap():
			mp := m.Mutable(f).Map()
			v := mp.NewValue()
			if f.MapValue().Kind() == protoreflect.MessageKind {
				Message(v.Message())
			} else {
				v = scalar(f.MapValue())
			}
			mp.Set(scalar(f.MapKey()).MapKey(), v)
		case f.IsList():
			list := m.Mutable(f).List()
			for range 2 {
				if f.Kind() == protoreflect.MessageKind {
					Message(list.AppendMutable().Message())
				} else {
					list.Append(scalar(f))
				}
			}
		case f.Kind() == protoreflect.MessageKind:
			Message(m.Mutable(f).Message())
		default:
			m.Set(f, scalar(f))
		}
	}
}

func scalar(f protoreflect.FieldDescriptor) protoreflect.Value {
	n := int(f.Number())
	switch f.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(string(f.Name()) + " ü")
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte{0, byte(n), 0xff})
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(float64(n) / 64)
	case protoreflect.EnumKind:
		values := f.Enum().Values()
		return protoreflect.ValueOfEnum(values.Get(values.Len() - 1).Number())
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(1000 + n))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind:
		return protoreflect.ValueOfInt32(int32(-n))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(int64(-1000 - n))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(1<<40 + uint64(n))
	}
	panic("no value for a field of kind " + f.Kind().String())
}
