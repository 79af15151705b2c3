package crawl

import (
	"fmt"
	"io"
	"time"

	"forager/cmd/internal/cli"
	"forager/internal/operate"
)

type crawlDelete struct {
	Crawl string        `arg:"" help:"Name of the crawl."`
	Stop  bool          `help:"Stop it first, if it has not finished."`
	Wait  time.Duration `help:"Time to wait for each stage to process the deletion." default:"60s"`
}

func (c *crawlDelete) Help() string {
	return `Removes a crawl that has finished: its frontier and its training, its rows in ClickHouse, its models, the
guides that it made for itself, its URL list and its pages in the object store. There is no way back.

What stays: its name, which is never used again; its records in the shared topics until their retention
ends, which nothing reads any more; segments that also hold pages of other crawls, until the last of these
is deleted; models that another crawl begins with or is pinned to, and guides that another one ranks by;
archived files; its critic.

Interrupted, it may be called again and goes on.

  forager crawl delete chemistry
  forager crawl delete chemistry --stop`
}

func (c *crawlDelete) Run(s *cli.Session) error {
	p, err := s.OpenParts()
	if err != nil {
		return err
	}
	d, err := operate.Deleter{Topics: p.Topics, Store: p.Store, DB: p.DB, Stop: c.Stop, Wait: c.Wait}.Delete(s, c.Crawl, 0)
	if err != nil {
		return cli.Leaving(err, "crawl %q may be deleted in part: call forager crawl delete %s again", c.Crawl, c.Crawl)
	}
	return s.Print(d, func(w io.Writer) {
		rows := uint64(0)
		for _, n := range d.Rows {
			rows += n
		}
		fmt.Fprintf(w, "%s is deleted: %d rows, %d segments (%s), %d models\n", c.Crawl, rows, d.Segments, cli.Size(uint64(d.Bytes)), d.Models)
		if n := len(d.KeptSegments); n > 0 {
			fmt.Fprintf(w, "%d segments stay: they hold pages of other crawls, too\n", n)
		}
		for _, m := range d.KeptModels {
			fmt.Fprintf(w, "%s stays: another crawl needs it\n", m)
		}
	})
}
