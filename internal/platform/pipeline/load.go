package pipeline

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"forager/internal/platform/strictyaml"
)

// Load reads the pipeline file at path. Data is made absolute, relative to the file's folder.
// settings replace values of the file; each is NAME=VALUE, as stages.fetch.concurrency=8, with the value in YAML.
// Problems of the content are returned together, as *strictyaml.Error.
func Load(path string, settings ...string) (*Config, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the pipeline file: %w", err)
	}
	c, problems := parse(b, settings...)
	if len(problems) > 0 {
		return nil, &strictyaml.Error{File: path, Problems: problems}
	}
	if !filepath.IsAbs(c.Data) {
		dir, err := filepath.Abs(filepath.Dir(path))
		if err != nil {
			return nil, fmt.Errorf("folder of %s: %w", path, err)
		}
		c.Data = filepath.Join(dir, c.Data)
	}
	c.findSecrets()
	return c, nil
}

func parse(b []byte, settings ...string) (*Config, []strictyaml.Problem) {
	c := defaults()
	r := strictyaml.Decode(b, c)
	k := checks{r}
	for _, text := range settings {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			r.Problem("", "%q is not a setting's name, = and its value, as stages.fetch.concurrency=8", text)
			continue
		}
		r.Override(c, keysOf(name), value)
	}
	c.fillTopics()
	k.divide(c)
	k.all(c)
	return c, r.Problems()
}

// defaults returns the settings that a pipeline file need not have, except the memory of the processes and what follows
// from it.
func defaults() *Config {
	c := &Config{Topics: make(map[string]Topic)}
	setDefaults(c)
	for _, p := range c.processes() {
		p.settings.GCPercent = p.gc
	}
	for _, t := range topics {
		c.Topics[t.name] = t.Topic
	}
	return c
}

// fillTopics gives the partitions of kafka.partitions to the topics that have none.
func (c *Config) fillTopics() {
	for name, t := range c.Topics {
		if t.Partitions == 0 {
			t.Partitions = c.Kafka.Partitions
			c.Topics[name] = t
		}
	}
}
