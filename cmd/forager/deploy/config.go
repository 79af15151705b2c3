package deploy

import (
	"io"

	"forager/cmd/internal/cli"
	"forager/internal/platform/pipeline"
)

// ConfigCommand is the command "forager config".
type ConfigCommand struct {
	All bool     `help:"With an explanation of each setting, its range and default, and the memory of each process."`
	Set []string `help:"Setting to have another value; may be given more than once." placeholder:"NAME=VALUE" sep:"none"`
}

func (c *ConfigCommand) Help() string {
	return `The configuration in effect, as YAML that is a pipeline file itself: what the file has, and the defaults of
the rest. Keys, and passwords in addresses, are hidden.

  forager config --all
  forager config --all --set memory=8GiB --set stages.parse-dom.replicas=2`
}

func (c *ConfigCommand) Run(s *cli.Session) error {
	config, err := pipeline.Load(s.Config, c.Set...)
	if err != nil {
		return err
	}
	type item struct {
		Path    string `json:"path"`
		Value   string `json:"value"`
		Default string `json:"default,omitempty"`
		Range   string `json:"range,omitempty"`
		Help    string `json:"help"`
	}
	var list []item
	for _, x := range config.Settings() {
		list = append(list, item{x.Path, x.String(), x.Default, x.Range, x.Help})
	}
	return s.Print(list, func(w io.Writer) { config.Write(w, c.All) })
}
