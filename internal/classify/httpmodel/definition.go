package httpmodel

import (
	"fmt"

	"forager/internal/platform/modelfile"
	"forager/internal/platform/strictyaml"
)

// fileVersion is that of the file of every kind of service.
const fileVersion = 1

// definition is the settings of a service, as they were written and with their defaults.
type definition[S any] struct {
	name, source string
	settings     S
}

// parse decodes settings over their defaults. name is the file's; the error is a *strictyaml.Error with every problem.
func parse[S any](name, source string, defaults S, check func(*S, *strictyaml.Report)) (definition[S], error) {
	d := definition[S]{name, source, defaults}
	r := strictyaml.Decode([]byte(source), &d.settings)
	if len(r.Problems()) == 0 {
		check(&d.settings, r)
	}
	if problems := r.Problems(); len(problems) > 0 {
		return d, &strictyaml.Error{File: name, Problems: problems}
	}
	return d, nil
}

// Name returns the name of the file with the settings.
func (d *definition[S]) Name() string { return d.name }

// Source returns the text of the settings.
func (d *definition[S]) Source() string { return d.source }

// Settings returns the settings, defaults included.
func (d *definition[S]) Settings() S { return d.settings }

// seal returns the model file that contains texts: the same texts, the same bytes.
func seal(kind string, texts ...string) []byte {
	var e modelfile.Encoder
	for _, text := range texts {
		e.String(text)
	}
	return modelfile.Seal(kind, fileVersion, e.Bytes())
}

// unseal reads the texts of a model file, one for each name. Errors are those of package modelfile.
func unseal(b []byte, kind string, names ...string) ([]string, error) {
	_, body, err := modelfile.Open(b, kind, fileVersion)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	d := modelfile.NewDecoder(body)
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = d.String(name)
	}
	if err := d.End(); err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	return texts, nil
}
