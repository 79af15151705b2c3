package guide

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/models"
	"forager/internal/classify/examples"
	"forager/internal/classify/httpmodel"
	"forager/internal/platform/registry"
	"forager/internal/rank/backlink"
	"forager/internal/rank/edgefile"
	"forager/internal/web/weburl"
)

// Backlinks is the command "forager guide backlinks".
type Backlinks struct {
	File     string   `arg:"" help:"A file of edges (two URLs a line, or two numbers of --vertices; .gz) or a folder of its parts, or the settings of a service (.yaml)." type:"path"`
	Name     string   `required:"" help:"Name of the source."`
	Vertices string   `help:"Numbers and URLs or hosts of the vertices of the edges, as Common Crawl's: a file or a folder of its parts." type:"path" placeholder:"FILE"`
	Host     []string `help:"Keep parents of the pages of this host and of those below it only; may be given more than once. A file of edges of the whole web is too much otherwise."`
	Broken   float64  `help:"Share of the lines of a file of edges or vertices that may be broken." default:"0.01"`
}

func (c *Backlinks) Help() string {
	return `Publishes a source of backlinks: who links to a page. A crawl that ranks by context-graph asks it about every page that
the guide calls a target, and fetches the parents as it would the page's own links (2000, §3.3). Every query is charged
as a request; the crawl file rations them:

  backlinks: {source: links, ration: 500}

Of a file of edges the first 20 parents of each page are kept. Vertices of Common Crawl are hosts, and stand for the pages at their roots, by
any scheme, with www. or without; of other pages of a host nothing is known. Download the parts that its lists (….paths.gz) name into a
folder for edges and one for vertices. A service is sent {"version": 1, "url": "https://…"} by
POST and answers {"parents": ["https://…"]}; a page that it does not answer about goes without:

  # links.yaml
  url: http://127.0.0.1:8089/parents
  timeout: 10s
  concurrent: 2
  breaker: {failures: 5, pause: 10s}
  token_env: LINKS_TOKEN               # bearer token, from critic-score's environment

  forager guide backlinks links.yaml --name links
  forager guide backlinks edges.txt.gz --name links
  forager guide backlinks domain-edges.txt.gz --vertices domain-vertices.txt.gz --host example.org --name links
  forager guide backlinks host-edges/ --vertices host-vertices/ --host example.org --name links`
}

// BacklinksPublished is the result of the command.
type BacklinksPublished struct {
	Version string           `json:"version"`
	Targets int              `json:"targets,omitempty"`
	Edges   *edgefile.Counts `json:"edges,omitempty"`
	// Vertices counts those of the edges, and how many have no name in their file.
	Vertices *edgefile.Counts `json:"vertices,omitempty"`
	Nameless int              `json:"nameless,omitempty"`
}

func (c *Backlinks) Run(s *cli.Session) error {
	if err := models.CheckModelName("--name", c.Name); err != nil {
		return err
	}
	if err := exist(c.File, c.Vertices); err != nil {
		return err
	}
	for _, host := range c.Host {
		if strings.ContainsAny(host, "/:") {
			return cli.Usagef("--host %s: the name of a host is wanted, such as cs.example.org", host)
		}
	}
	if !(c.Broken >= 0 && c.Broken <= 1) {
		return cli.Usagef("--broken %g: a share lies between 0 and 1", c.Broken)
	}
	var out BacklinksPublished
	data, err := c.ReadFile(s, &out)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if out.Version, err = models.PublishNew(s, registry.Backlinks(c.Name, data, time.Now()), data); err != nil {
		return err
	}
	return s.Print(&out, func(w io.Writer) {
		if out.Edges != nil {
			fmt.Fprintf(w, "parents of %d pages, from %d edges\n", out.Targets, out.Edges.Lines-out.Edges.Broken)
			printBroken(w, "edges", out.Edges)
			printBroken(w, "vertices", out.Vertices)
			if out.Nameless > 0 {
				fmt.Fprintf(w, "%d vertices have no name in %s; their links were left out\n", out.Nameless, c.Vertices)
			}
		}
		models.PrintPublished(w, out.Version)
	})
}

// ReadFile returns the file of the source.
func (c *Backlinks) ReadFile(ctx context.Context, out *BacklinksPublished) ([]byte, error) {
	if slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(c.File)) {
		source, err := os.ReadFile(c.File)
		if err != nil {
			return nil, err
		}
		service, err := httpmodel.ParseBacklinks(filepath.Base(c.File), string(source))
		if err != nil {
			return nil, err
		}
		return service.Marshal(), nil
	}
	table, counts, err := backlink.NewTable(c.edges(ctx, out))
	if err == nil && table.Targets() == 0 {
		err = fmt.Errorf("none of its %d edges leads to a page that is asked about", counts.Lines-counts.Broken)
		if len(c.Host) > 0 {
			err = fmt.Errorf("%w: no page of --host %s; the names of hosts in Common Crawl have no leading \"www.\"", err, strings.Join(c.Host, ", "))
		}
	}
	if err != nil {
		return nil, err
	}
	out.Targets, out.Edges = table.Targets(), &counts
	return table.Marshal(), nil
}

// edges returns those of the files.
func (c *Backlinks) edges(ctx context.Context, out *BacklinksPublished) backlink.Edges {
	open := func(path string) func() (io.ReadCloser, error) {
		return func() (io.ReadCloser, error) { return examples.OpenParts(ctx, path) }
	}
	return func(f func(from, to string)) (edgefile.Counts, error) {
		if c.Vertices != "" {
			n := &backlink.Numbered{Edges: open(c.File), Vertices: open(c.Vertices), Broken: c.Broken}
			counts, err := n.Links(ctx, c.keeps)(f)
			out.Vertices, out.Nameless = &n.Named, n.Nameless
			return counts, err
		}
		in, err := examples.OpenParts(ctx, c.File)
		if err != nil {
			return edgefile.Counts{}, err
		}
		defer in.Close()
		return backlink.EdgesOf(ctx, in, c.Broken, c.keeps)(f)
	}
}

// exist is an error that names the files and folders that do not exist.
func exist(paths ...string) error {
	for _, path := range paths {
		if path == "" {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			return cli.AsUsage(err)
		}
	}
	return nil
}

// keeps reports whether parents of a page are kept.
func (c *Backlinks) keeps(url string) bool {
	host := weburl.Host(url)
	below := func(of string) bool { return host == of || strings.HasSuffix(host, "."+of) }
	return len(c.Host) == 0 || slices.ContainsFunc(c.Host, below)
}

// ShowBacklinks implements models show for a source of backlinks.
func ShowBacklinks(s *cli.Session, version string, data []byte) error {
	by, err := backlink.Open(data, httpmodel.Options{})
	if err != nil {
		return fmt.Errorf("model %s: %w", version, err)
	}
	r := map[string]any{"version": version, "kind": "backlinks", "bytes": len(data)}
	text := cli.Size(uint64(len(data)))
	switch by := by.(type) {
	case *backlink.Table:
		r["targets"] = by.Targets()
		text = fmt.Sprintf("parents of %d pages, %s", by.Targets(), text)
	case *httpmodel.BacklinkClient:
		r["source"] = by.Source()
		text = "a service\n\n" + by.Source()
	}
	return s.Print(r, func(w io.Writer) { fmt.Fprintf(w, "%s, a source of backlinks: %s\n", version, text) })
}
