package models

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"forager/cmd/internal/cli"
	"forager/internal/classify/critic"
	"forager/internal/operate"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/platform/registry"
	"forager/internal/stream"
	"forager/schemas"
)

// modelName matches the names of critics, guides and sources of backlinks.
var modelName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// CheckModelName returns a usage error if the value of a flag is not a name of a model.
func CheckModelName(flag, name string) error {
	if !modelName.MatchString(name) {
		return cli.Usagef("%s: %q is not a name of 1–64 of a–z, 0–9, \"-\" and \"_\"", flag, name)
	}
	return nil
}

// SourceOf reads a user's definition of a model that is to be published under a name.
func SourceOf[M any](name, path string, parse func(file, source string) (M, error)) (none M, err error) {
	if err := CheckModelName("--name", name); err != nil {
		return none, err
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return none, err
	}
	return parse(filepath.Base(path), string(source))
}

// PublishCritic stores a critic under a name derived from its bytes and announces it.
func PublishCritic(ctx context.Context, cfg *pipeline.Config, b *cli.Topics, name string, model *critic.Model, measures map[string]float64) (*schemas.ModelPublished, error) {
	store, err := objects.Open(cfg.S3)
	if err != nil {
		return nil, err
	}
	data := model.Marshal()
	m := registry.Critic(name, data, measures, time.Now())
	if err := Publish(ctx, b, store, m, data); err != nil {
		return nil, err
	}
	return m, nil
}

// PublishNew stores a model, announces it and returns its version.
func PublishNew(s *cli.Session, m *schemas.ModelPublished, data []byte) (version string, err error) {
	b, store, err := s.OpenStore()
	if err != nil {
		return "", err
	}
	return m.GetVersion(), Publish(s, b, store, m, data)
}

// Publish stores a model and announces it.
func Publish(ctx context.Context, b *cli.Topics, store *objects.Store, m *schemas.ModelPublished, data []byte) error {
	if err := registry.Keep(ctx, store, m, data); err != nil {
		return err
	}
	stream.Failpoint("kept-before-announced")
	out, err := registry.Announcement(m)
	if err != nil {
		return err
	}
	if _, err := b.Client.Produce(ctx, []stream.Out{out}); err != nil {
		return fmt.Errorf("announce model %s: %w", m.GetVersion(), err)
	}
	b.Note(m) // it is read back through the topic a little later
	return nil
}

// PublishGuide publishes a guide's file, made for one critic or for any, and returns its version.
func PublishGuide(s *cli.Session, name, critic string, data []byte) (version string, err error) {
	b, store, err := s.OpenStore()
	if err != nil {
		return "", err
	}
	if critic != "" {
		if _, critic, err = operate.OpenCritic(s, b, store, critic); err != nil {
			return "", err
		}
	}
	m := registry.Guide(name, critic, data, time.Now())
	return m.GetVersion(), Publish(s, b, store, m, data)
}

// PrintPublished prints the version under which a model was published, nothing if it was not.
func PrintPublished(w io.Writer, version string) {
	if version != "" {
		fmt.Fprintf(w, "published %s\n", version)
	}
}
