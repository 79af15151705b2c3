package crawlfile

import (
	"slices"

	"forager/internal/strictyaml"
	"forager/schemas"
)

// Expansions of crawl files.
var expansions = map[string]schemas.Expand{"": schemas.Expand_EXPAND_LINK, "link": schemas.Expand_EXPAND_LINK, "page": schemas.Expand_EXPAND_PAGE}

// guided takes what only crawls that are ranked by a guide can have.
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
		r.Problem("backlinks", "a guide with layers says which pages are targets, and %s ranks by none", f.Ranker)
	default:
		c.Control.Backlinks = &schemas.BacklinkSource{Source: b.Source, Ration: b.Ration}
	}
}
