package operate

import (
	"context"
	"fmt"
	"slices"

	"forager/internal/classify/criticfile"
	"forager/internal/classify/httpmodel"
	"forager/internal/crawl/crawlfile"
	"forager/internal/platform/registry"
	"forager/internal/rank/backlink"
	"forager/internal/rank/guide"
	"forager/internal/rank/guidefile"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// settleBacklinks puts the version of a named source into a control record, after checking that it exists and can be used.
func settleBacklinks(ctx context.Context, b *Topics, store registry.Store, ctl *schemas.CrawlControl) error {
	source := ctl.GetBacklinks().GetSource()
	if source == "" {
		return nil
	}
	m, unknown := b.Named("backlinks", source, b.Backlinks, "forager guide backlinks makes one")
	data, version, err := fetchNamed(ctx, store, "backlinks", source, m, unknown)
	if err == nil {
		_, err = backlink.Open(data, httpmodel.Options{})
	}
	if err != nil {
		return fmt.Errorf("backlinks: %w", err)
	}
	ctl.Backlinks.Source = version
	return nil
}

// settleGuides puts the versions of named guides into the policies and shadows of a control record, after
// checking that they exist and fit.
func settleGuides(ctx context.Context, b *Topics, store registry.Store, ctl *schemas.CrawlControl) error {
	for _, p := range schemas.Orders(ctl) {
		if p.GetRanker() != schemas.Ranker_RANKER_GUIDE {
			continue
		}
		by, version, err := openGuide(ctx, b, store, p.GetGuide())
		if err != nil {
			return fmt.Errorf("ranker %s: %w", p.GetName(), err)
		}
		if is := guidefile.Ranker(by); is != p.GetName() && slices.Contains(crawlfile.Guides, p.GetName()) {
			return fmt.Errorf("ranker %s: guide %s is %s", p.GetName(), version, is)
		}
		if critic := b.Published(version).GetCritic(); critic != "" && critic != ctl.GetCritic() {
			return refusef("ranker %s: guide %s was made for the critic %s, and the crawl is judged by %s", p.GetName(), version, critic, ctl.GetCritic())
		}
		p.Guide = version
	}
	return settleBacklinks(ctx, b, store, ctl)
}

// openGuide opens a guide by its name or version, as OpenCritic does.
func openGuide(ctx context.Context, b *Topics, store registry.Store, name string) (by guide.Guide, version string, err error) {
	m, unknown := b.Guide(name)
	data, version, err := fetchNamed(ctx, store, "guide", name, m, unknown)
	if err != nil {
		return nil, "", err
	}
	if by, err = guidefile.Open(data, httpmodel.Options{}); err != nil {
		return nil, "", fmt.Errorf("guide %s: %w", version, err)
	}
	return by, version, nil
}

// readNoURLs names the critic, guide or features of a crawl that read URLs, if its evaluation labels follow from URLs.
func readNoURLs(ctx context.Context, b *Topics, store registry.Store, ctl *schemas.CrawlControl) error {
	if !ctl.GetLabelsFromUrls() {
		return nil
	}
	const both = "labels_from_urls: %s %s reads URLs, from which the labels follow: its results would mean nothing"
	if ctl.GetCritic() != "" {
		if by, version, err := OpenCritic(ctx, b, store, ctl.GetCritic()); err != nil {
			return err
		} else if criticfile.ReadsURLs(by) {
			return fmt.Errorf(both, "critic", version)
		}
	}
	for _, version := range schemas.Guides(ctl) {
		if by, _, err := openGuide(ctx, b, store, version); err != nil {
			return err
		} else if by.ReadsURLs() {
			return fmt.Errorf(both, "guide", version)
		}
	}
	families, err := linkfeature.FamiliesOf(ctl.GetLearning().GetFeatures())
	if err == nil && families.ReadsURLs() && schemas.Learns(ctl) {
		err = fmt.Errorf(both, "an apprentice by the features", families)
	}
	return err
}
