package crawlfile

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"forager/internal/platform/strictyaml"
	"forager/schemas"
)

// expansions are the words for expand.
var expansions = map[string]schemas.Expand{"": schemas.Expand_EXPAND_LINK, "link": schemas.Expand_EXPAND_LINK, "page": schemas.Expand_EXPAND_PAGE}

// guided sets what only crawls that are ranked by a guide can have.
func (c *Crawl) guided(r *strictyaml.Report, f *File) {
	guided := slices.DeleteFunc(slices.Clone(c.Control.Policies), func(p *schemas.Policy) bool { return p.GetRanker() != schemas.Ranker_RANKER_GUIDE })
	expand, ok := expansions[f.Expand]
	switch {
	case !ok:
		r.Problem("expand", "%q is neither link nor page", f.Expand)
	case expand != schemas.Expand_EXPAND_LINK && len(guided) == 0:
		r.Problem("expand", "pages are ordered by a guide, and %s ranks by none", f.Ranker)
	}
	for _, p := range guided {
		p.Expand = expand
	}
	switch b := f.Backlinks; {
	case b.Source == "" && b.Ration == 0:
		return
	case b.Source == "":
		r.Problem("backlinks.source", "is missing; name a published source (forager guide backlinks makes one)")
	case b.Ration == 0:
		r.Problem("backlinks.ration", "is missing; how many queries may there be?")
	case len(guided) == 0:
		r.Problem("backlinks", noLayers, f.Ranker)
	default:
		c.Control.Backlinks = &schemas.BacklinkSource{Source: b.Source, Ration: b.Ration}
	}
}

// What a ranking lacks for other settings of its crawl.
const (
	noLayers       = "a guide with layers defines which pages are targets, and %s ranks by none"
	noContextGraph = "%s is no ranker of %s"
)

// CheckRanking is an error that names a setting for a whole crawl, backlinks or context_graph, of which its policies make nothing.
func CheckRanking(ctl *schemas.CrawlControl) error {
	switch {
	case ctl.GetRenewal() != nil && schemas.Renewed(ctl) == nil:
		return fmt.Errorf("context_graph: "+noContextGraph, contextGraph, NameOf(ctl))
	case ctl.GetBacklinks() != nil && ctl.GetRenewal() == nil && len(schemas.Guides(ctl)) == 0:
		return fmt.Errorf("backlinks: "+noLayers, NameOf(ctl))
	}
	return nil
}

// contextGraph is the ranker whose guide a crawl can build from what it fetches.
const contextGraph = "context-graph"

// begin adds a placeholder for the guide of a context graph that is bootstrapped.
func (f *File) begin(r *strictyaml.Report, guides *map[string]string) {
	if f.ContextGraph.Bootstrap == 0 {
		return
	}
	if named := (*guides)[contextGraph]; named != "" {
		r.Problem("context_graph.bootstrap", "the crawl begins with the guide %s; leave one of the two out", named)
		return
	}
	if *guides == nil {
		*guides = make(map[string]string)
	}
	if slices.Contains(strings.Split(f.Ranker, "+"), contextGraph) {
		(*guides)[contextGraph] = "none yet"
	}
}

// renewed sets the renewal of the context graph.
func (c *Crawl) renewed(r *strictyaml.Report, f *File) {
	every, bootstrap := f.ContextGraph.RebuildEvery, f.ContextGraph.Bootstrap
	if every == 0 && bootstrap == 0 {
		return
	}
	i := slices.IndexFunc(c.Control.Policies, func(p *schemas.Policy) bool { return p.GetName() == contextGraph })
	switch {
	case i < 0:
		r.Problem("context_graph", noContextGraph, contextGraph, f.Ranker)
		return
	case f.Shards > 1:
		r.Problem("context_graph", "a guide is made of all pages of a crawl of one shard, and shards is %d", f.Shards)
	}
	then := proto.CloneOf(c.Control.Policies[i])
	then.Guide = ""
	c.Control.Renewal = &schemas.Renewal{Every: every, Bootstrap: bootstrap, Then: then}
	if bootstrap > 0 {
		c.Control.Policies[i] = &schemas.Policy{Name: contextGraph, Ranker: schemas.Ranker_RANKER_UNFOCUSED}
	}
}
