package deadletter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/internal/operate"
	"forager/internal/web/scope"
	"forager/schemas"
)

type deadReplay struct {
	Numbers []int64 `arg:"" optional:"" name:"number" help:"Numbers of letters (forager dead list)."`
	letterFilter
	Wait time.Duration `help:"How long to wait until the crawls have taken it; 0 = do not wait." default:"60s"`
}

func (c *deadReplay) Help() string {
	return `The URL of each letter's request is queued again, as its next attempt, with the score of the last. It is
charged to the budget again; links to it that were settled without a relevance stay so. A request is
replayed once; if it fails again, its new letter can be replayed.

  forager dead replay 17 18
  forager dead replay --crawl chemistry --stage parse-dom`
}

// replayed is the result of dead replay.
type replayed struct {
	// Asked is the number of requests; Refused of these have been tried again since, or have not failed.
	Asked   int    `json:"asked"`
	Refused uint64 `json:"refused"`
	// Skipped letters contain no request that could be tried again.
	Skipped int `json:"skipped"`
}

func (c *deadReplay) Run(s *cli.Session) error {
	if (len(c.Numbers) > 0) == (c.Crawl != "" || c.Stage != "") {
		return cli.Usagef("give numbers of letters, or --crawl and --stage that choose them")
	}
	_, b, err := s.OpenTopics()
	if err != nil {
		return err
	}
	defer b.Close()
	var result replayed
	asks, err := c.choose(s, b, &result)
	if err != nil {
		return err
	}
	for _, crawl := range slices.Sorted(maps.Keys(asks)) {
		if err := replay(s, b, crawl, asks[crawl], c.Wait, &result); err != nil {
			return err
		}
	}
	return s.Print(result, func(w io.Writer) {
		fmt.Fprintf(w, "%d requests are to be tried again\n", uint64(result.Asked)-min(uint64(result.Asked), result.Refused))
		if result.Refused > 0 {
			fmt.Fprintf(w, "%d have been tried again since, or have not failed\n", result.Refused)
		}
		if result.Skipped > 0 {
			fmt.Fprintf(w, "%d letters are about no request that can be tried again (forager dead show has the reason)\n", result.Skipped)
		}
	})
}

// choose makes the records that request another attempt, by crawl. If letters are named, each must be
// replayable, or nothing is sent; of letters selected by a filter, others are skipped.
func (c *deadReplay) choose(s *cli.Session, b *cli.Topics, result *replayed) (map[string][]*schemas.LinkFound, error) {
	asks, known := make(map[string][]*schemas.LinkFound), make(map[string]bool)
	take := func(l Letter) error {
		rec, err := ask(l, time.Now())
		if err == nil {
			var ctl *schemas.CrawlControl
			if ctl, err = b.Control(l.Crawl); err == nil {
				err = operate.GoesOn(ctl, b.Status(l.Crawl))
			}
		}
		if err != nil {
			return fmt.Errorf("letter %d: %w", l.Number, err)
		}
		if id := string(rec.GetReplay()); !known[id] {
			known[id] = true
			asks[l.Crawl] = append(asks[l.Crawl], rec)
		}
		return nil
	}
	if len(c.Numbers) == 0 {
		if c.Crawl != "" {
			if _, err := b.Control(c.Crawl); err != nil {
				return nil, err
			}
		}
		return asks, letters(s, b, func(l Letter) error {
			if c.takes(l) && take(l) != nil {
				result.Skipped++
			}
			return nil
		})
	}
	letters, err := numbered(s, b, c.Numbers)
	if err != nil {
		return nil, err
	}
	var bad []error
	for _, l := range letters {
		bad = append(bad, take(l))
	}
	if err := errors.Join(bad...); err != nil {
		return nil, fmt.Errorf("%w; nothing was sent", err)
	}
	return asks, nil
}

// ask makes the record of link.found that requests another attempt for a letter. The error is the reason why there is none.
func ask(l Letter, now time.Time) (*schemas.LinkFound, error) {
	switch l.Topic {
	case schemas.TopicFetchRequested, schemas.TopicPageFetched, schemas.TopicPageParsed, schemas.TopicPageJudged, schemas.TopicLinkFound:
	default:
		return nil, fmt.Errorf("a record of %s belongs to no request", l.Topic)
	}
	switch l.Stage {
	case "fetch", "parse-dom", "critic-score", "feature-extract", "prioritize":
	default:
		return nil, fmt.Errorf("its request went on: only %s could not handle the record", l.Stage)
	}
	request, err := schemas.RequestFromHeaders(headersOf(l.Dead))
	if err != nil {
		return nil, fmt.Errorf("it is about no request: %w", err)
	}
	// The frontier decides whether a request can be replayed. A repeated call sends a new record, which it refuses and counts.
	return schemas.ReplayOf(request, now)
}

// replay sends the records of one crawl and counts the results.
func replay(ctx context.Context, b *cli.Topics, crawl string, asks []*schemas.LinkFound, wait time.Duration, result *replayed) error {
	before := b.Status(crawl)
	last := make(map[int]int64) // by partition: shards have several
	for _, rec := range asks {
		shard := rec.GetShard()
		headers := map[string]string{schemas.HeaderCrawl: crawl, schemas.HeaderShard: strconv.FormatUint(uint64(shard), 10)}
		at, err := b.Send(ctx, schemas.TopicLinkFound, schemas.ShardKey(crawl, shard), headers, rec)
		if err != nil {
			return fmt.Errorf("ask for a replay of %s: %w", rec.GetUrl(), err)
		}
		last[at.Partition] = at.Offset
		result.Asked++
	}
	if wait == 0 {
		return nil
	}
	if err := crawls.Taken(ctx, b, crawl, last, wait); err != nil {
		return err
	}
	const reason = string(scope.Replay)
	was, is := before.GetRefused()[reason], b.Status(crawl).GetRefused()[reason]
	result.Refused += is - min(is, was)
	return nil
}
