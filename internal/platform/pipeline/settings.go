package pipeline

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"forager/internal/platform/strictyaml"
)

// Setting is one value of a pipeline file, with its documentation.
type Setting struct {
	// Path of the value, such as stages.fetch.hold.
	Path string
	// Help explains it. Default and Range (low..high) are written as in the file; empty = none.
	Help, Default, Range string
	value                reflect.Value
	secret               bool
	bytes                bool
}

// String returns the value as the file may have it. Passwords and keys are hidden.
func (s Setting) String() string {
	switch v := s.value.Interface().(type) {
	case time.Duration:
		return formatDuration(v)
	case string:
		return quote(s.masked(v))
	case []string:
		return quoteList(v)
	case Hosts:
		return quoteList(v)
	case Webhooks:
		return v.String()
	case int64:
		return strictyaml.FormatBytes(v)
	}
	return fmt.Sprint(s.value.Interface())
}

// hidden replaces secrets in what is printed.
const hidden = "hidden"

func (s Setting) masked(v string) string {
	if s.secret && v != "" {
		return hidden
	}
	if u, err := url.Parse(v); err == nil && u.User != nil {
		u.User = url.User(hidden)
		return u.String()
	}
	return v
}

// quote returns a text as YAML, in quotes where it needs them.
func quote(s string) string {
	if b, err := yaml.Marshal(s); err == nil && s != "" && !strings.Contains(strings.TrimSuffix(string(b), "\n"), "\n") {
		return strings.TrimSuffix(string(b), "\n")
	}
	b, _ := json.Marshal(s) // a string
	return string(b)
}

func quoteList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		b, _ := json.Marshal(s) // a string
		quoted[i] = string(b)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// formatDuration leaves out units that are zero: 1m, not 1m0s.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Settings returns all settings of the configuration, in the order of the documentation.
func (c *Config) Settings() []Setting {
	normal, share := make(map[string]string), make(map[string]string)
	for _, p := range new(Config).processes() {
		for _, part := range p.parts {
			of := "memory_bytes"
			if part.base > 0 {
				of = fmt.Sprintf("(memory_bytes − %s)", strictyaml.FormatBytes(part.base))
			}
			share[part.path] = fmt.Sprintf("%d/%d of %s", part.num, part.den, of)
		}
		normal[p.path+".memory_bytes"] = strictyaml.FormatBytes(p.normal << 20)
		normal[p.path+".gc_percent"] = strconv.Itoa(p.gc)
	}
	var all []Setting
	walk(reflect.ValueOf(c).Elem(), "", func(path string, f reflect.StructField, v reflect.Value) {
		tag := f.Tag.Get
		s := Setting{
			Path: path, Help: tag("help"), Default: tag("default"), Range: tag("range"), value: v,
			secret: tag("secret") == "true", bytes: tag("unit") == "bytes",
		}
		if d, ok := normal[path]; ok {
			s.Default = d
		}
		if of, ok := share[path]; ok {
			s.Default = of
		}
		if name, ok := strings.CutPrefix(path, "topics."); ok {
			s.Default = topicDefault(name[:strings.LastIndex(name, ".")], f.Name)
		}
		all = append(all, s)
	})
	return all
}

// walk calls f for each value below v, which is a struct.
func walk(v reflect.Value, path string, f func(path string, field reflect.StructField, v reflect.Value)) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		at := strings.TrimPrefix(path+"."+name, ".")
		switch {
		case options == "inline":
			walk(v.Field(i), path, f)
		case name == "":
		case field.Type.Kind() == reflect.Struct:
			walk(v.Field(i), at, f)
		case field.Type.Kind() == reflect.Map: // of the topics
			for _, topic := range TopicNames() {
				if element := v.Field(i).MapIndex(reflect.ValueOf(topic)); element.IsValid() {
					walk(element, at+"."+topic, f)
				}
			}
		default:
			f(at, field, v.Field(i))
		}
	}
}

// write writes settings as YAML; before is called with the indentation before each.
func write(w io.Writer, list []Setting, before func(indent string, s Setting)) {
	var last []string
	for _, s := range list {
		keys := keysOf(s.Path)
		name := len(keys) - 1
		common := 0
		for common < min(name, len(last)) && last[common] == keys[common] {
			common++
		}
		for depth := common; depth < name; depth++ {
			fmt.Fprintf(w, "%s%s:\n", strings.Repeat("  ", depth), keys[depth])
		}
		indent := strings.Repeat("  ", name)
		before(indent, s)
		fmt.Fprintf(w, "%s%s: %s\n", indent, keys[name], s)
		last = keys[:name]
	}
}

// keysOf splits a path; the name of a topic, which has a dot, is one key.
func keysOf(path string) []string {
	rest, ok := strings.CutPrefix(path, "topics.")
	if i := strings.LastIndex(rest, "."); ok && i >= 0 {
		return []string{"topics", rest[:i], rest[i+1:]}
	}
	return strings.Split(path, ".")
}

// Write writes the configuration in effect as YAML that Load reads; secrets are hidden. explain: with an explanation of
// each setting, and the memory of each process.
func (c *Config) Write(w io.Writer, explain bool) {
	if explain {
		for _, line := range c.division() {
			fmt.Fprintf(w, "# %s\n", line)
		}
		fmt.Fprintln(w)
	}
	write(w, c.Settings(), func(indent string, s Setting) {
		if explain {
			fmt.Fprintf(w, "%s# %s\n", indent, s.explanation())
		}
	})
}

func (s Setting) explanation() string {
	about := s.Help
	if s.bytes {
		about += "; bytes"
	}
	if s.Range != "" {
		about += "; " + s.Range
	}
	if s.Default != "" {
		about += "; default " + s.Default
	}
	return about
}

// setDefaults sets the defaults in the tags.
func setDefaults(c *Config) {
	walk(reflect.ValueOf(c).Elem(), "", func(path string, f reflect.StructField, v reflect.Value) {
		if text, ok := f.Tag.Lookup("default"); ok {
			set(v, path, text)
		}
	})
}

// set sets a value that a tag has; a wrong one is an error of this package.
func set(v reflect.Value, path, text string) {
	problems := strictyaml.DecodeValue(text, v).Problems()
	if len(problems) > 0 {
		panic(fmt.Sprintf("tag of %s: %s", path, problems[0].Message))
	}
}

// ranges reports every value that is out of the range in its tag.
func (k checks) ranges(c *Config) {
	walk(reflect.ValueOf(c).Elem(), "", func(path string, f reflect.StructField, v reflect.Value) {
		low, high, ok := strings.Cut(f.Tag.Get("range"), "..")
		if !ok {
			return
		}
		bound := func(text string) int64 {
			b := reflect.New(v.Type()).Elem()
			set(b, path, text)
			return b.Int()
		}
		if x := v.Int(); x < bound(low) || x > bound(high) {
			k.Problem(path, "is %s; it must lie between %s and %s", Setting{value: v}.String(), low, high)
		}
	})
}
