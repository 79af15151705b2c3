package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	criticcmd "forager/cmd/forager/critic"
	"forager/cmd/forager/guide"
	"forager/cmd/internal/cli"
	"forager/internal/classify/critic"
	"forager/internal/classify/criticfile"
	"forager/internal/classify/httpmodel"
	"forager/internal/classify/pulearning"
	"forager/internal/platform/modelfile"
	"forager/internal/platform/objects"
	"forager/internal/rank/apprentice"
	"forager/schemas"
)

type modelsShow struct {
	Model    string `arg:"" help:"Version of a model; or a crawl: the model that it ranks by."`
	Features int    `help:"The strongest so many features." default:"20"`
	Often    uint64 `help:"Least number of occurrences of a feature." default:"5"`
}

// ApprenticeReport is the result of models show for an apprentice.
type ApprenticeReport struct {
	Version string `json:"version"`
	Kind    string `json:"kind"`
	// Learner is the learning algorithm, with its settings.
	Learner string `json:"learner"`
	Bytes   int    `json:"bytes"`
	// Leaps that it was trained on; low and high by the cut of R(v), with the medians of R(v) there.
	Leaps      uint64  `json:"leaps"`
	Low        uint64  `json:"low"`
	High       uint64  `json:"high"`
	Cut        float64 `json:"cut"`
	MedianLow  float64 `json:"median_low"`
	MedianHigh float64 `json:"median_high"`
	// Features is the number of distinct ⟨term, DOM offset⟩.
	Features  int                `json:"features"`
	Strongest []apprentice.Tally `json:"strongest"`
	// ByOffset are, for each DOM offset, the three strongest features there.
	ByOffset map[int32][]apprentice.Tally `json:"by_offset"`
}

func (c *modelsShow) Run(s *cli.Session) error {
	b, store, err := s.OpenStore()
	if err != nil {
		return err
	}
	version := c.Model
	if !strings.Contains(version, "/") {
		if _, err := b.Control(version); err != nil {
			return err
		}
		if version = b.Status(c.Model).GetModel(); version == "" {
			return fmt.Errorf("crawl %q ranks by no model; forager models list %s shows those it has made", c.Model, c.Model)
		}
	}
	kind, data, err := fetchModel(s, store, version)
	if err != nil {
		return err
	}
	switch kind {
	case "critic":
		return showCritic(s, version, data)
	case "guide":
		return guide.ShowGuide(s, version, data)
	case "backlinks":
		return guide.ShowBacklinks(s, version, data)
	}
	learner, err := apprentice.Open(data)
	if err != nil {
		return fmt.Errorf("model %s: %w", version, err)
	}
	facts := learner.Model().Facts()
	r := ApprenticeReport{
		Version: version, Kind: kind, Learner: learner.Settings().String(), Bytes: len(data), Leaps: facts.Leaps, Low: facts.Low, High: facts.High, Cut: facts.Cut,
		MedianLow: facts.MedianLow, MedianHigh: facts.MedianHigh, Features: facts.Features,
	}
	all := learner.Strongest(c.Often, 0)
	r.Strongest = all[:min(len(all), c.Features)]
	r.ByOffset = apprentice.ByOffset(all, 3)
	return s.Print(r, func(w io.Writer) { printApprentice(w, &r, c.Often) })
}

// fetchModel reads the object of a model of any kind.
func fetchModel(ctx context.Context, store *objects.Store, version string) (kind string, data []byte, err error) {
	for _, kind := range []string{"apprentice", "critic", "guide", "backlinks"} {
		data, err := store.Get(ctx, schemas.ModelObject(kind, version))
		if err == nil {
			return kind, data, nil
		}
		if !errors.Is(err, objects.ErrNotFound) {
			return "", nil, fmt.Errorf("model %s: %w", version, err)
		}
	}
	return "", nil, fmt.Errorf("no model %s; forager models list shows those there are", version)
}

func printApprentice(w io.Writer, r *ApprenticeReport, often uint64) {
	fmt.Fprintf(w, "%s, an apprentice by %s, %s\n", r.Version, r.Learner, cli.Size(uint64(r.Bytes)))
	fmt.Fprintf(w, "learned from %d leaps: %d low, %d high (R(v) ≥ %.3f); their medians are %.3f and %.3f\n", r.Leaps, r.Low, r.High, r.Cut, r.MedianLow, r.MedianHigh)
	fmt.Fprintf(w, "%d features ⟨term, DOM offset⟩\n", r.Features)
	if len(r.Strongest) == 0 {
		fmt.Fprintf(w, "none came %d times (--often)\n", often)
		return
	}
	fmt.Fprintf(w, "\n%9s %7s %8s %8s  %s\n", "LOG ODDS", "OFFSET", "HIGH", "LOW", "TERM")
	for _, f := range r.Strongest {
		fmt.Fprintf(w, "%+9.2f %7s %8d %8d  %s\n", f.Weight, apprentice.OffsetName(f.Offset), f.High, f.Low, f.Term)
	}
	fmt.Fprintf(w, "\n%7s  strongest there\n", "OFFSET")
	for _, d := range slices.Sorted(maps.Keys(r.ByOffset)) {
		fmt.Fprintf(w, "%7s ", apprentice.OffsetName(d))
		for _, f := range r.ByOffset[d] {
			fmt.Fprintf(w, " %+.2f %s", f.Weight, f.Term)
		}
		fmt.Fprintln(w)
	}
}

func showCritic(s *cli.Session, version string, data []byte) error {
	if modelfile.Kind(data) == pulearning.FileKind {
		return criticcmd.ShowLiked(s, version, data)
	}
	by, err := criticfile.Open(data, httpmodel.Options{})
	if err != nil {
		return fmt.Errorf("model %s: %w", version, err)
	}
	m, ok := by.(*critic.Model)
	if !ok {
		return showOther(s, version, data, by)
	}
	set := m.Settings()
	r := struct {
		Version    string            `json:"version"`
		Kind       string            `json:"kind"`
		Bytes      int               `json:"bytes"`
		Words      int               `json:"words"`
		Method     critic.Method     `json:"method"`
		Measured   critic.Measured   `json:"measured"`
		Minimum    int               `json:"minimum"`
		Cap        int               `json:"cap"`
		Provenance map[string]string `json:"provenance"`
		Classes    []string          `json:"classes"`
	}{version, "critic", len(data), m.Words(), set.Method, m.Measured(), set.Minimum, set.Cap, set.Provenance, m.Classes()}
	return s.Print(r, func(w io.Writer) {
		fmt.Fprintf(w, "%s, a critic (%s), %s\n%d classes of %d to %d examples, %d words\n", version, r.Method, cli.Size(uint64(r.Bytes)), len(r.Classes), r.Minimum, r.Cap, r.Words)
		criticcmd.PrintMeasured(w, r.Measured)
		for _, k := range slices.Sorted(maps.Keys(r.Provenance)) {
			fmt.Fprintf(w, "%s: %s\n", k, r.Provenance[k])
		}
		for _, class := range r.Classes {
			fmt.Fprintf(w, "  %s\n", class)
		}
	})
}

// showOther shows a critic that was not trained on examples of several topics: its definition, if that is text.
func showOther(s *cli.Session, version string, data []byte, by critic.Classifier) error {
	r := struct {
		Version   string   `json:"version"`
		Kind      string   `json:"kind"`
		Bytes     int      `json:"bytes"`
		Classes   []string `json:"classes"`
		ReadsURLs bool     `json:"reads_urls"`
		Source    string   `json:"source,omitempty"`
		Fallback  string   `json:"fallback,omitempty"`
	}{Version: version, Kind: "critic", Bytes: len(data), Classes: by.Classes(), ReadsURLs: criticfile.ReadsURLs(by)}
	if made, ok := by.(interface{ Source() string }); ok {
		r.Source = made.Source()
	}
	if asked, ok := by.(*httpmodel.Client); ok {
		r.Fallback = asked.Fallback()
	}
	return s.Print(r, func(w io.Writer) {
		fmt.Fprintf(w, "%s, a critic of %s, %s\nclasses %s\n", version, modelfile.Kind(data), cli.Size(uint64(r.Bytes)), strings.Join(r.Classes, ", "))
		if r.Fallback != "" {
			fmt.Fprintf(w, "fallback %s\n", r.Fallback)
		}
		if r.Source != "" {
			fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(r.Source))
		}
	})
}
