package crawls

import (
	"context"
	"fmt"
	"time"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/models"
	"forager/internal/crawl/crawlfile"
	"forager/internal/operate"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
)

// StartCrawl adds the values that depend on the pipeline to the control record, stores the URL list and sends
// control record and seeds.
func StartCrawl(ctx context.Context, cfg *pipeline.Config, b *cli.Topics, crawl *crawlfile.Crawl, checkOnly bool) error {
	if err := placeCrawl(ctx, cfg, b, crawl, checkOnly); err != nil || checkOnly {
		return err
	}
	_, err := operate.SendSeeds(ctx, b, crawl.Control.GetCrawl(), crawl.Seeds)
	return err
}

// placeCrawl is startCrawl without seeds.
func placeCrawl(ctx context.Context, cfg *pipeline.Config, b *cli.Topics, crawl *crawlfile.Crawl, checkOnly bool) error {
	ctl := crawl.Control
	name := ctl.GetCrawl()
	old, seen := b.Newest(name)
	if old != nil {
		return fmt.Errorf("crawl %q exists already (started %s); a name is never used again, choose another",
			name, time.UnixMilli(old.GetCreatedAt()).Format(time.RFC3339))
	}
	store, err := objects.Open(cfg.S3)
	if err != nil {
		return err
	}
	if err := operate.Settle(ctx, b, store, nil, ctl); err != nil || checkOnly {
		return err
	}
	ctl.Revision = 1
	ctl.CreatedAt = time.Now().UnixMilli()
	if crawl.URLList != nil {
		var list []byte
		ctl.Scope.UrlList, list = crawlfile.ListObject(name, crawl.URLList)
		if err := models.PutContent(ctx, store, ctl.Scope.UrlList, list); err != nil {
			return fmt.Errorf("store the URL list: %w", err)
		}
	}
	// The control record is sent first: prioritize waits for the seeds of a known crawl, and never holds up a
	// partition for an unknown one.
	winner, err := b.Place(ctx, ctl, seen)
	if err != nil {
		return err
	}
	if winner != nil {
		return fmt.Errorf("crawl %q was started by somebody else at the same moment; choose another name", name)
	}
	return nil
}
