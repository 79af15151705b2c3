package experiment

import (
	"context"

	"forager/internal/frontier"
	"forager/internal/rank/distill"
	"forager/schemas"
)

// hubs implements the stage distill for a crawl.
type hubs struct {
	graph    *distill.Graph
	settings distill.Settings
	every    uint64
	// ranked is the number of pages at the last ranking.
	ranked uint64
}

// newHubs returns nil for a crawl without policies that raise what hubs link to.
func newHubs(ctl *schemas.CrawlControl) (*hubs, error) {
	if !schemas.Raises(ctl) {
		return nil, nil
	}
	settings, err := distill.SettingsOf(ctl)
	if err != nil {
		return nil, err
	}
	graph, err := distill.OpenGraph(frontier.NewMemory(), []byte("hubs"))
	return &hubs{graph: graph, settings: settings, every: distill.Every(ctl)}, err
}

// observe records a verdict, and gives the frontier a ranking if one is due.
func (h *hubs) observe(ctx context.Context, s *frontier.Shard, rec *schemas.LinkFound) error {
	if h == nil {
		return nil
	}
	if err := h.graph.Note(rec, 0); err != nil {
		return err
	}
	if distill.Boundary(h.graph.Pages(), h.every) <= h.ranked {
		return nil
	}
	h.ranked = h.graph.Pages()
	ranked, err := h.graph.Hubs(ctx, rec.GetCrawl(), rec.GetShard(), h.settings)
	if err != nil {
		return err
	}
	raised, err := distill.Raised(ranked)
	if err != nil {
		return err
	}
	_, err = s.Raise(ranked.GetPages(), raised)
	return err
}
