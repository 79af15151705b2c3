package crawls

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"forager/cmd/internal/cli"
	"forager/internal/crawl/crawlfile"
	"forager/internal/operate"
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

// Taken is operate.Taken for a command that may be interrupted.
func Taken(ctx context.Context, b *cli.Topics, crawl string, last map[int]int64, wait time.Duration) error {
	return cli.Leaving(operate.Taken(ctx, b, crawl, last, wait), "crawl %q will read the record, which is in %s", crawl, schemas.TopicLinkFound)
}
