package crawls

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"forager/cmd/internal/cli"
	"forager/internal/crawl/crawlfile"
	"forager/internal/operate"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
)

// StartCrawl is operate.Start with the object store of a pipeline.
func StartCrawl(ctx context.Context, cfg *pipeline.Config, b *cli.Topics, crawl *crawlfile.Crawl, checkOnly bool) error {
	store, err := objects.Open(cfg.S3)
	if err != nil {
		return err
	}
	return operate.Start(ctx, b, store, crawl, checkOnly)
}

// settleRounds: after the end of a crawl its last leaps become a model and its last links hubs, which become rows. One more round finds
// that nothing has come.
const settleRounds = 4

// Settle waits until every stage has read all its input and the resulting records. Other crawls may continue
// meanwhile, so fetch, where their requests wait for hosts, is not waited for: a crawl that has finished has
// none there.
func Settle(ctx context.Context, b *cli.Topics, within time.Duration) error {
	began := time.Now()
	var before map[string]map[string][]int64
	for range settleRounds {
		ends := make(map[string]map[string][]int64)
		for _, stage := range cli.StageNames {
			if stage == "fetch" {
				continue
			}
			var err error
			if ends[stage], err = b.Client.Ends(ctx, cli.StageInputs[stage]...); err != nil {
				return err
			}
		}
		// What a stage has read has its results in the topics: when the ends are the same once all was read up to them, nothing follows.
		if reflect.DeepEqual(ends, before) {
			break
		}
		before = ends
		if err := SettleTo(ctx, b, ends, within-time.Since(began)); err != nil {
			return fmt.Errorf("%w after %s; do these stages run? (forager up starts them)", err, within)
		}
	}
	return nil
}

// SettleTo waits until every stage has read its topics up to ends.
func SettleTo(ctx context.Context, b *cli.Topics, ends map[string]map[string][]int64, within time.Duration) error {
	var waiting []string
	ok, err := operate.Poll(ctx, within, func() (bool, error) {
		waiting = waiting[:0]
		for _, stage := range slices.Sorted(maps.Keys(ends)) {
			n, err := b.Client.LagTo(ctx, stage, ends[stage])
			if err != nil {
				return false, err
			}
			if n > 0 {
				waiting = append(waiting, fmt.Sprintf("%s (%d)", stage, n))
			}
		}
		return len(waiting) == 0, nil
	})
	if err == nil && !ok {
		err = fmt.Errorf("records still wait before %s", strings.Join(waiting, ", "))
	}
	return err
}
