package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"forager/internal/measure/harvest"
	"forager/internal/platform/analytics"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/platform/samples"
	"forager/schemas"
)

// onTopic estimates how many pages of a crawl are on topic, independently of its critic.
type onTopic struct {
	harvest.Share
	// From is the basis of the estimate: "marks" of pages drawn at random, or "likes", the liked pages and the
	// background that were held out when the critic was trained. The latter is an upper limit.
	From string `json:"from"`
	// Pages of the crawl, and the drawn pages that were Marked.
	Pages  int `json:"pages"`
	Marked int `json:"marked"`
	// Later is the number of pages fetched after the last of them was marked.
	Later int `json:"later"`
}

// verdicts is a number of pages that a critic classifies as on topic, or not.
type verdicts struct {
	critic string
	taken  bool
	pages  int
}

// takenForOnTopic is the condition for drawing pages and for recognising likes.
const takenForOnTopic = "relevance > 0.5"

// estimate estimates how many of a crawl's pages are on topic; nil if there are neither marks of drawn pages nor likes.
func (b *books) estimate(ctx context.Context, cfg *pipeline.Config, db *analytics.DB, crawl string) (*onTopic, error) {
	ctl, err := b.control(crawl)
	if err != nil || ctl.GetCritic() == "" {
		return nil, err
	}
	store, err := objects.Open(cfg.S3)
	if err != nil {
		return nil, err
	}
	marks, err := samples.Marks(ctx, store, schemas.ModelName(ctl.GetCritic()))
	if err != nil {
		return nil, err
	}
	var all []verdicts
	err = db.Each(ctx, "SELECT critic, "+takenForOnTopic+" AS taken, uniqExact(url) FROM pages WHERE crawl = {crawl:String} AND outcome = 'delivered' GROUP BY critic, taken",
		analytics.Params{"crawl": crawl}, func(row []any) error {
			all = append(all, verdicts{row[0].(string), row[1].(uint8) == 1, int(row[2].(uint64))})
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("verdicts on pages of %s: %w", crawl, err)
	}
	marks = slices.DeleteFunc(marks, func(m samples.Mark) bool { return !m.Drawn || m.Crawl != crawl })
	if len(marks) == 0 {
		return byLikes(all, func(critic string) map[string]float64 {
			m, err := b.critic(critic)
			if err != nil { // an older version, whose announcement is gone
				m, err = b.critic(ctl.GetCritic())
			}
			if err != nil {
				return nil
			}
			return m.GetMeasures()
		}), nil
	}
	return byMarks(ctx, db, crawl, marks, all)
}

// byMarks is the estimate from marks of pages drawn from both verdicts.
func byMarks(ctx context.Context, db *analytics.DB, crawl string, marks []samples.Mark, all []verdicts) (*onTopic, error) {
	right, urls, last := make(map[string]bool), []string{}, int64(0)
	for _, m := range marks {
		right[m.URL] = m.Right
		urls, last = append(urls, m.URL), max(last, m.At.UnixMilli())
	}
	x := &onTopic{From: "marks"}
	var strata [2]harvest.Stratum
	for _, v := range all {
		strata[at(v.taken)].Pages += v.pages
		x.Pages += v.pages
	}
	err := db.Each(ctx, "SELECT DISTINCT url, "+takenForOnTopic+" FROM pages WHERE crawl = {crawl:String} AND outcome = 'delivered' AND url IN {urls:Array(String)}",
		analytics.Params{"crawl": crawl, "urls": urls}, func(row []any) error {
			s := &strata[row[1].(uint8)]
			s.Drawn++
			x.Marked++
			if right[row[0].(string)] {
				s.On++
			}
			return nil
		})
	if err == nil {
		err = db.Each(ctx, "SELECT uniqExact(url) FROM pages WHERE crawl = {crawl:String} AND outcome = 'delivered' AND toUnixTimestamp64Milli(fetched_at) > {last:Int64}",
			analytics.Params{"crawl": crawl, "last": last}, func(row []any) error {
				x.Later = int(row[0].(uint64))
				return nil
			})
	}
	if err != nil {
		return nil, fmt.Errorf("marked pages of %s: %w", crawl, err)
	}
	x.Share = harvest.Sampled(strata[:]...)
	return x, nil
}

func at(taken bool) int {
	if taken {
		return 1
	}
	return 0
}

// byLikes is the estimate from pages held out when the critic was trained; nil if its measures do not include
// them. Versions of a critic are handled one by one; as they share their likes, their errors add up.
func byLikes(all []verdicts, measures func(critic string) map[string]float64) *onTopic {
	judged := make(map[string]*harvest.Counted)
	x := &onTopic{From: "likes"}
	for _, v := range all {
		if judged[v.critic] == nil {
			judged[v.critic] = new(harvest.Counted)
		}
		judged[v.critic].Pages += float64(v.pages)
		if v.taken {
			judged[v.critic].Taken += float64(v.pages)
		}
		x.Pages += v.pages
	}
	for critic, c := range judged {
		m := measures(critic)
		taken, known := m["background_taken"]
		if !known || m["liked"] == 0 || m["background"] == 0 {
			return nil
		}
		likes := harvest.Counted{Pages: m["liked"], Taken: m["liked"] * m["recall"]}
		// Part of the background is on topic, and rightly classified so. That part is only estimated, rather
		// too high than too low, so the interval reaches from none to all of it.
		off := (1 - m["prior"]) * m["background"]
		clean := harvest.Counted{Pages: off, Taken: min(off, max(0, m["background"]*(taken-m["prior"]*m["recall"])))}
		most := harvest.Corrected(*c, likes, clean)
		least := harvest.Corrected(*c, likes, harvest.Counted{Pages: m["background"], Taken: m["background"] * taken})
		weight := c.Pages / float64(x.Pages)
		x.Share.Share += weight * most.Share
		x.Low += weight * min(least.Low, most.Low)
		x.High += weight * max(least.High, most.High)
	}
	if x.Pages == 0 {
		return nil
	}
	return x
}

// stale is the share of pages fetched after the last mark above which the marks are outdated.
const stale = .1

// text prints the estimate, and how to improve it.
func (x *onTopic) text(w io.Writer, crawl string) {
	percent := func(p float64) float64 { return 100 * p }
	switch {
	case x == nil:
		fmt.Fprintf(w, "how many pages are on topic is the critic's own opinion; nothing else is known of it\n")
	case x.From == "marks":
		fmt.Fprintf(w, "on topic: %.0f %% of %d pages (95 %% interval %.0f to %.0f %%), by %d pages that were drawn at random and marked\n",
			percent(x.Share.Share), x.Pages, percent(x.Low), percent(x.High), x.Marked)
		if float64(x.Later) > stale*float64(x.Pages) {
			fmt.Fprintf(w, "%d of the pages were fetched later; ask about more of them\n", x.Later)
		}
	default:
		fmt.Fprintf(w, "on topic: at most %.0f %% of %d pages or so (95 %% interval %.0f to %.0f %%), by likes and background that were held out; "+
			"a crawl visits pages that its critic mistakes, so there may be far fewer\n", percent(x.Share.Share), x.Pages, percent(x.Low), percent(x.High))
	}
	if x == nil || x.From != "marks" || float64(x.Later) > stale*float64(x.Pages) {
		fmt.Fprintf(w, "a random sample tells:  forager critic mark %s --ask 20\n", crawl)
	}
}

// tellHarvest prints the origin of a crawl's harvest, and the estimate that is independent of its critic.
func tellHarvest(w io.Writer, crawl, by string, x *onTopic) {
	if by == "" {
		return
	}
	fmt.Fprintf(w, "harvest and loss are by %s\n", by)
	x.text(w, crawl)
}

// judge fills in what is known of the harvest of a crawl that has ended. Without ClickHouse that is only the critic.
func (x *standing) judge(s *session, cfg *pipeline.Config, b *books) {
	if x.JudgedBy = b.judgedBy(x.Crawl); x.JudgedBy == "" {
		return
	}
	db, err := analytics.Open(cfg.ClickHouse)
	if err == nil {
		defer db.Close()
		if err = b.loaded(s, time.Minute); err == nil {
			x.OnTopic, err = b.estimate(s, cfg, db, x.Crawl)
		}
	}
	if err != nil {
		fmt.Fprintf(s.err, "how many pages are on topic could not be estimated: %v\n", err)
	}
}
