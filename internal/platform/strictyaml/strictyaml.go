package strictyaml

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Problem is one error in a file.
type Problem struct {
	// Path of the field ("stages.fetch.hold"), and its line, 0 if the field is missing.
	Path string
	Line int
	// Message describes what is wrong and what would be right.
	Message string
}

// Error has all problems of a file.
type Error struct {
	File     string
	Problems []Problem
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d problem(s)", e.File, len(e.Problems))
	for _, p := range e.Problems {
		b.WriteString("\n  ")
		if p.Line > 0 {
			fmt.Fprintf(&b, "line %d: ", p.Line)
		}
		if p.Path != "" {
			b.WriteString(p.Path + ": ")
		}
		b.WriteString(p.Message)
	}
	return b.String()
}

// Report collects the problems of a file.
type Report struct {
	problems []Problem
	lines    map[string]int // path → line
}

// Decode decodes YAML into the struct that v points to; fields that are not in the file keep their
// values. Struct fields need yaml tags; maps have string keys. The caller adds problems of values
// to the returned Report.
func Decode(b []byte, v any) *Report {
	r := &Report{lines: make(map[string]int)}
	var root yaml.Node
	if err := yaml.Unmarshal(b, &root); err != nil {
		r.Problem("", "not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		return r
	}
	if len(root.Content) > 0 {
		r.decode(root.Content[0], reflect.ValueOf(v).Elem(), "")
	}
	return r
}

// Override decodes a value of YAML over the field of v at a path, after Decode.
func (r *Report) Override(v any, path []string, value string) {
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(value), &root); err != nil || len(root.Content) == 0 {
		r.Problem(strings.Join(path, "."), "not a value in YAML: %q", value)
		return
	}
	n := root.Content[0]
	n.Line = 0
	for _, key := range slices.Backward(path) {
		n = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: key}, n}}
	}
	r.decode(n, reflect.ValueOf(v).Elem(), "")
}

// DecodeValue decodes a value of YAML into v, which can be set.
func DecodeValue(text string, v reflect.Value) *Report {
	r := &Report{lines: make(map[string]int)}
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil || len(root.Content) == 0 {
		r.Problem("", "not a value in YAML: %q", text)
		return r
	}
	r.decode(root.Content[0], v, "")
	return r
}

// Problems returns all problems found, in the order of lines.
func (r *Report) Problems() []Problem {
	slices.SortStableFunc(r.problems, func(a, b Problem) int { return a.Line - b.Line })
	return r.problems
}

// Problem adds a problem: the field's path, and what is wrong and what would be right.
func (r *Report) Problem(path, format string, args ...any) {
	r.problems = append(r.problems, Problem{Path: path, Line: r.lines[path], Message: fmt.Sprintf(format, args...)})
}

// Has reports whether the file has the field at path.
func (r *Report) Has(path string) bool { _, ok := r.lines[path]; return ok }

func (r *Report) decode(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	r.lines[path] = n.Line
	switch {
	case v.Kind() == reflect.Struct:
		r.fields(n, path, func(key, at string, child *yaml.Node) {
			f, ok := field(v, key)
			if !ok {
				r.Problem(at, "unknown field; known here: %s", strings.Join(fieldNames(v.Type()), ", "))
				return
			}
			r.decode(child, f, at)
		})
	case v.Kind() == reflect.Map:
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		r.fields(n, path, func(key, at string, child *yaml.Node) {
			element := reflect.New(v.Type().Elem()).Elem()
			if old := v.MapIndex(reflect.ValueOf(key)); old.IsValid() {
				element.Set(old)
			}
			r.decode(child, element, at)
			v.SetMapIndex(reflect.ValueOf(key), element)
		})
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct && n.Kind == yaml.SequenceNode:
		v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
		for i, child := range n.Content {
			r.decode(child, v.Index(i), fmt.Sprintf("%s.%d", path, i+1))
		}
	default:
		if n.Tag == "!!null" {
			r.Problem(path, "is empty; give a value or leave the field out")
			return
		}
		switch {
		case n.Kind == yaml.ScalarNode && isBytes(v.Type()):
			size, ok := parseBytes(n.Value)
			if !ok && (broken(n, v) || n.Decode(&size) != nil) {
				r.Problem(path, "%q is not %s", n.Value, kindName(v.Type()))
				return
			}
			v.SetInt(size)
		case n.Kind == yaml.ScalarNode && v.Kind() != reflect.Slice:
			if broken(n, v) || n.Decode(v.Addr().Interface()) != nil {
				r.Problem(path, "%q is not %s", n.Value, kindName(v.Type()))
			}
		case n.Decode(v.Addr().Interface()) != nil:
			r.Problem(path, "is not %s", kindName(v.Type()))
		}
	}
}

// broken reports whether the node is a fraction or an infinite number where an integer or a
// duration is required: the YAML package would truncate it.
func broken(n *yaml.Node, v reflect.Value) bool {
	if n.Tag != "!!float" || !v.CanInt() && !v.CanUint() {
		return false
	}
	var x float64
	return v.Type() == reflect.TypeFor[time.Duration]() || n.Decode(&x) != nil ||
		x != math.Trunc(x) || math.Abs(x) > 1<<53 || v.CanUint() && x < 0
}

// fields calls f for each key of a mapping, once.
func (r *Report) fields(n *yaml.Node, path string, f func(key, at string, child *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.Problem(path, "must have fields (key: value)")
		return
	}
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, child := n.Content[i].Value, n.Content[i+1]
		at := key
		if path != "" {
			at = path + "." + key
		}
		r.lines[at] = n.Content[i].Line
		if seen[key] {
			r.Problem(at, "is given twice")
			continue
		}
		seen[key] = true
		f(key, at, child)
	}
}

func field(v reflect.Value, key string) (reflect.Value, bool) {
	for i := range v.NumField() {
		name, inline := tag(v.Type().Field(i))
		if inline {
			if f, ok := field(v.Field(i), key); ok {
				return f, true
			}
		} else if name == key {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}

func fieldNames(t reflect.Type) []string {
	var names []string
	for field := range t.Fields() {
		name, inline := tag(field)
		if inline {
			names = append(names, fieldNames(field.Type)...)
		} else {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func tag(f reflect.StructField) (name string, inline bool) {
	name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return name, options == "inline"
}

func kindName(t reflect.Type) string {
	if v, ok := reflect.Zero(t).Interface().(interface{ Wanted() string }); ok {
		return v.Wanted()
	}
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return `a duration ("250ms", "30s", "24h")`
	case isBytes(t):
		return "a whole number of bytes, or of KiB, MiB, GiB or TiB"
	case reflect.Zero(t).CanInt():
		return "a whole number"
	case reflect.Zero(t).CanUint():
		return "a whole number from 0"
	case reflect.Zero(t).CanFloat():
		return "a number"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Slice:
		return "a list"
	}
	return "a text"
}
