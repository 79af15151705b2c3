package analytics

import (
	"context"
	"fmt"
)

// takenForOnTopic is the condition by which a critic classifies a page as on topic.
const takenForOnTopic = "relevance > 0.5"

// Verdicts is a number of URLs that a critic classified as on topic, or not.
type Verdicts struct {
	Critic  string
	OnTopic bool
	Pages   int
}

// Verdicts counts the judged URLs of a crawl by critic and verdict.
func (d *DB) Verdicts(ctx context.Context, crawl string) ([]Verdicts, error) {
	list, err := collect[Verdicts](ctx, d, "SELECT critic, "+takenForOnTopic+" AS taken, uniqExact(url) FROM judgements WHERE crawl = {crawl:String} AND outcome = 'delivered' GROUP BY critic, taken",
		Params{"crawl": crawl})
	if err != nil {
		return nil, fmt.Errorf("verdicts on pages of %s: %w", crawl, err)
	}
	return list, nil
}

// VerdictsOn calls f with the delivered ones of some URLs of a crawl, each with its verdict.
func (d *DB) VerdictsOn(ctx context.Context, crawl string, urls []string, f func(url string, onTopic bool)) error {
	type verdict struct {
		URL     string
		OnTopic bool
	}
	return each(ctx, d, "SELECT DISTINCT url, "+takenForOnTopic+" FROM verdicts WHERE crawl = {crawl:String} AND outcome = 'delivered' AND url IN {urls:Array(String)}",
		Params{"crawl": crawl, "urls": urls}, func(v verdict) error {
			f(v.URL, v.OnTopic)
			return nil
		})
}

// FetchedAfter counts the URLs of a crawl that were delivered after a time, milliseconds.
func (d *DB) FetchedAfter(ctx context.Context, crawl string, at int64) (int, error) {
	return single[int](ctx, d, `SELECT uniqExact(v.url) FROM verdicts AS v INNER JOIN fetches AS f ON f.id = v.id
		WHERE v.crawl = {crawl:String} AND f.crawl = {crawl:String} AND v.outcome = 'delivered' AND toUnixTimestamp64Milli(fetched_at) > {at:Int64}`,
		Params{"crawl": crawl, "at": at})
}

// DrawnPage is a page that was drawn at random.
type DrawnPage struct {
	URL   string `json:"url"`
	Title string `json:"title"`
}

// Draw draws at most n of the stored pages off topic and n of those on topic, without those drawn before, and counts
// both. The order is that of a hash of the URLs, so that several draws together are a random sample.
func (d *DB) Draw(ctx context.Context, crawl string, before []string, n int) (off, on []DrawnPage, left [2]int, err error) {
	params := Params{"crawl": crawl, "before": before, "most": uint64(n)}
	const from = " FROM verdicts WHERE crawl = {crawl:String} AND outcome = 'delivered' AND url NOT IN {before:Array(String)}"
	type count struct{ Taken, Pages int }
	err = each(ctx, d, "SELECT "+takenForOnTopic+" AS taken, uniqExact(url)"+from+" GROUP BY taken", params, func(c count) error {
		left[c.Taken] = c.Pages
		return nil
	})
	if err == nil {
		type drawn struct {
			Taken bool
			DrawnPage
		}
		const order = " ORDER BY sipHash64({crawl:String}, url), url"
		err = each(ctx, d, "SELECT "+takenForOnTopic+", url, title FROM pages WHERE crawl = {crawl:String} AND object != '' AND id IN (SELECT id"+from+order+" LIMIT {most:UInt64} BY "+takenForOnTopic+")"+
			order, params, func(page drawn) error {
			if page.Taken {
				on = append(on, page.DrawnPage)
			} else {
				off = append(off, page.DrawnPage)
			}
			return nil
		})
	}
	if err != nil {
		return nil, nil, left, fmt.Errorf("draw pages of %s: %w", crawl, err)
	}
	return off, on, left, nil
}
