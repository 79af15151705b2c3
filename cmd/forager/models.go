package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"forager/internal/classify/critic"
	"forager/internal/classify/judges"
	"forager/internal/classify/positive"
	"forager/internal/classify/predicate"
	"forager/internal/platform/modelfile"
	"forager/internal/platform/objects"
	"forager/internal/rank/apprentice"
	"forager/schemas"
)

type modelsCommand struct {
	List modelsList `cmd:"" help:"Which models there are."`
	Show modelsShow `cmd:"" help:"What a model is and has learned."`
	Use  modelsUse  `cmd:"" help:"Let a crawl rank by one of its models, an older one perhaps."`
}

// modelLine is a model as models list shows it.
type modelLine struct {
	Version string `json:"version"`
	Kind    string `json:"kind"`
	// Pages that its crawl had delivered when it was made; for an apprentice.
	Pages uint64    `json:"pages,omitempty"`
	Bytes int64     `json:"bytes"`
	Made  time.Time `json:"made"`
	// InUse: its crawl ranks by it. Pinned: because an operator pinned it.
	InUse     bool `json:"in_use"`
	Pinned    bool `json:"pinned"`
	Retrained bool `json:"retrained"`
}

type modelsList struct {
	Crawl string `arg:"" optional:"" help:"The apprentices of this crawl; without it, all models."`
}

func (c *modelsList) Help() string {
	return `A critic judges pages and is called NAME/DIGEST, and so is a guide, which ranks their links; an apprentice orders the frontier of one crawl and is called
CRAWL/PAGES-DIGEST, by the pages that were delivered when it was made.

  forager models list chemistry
  forager models show chemistry                    # the one in use
  forager models use chemistry 150-0f3a9c2b71de`
}

func (c *modelsList) Run(s *session) error {
	b, store, err := s.openStore()
	if err != nil {
		return err
	}
	defer b.close()
	prefixes := []string{schemas.ModelObject("critic", ""), schemas.ModelObject("guide", ""), schemas.ModelObject("backlinks", ""), schemas.ModelObject("apprentice", "")}
	if c.Crawl != "" {
		if _, err := b.control(c.Crawl); err != nil {
			return err
		}
		prefixes = []string{schemas.ModelObject("apprentice", c.Crawl+"/")}
	}
	list := []modelLine{}
	for _, prefix := range prefixes {
		for o, err := range store.List(s, prefix) {
			if err != nil {
				return err
			}
			list = append(list, b.modelLine(o))
		}
	}
	slices.SortFunc(list, func(x, y modelLine) int {
		return cmp.Or(-cmp.Compare(x.Kind, y.Kind), cmp.Compare(schemas.ModelName(x.Version), schemas.ModelName(y.Version)), cmp.Compare(x.Pages, y.Pages), x.Made.Compare(y.Made))
	})
	return s.print(list, func(w io.Writer) {
		if len(list) == 0 {
			fmt.Fprintln(w, "no models")
			return
		}
		fmt.Fprintf(w, "%-44s %-10s %8s %10s  %-16s %s\n", "MODEL", "KIND", "PAGES", "SIZE", "MADE", "")
		for _, m := range list {
			pages, marks := "-", ""
			if m.Kind == "apprentice" {
				pages = strconv.FormatUint(m.Pages, 10)
			}
			for _, mark := range []struct {
				is   bool
				word string
			}{{m.Retrained, "retrained"}, {m.Pinned, "pinned"}, {m.InUse, "in use"}} {
				if mark.is {
					marks += ", " + mark.word
				}
			}
			fmt.Fprintf(w, "%-44s %-10s %8s %10s  %-16s %s\n", m.Version, m.Kind, pages, size(uint64(m.Bytes)), m.Made.Format("2006-01-02 15:04"), strings.TrimPrefix(marks, ", "))
		}
	})
}

func (b *books) modelLine(o objects.Object) modelLine {
	m := modelLine{Bytes: o.Size, Made: o.Modified.UTC()}
	_, rest, _ := strings.Cut(o.Key, "/")
	m.Kind, m.Version, _ = strings.Cut(rest, "/")
	if m.Kind != "apprentice" {
		m.InUse = b.judging(m.Version)
		return m
	}
	crawl, name, _ := strings.Cut(m.Version, "/")
	pages, _, _ := strings.Cut(name, "-")
	m.Pages, _ = strconv.ParseUint(pages, 10, 64)
	ctl, _ := b.newest(crawl)
	m.Retrained = b.published(m.Version).GetRetrained()
	m.Pinned = ctl.GetLearning().GetPinned() == m.Version
	m.InUse = b.status(crawl).GetModel() == m.Version
	return m
}

// judging reports whether a critic judges a crawl that has not finished, also as a shadow, or a guide ranks one.
func (b *books) judging(version string) bool {
	return slices.ContainsFunc(b.crawls(), func(name string) bool {
		ctl, _ := b.newest(name)
		return slices.Contains(slices.Concat([]string{ctl.GetCritic()}, ctl.GetShadows(), schemas.Guides(ctl)), version) && !ended(b.status(name))
	})
}

type modelsShow struct {
	Model    string `arg:"" help:"Version of a model; or a crawl: the model that it ranks by."`
	Features int    `help:"The strongest so many features." default:"20"`
	Often    uint64 `help:"Features must have come so often." default:"5"`
}

// apprenticeReport is the result of models show for an apprentice.
type apprenticeReport struct {
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

func (c *modelsShow) Run(s *session) error {
	b, store, err := s.openStore()
	if err != nil {
		return err
	}
	defer b.close()
	version := c.Model
	if !strings.Contains(version, "/") {
		if _, err := b.control(version); err != nil {
			return err
		}
		if version = b.status(c.Model).GetModel(); version == "" {
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
		return showGuide(s, version, data)
	case "backlinks":
		return showBacklinks(s, version, data)
	}
	learner, err := apprentice.Open(data)
	if err != nil {
		return fmt.Errorf("model %s: %w", version, err)
	}
	facts := learner.Model().Facts()
	r := apprenticeReport{
		Version: version, Kind: kind, Learner: learner.Settings().String(), Bytes: len(data), Leaps: facts.Leaps, Low: facts.Low, High: facts.High, Cut: facts.Cut,
		MedianLow: facts.MedianLow, MedianHigh: facts.MedianHigh, Features: facts.Features, ByOffset: make(map[int32][]apprentice.Tally),
	}
	all := learner.Strongest(c.Often, 0)
	r.Strongest = all[:min(len(all), c.Features)]
	for _, f := range all {
		if at := r.ByOffset[f.Offset]; len(at) < 3 {
			r.ByOffset[f.Offset] = append(at, f)
		}
	}
	return s.print(r, func(w io.Writer) { printApprentice(w, &r, c.Often) })
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

func printApprentice(w io.Writer, r *apprenticeReport, often uint64) {
	fmt.Fprintf(w, "%s, an apprentice by %s, %s\n", r.Version, r.Learner, size(uint64(r.Bytes)))
	fmt.Fprintf(w, "learned from %d leaps: %d low, %d high (R(v) ≥ %.3f); their medians are %.3f and %.3f\n", r.Leaps, r.Low, r.High, r.Cut, r.MedianLow, r.MedianHigh)
	fmt.Fprintf(w, "%d features ⟨term, DOM offset⟩\n", r.Features)
	if len(r.Strongest) == 0 {
		fmt.Fprintf(w, "none came %d times (--often)\n", often)
		return
	}
	fmt.Fprintf(w, "\n%9s %7s %8s %8s  %s\n", "LOG ODDS", "OFFSET", "HIGH", "LOW", "TERM")
	for _, f := range r.Strongest {
		fmt.Fprintf(w, "%+9.2f %7s %8d %8d  %s\n", f.Weight, offset(f.Offset), f.High, f.Low, f.Term)
	}
	fmt.Fprintf(w, "\n%7s  strongest there\n", "OFFSET")
	for _, d := range slices.Sorted(maps.Keys(r.ByOffset)) {
		fmt.Fprintf(w, "%7s ", offset(d))
		for _, f := range r.ByOffset[d] {
			fmt.Fprintf(w, " %+.2f %s", f.Weight, f.Term)
		}
		fmt.Fprintln(w)
	}
}

// offset formats a DOM offset.
func offset(d int32) string {
	if d == schemas.NoOffset {
		return "page"
	}
	return fmt.Sprintf("%+d", d)
}

func showCritic(s *session, version string, data []byte) error {
	if modelfile.Kind(data) == positive.FileKind {
		return showLiked(s, version, data)
	}
	by, err := judges.Open(data, predicate.Options{})
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
	return s.print(r, func(w io.Writer) {
		fmt.Fprintf(w, "%s, a critic (%s), %s\n%d classes of %d to %d examples, %d words\n", version, r.Method, size(uint64(r.Bytes)), len(r.Classes), r.Minimum, r.Cap, r.Words)
		tellMeasured(w, r.Measured)
		for _, k := range slices.Sorted(maps.Keys(r.Provenance)) {
			fmt.Fprintf(w, "%s: %s\n", k, r.Provenance[k])
		}
		for _, class := range r.Classes {
			fmt.Fprintf(w, "  %s\n", class)
		}
	})
}

// showOther shows a critic that was not trained on examples of several topics: its definition, if that is text.
func showOther(s *session, version string, data []byte, by critic.Judge) error {
	r := struct {
		Version   string   `json:"version"`
		Kind      string   `json:"kind"`
		Bytes     int      `json:"bytes"`
		Classes   []string `json:"classes"`
		ReadsURLs bool     `json:"reads_urls"`
		Source    string   `json:"source,omitempty"`
		Fallback  string   `json:"fallback,omitempty"`
	}{Version: version, Kind: "critic", Bytes: len(data), Classes: by.Classes(), ReadsURLs: judges.ReadsURLs(by)}
	if made, ok := by.(interface{ Source() string }); ok {
		r.Source = made.Source()
	}
	if asked, ok := by.(*predicate.Client); ok {
		r.Fallback = asked.Fallback()
	}
	return s.print(r, func(w io.Writer) {
		fmt.Fprintf(w, "%s, a critic of %s, %s\nclasses %s\n", version, modelfile.Kind(data), size(uint64(r.Bytes)), strings.Join(r.Classes, ", "))
		if r.Fallback != "" {
			fmt.Fprintf(w, "fallback %s\n", r.Fallback)
		}
		if r.Source != "" {
			fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(r.Source))
		}
	})
}

type modelsUse struct {
	Crawl string        `arg:"" help:"Name of the crawl."`
	Model string        `arg:"" help:"Version of a model of this crawl, with or without its name; newest = the newest, as they come."`
	Wait  time.Duration `help:"How long to wait until the crawl ranks by it; 0 = do not wait." default:"60s"`
}

func (c *modelsUse) Help() string {
	return `The crawl ranks by that model from now on, whatever newer ones come, and its frontier is scored again. Training
goes on beside it, as if nothing had happened: its models are kept and not used, until

  forager models use CRAWL newest

A crawl that is to learn from where an older model stood is another crawl (learning.prior in its file).`
}

func (c *modelsUse) Run(s *session) error {
	b, store, err := s.openStore()
	if err != nil {
		return err
	}
	defer b.close()
	version := c.Model
	switch {
	case version == "newest":
		version = ""
	case b.published(version).GetKind() == "critic":
		return fmt.Errorf("%s is a critic, which judges pages; a crawl ranks by an apprentice (forager models list %s)", version, c.Crawl)
	case !strings.Contains(version, "/"):
		version = c.Crawl + "/" + version
	}
	ctl, err := pinModel(s, b, store, c.Crawl, version)
	if err != nil {
		return err
	}
	want := version
	if want == "" {
		want = b.apprentice(c.Crawl).GetVersion()
	}
	if c.Wait > 0 {
		ok, err := poll(s, c.Wait, func() (bool, error) {
			st := b.status(c.Crawl)
			// A crawl that learns may have a newer one by the time of its status.
			if version == "" && b.published(st.GetModel()).GetPages() > b.published(want).GetPages() {
				want = st.GetModel()
			}
			return st.GetModel() == want || ended(st), nil
		})
		if err == nil && !ok {
			err = fmt.Errorf("crawl %q is to rank by %s, but does not yet after %s (%s); a newer model waits until a large frontier was scored and for twice as long, else: does prioritize run? (forager up starts it)",
				c.Crawl, cmp.Or(want, "no model"), c.Wait, cmp.Or(b.status(c.Crawl).GetActivity(), "no pass is under way"))
		}
		if err != nil {
			return leaving(err, "crawl %q ranks by %s all the same, before long", c.Crawl, cmp.Or(want, "no model"))
		}
	}
	return s.print(map[string]any{"crawl": c.Crawl, "model": want, "pinned": ctl.GetLearning().GetPinned() != ""}, func(w io.Writer) {
		if version == "" {
			fmt.Fprintf(w, "%s ranks by the newest model, now %s\n", c.Crawl, cmp.Or(want, "none"))
		} else {
			fmt.Fprintf(w, "%s ranks by %s until you say otherwise (forager models use %s newest)\n", c.Crawl, version, c.Crawl)
		}
	})
}
