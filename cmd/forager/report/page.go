package report

import (
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"time"

	"forager/cmd/internal/cli"
	"forager/internal/monitor/view"
	"forager/internal/operate"
	"forager/internal/platform/analytics"
)

//go:embed page.html
var pageSource string

// pageTemplate escapes everything; text also makes control characters visible.
var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"text":    view.Plain,
	"size":    cli.Size,
	"three":   func(x float64) string { return fmt.Sprintf("%.3f", x) },
	"one":     func(x float64) string { return fmt.Sprintf("%.1f", x) },
	"percent": func(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) },
	"clock":   func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
	"name": func(name string, pages []analytics.RankedPage) map[string]any {
		return map[string]any{"Name": name, "Pages": pages}
	},
}).Parse(pageSource))

// pageRows are results that only a page shows.
type pageRows struct {
	topics      []analytics.TopicPages
	best, waste []analytics.Host
	tenths      []analytics.Tenth
}

// Rows of tables in a page.
const (
	shownHosts  = 15
	shownModels = 12
)

// askMore fills in what only a page shows.
func (r *CrawlReport) askMore(ctx context.Context, db *analytics.DB) (err error) {
	if r.more.topics, err = db.TopicPages(ctx, r.Crawl, 1); err != nil {
		return err
	}
	slices.SortStableFunc(r.more.topics, func(a, b analytics.TopicPages) int { return int(b.Pages) - int(a.Pages) })
	for by, to := range map[string]*[]analytics.Host{"yield": &r.more.best, "waste": &r.more.waste} {
		if *to, err = db.Hosts(ctx, r.Crawl, by, 0, shownHosts); err != nil {
			return err
		}
	}
	r.more.tenths, err = db.Report(r.Crawl).Tenths(ctx)
	return err
}

// The rest of this file is what the template reads.

func (r *CrawlReport) FocusLine() string          { return operate.FocusLine(r.Focus, r.Weights, r.Bad) }
func (r *CrawlReport) Yielding() []analytics.Host { return r.more.best }
func (r *CrawlReport) Wasting() []analytics.Host  { return r.more.waste }
func (r *CrawlReport) Topics() []analytics.TopicPages {
	return r.more.topics[:min(len(r.more.topics), 2*shownHosts)]
}

// Last is the crawl at its end.
func (r *CrawlReport) Last() (p CurvePoint) {
	if n := len(r.fine); n > 0 {
		p = r.fine[n-1]
	}
	return p
}

// Switches are the first and the last models.
func (r *CrawlReport) Switches() []analytics.Apprentice {
	if n := len(r.Models); n > shownModels {
		return slices.Concat(r.Models[:shownModels/2], r.Models[n-shownModels/2:])
	}
	return r.Models
}

// Count is a name with a number.
type Count struct {
	Name string
	N    uint64
}

func counts(all map[string]uint64) (list []Count) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, Count{name, all[name]})
	}
	slices.SortStableFunc(list, func(a, b Count) int { return int(int64(b.N) - int64(a.N)) })
	return list
}

func (r *CrawlReport) Ended() []Count    { return counts(r.Outcomes) }
func (r *CrawlReport) Declined() []Count { return counts(r.Refused) }

// crawlsPage is a page about some crawls.
type crawlsPage struct {
	Title   string
	Made    time.Time
	Crawls  []*CrawlReport
	Figures []figure
	Overlap []overlapRow
}

// overlapRow is what one crawl shares with each other one.
type overlapRow struct {
	Crawl  string
	Shares []overlapShare
}

// overlapShare is the number of pages that two crawls have both fetched, and their share of the pages that either has.
type overlapShare struct {
	Pages   uint64  `json:"pages"`
	Jaccard float64 `json:"jaccard"`
}

// overlapRows arranges what crawls share; an entry with itself has all of a crawl's pages.
func overlapRows(crawls []string, shared []analytics.Shared) (rows []overlapRow) {
	pages := make(map[[2]string]uint64)
	for _, s := range shared {
		pages[[2]string{s.One, s.Other}], pages[[2]string{s.Other, s.One}] = s.Pages, s.Pages
	}
	for _, one := range crawls {
		row := overlapRow{Crawl: one}
		for _, other := range crawls {
			both := pages[[2]string{one, other}]
			either := pages[[2]string{one, one}] + pages[[2]string{other, other}] - both
			row.Shares = append(row.Shares, overlapShare{both, float64(both) / float64(max(either, 1))})
		}
		rows = append(rows, row)
	}
	return rows
}

// write writes the page, which needs no other file.
func (p *crawlsPage) write(w io.Writer) error { return pageTemplate.Execute(w, p) }
