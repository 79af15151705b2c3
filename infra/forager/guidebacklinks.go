package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"forager/internal/backlink"
	"forager/internal/edgefile"
	"forager/internal/examples"
	"forager/internal/objects"
	"forager/internal/predicate"
	"forager/internal/registry"
	"forager/schemas"
)

type guideBacklinks struct {
	File   string  `arg:"" help:"A file of edges (two URLs a line; .gz, .zst), or the settings of a service (.yaml)." type:"existingfile"`
	Name   string  `required:"" help:"Name of the source."`
	Broken float64 `help:"Share of the lines of a file of edges that may be broken." default:"0.01"`
}

func (c *guideBacklinks) Help() string {
	return `Publishes a source of backlinks: who links to a page. A crawl that ranks by context-graph asks it about every page that
the guide calls a target, and fetches the parents as it would the page's own links (2000, §3.3). Every query is charged
as a request; the crawl file rations them:

  backlinks: {source: links, ration: 500}

Of a file of edges the first 20 parents of each page are kept. A service is sent {"version": 1, "url": "https://…"} by
POST and answers {"parents": ["https://…"]}; a page that it does not answer about goes without:

  # links.yaml
  url: http://127.0.0.1:8089/parents
  timeout: 10s
  concurrent: 2
  breaker: {failures: 5, pause: 10s}
  token_env: LINKS_TOKEN               # bearer token, from critic-score's environment

  forager guide backlinks links.yaml --name links
  forager guide backlinks edges.txt.gz --name links`
}

// backlinksPublished is what the command says.
type backlinksPublished struct {
	Version string           `json:"version"`
	Targets int              `json:"targets,omitempty"`
	Edges   *edgefile.Counts `json:"edges,omitempty"`
}

func (c *guideBacklinks) Run(s *session) error {
	if err := checkCriticName(c.Name); err != nil {
		return err
	}
	var out backlinksPublished
	data, err := c.file(s, &out)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if out.Version, err = s.publishBacklinks(c.Name, data); err != nil {
		return err
	}
	return s.print(&out, func(w io.Writer) {
		if out.Edges != nil {
			fmt.Fprintf(w, "parents of %d pages, from %d edges\n", out.Targets, out.Edges.Lines-out.Edges.Broken)
			tellBroken(w, "edges", out.Edges)
		}
		printPublished(w, out.Version)
	})
}

// file makes the file of the source.
func (c *guideBacklinks) file(ctx context.Context, out *backlinksPublished) ([]byte, error) {
	if slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(c.File)) {
		source, err := os.ReadFile(c.File)
		if err != nil {
			return nil, err
		}
		service, err := predicate.ParseBacklinks(filepath.Base(c.File), string(source))
		if err != nil {
			return nil, err
		}
		return service.Marshal(), nil
	}
	in, err := examples.Open(c.File)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	table, counts, err := backlink.NewTable(backlink.EdgesOf(ctx, in, c.Broken))
	if err != nil {
		return nil, err
	}
	out.Targets, out.Edges = table.Targets(), &counts
	return table.Marshal(), nil
}

// publishBacklinks publishes the file of a source and returns its version.
func (s *session) publishBacklinks(name string, data []byte) (version string, err error) {
	b, store, err := s.openStore()
	if err != nil {
		return "", err
	}
	defer b.close()
	m := registry.Backlinks(name, data, time.Now())
	return m.GetVersion(), b.publish(s, store, m, data)
}

// settleBacklinks puts the version of a source for its name in a control record, once it is sure that it is there and of
// use.
func (b *books) settleBacklinks(ctx context.Context, store *objects.Store, ctl *schemas.CrawlControl) error {
	source := ctl.GetBacklinks().GetSource()
	if source == "" {
		return nil
	}
	m, unknown := b.named("backlinks", source, b.backlinks, "forager guide backlinks makes one")
	data, version, err := fetchNamed(ctx, store, "backlinks", source, m, unknown)
	if err == nil {
		_, err = backlink.Open(data, predicate.Options{})
	}
	if err != nil {
		return fmt.Errorf("backlinks: %w", err)
	}
	ctl.Backlinks.Source = version
	return nil
}

// showBacklinks is what models show says of a source.
func showBacklinks(s *session, version string, data []byte) error {
	by, err := backlink.Open(data, predicate.Options{})
	if err != nil {
		return fmt.Errorf("model %s: %w", version, err)
	}
	r := map[string]any{"version": version, "kind": "backlinks", "bytes": len(data)}
	text := size(uint64(len(data)))
	switch by := by.(type) {
	case *backlink.Table:
		r["targets"] = by.Targets()
		text = fmt.Sprintf("parents of %d pages, %s", by.Targets(), text)
	case *predicate.BacklinkClient:
		r["source"] = by.Source()
		text = "a service\n\n" + by.Source()
	}
	return s.print(r, func(w io.Writer) { fmt.Fprintf(w, "%s, a source of backlinks: %s\n", version, text) })
}
