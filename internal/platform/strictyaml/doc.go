// Package strictyaml decodes YAML files that people write: unknown fields, fields given twice,
// empty fields and values of the wrong kind are all reported at once, each by its path and
// line, together with what the caller finds wrong with the values.
package strictyaml
