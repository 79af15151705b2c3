package guide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"forager/cmd/forager/data"
	"forager/cmd/internal/cli"
	"forager/internal/classify/examples"
	"forager/internal/export"
	"forager/internal/platform/analytics"
	"forager/internal/rank/edgefile"
	"forager/internal/rank/guidetraining"
	"forager/internal/rank/localgraph"
	"forager/internal/web/weburl"
)

// graphFlags name the targets and the links around them.
type graphFlags struct {
	Targets []string `help:"Targets: files of URLs or of examples (JSON Lines); may be given more than once." placeholder:"FILE" sep:"none"`
	Target  []string `help:"A target's URL; may be given more than once." placeholder:"URL" sep:"none"`
	Topic   string   `help:"Use only examples of this topic and below; with --above, only pages whose best topic it is, or lies below it."`
	Above   float64  `help:"Pages of --crawl that were judged of this relevance or more are targets, too; 0 = none."`

	Crawl    string  `help:"Pages and links of a crawl, as far as it has come." placeholder:"NAME"`
	Warc     string  `help:"Pages and links of a WARC file." type:"existingfile" placeholder:"FILE"`
	Edges    string  `help:"Links of a file instead of those of the pages: two columns of URLs, or of numbers of --vertices; a folder of its parts, too." type:"path" placeholder:"FILE"`
	Vertices string  `help:"Numbers and URLs or hosts of the vertices of --edges, as Common Crawl's: a file or a folder of its parts." type:"path" placeholder:"FILE"`
	Broken   float64 `help:"Share of the lines of --edges and --vertices that may be broken." default:"0.01"`

	Depth int    `help:"Layers behind the targets." default:"4"`
	Cap   int    `help:"Pages of a layer around one target at most; a sample is taken of more." default:"300"`
	Seed  uint64 `help:"Seed of the samples."`

	wait time.Duration
}

func (f *graphFlags) check() error {
	switch {
	case f.Crawl != "" && f.Warc != "":
		return cli.Usagef("--crawl and --warc: pages come from one of them")
	case f.Crawl == "" && f.Warc == "" && f.Edges == "":
		return cli.Usagef("give --crawl, --warc or --edges: where the links are")
	case f.Vertices != "" && f.Edges == "":
		return cli.Usagef("--vertices are those of --edges")
	case len(f.Targets)+len(f.Target) == 0 && f.Above == 0:
		return cli.Usagef("give --targets, --target or --above: which pages are targets")
	case f.Above != 0 && (f.Crawl == "" || !(f.Above > 0 && f.Above <= 1)):
		return cli.Usagef("--above %g: a relevance in (0,1] of the pages of --crawl", f.Above)
	case !(f.Broken >= 0 && f.Broken <= 1):
		return cli.Usagef("--broken %g: a share lies between 0 and 1", f.Broken)
	case f.Depth < 1 || f.Depth > 20 || f.Cap < 1:
		return cli.Usagef("--depth %d, --cap %d: want 1 to 20, and at least 1", f.Depth, f.Cap)
	}
	return exist(f.Edges, f.Vertices)
}

func (f *graphFlags) settings() localgraph.Settings {
	return localgraph.Settings{Depth: f.Depth, Cap: f.Cap, Seed: f.Seed}
}

// source names the origin of the links, as recorded in a model.
func (f *graphFlags) source() string {
	var names []string
	if f.Crawl != "" {
		names = append(names, "crawl "+f.Crawl)
	}
	for _, path := range []string{f.Warc, f.Edges} {
		if path != "" {
			names = append(names, filepath.Base(path))
		}
	}
	return strings.Join(names, ", ")
}

// targetsOnWeb are targets on a web.
type targetsOnWeb struct {
	web     *guidetraining.Web
	targets []uint32
	// unknown are targets that are not on the web.
	unknown []string
}

// open reads the web, which is closed after the command, and finds the targets on it.
func (f *graphFlags) open(s *cli.Session) (*targetsOnWeb, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	urls, err := f.targetsOf(s)
	if err != nil {
		return nil, err
	}
	path := f.Warc
	if f.Crawl != "" {
		dir, remove, err := cli.TempDir(s, "", "forager-crawl-*")
		if err != nil {
			return nil, err
		}
		defer remove() // the file remains readable while it is open
		judged, err := f.store(s, filepath.Join(dir, "crawl.warc.gz"))
		if err != nil {
			return nil, err
		}
		urls, path = append(urls, judged...), filepath.Join(dir, "crawl.warc.gz")
	}
	if len(urls) == 0 {
		return nil, errors.New("no page is a target: of those asked for there is none")
	}
	web, err := guidetraining.Open(s, path)
	if err != nil {
		return nil, err
	}
	s.Ends = append(s.Ends, func() { _ = web.Close() })
	if f.Edges != "" {
		web.Use(guidetraining.EdgeFile{Path: f.Edges, Vertices: f.Vertices, Broken: f.Broken})
	}
	around := &targetsOnWeb{web: web}
	if around.targets, around.unknown, err = web.Targets(s, urls); err == nil && len(around.targets) == 0 {
		err = fmt.Errorf("none of the %d targets is a page of %s, such as %s", len(around.unknown), f.source(), around.unknown[0])
	}
	return around, err
}

// targetsOf returns the URLs of the named targets, canonical.
func (f *graphFlags) targetsOf(s *cli.Session) (urls []string, err error) {
	for _, raw := range f.Target {
		u, err := weburl.Parse(raw)
		if err != nil {
			return nil, cli.Usagef("--target: %w", err)
		}
		urls = append(urls, u.String())
	}
	settings := examples.Settings{Otherwise: cmp.Or(f.Topic, "target")}
	if f.Topic != "" {
		settings.Only = []string{f.Topic}
	}
	in, err := examples.NewIntake(settings)
	if err != nil {
		return nil, cli.AsUsage(fmt.Errorf("--topic: %w", err))
	}
	defer in.Close()
	for _, path := range f.Targets {
		listed, err := targetsIn(s, path, in)
		if err != nil {
			return nil, err
		}
		urls = append(urls, listed...)
	}
	sum, err := in.Finish(func(e *examples.Example) error { urls = append(urls, e.URL); return nil })
	if err != nil && !errors.Is(err, examples.ErrNothing) { // a list of URLs has no examples
		return nil, err
	}
	cli.PrintCounts(s.Stderr, "refused", sum.Refused)
	return urls, nil
}

// targetsIn returns the URLs of a list; examples are added to the intake.
func targetsIn(ctx context.Context, path string, in *examples.Intake) (urls []string, err error) {
	kind, err := examples.KindOf(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cli.AsUsage(fmt.Errorf("--targets: %w", err))
	} else if err != nil {
		return nil, err
	}
	if kind != examples.URLs {
		return nil, examples.Read(ctx, path, kind, in, examples.Open)
	}
	file, err := examples.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	listed, err := examples.ReadURLs(file, filepath.Base(path), in)
	for _, l := range listed {
		urls = append(urls, l.URL)
	}
	return urls, err
}

// store writes the pages of the crawl to a file and returns the URLs of those that were judged to be on topic.
func (f *graphFlags) store(s *cli.Session, path string) (judged []string, err error) {
	p, ctl, err := s.OpenCrawl(f.Crawl)
	if err != nil {
		return nil, err
	}
	if err := (&data.ExportCommand{Crawl: f.Crawl, Wait: f.wait}).Complete(s, p.Topics, p.DB); err != nil {
		return nil, err
	}
	out, err := export.Create(s, path, false)
	if err != nil {
		return nil, err
	}
	sel := analytics.Selection{Crawl: f.Crawl, Outcome: "delivered"}
	_, err = export.Write(s, out, p.DB, p.Store, sel, export.Options{Format: export.WARC, Gzip: true, Date: time.UnixMilli(ctl.GetCreatedAt()), Name: "crawl.warc.gz"})
	if err != nil {
		out.Abort()
		return nil, fmt.Errorf("pages of %s: %w", f.Crawl, err)
	}
	if err := out.Commit(); err != nil || f.Above == 0 {
		return nil, err
	}
	return f.judged(s, p.DB)
}

// judged returns the pages of the crawl that are targets according to its critic.
func (f *graphFlags) judged(ctx context.Context, db *analytics.DB) (urls []string, err error) {
	sel := analytics.Selection{Crawl: f.Crawl, Outcome: "delivered", Above: f.Above, Topic: strings.Trim(f.Topic, "/")}
	var b strings.Builder
	if _, err := export.Write(ctx, &b, db, nil, sel, export.Options{Format: export.URLs}); err != nil {
		return nil, fmt.Errorf("targets among the pages of %s: %w", f.Crawl, err)
	}
	return strings.Fields(b.String()), nil
}

// LocalgraphCommand is the command "forager localgraph".
type LocalgraphCommand struct {
	graphFlags
	Examples int `help:"Pages shown of each layer." default:"3"`
}

func (c *LocalgraphCommand) Help() string {
	return `The graph around known targets, built backwards along links (2000 §3.1): a page of layer i is i clicks from a target. A page
may lie in several layers, of several targets. Guides are trained on such graphs (forager guide train).

  forager localgraph --crawl chemistry --above 0.8
  forager localgraph --warc web.warc.gz --target https://example.org/acids --depth 3
  forager localgraph --edges edges.txt.gz --vertices vertices.txt.gz --targets likes.txt --json`
}

// layerLine is a layer, for display.
type layerLine struct {
	Layer int `json:"layer"`
	Pages int `json:"pages"`
	// Ways is the number of links to the layer below, over the graphs of all targets.
	Ways int `json:"ways"`
	// Text is the number of pages whose text is known.
	Text     int           `json:"text"`
	Examples []graphMember `json:"examples"`
}

type graphMember struct {
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
	Ways  int    `json:"ways"`
}

// GraphShown is the result of the command.
type GraphShown struct {
	Targets int      `json:"targets"`
	Unknown []string `json:"unknown,omitempty"`
	Pages   int      `json:"pages"`
	// Sampled is the number of layers around single targets of which a sample was taken.
	Sampled  int              `json:"sampled"`
	Layers   []layerLine      `json:"layers"`
	Edges    *edgefile.Counts `json:"edges,omitempty"`
	Vertices *edgefile.Counts `json:"vertices,omitempty"`
}

func (c *LocalgraphCommand) Run(s *cli.Session) error {
	c.wait = time.Minute
	around, err := c.open(s)
	if err != nil {
		return err
	}
	g, err := localgraph.Build(around.targets, around.web.Parents(s), c.settings())
	if err != nil {
		return err
	}
	shown, err := around.show(s, g, c.Examples)
	if err != nil {
		return err
	}
	if c.Edges != "" {
		edges, vertices := around.web.Counts()
		shown.Edges = &edges
		if c.Vertices != "" {
			shown.Vertices = &vertices
		}
	}
	return s.Print(shown, shown.print)
}

// show describes a graph; the examples of a layer are the pages with most links to the layer below.
func (a *targetsOnWeb) show(ctx context.Context, g *localgraph.Graph, n int) (*GraphShown, error) {
	out := &GraphShown{Targets: len(a.targets), Unknown: a.unknown, Pages: len(g.Lowest()), Sampled: g.Sampled}
	var all []uint32
	chosen := make([][]localgraph.Member, len(g.Layers))
	for i, layer := range g.Layers {
		chosen[i] = slices.Clone(layer)
		slices.SortStableFunc(chosen[i], func(x, y localgraph.Member) int { return y.Copies - x.Copies })
		chosen[i] = chosen[i][:min(n, len(layer))]
		for _, m := range chosen[i] {
			all = append(all, m.Page)
		}
	}
	if err := a.web.Name(ctx, all); err != nil {
		return nil, err
	}
	for i, layer := range g.Layers {
		line := layerLine{Layer: i, Pages: len(layer), Examples: []graphMember{}}
		for _, m := range layer {
			line.Ways += m.Copies
			if int(m.Page) < a.web.Pages() {
				line.Text++
			}
		}
		for _, m := range chosen[i] {
			p, err := a.web.Page(m.Page)
			if err != nil {
				return nil, err
			}
			line.Examples = append(line.Examples, graphMember{cmp.Or(a.web.URL(m.Page), "a vertex without a name"), p.GetTitle(), m.Copies})
		}
		out.Layers = append(out.Layers, line)
	}
	return out, nil
}

func (g *GraphShown) print(w io.Writer) {
	fmt.Fprintf(w, "%d pages around %d targets", g.Pages, g.Targets)
	if g.Sampled > 0 {
		fmt.Fprintf(w, "; of %d layers around single targets a sample was taken", g.Sampled)
	}
	fmt.Fprintln(w)
	printUnknown(w, g.Unknown)
	printBroken(w, "edges", g.Edges)
	printBroken(w, "vertices", g.Vertices)
	fmt.Fprintf(w, "%5s %7s %7s %9s\n", "LAYER", "PAGES", "WAYS", "WITH TEXT")
	for _, l := range g.Layers {
		fmt.Fprintf(w, "%5d %7d %7d %9d\n", l.Layer, l.Pages, l.Ways, l.Text)
		for _, m := range l.Examples {
			fmt.Fprintf(w, "      %s", m.URL)
			if m.Title != "" {
				fmt.Fprintf(w, "  %s", cli.Shortened(m.Title, 60))
			}
			fmt.Fprintln(w)
		}
	}
}

func printUnknown(w io.Writer, urls []string) {
	if len(urls) > 0 {
		fmt.Fprintf(w, "%d targets are not there, such as %s\n", len(urls), urls[0])
	}
}

func printBroken(w io.Writer, what string, c *edgefile.Counts) {
	if c == nil || c.Broken == 0 {
		return
	}
	fmt.Fprintf(w, "%d of %d lines of the %s are broken and were left out:\n", c.Broken, c.Lines, what)
	for _, b := range c.First {
		fmt.Fprintf(w, "      line %d: %s\n", b.Line, b.What)
	}
}
