package main

import (
	"context"
	"fmt"
	"io"

	"forager/internal/platform/analytics"
)

// judgedBy are the pages that one critic judged under one revision of the control record.
type judgedBy struct {
	Critic  string `json:"critic"`
	Marking uint64 `json:"marking"`
	// Degraded is the reason why it judged as a fallback, "" if it is the crawl's own.
	Degraded string  `json:"degraded,omitempty"`
	Pages    uint64  `json:"pages"`
	Harvest  float64 `json:"harvest"`
}

// shadowReport compares a shadow critic with the one that was used, over the pages judged by both.
type shadowReport struct {
	Critic string `json:"critic"`
	Used   string `json:"used"`
	Pages  uint64 `json:"pages"`
	// Failures are pages without a judgement of the shadow.
	Failures uint64 `json:"failures"`
	// Cut is the relevance above which a page is on topic: the newest apprentice's, or one half.
	Cut float64 `json:"cut"`
	// Agreement is the share of pages that both or neither classify as on topic.
	Agreement float64 `json:"agreement"`
	// OnTopic and OnTopicUsed are the shares of pages that each classifies as on topic.
	OnTopic     float64 `json:"on_topic"`
	OnTopicUsed float64 `json:"on_topic_used"`
	// Difference is the mean of the shadow's relevance minus the other's, Apart the mean of its absolute value.
	Difference float64 `json:"mean_difference"`
	Apart      float64 `json:"mean_absolute_difference"`
}

// silentAbout is a guide, or a source of backlinks, without a result for some pages.
type silentAbout struct {
	// Who is its version, Why the most frequent reason.
	Who   string `json:"who"`
	Why   string `json:"why"`
	Pages uint64 `json:"pages"`
}

// askJudges fills in the critics, the judgements of shadows, and the guides without results.
func (r *crawlReport) askJudges(ctx context.Context, db *analytics.DB, p analytics.Params) error {
	err := db.Each(ctx, `SELECT critic, marking, degraded, count(), avg(relevance) FROM judgements
		WHERE crawl = {crawl:String} AND outcome = 'delivered' GROUP BY critic, marking, degraded ORDER BY marking, degraded, critic`, p, func(row []any) error {
		r.Judged = append(r.Judged, judgedBy{row[0].(string), row[1].(uint64), row[2].(string), row[3].(uint64), row[4].(float64)})
		return nil
	})
	if err != nil {
		return err
	}
	err = db.Each(ctx, `SELECT tupleElement(arrayJoin(CAST(silent, 'Array(Tuple(String, String))')) AS one, 1) AS who, topK(1)(tupleElement(one, 2))[1], count()
		FROM judgements WHERE crawl = {crawl:String} GROUP BY who ORDER BY who`, p, func(row []any) error {
		r.Silent = append(r.Silent, silentAbout{row[0].(string), row[1].(string), row[2].(uint64)})
		return nil
	})
	if err != nil {
		return err
	}
	cut := r.cut()
	p = analytics.Params{"crawl": p["crawl"], "cut": fmt.Sprint(cut)}
	return db.Each(ctx, `WITH relevance >= {cut:Float64} AS on_topic, used_relevance >= {cut:Float64} AS used_on_topic, failure = '' AS said
		SELECT critic, used, countIf(said) AS pages, countIf(NOT said), countIf(said AND on_topic = used_on_topic) / greatest(pages, 1),
			countIf(said AND on_topic) / greatest(pages, 1), countIf(said AND used_on_topic) / greatest(pages, 1),
			sumIf(relevance - used_relevance, said) / greatest(pages, 1), sumIf(abs(relevance - used_relevance), said) / greatest(pages, 1)
		FROM shadows WHERE crawl = {crawl:String} GROUP BY critic, used ORDER BY critic, used`, p, func(row []any) error {
		x := shadowReport{Critic: row[0].(string), Used: row[1].(string), Pages: row[2].(uint64), Failures: row[3].(uint64), Cut: cut}
		for i, to := range []*float64{&x.Agreement, &x.OnTopic, &x.OnTopicUsed, &x.Difference, &x.Apart} {
			*to = row[4+i].(float64)
		}
		r.Shadows = append(r.Shadows, x)
		return nil
	})
}

// cut is the relevance above which a page is on topic: the newest apprentice's, or one half.
func (r *crawlReport) cut() float64 {
	if n := len(r.Models); n > 0 {
		return r.Models[n-1].Cut
	}
	return .5
}

func printJudges(w io.Writer, r *crawlReport) {
	if len(r.Judged) > 1 {
		fmt.Fprintf(w, "\n%-32s %8s %8s %8s\n", "JUDGED BY", "REVISION", "PAGES", "HARVEST")
		for _, j := range r.Judged {
			why := ""
			if j.Degraded != "" {
				why = "  in another's stead: " + j.Degraded
			}
			fmt.Fprintf(w, "%-32s %8d %8d %8.3f%s\n", j.Critic, j.Marking, j.Pages, j.Harvest, why)
		}
	}
	for _, x := range r.Silent {
		fmt.Fprintf(w, "\n%s did not answer about %d pages: %s (the log of critic-score has more)\n", x.Who, x.Pages, x.Why)
	}
	for _, x := range r.Shadows {
		fmt.Fprintf(w, "\nshadow %s beside %s: %d pages", x.Critic, x.Used, x.Pages)
		if x.Failures > 0 {
			fmt.Fprintf(w, ", and %d of which it said nothing", x.Failures)
		}
		fmt.Fprintf(w, "\n  R(u) ≥ %.3f: %.3f of the pages by the shadow, %.3f by the other; they agree on %.3f\n", x.Cut, x.OnTopic, x.OnTopicUsed, x.Agreement)
		fmt.Fprintf(w, "  R(u) of the shadow is %+.3f on the mean, %.3f away\n", x.Difference, x.Apart)
	}
}
