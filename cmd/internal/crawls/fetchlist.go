package crawls

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"forager/cmd/internal/cli"
	"forager/internal/crawl/crawlfile"
	"forager/internal/export"
	"forager/internal/operate"
	"forager/internal/platform/analytics"
	"forager/schemas"
)

// FetchPoliteness sets how the URLs of a list are fetched.
type FetchPoliteness struct {
	Contact string        `help:"E-mail address or page at which site owners can reach you; goes into the User-Agent."`
	Delay   time.Duration `help:"Between two requests to a host; robots.txt may ask for more." default:"1s"`
	Again   bool          `help:"Fetch the URLs once more, where they were fetched before."`
}

// FetchedList is a list of URLs that the running stages fetch with the politeness of every crawl, in a crawl
// that follows no link and has no critic (crawlfile.Fetching; docs/decisions/0502). Its name is derived from
// the list, so that an interrupted fetch continues when it is repeated, and a list that was fetched has its
// pages.
type FetchedList struct {
	Crawl string
	urls  []string
	parts cli.Parts
}

// FetchedPage is a page of a list.
type FetchedPage struct {
	export.Page
	// Asked are the URLs of the list that led to it, directly or by redirects.
	Asked []string
}

// Unfetched is a URL of the list without a page.
type Unfetched struct {
	URL     string
	Outcome string // as in schemas.OutcomeName
	Detail  string
}

// FetchList fetches URLs, canonical and distinct, and returns when each has an outcome. It shows progress on standard error.
func FetchList(s *cli.Session, parts cli.Parts, urls []string, p FetchPoliteness) (*FetchedList, error) {
	f, b := &FetchedList{urls: urls, parts: parts}, parts.Topics
	f.Crawl = f.Name(b, p.Again)
	crawl, err := crawlfile.Fetching(f.Crawl, p.Contact, p.Delay, urls)
	if err != nil {
		return nil, cli.AsUsage(err)
	}
	old, _ := b.Newest(f.Crawl)
	if old == nil {
		if err := operate.Create(s, b, parts.Store, crawl, false); err != nil {
			return nil, err
		}
	}
	if !operate.Ended(b.Status(f.Crawl)) {
		// The seeds may be missing after an interrupted call; known ones have no effect. A long list takes
		// several records, and the crawl may finish between two of them.
		at, err := operate.SendSeeds(s, b, f.Crawl, urls)
		if err != nil {
			return nil, err
		}
		if err := Taken(s, b, f.Crawl, map[int]int64{at.Partition: at.Offset}, time.Minute); err != nil {
			return nil, err
		}
	}
	x, err := follow(s, b, f.Crawl)
	if err != nil {
		return nil, err
	}
	if ctl, err := b.Control(f.Crawl); err != nil {
		return nil, err
	} else if ctl.GetState() == schemas.CrawlState_CRAWL_STATE_STOPPED {
		return nil, fmt.Errorf("crawl %s, which fetched the URLs, was stopped after %d of %d pages; forager crawl resume %s goes on with it, --again starts from the beginning", f.Crawl, x.Pages, len(urls), f.Crawl)
	}
	return f, nil
}

// Name returns the name of the list's crawl: the newest one, or the next.
func (f *FetchedList) Name(b *cli.Topics, again bool) string {
	sum := sha256.Sum256([]byte(strings.Join(f.urls, "\n")))
	first := "fetch-" + hex.EncodeToString(sum[:6])
	newest := first
	for n := 2; ; n++ {
		ctl, _ := b.Newest(newest)
		next := fmt.Sprintf("%s-%d", first, n)
		following, _ := b.Newest(next)
		switch {
		case ctl == nil, following == nil && !again && !operate.Deleted(ctl):
			return newest
		case following == nil:
			return next
		}
		newest = next
	}
}

// Pages calls take with every page, in the order of the crawl, and returns the URLs without one, in the order of the list.
func (f *FetchedList) Pages(s *cli.Session, take func(FetchedPage) error) ([]Unfetched, error) {
	if err := operate.Loaded(s, f.parts.Topics, time.Minute); err != nil {
		return nil, err
	}
	answers, err := f.answers(s, f.parts.DB)
	if err != nil {
		return nil, err
	}
	asked := make(map[string][]string)
	var failed []Unfetched
	for _, u := range f.urls {
		at, a := answers.End(u)
		if a.Outcome == schemas.OutcomeName(schemas.Outcome_OUTCOME_DELIVERED) {
			asked[at] = append(asked[at], u)
		} else {
			failed = append(failed, Unfetched{URL: u, Outcome: a.Outcome, Detail: a.detail})
		}
	}
	sel := analytics.Selection{Crawl: f.Crawl, Outcome: schemas.OutcomeName(schemas.Outcome_OUTCOME_DELIVERED)}
	err = export.Each(s, f.parts.DB, f.parts.Store, sel, func(p export.Page) error {
		return take(FetchedPage{Page: p, Asked: slices.Clone(asked[p.URL])})
	})
	if err != nil {
		return nil, fmt.Errorf("pages of crawl %s: %w", f.Crawl, err)
	}
	return failed, nil
}

// outcome is the final outcome of a URL.
type outcome struct{ Outcome, detail, Redirect string }

// outcomes is the outcome of each URL of a list.
type outcomes map[string]outcome

// answers reads the outcome of every URL: of several attempts the last one counts.
func (f *FetchedList) answers(ctx context.Context, db *analytics.DB) (outcomes, error) {
	answers := make(outcomes)
	err := db.Outcomes(ctx, f.Crawl, func(url, name, detail, redirect string) { answers[url] = outcome{name, detail, redirect} })
	if err != nil {
		return nil, err
	}
	return answers, nil
}

// End follows the redirects from a URL to the last outcome.
func (a outcomes) End(url string) (at string, last outcome) {
	at = url
	for range 20 { // more than any request follows
		x, ok := a[at]
		if !ok {
			return at, outcome{Outcome: "refused", detail: "it was not requested: the crawl refuses such URLs"}
		}
		if x.Outcome != schemas.OutcomeName(schemas.Outcome_OUTCOME_REDIRECTED) || x.Redirect == "" {
			return at, x
		}
		at = x.Redirect
	}
	return at, outcome{Outcome: schemas.OutcomeName(schemas.Outcome_OUTCOME_BAD_REDIRECT), detail: "redirects without end"}
}
