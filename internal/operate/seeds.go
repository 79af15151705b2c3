package operate

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"forager/internal/frontier"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/stream"
	"forager/internal/web/scope"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// CanonicalSeeds converts URLs to the canonical form that the frontier uses, each once. The error names every invalid one.
func CanonicalSeeds(raw []string) ([]string, error) {
	var urls []string
	var bad []error
	known := make(map[string]bool)
	for _, r := range raw {
		u, err := weburl.Parse(r)
		if err != nil {
			bad = append(bad, fmt.Errorf("seed %w", err))
		} else if !known[u.String()] {
			known[u.String()] = true
			urls = append(urls, u.String())
		}
	}
	return urls, errors.Join(bad...)
}

// GoesOn reports whether a crawl dispatches new entries of its frontier, now or when it is resumed.
func GoesOn(ctl *schemas.CrawlControl, st *schemas.CrawlStatus) error {
	crawl := ctl.GetCrawl()
	switch {
	case ctl.GetState() == schemas.CrawlState_CRAWL_STATE_STOPPED:
		return refusef("crawl %q was stopped; give it the seeds when it is resumed (forager crawl resume)", crawl)
	case Ended(st) && (st.GetEndReason() == frontier.EndPages || st.GetEndReason() == frontier.EndRequests):
		return refusef("crawl %q has finished: %s; give it a larger budget with the seeds (forager crawl resume)", crawl, st.GetEndReason())
	case Ended(st) && st.GetEndReason() != frontier.EndEmpty && st.GetEndReason() != frontier.EndStagnated && st.GetEndReason() != frontier.EndUnreachable:
		return refusef("crawl %q has finished: %s; start another crawl (forager crawl start)", crawl, st.GetEndReason())
	}
	return nil
}

// InScope is an error that names the seeds that the crawl would refuse by its scope or its exclude rules.
func InScope(ctx context.Context, cfg *pipeline.Config, ctl *schemas.CrawlControl, seeds []string) error {
	var list *scope.List
	if key := ctl.GetScope().GetUrlList(); key != "" {
		store, err := objects.Open(cfg.S3)
		if err != nil {
			return err
		}
		b, err := store.Get(ctx, key)
		if err != nil {
			return fmt.Errorf("URL list of crawl %s: %w", ctl.GetCrawl(), err)
		}
		if list, err = scope.ReadList(bytes.NewReader(b)); err != nil {
			return fmt.Errorf("URL list of crawl %s: %w", ctl.GetCrawl(), err)
		}
	}
	sc, err := scope.New(ctl.GetScope(), list)
	if err != nil {
		return err
	}
	excludes, err := scope.NewExcludes(ctl.GetExcludes())
	if err != nil {
		return err
	}
	var bad []error
	for _, u := range seeds {
		if rule := excludes.URL(u); rule != "" {
			bad = append(bad, fmt.Errorf("seed %s would never be fetched by crawl %s: %s; nothing was sent", u, ctl.GetCrawl(), rule))
			continue
		}
		if reason := sc.Check(u, 0); reason != "" {
			bad = append(bad, fmt.Errorf("seed %s lies outside the scope of crawl %s (%s); nothing was sent", u, ctl.GetCrawl(), reason))
		}
	}
	if len(bad) > 0 {
		return refusal(errors.Join(bad...))
	}
	return nil
}

// AddSeeds sends seeds, canonical URLs, to a crawl that can take them, and returns their position.
func (b *Topics) AddSeeds(ctx context.Context, cfg *pipeline.Config, crawl string, seeds []string) (at stream.Position, err error) {
	ctl, err := b.Control(crawl)
	if err != nil {
		return at, err
	}
	if err := GoesOn(ctl, b.Status(crawl)); err != nil {
		return at, err
	}
	if err := InScope(ctx, cfg, ctl, seeds); err != nil {
		return at, err
	}
	return SendSeeds(ctx, b, crawl, seeds)
}

// maxSeedBytes bounds the URLs of one record, far below the largest record.
const maxSeedBytes = 1 << 20

// SendSeeds sends the virtual pages whose links are the seeds, canonical URLs, and returns the position of the last one.
func SendSeeds(ctx context.Context, b *Topics, crawl string, seeds []string) (at stream.Position, err error) {
	headers := map[string]string{schemas.HeaderCrawl: crawl, schemas.HeaderShard: "0"}
	for _, some := range portions(seeds, maxSeedBytes) {
		at, err = b.Send(ctx, schemas.TopicLinkFound, schemas.ShardKey(crawl, 0), headers, schemas.SeedPage(crawl, some))
		if err != nil {
			return at, fmt.Errorf("send the seeds: %w", err)
		}
	}
	return at, nil
}

// portions cuts a list into runs of at most that many bytes, or of one entry; an empty list is one run.
func portions(list []string, most int) (runs [][]string) {
	for begin, size, i := 0, 0, 0; ; i++ {
		if i == len(list) {
			return append(runs, list[begin:])
		}
		if size += len(list[i]); size > most && i > begin {
			runs, begin, size = append(runs, list[begin:i]), i, len(list[i])
		}
	}
}
