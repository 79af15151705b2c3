package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"forager/internal/crawl/crawlfile"
	"forager/internal/export"
	"forager/internal/platform/analytics"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/schemas"
)

// politely sets how the URLs of a list are fetched.
type politely struct {
	Contact string        `help:"E-mail address or page at which site owners can reach you; goes into the User-Agent."`
	Delay   time.Duration `help:"Between two requests to a host; robots.txt may ask for more." default:"1s"`
	Again   bool          `help:"Fetch the URLs once more, where they were fetched before."`
}

// fetchedList is a list of URLs that the running stages fetch with the politeness of every crawl, in a crawl
// that follows no link and has no critic (crawlfile.Fetching; docs/decisions/0502). Its name is derived from
// the list, so that an interrupted fetch continues when it is repeated, and a list that was fetched has its
// pages.
type fetchedList struct {
	crawl string
	urls  []string
	cfg   *pipeline.Config
}

// fetchedPage is a page of a list.
type fetchedPage struct {
	export.Page
	// Asked are the URLs of the list that led to it, directly or by redirects.
	Asked []string
}

// unfetched is a URL of the list without a page.
type unfetched struct {
	URL     string
	Outcome string // as in schemas.OutcomeName
	Detail  string
}

// fetchList fetches URLs, canonical and distinct, and returns when each has an outcome. It shows progress on standard error.
func fetchList(s *session, cfg *pipeline.Config, b *books, urls []string, p politely) (*fetchedList, error) {
	f := &fetchedList{urls: urls, cfg: cfg}
	f.crawl = f.name(b, p.Again)
	crawl, err := crawlfile.Fetching(f.crawl, p.Contact, p.Delay, urls)
	if err != nil {
		return nil, errUsage{err}
	}
	old, _ := b.newest(f.crawl)
	if old == nil {
		if err := placeCrawl(s, cfg, b, crawl, false); err != nil {
			return nil, err
		}
	}
	if !ended(b.status(f.crawl)) {
		// The seeds may be missing after an interrupted call; known ones have no effect. A long list takes
		// several records, and the crawl may finish between two of them.
		at, err := sendSeeds(s, b, f.crawl, urls)
		if err != nil {
			return nil, err
		}
		if err := b.taken(s, f.crawl, map[int]int64{at.Partition: at.Offset}, time.Minute); err != nil {
			return nil, err
		}
	}
	x, err := follow(s, b, f.crawl)
	if err != nil {
		return nil, err
	}
	if ctl, err := b.control(f.crawl); err != nil {
		return nil, err
	} else if ctl.GetState() == schemas.CrawlState_CRAWL_STATE_STOPPED {
		return nil, fmt.Errorf("crawl %s, which fetched the URLs, was stopped after %d of %d pages; --again begins anew", f.crawl, x.Pages, len(urls))
	}
	return f, nil
}

// name returns the name of the list's crawl: the newest one, or the next.
func (f *fetchedList) name(b *books, again bool) string {
	sum := sha256.Sum256([]byte(strings.Join(f.urls, "\n")))
	first := "fetch-" + hex.EncodeToString(sum[:6])
	newest := first
	for n := 2; ; n++ {
		ctl, _ := b.newest(newest)
		next := fmt.Sprintf("%s-%d", first, n)
		following, _ := b.newest(next)
		switch {
		case ctl == nil, following == nil && !again && !deleted(ctl):
			return newest
		case following == nil:
			return next
		}
		newest = next
	}
}

// pages calls take with every page, in the order of the crawl, and returns the URLs without one, in the order of the list.
func (f *fetchedList) pages(s *session, b *books, take func(fetchedPage) error) ([]unfetched, error) {
	db, err := analytics.Open(f.cfg.ClickHouse)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	store, err := objects.Open(f.cfg.S3)
	if err != nil {
		return nil, err
	}
	if err := b.loaded(s, time.Minute); err != nil {
		return nil, err
	}
	answers, err := f.answers(s, db)
	if err != nil {
		return nil, err
	}
	asked := make(map[string][]string)
	var failed []unfetched
	for _, u := range f.urls {
		at, a := answers.end(u)
		if a.outcome == schemas.OutcomeName(schemas.Outcome_OUTCOME_DELIVERED) {
			asked[at] = append(asked[at], u)
		} else {
			failed = append(failed, unfetched{URL: u, Outcome: a.outcome, Detail: a.detail})
		}
	}
	sel := export.Selection{Crawl: f.crawl, Outcome: schemas.OutcomeName(schemas.Outcome_OUTCOME_DELIVERED)}
	err = export.Each(s, db, store, sel, func(p export.Page) error {
		return take(fetchedPage{Page: p, Asked: slices.Clone(asked[p.URL])})
	})
	if err != nil {
		return nil, fmt.Errorf("pages of crawl %s: %w", f.crawl, err)
	}
	return failed, nil
}

// answerTo is the final outcome of a URL.
type answerTo struct{ outcome, detail, redirect string }

type answersTo map[string]answerTo

// answers reads the outcome of every URL: of several attempts the last one counts.
func (f *fetchedList) answers(ctx context.Context, db *analytics.DB) (answersTo, error) {
	answers := make(answersTo)
	const sql = "SELECT url, outcome, detail, redirect FROM pages WHERE crawl = {crawl:String} ORDER BY shard, applied, id"
	err := db.Each(ctx, sql, analytics.Params{"crawl": f.crawl}, func(row []any) error {
		answers[row[0].(string)] = answerTo{row[1].(string), row[2].(string), row[3].(string)}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("answers of crawl %s: %w", f.crawl, err)
	}
	return answers, nil
}

// end follows the redirects from a URL to the last outcome.
func (a answersTo) end(url string) (at string, last answerTo) {
	at = url
	for range 20 { // more than any request follows
		x, ok := a[at]
		if !ok {
			return at, answerTo{outcome: "refused", detail: "it was not requested: the crawl refuses such URLs"}
		}
		if x.outcome != schemas.OutcomeName(schemas.Outcome_OUTCOME_REDIRECTED) || x.redirect == "" {
			return at, x
		}
		at = x.redirect
	}
	return at, answerTo{outcome: schemas.OutcomeName(schemas.Outcome_OUTCOME_BAD_REDIRECT), detail: "redirects without end"}
}
