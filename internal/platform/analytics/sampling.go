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

// Verdicts counts the delivered URLs of a crawl by critic and verdict.
func (d *DB) Verdicts(ctx context.Context, crawl string) ([]Verdicts, error) {
	list, err := collect(ctx, d, "SELECT critic, v."+takenForOnTopic+` AS taken, uniqExact(v.url) FROM verdicts AS v LEFT JOIN
		(SELECT id, critic FROM judgements WHERE crawl = {crawl:String}) AS j ON j.id = v.id WHERE v.crawl = {crawl:String} AND v.outcome = 'delivered' GROUP BY critic, taken`,
		Params{"crawl": crawl}, func(row []any) Verdicts {
			return Verdicts{row[0].(string), row[1].(uint8) == 1, int(row[2].(uint64))}
		})
	if err != nil {
		return nil, fmt.Errorf("verdicts on pages of %s: %w", crawl, err)
	}
	return list, nil
}

// VerdictsOn calls f with the delivered ones of some URLs of a crawl, each with its verdict.
func (d *DB) VerdictsOn(ctx context.Context, crawl string, urls []string, f func(url string, onTopic bool)) error {
	return d.Each(ctx, "SELECT DISTINCT url, "+takenForOnTopic+" FROM verdicts WHERE crawl = {crawl:String} AND outcome = 'delivered' AND url IN {urls:Array(String)}",
		Params{"crawl": crawl, "urls": urls}, func(row []any) error {
			f(row[0].(string), row[1].(uint8) == 1)
			return nil
		})
}

// FetchedAfter counts the URLs of a crawl that were delivered after a time, milliseconds.
func (d *DB) FetchedAfter(ctx context.Context, crawl string, at int64) (n int, err error) {
	err = d.Each(ctx, `SELECT uniqExact(v.url) FROM verdicts AS v INNER JOIN fetches AS f ON f.id = v.id
		WHERE v.crawl = {crawl:String} AND f.crawl = {crawl:String} AND v.outcome = 'delivered' AND toUnixTimestamp64Milli(fetched_at) > {at:Int64}`,
		Params{"crawl": crawl, "at": at}, func(row []any) error {
			n = int(row[0].(uint64))
			return nil
		})
	return n, err
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
	const from = " FROM pages WHERE crawl = {crawl:String} AND outcome = 'delivered' AND object != '' AND url NOT IN {before:Array(String)}"
	err = d.Each(ctx, "SELECT "+takenForOnTopic+" AS taken, uniqExact(url)"+from+" GROUP BY taken", params, func(row []any) error {
		left[row[0].(uint8)] = int(row[1].(uint64))
		return nil
	})
	if err == nil {
		err = d.Each(ctx, "SELECT taken, url, title FROM (SELECT "+takenForOnTopic+" AS taken, url, title"+from+
			" ORDER BY applied LIMIT 1 BY url) ORDER BY sipHash64({crawl:String}, url), url LIMIT {most:UInt64} BY taken", params, func(row []any) error {
			page := DrawnPage{row[1].(string), row[2].(string)}
			if row[0].(uint8) == 1 {
				on = append(on, page)
			} else {
				off = append(off, page)
			}
			return nil
		})
	}
	if err != nil {
		return nil, nil, left, fmt.Errorf("draw pages of %s: %w", crawl, err)
	}
	return off, on, left, nil
}
