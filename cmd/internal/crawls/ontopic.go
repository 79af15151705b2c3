package crawls

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"forager/cmd/internal/cli"
	"forager/internal/measure/harvest"
	"forager/internal/operate"
	"forager/internal/platform/analytics"
	"forager/internal/platform/objects"
	"forager/internal/platform/pipeline"
	"forager/internal/platform/samples"
	"forager/schemas"
)

// JudgedBy describes the critic that a crawl's harvest and loss are computed with, and how it was validated;
// empty for a crawl that only fetches.
func JudgedBy(b *cli.Topics, crawl string) string {
	ctl, err := b.Control(crawl)
	if err != nil || ctl.GetCritic() == "" {
		return ""
	}
	m, err := b.Critic(ctl.GetCritic())
	if err != nil {
		return fmt.Sprintf("critic %s", ctl.GetCritic())
	}
	return CriticOrigin(m.GetVersion(), m.GetMeasures())
}

// CriticOrigin describes a critic by the measures in its announcement.
func CriticOrigin(version string, measures map[string]float64) string {
	if n := measures["liked"]; n > 0 {
		if drawn := measures["drawn"]; drawn > 0 {
			return fmt.Sprintf("critic %s, learned from %.0f pages on topic and %.0f off topic, and calibrated on %.0f of them that were drawn at random and marked", version, n, measures["wrong"], drawn)
		}
		origin := fmt.Sprintf("critic %s, learned from %.0f pages on topic and %.0f that were marked as off topic; it recognises %.0f %% of the liked pages when they are held out, "+
			"and its false positives are not measured: harvest is its own estimate and can be far too high, above all on a site with one template", version, n, measures["wrong"], 100*measures["recall"])
		if similar := Resemblance(mostOn(measures)); similar != "" {
			origin += "; " + similar
		}
		return origin
	}
	if a, ok := measures["accuracy"]; ok {
		return fmt.Sprintf("critic %s, trained on examples with topics; accuracy %.3f on examples that were held out", version, a)
	}
	return fmt.Sprintf("critic %s; how often it is right was not measured", version)
}

// mostOn returns the largest share of the background that may be on topic. Critics of earlier versions have it as their prior.
func mostOn(measures map[string]float64) float64 {
	if most, ok := measures["prior_most"]; ok {
		return most
	}
	return measures["prior"]
}

// mostSimilar is the share of the background that may be on topic above which it counts as similar to the likes. A third of the
// pages around likes may well be on topic.
const mostSimilar = .5

// Resemblance is a warning that the background is similar to the likes; empty if it is not.
func Resemblance(most float64) string {
	if most < mostSimilar {
		return ""
	}
	return fmt.Sprintf("up to %.0f %% of the background may be on topic, too, by its words: it resembles the likes, as pages of one template do, and the critic hardly distinguishes them", 100*most)
}

// OnTopic estimates how many pages of a crawl are on topic, independently of its critic.
type OnTopic struct {
	harvest.Share
	// From is the basis of the estimate: "marks" of pages drawn at random, or "likes", the liked pages and the
	// background that were held out when the critic was trained. The latter is an upper limit.
	From string `json:"from"`
	// Pages of the crawl that it is about, and the drawn pages of these that were Marked.
	Pages  int `json:"pages"`
	Marked int `json:"marked"`
	// Later is the number of pages that were fetched after the last draw: it is not about these.
	Later int `json:"later"`
	// Calibrated is the number of drawn pages that the newest version of the critic was calibrated on.
	Calibrated int `json:"calibrated"`
	// Retrain is the command that trains the critic with the marks.
	Retrain string `json:"retrain,omitempty"`
}

// Estimate estimates how many of a crawl's pages are on topic; nil if there are neither marks of drawn pages nor likes.
func Estimate(ctx context.Context, b *cli.Topics, cfg *pipeline.Config, db *analytics.DB, crawl string) (*OnTopic, error) {
	ctl, err := b.Control(crawl)
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
	all, err := db.Verdicts(ctx, crawl)
	if err != nil {
		return nil, err
	}
	m, err := b.Critic(ctl.GetCritic())
	if err != nil {
		m = nil // its announcement is gone
	}
	marks = slices.DeleteFunc(marks, func(m samples.Mark) bool { return !m.Drawn || m.Crawl != crawl })
	if len(marks) == 0 {
		return byLikes(all, func(critic string) map[string]float64 {
			older, err := b.Critic(critic)
			if err != nil {
				older = m
			}
			return older.GetMeasures()
		}), nil
	}
	draws, err := samples.Draws(ctx, store, schemas.ModelName(ctl.GetCritic()))
	if err != nil {
		return nil, err
	}
	x, err := byMarks(ctx, db, crawl, marks, samples.Population(marks, draws), all)
	if err == nil {
		name := schemas.ModelName(ctl.GetCritic())
		if newest, err := b.Critic(name); err == nil {
			x.Calibrated = int(newest.GetMeasures()["drawn"])
		}
		x.Retrain = RetrainCommand(b, name, m.GetMeasures()["liked"] > 0, crawl)
	}
	return x, err
}

// byMarks is the estimate from marks of pages drawn from both verdicts. It is about the pages that the crawl had when they were drawn;
// those it fetched later are others, often worse. Without a draw, which earlier versions did not store, it is about all.
func byMarks(ctx context.Context, db *analytics.DB, crawl string, marks []samples.Mark, draw *samples.Draw, all []analytics.Verdicts) (*OnTopic, error) {
	right, urls, last := make(map[string]bool), []string{}, int64(0)
	for _, m := range marks {
		right[m.URL] = m.Right
		urls, last = append(urls, m.URL), max(last, m.At.UnixMilli())
	}
	x := &OnTopic{From: "marks"}
	var strata [2]harvest.Stratum
	for _, v := range all {
		strata[at(v.OnTopic)].Pages += v.Pages
	}
	if draw != nil {
		strata[0].Pages, strata[1].Pages, last = draw.Off.Pages, draw.On.Pages, draw.At.UnixMilli()
	}
	x.Pages = strata[0].Pages + strata[1].Pages
	err := db.VerdictsOn(ctx, crawl, urls, func(url string, onTopic bool) {
		s := &strata[at(onTopic)]
		s.Drawn++
		x.Marked++
		if right[url] {
			s.On++
		}
	})
	if err == nil {
		x.Later, err = db.FetchedAfter(ctx, crawl, last)
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
func byLikes(all []analytics.Verdicts, measures func(critic string) map[string]float64) *OnTopic {
	judged := make(map[string]*harvest.Counted)
	x := &OnTopic{From: "likes"}
	for _, v := range all {
		if judged[v.Critic] == nil {
			judged[v.Critic] = new(harvest.Counted)
		}
		judged[v.Critic].Pages += float64(v.Pages)
		if v.OnTopic {
			judged[v.Critic].Taken += float64(v.Pages)
		}
		x.Pages += v.Pages
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
		on := mostOn(m)
		off := (1 - on) * m["background"]
		clean := harvest.Counted{Pages: off, Taken: min(off, max(0, m["background"]*(taken-on*m["recall"])))}
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

// stale is the number of pages fetched after the last draw / those before it, above which the marks are outdated.
const stale = .1

// RetrainCommand returns the command that trains a critic again with what was marked; crawl may be empty.
func RetrainCommand(b *cli.Topics, critic string, liked bool, crawl string) string {
	switch {
	case !liked:
		return fmt.Sprintf("forager critic train EXAMPLES --name %s --marks", critic)
	case crawl == "" || operate.Ended(b.Status(crawl)):
		return "forager critic retrain " + critic
	}
	return fmt.Sprintf("forager critic retrain %s --crawl %s --use", critic, crawl)
}

// outdated reports whether many pages were fetched after the last draw.
func (x *OnTopic) outdated() bool { return float64(x.Later) > stale*float64(x.Pages) }

// Text prints the estimate.
func (x *OnTopic) Text(w io.Writer) {
	percent := func(p float64) float64 { return 100 * p }
	switch {
	case x == nil:
		fmt.Fprintf(w, "how many pages are on topic is the critic's own opinion; nothing else is known of it\n")
	case x.From == "marks":
		fmt.Fprintf(w, "on topic: %.0f %% of %d pages (95 %% interval %.0f to %.0f %%), by %d pages that were drawn at random and marked\n",
			percent(x.Share.Share), x.Pages, percent(x.Low), percent(x.High), x.Marked)
		if x.outdated() {
			fmt.Fprintf(w, "%d further pages were fetched since; how many of them are on topic is not known\n", x.Later)
		}
	default:
		fmt.Fprintf(w, "on topic: at most %.0f %% of %d pages or so (95 %% interval %.0f to %.0f %%), by likes and background that were held out; "+
			"a crawl visits pages that its critic mistakes, so there may be far fewer\n", percent(x.Share.Share), x.Pages, percent(x.Low), percent(x.High))
	}
}

// Short is the estimate in a column: a share, or an upper limit.
func (x *OnTopic) Short() string {
	switch {
	case x == nil:
		return "-"
	case x.From == "marks":
		return fmt.Sprintf("%.0f%% (%.0f-%.0f)", 100*x.Share.Share, 100*x.Low, 100*x.High)
	}
	return fmt.Sprintf("<=%.0f%%", 100*x.Share.Share)
}

// Next returns what brings harvest and the share of pages on topic closer together; empty if they agree.
func (x *Summary) Next() string {
	t := x.OnTopic
	switch {
	case t == nil || t.From != "marks":
		return fmt.Sprintf("for a random sample:  forager critic mark %s --ask 20", x.Crawl)
	case t.outdated():
		return fmt.Sprintf("ask about the later pages, too:  forager critic mark %s --ask 20", x.Crawl)
	case x.Harvest >= t.Low && x.Harvest <= t.High:
		return ""
	case t.Calibrated < t.Marked:
		return "harvest is outside the interval; train the critic with the marks:  " + t.Retrain
	}
	return fmt.Sprintf("harvest is outside the interval, as part of the pages was judged before the critic was trained with the marks:  forager report %s", x.Crawl)
}

// PrintHarvest prints the estimate of pages on topic that is independent of the critic, the harvest with its origin, and the next step.
func (x *Summary) PrintHarvest(w io.Writer) {
	if x.JudgedBy == "" {
		return
	}
	x.OnTopic.Text(w)
	fmt.Fprintf(w, "harvest %.3f, loss %.3f: by %s\n", x.Harvest, x.Loss, x.JudgedBy)
	if next := x.Next(); next != "" {
		fmt.Fprintln(w, next)
	}
}

// Judge fills in what is known of the harvest of a crawl that has ended. Without ClickHouse that is only the critic.
func (x *Summary) Judge(s *cli.Session, cfg *pipeline.Config, b *cli.Topics) {
	if x.JudgedBy = JudgedBy(b, x.Crawl); x.JudgedBy == "" {
		return
	}
	db, err := s.OpenAnalytics(cfg)
	if err == nil {
		if err = operate.Loaded(s, b, time.Minute); err == nil {
			x.OnTopic, err = Estimate(s, b, cfg, db, x.Crawl)
		}
	}
	if err != nil {
		fmt.Fprintf(s.Stderr, "how many pages are on topic could not be estimated: %v\n", err)
	}
}
