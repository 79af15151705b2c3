package guide

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/models"
	"forager/internal/classify/httpmodel"
	"forager/internal/platform/modelfile"
	"forager/internal/rank/guidefile"
)

type guidePublish struct {
	File   string `arg:"" help:"The guide's file." type:"existingfile"`
	Name   string `required:"" help:"Name of the guide."`
	Critic string `help:"The critic, a name or a version, that it was made for: crawls by others refuse it."`
}

func (c *guidePublish) Help() string {
	return `A crawl file names the guide for its ranker (guides: {context-graph: layers}); a running crawl takes it by

  forager crawl ranker chemistry context-graph --guide context-graph=layers`
}

func (c *guidePublish) Run(s *cli.Session) error {
	if err := models.CheckModelName("--name", c.Name); err != nil {
		return err
	}
	data, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	by, err := guidefile.Open(data, httpmodel.Options{})
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	version, err := models.PublishGuide(s, c.Name, c.Critic, data)
	if err != nil {
		return err
	}
	return s.Print(map[string]any{"version": version, "ranker": guidefile.Ranker(by), "reads_urls": by.ReadsURLs()}, func(w io.Writer) {
		fmt.Fprintf(w, "a guide of the ranker %s\n", guidefile.Ranker(by))
		models.PrintPublished(w, version)
	})
}

// ShowGuide implements models show for a guide.
func ShowGuide(s *cli.Session, version string, data []byte) error {
	by, err := guidefile.Open(data, httpmodel.Options{})
	if err != nil {
		return fmt.Errorf("model %s: %w", version, err)
	}
	r := struct {
		Version    string            `json:"version"`
		Kind       string            `json:"kind"`
		Ranker     string            `json:"ranker"`
		Bytes      int               `json:"bytes"`
		ReadsURLs  bool              `json:"reads_urls"`
		Provenance map[string]string `json:"provenance,omitempty"`
		Source     string            `json:"source,omitempty"`
	}{Version: version, Kind: "guide", Ranker: guidefile.Ranker(by), Bytes: len(data), ReadsURLs: by.ReadsURLs()}
	if made, ok := by.(interface{ Source() string }); ok {
		r.Source = made.Source()
	}
	if from, ok := by.(interface{ Provenance() map[string]string }); ok {
		r.Provenance = from.Provenance()
	}
	return s.Print(r, func(w io.Writer) {
		fmt.Fprintf(w, "%s, a guide (%s, a file of kind %s), %s\n", version, r.Ranker, modelfile.Kind(data), cli.Size(uint64(r.Bytes)))
		for _, k := range slices.Sorted(maps.Keys(r.Provenance)) {
			fmt.Fprintf(w, "%s: %s\n", k, r.Provenance[k])
		}
		if r.Source != "" {
			fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(r.Source))
		}
	})
}
