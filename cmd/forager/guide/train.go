package guide

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/models"
	"forager/internal/export"
	"forager/internal/page/text"
	"forager/internal/rank/pageguide"
)

type guideTrain struct {
	Kind string `arg:"" help:"context-graph, focused-2000, best-first-cosine or memm." enum:"context-graph,focused-2000,best-first-cosine,memm"`
	graphFlags
	To      string `short:"o" help:"File to write." placeholder:"FILE"`
	Force   bool   `help:"Replace a file that is there already."`
	Publish string `help:"Name under which crawls may use it." placeholder:"NAME"`

	Words      text.Settings `help:"What counts as a word (see critic train)." default:"stop stem"`
	Components int           `help:"context-graph, focused-2000: words that a page is reduced to." default:"40"`
	Layer1     bool          `help:"context-graph, focused-2000: take words of layer 1, too."`
	Raw        bool          `help:"context-graph, focused-2000: sums of log-likelihoods in the place of means (2000, eq. 3)."`
	Quantile   float64       `help:"context-graph: quantile of held-out scores below which a page is in no layer; 0 = the least score of the layer's own pages."`

	Observe     string  `help:"memm: what is observed: all, or some of text, description, words, links, url, anchor-in, anchor-out." default:"all"`
	URLs        bool    `help:"memm: observe keywords in URLs; not where labels follow from URLs." default:"true" negatable:"" name:"urls"`
	Inference   string  `help:"memm: marginal, viterbi." enum:"marginal,viterbi" default:"marginal"`
	Order       string  `help:"memm: order of links, by expected discount or lexicographically by states." enum:"discount,states" default:"discount"`
	Gamma       float64 `help:"memm: discount of a click." default:"0.5"`
	Ahead       bool    `help:"memm: look one page ahead, at which the link points."`
	EdgeWeights bool    `help:"memm: weights for pairs of states, too."`
	Variance    float64 `help:"memm: variance of the prior on weights." default:"10"`
	Keywords    int     `help:"memm: keywords at most." default:"200"`
	Description string  `help:"memm: what the topic is about; by default titles and descriptions of the targets."`
	Walks       int     `help:"memm: training sequences." default:"10000"`

	least int // smallest number of targets
}

func (c *guideTrain) Help() string {
	return `A guide predicts from a page, and from the path that led there, which of its links lead to targets. It learns from the pages around known
targets (forager localgraph shows them): those of a crawl, as far as it has come, or of a WARC file.

  forager guide train context-graph --crawl chemistry --above 0.8 -o chemistry.guide
  forager guide train memm --warc web.warc.gz --targets likes.txt --topic Science/Chemistry --publish acids
  forager guide train memm --warc web.warc.gz --edges edges.txt.gz --targets likes.txt --observe words -o words.guide`
}

func (c *guideTrain) settings() (pageguide.Settings, error) {
	s := pageguide.Default()
	observe, err := pageguide.ParseObservations(c.Observe)
	if err != nil {
		return s, cli.AsUsage(fmt.Errorf("--observe: %w", err))
	}
	if !c.URLs {
		observe &^= pageguide.ReadURLs
	}
	s.Words, s.Graph = c.Words, c.graphFlags.settings()
	s.Layers.Components, s.Layers.WithLayer1, s.Layers.Raw, s.Layers.Quantile = c.Components, c.Layer1, c.Raw, c.Quantile
	p := &s.Path
	p.Observe, p.Inference, p.Order, p.Gamma = observe, pageguide.Inference(c.Inference), pageguide.Order(c.Order), c.Gamma
	p.Ahead, p.Edges, p.Variance, p.Keywords = c.Ahead, c.EdgeWeights, c.Variance, c.Keywords
	p.Topic, p.Description, p.Walks.Number, p.Walks.Seed = c.Topic, c.Description, c.Walks, c.Seed
	return s, nil
}

// Trained is the result of the command.
type Trained struct {
	Kind      string            `json:"kind"`
	File      string            `json:"file,omitempty"`
	Version   string            `json:"version,omitempty"`
	ReadsURLs bool              `json:"reads_urls"`
	Targets   int               `json:"targets"`
	Unknown   []string          `json:"unknown,omitempty"`
	Layers    []int             `json:"layers"`
	Textless  int               `json:"textless"`
	Keywords  int               `json:"keywords,omitempty"`
	Sequences int               `json:"sequences,omitempty"`
	Fit       *guideFit         `json:"fit,omitempty"`
	From      map[string]string `json:"provenance"`
}

type guideFit struct {
	LogLikelihood float64 `json:"log_likelihood"`
	Iterations    int     `json:"iterations"`
}

func (c *guideTrain) Run(s *cli.Session) error {
	if c.To == "" && c.Publish == "" {
		return cli.Usagef("give -o FILE, --publish NAME, or both")
	}
	if c.Publish != "" {
		if err := models.CheckModelName("--publish", c.Publish); err != nil {
			return err
		}
	}
	out, err := c.train(s)
	if err != nil {
		return err
	}
	return s.Print(out, out.print)
}

// train makes the guide and stores it.
func (c *guideTrain) train(s *cli.Session) (*Trained, error) {
	settings, err := c.settings()
	if err != nil {
		return nil, err
	}
	c.wait = time.Minute
	around, err := c.open(s)
	if err != nil {
		return nil, err
	}
	switch {
	case around.web.Pages() == 0:
		return nil, cli.Usagef("a guide learns from texts of pages: give --crawl or --warc with --edges")
	case len(around.targets) < c.least:
		return nil, fmt.Errorf("%s has met %d targets so far, and %d are wanted (--least): try again later", c.source(), len(around.targets), c.least)
	}
	settings.Provenance = map[string]string{"links": c.source(), "targets": strconv.Itoa(len(around.targets))}
	guide, report, err := pageguide.Train(s, pageguide.Kind(c.Kind), around.web.Samples(s, around.targets), settings)
	if err != nil {
		return nil, fmt.Errorf("train %s on %s: %w", c.Kind, c.source(), err)
	}
	out := &Trained{
		Kind: c.Kind, File: c.To, ReadsURLs: guide.ReadsURLs(), Targets: len(around.targets), Unknown: around.unknown, Textless: report.Textless,
		Keywords: report.Keywords, Sequences: report.Sequences, From: settings.Provenance,
	}
	for _, layer := range report.Graph.Layers {
		out.Layers = append(out.Layers, len(layer))
	}
	if f := report.Fit; f != nil {
		out.Fit = &guideFit{f.LogLikelihood, f.Iterations}
	}
	out.Version, err = c.keep(s, guide.Marshal())
	return out, err
}

// keep writes the file and publishes it.
func (c *guideTrain) keep(s *cli.Session, file []byte) (version string, err error) {
	if c.To != "" {
		if err := writeGuide(s, c.To, c.Force, file); err != nil {
			return "", err
		}
	}
	if c.Publish == "" {
		return "", nil
	}
	return models.PublishGuide(s, c.Publish, "", file)
}

// writeGuide writes a guide's file; it replaces an existing one only with force.
func writeGuide(ctx context.Context, path string, force bool, file []byte) error {
	out, err := export.Create(ctx, path, force)
	if err != nil {
		return err
	}
	if _, err := out.Write(file); err != nil {
		out.Abort()
		return err
	}
	return out.Commit()
}

func (g *Trained) print(w io.Writer) {
	fmt.Fprintf(w, "%s of %d targets in %s; pages by layer:", g.Kind, g.Targets, g.From["links"])
	for _, n := range g.Layers {
		fmt.Fprintf(w, " %d", n)
	}
	fmt.Fprintln(w)
	printUnknown(w, g.Unknown)
	if g.Textless > 0 {
		fmt.Fprintf(w, "%d pages of the graph are known by their links only and were left out\n", g.Textless)
	}
	if g.Fit != nil {
		fmt.Fprintf(w, "%d keywords, %d sequences; log-likelihood a page %.3f after %d iterations\n", g.Keywords, g.Sequences, g.Fit.LogLikelihood, g.Fit.Iterations)
	}
	if g.ReadsURLs {
		fmt.Fprintln(w, "it reads URLs (--no-urls: it does not)")
	}
	if g.File != "" {
		fmt.Fprintf(w, "written to %s\n", g.File)
	}
	models.PrintPublished(w, g.Version)
}
