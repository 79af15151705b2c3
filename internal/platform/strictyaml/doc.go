// Package strictyaml decodes YAML files that people write. Unknown fields, fields given twice, empty fields and values of the
// wrong type are all reported at once, each with its path and line, together with what the caller finds wrong with the values.
package strictyaml
