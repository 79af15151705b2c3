package crawls

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"forager/cmd/internal/cli"
	"forager/internal/crawl/crawlfile"
	"forager/internal/frontier"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/stream"
	"forager/internal/web/scope"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// SeedArgs are the arguments of commands that may send seeds to a crawl.
type SeedArgs struct {
	Crawl string        `arg:"" help:"Name of the crawl."`
	URLs  []string      `arg:"" optional:"" name:"url" help:"URLs to begin from, too."`
	File  string        `short:"f" help:"A file with one URL a line (# begins a comment); - is standard input." type:"path"`
	Wait  time.Duration `help:"How long to wait until the crawl has taken what it is sent; 0 = do not wait." default:"60s"`
}

// Given returns the URLs of the command line and of the file.
func (c *SeedArgs) Given(stdin io.Reader) ([]string, error) {
	urls := c.URLs
	if c.File != "" {
		from := stdin
		if c.File != "-" {
			f, err := os.Open(c.File)
			if err != nil {
				return nil, fmt.Errorf("--file: %w", err)
			}
			defer f.Close()
			from = f
		}
		lines, err := crawlfile.Lines(from)
		if err != nil {
			return nil, fmt.Errorf("--file: %w", err)
		}
		urls = append(urls, lines...)
	}
	if len(urls) == 0 && c.File != "" {
		return nil, fmt.Errorf("--file: %s holds no URL", c.File)
	}
	if len(urls) == 0 {
		return nil, cli.Usagef("give URLs, or --file with one a line")
	}
	return urls, nil
}

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
		return fmt.Errorf("crawl %q was stopped, which is for good; start another crawl (forager crawl start)", crawl)
	case cli.Ended(st) && (st.GetEndReason() == frontier.EndPages || st.GetEndReason() == frontier.EndRequests):
		return fmt.Errorf("crawl %q has finished: %s; give it a larger budget with the seeds (forager crawl resume)", crawl, st.GetEndReason())
	case cli.Ended(st) && st.GetEndReason() != frontier.EndEmpty && st.GetEndReason() != frontier.EndStagnated && st.GetEndReason() != frontier.EndUnreachable:
		return fmt.Errorf("crawl %q has finished: %s; start another crawl (forager crawl start)", crawl, st.GetEndReason())
	}
	return nil
}

// InScope is an error that names the seeds that the crawl would refuse.
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
	var bad []error
	for _, u := range seeds {
		if reason := sc.Check(u, 0); reason != "" {
			bad = append(bad, fmt.Errorf("seed %s lies outside the scope of crawl %s (%s); nothing was sent", u, ctl.GetCrawl(), reason))
		}
	}
	return errors.Join(bad...)
}

// maxSeedBytes bounds the URLs of one record, far below the largest record.
const maxSeedBytes = 1 << 20

// SendSeeds sends the virtual pages whose links are the seeds, canonical URLs, and returns the position of the last one.
func SendSeeds(ctx context.Context, b *cli.Topics, crawl string, seeds []string) (at stream.Position, err error) {
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

// Taken waits until a crawl has read link.found up to these offsets, by partition.
func Taken(ctx context.Context, b *cli.Topics, crawl string, last map[int]int64, wait time.Duration) error {
	ok, err := Poll(ctx, wait, func() (bool, error) {
		taken := b.Status(crawl).GetSpans()[schemas.TopicLinkFound].GetLast()
		for partition, offset := range last {
			if at, known := taken[uint32(partition)]; !known || at < offset {
				return false, nil
			}
		}
		return true, nil
	})
	if err == nil && !ok {
		err = fmt.Errorf("crawl %q has not read the record after %s, but will: it is in %s; does prioritize run? (forager up starts it)", crawl, wait, schemas.TopicLinkFound)
	}
	return cli.Leaving(err, "crawl %q will read the record, which is in %s", crawl, schemas.TopicLinkFound)
}
