package bench

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"forager/internal/measure/sizing"
	"forager/internal/platform/analytics"
	"forager/internal/stream"
	"forager/schemas"
)

// sizes returns the bytes of the files of embedded parts and stages, by what group makes of their paths below the data
// folder; "" is not counted.
func (b *bench) sizes(group func(path []string) string) map[string]int64 {
	sizes := make(map[string]int64)
	for _, parent := range []string{"local", "state"} {
		_ = filepath.WalkDir(filepath.Join(b.Config.Data, parent), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return nil // a folder that cannot be read was removed meanwhile
			}
			below, err := filepath.Rel(b.Config.Data, path)
			info, ierr := e.Info()
			if err == nil && ierr == nil {
				if name := group(strings.Split(below, string(filepath.Separator))); name != "" {
					sizes[name] += info.Size()
				}
			}
			return nil
		})
	}
	return sizes
}

// disk returns the size of the folders that grow.
func (b *bench) disk() map[string]int64 {
	return b.sizes(func(path []string) string {
		if len(path) > 2 {
			return path[1]
		}
		return ""
	})
}

// stored returns the bytes of topics, of the bucket's folders, of ClickHouse and of the state of stages, as sizing.Crawl.Stored names
// them. The archive lacks what is not a minute old.
func (b *bench) stored() (map[string]int64, error) {
	db, err := b.S.OpenAnalytics(b.Config)
	if err != nil {
		return nil, err
	}
	tables, err := analytics.Size(b.S, db)
	if err != nil {
		return nil, fmt.Errorf("size of ClickHouse's tables: %w", err)
	}
	sizes := b.sizes(func(path []string) string {
		switch {
		case path[0] == "state" && len(path) > 2:
			return "state " + path[1]
		case path[1] == "kafka" && len(path) > 4: // local/kafka/partitions/TOPIC-PARTITION/…
			return "topic " + path[3][:strings.LastIndexByte(path[3], '-')]
		case path[1] == "s3" && len(path) > 5 && slices.Contains([]string{"archive", "models", "segments"}, path[4]): // local/s3/objects/BUCKET/FOLDER/…
			return "s3 " + path[4]
		}
		return ""
	})
	sizes["clickhouse"] = int64(tables)
	return sizes, nil
}

// crawled returns what a crawl has read and found, and the URLs of its requests that got a response.
func (b *bench) crawled(ctl *schemas.CrawlControl) (sizing.Crawl, []string, error) {
	st := b.Books.Status(ctl.GetCrawl())
	c := sizing.Crawl{
		Pages: float64(st.GetPages()), Requests: float64(st.GetDispatched()), Links: float64(st.GetLinks()), Leaps: float64(st.GetLeaps()),
		URLs: float64(st.GetDispatched() + st.GetQueued()),
	}
	if schemas.Learns(ctl) {
		c.Featured = c.Leaps
	}
	urls, err := b.fetched(ctl.GetCrawl(), func(r stream.Record) error {
		page := new(schemas.PageFetched)
		err := proto.Unmarshal(r.Value, page)
		c.Bytes += float64(page.GetSize())
		return err
	})
	return c, urls, err
}
