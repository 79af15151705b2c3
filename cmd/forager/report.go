package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"forager/internal/crawl/crawlfile"
	"forager/internal/measure/harvest"
	"forager/internal/platform/analytics"
	"forager/internal/platform/pipeline"
	"forager/schemas"
)

type reportCommand struct {
	Crawl string `arg:"" help:"Name of the crawl."`
}

func (c *reportCommand) Help() string {
	return `Harvest and loss over the crawl, how the arms of a mixture do, outcomes, what the apprentice learned, the latency of the loop, and where
the data is. Pages come from ClickHouse, the state from prioritize.`
}

// crawlReport is the result of report.
type crawlReport struct {
	standing
	Critic   string             `json:"critic"`
	Focus    []string           `json:"focus"`
	Weights  map[string]float64 `json:"weights,omitempty"`
	Bad      []string           `json:"bad,omitempty"`
	Ranker   string             `json:"ranker"`
	Policies []string           `json:"policies"`
	// Arms are the policies of a mixture.
	Arms []armReport `json:"arms,omitempty"`
	// Notes are sentences on the effects of the crawl's settings.
	Notes  []string `json:"notes,omitempty"`
	Budget struct {
		Pages    uint64 `json:"pages"`
		Requests uint64 `json:"requests"`
	} `json:"budget"`
	Started time.Time `json:"started"`
	// Curve has one point for each tenth of the delivered pages.
	Curve   []curvePoint `json:"curve"`
	Latency struct {
		P50 uint32 `json:"p50_ms"`
		P95 uint32 `json:"p95_ms"`
	} `json:"latency"`
	Window     uint32         `json:"window"`
	Models     []modelReport  `json:"models"`
	Prediction []quartile     `json:"prediction"`
	Judged     []judgedBy     `json:"judged"`
	Silent     []silentAbout  `json:"silent,omitempty"`
	Shadows    []shadowReport `json:"shadows"`
	// raising are the policies that boost what hubs link to.
	raising []string
	// Hubs is the newest ranking of the distiller; nil if there is none.
	Hubs  *hubsReport `json:"hubs,omitempty"`
	Hosts uint64      `json:"hosts"`
	Data  dataReport  `json:"data"`
	// Rankers are the shadows of rankers.
	Rankers []rankerReport `json:"ranker_shadows"`
	// Behind is the number of records that ClickHouse has not received yet.
	Behind int64           `json:"clickhouse_behind"`
	Spans  map[string]span `json:"topics"`
}

// curvePoint is a crawl after a number of pages delivered.
type curvePoint struct {
	Pages int `json:"pages"`
	// Harvest and Loss over all pages so far, the others over the last 100, 200 and 1,000.
	Harvest    float64 `json:"harvest"`
	Loss       float64 `json:"loss"`
	Recent     float64 `json:"harvest_last_100"`
	Recent200  float64 `json:"harvest_last_200"`
	Recent1000 float64 `json:"harvest_last_1000"`
}

type modelReport struct {
	Version string  `json:"version"`
	Pages   uint64  `json:"pages"`
	Leaps   uint64  `json:"leaps"`
	Cut     float64 `json:"cut"`
}

// armReport is the result of one policy of a mixture.
type armReport struct {
	Policy string `json:"policy"`
	// Chosen requests, and the pages delivered of these with their mean R (calibrated).
	Chosen uint64  `json:"chosen"`
	Pages  uint64  `json:"pages"`
	Mean   float64 `json:"mean_relevance"`
	// Expected is the mean predicted for the next page, mostly from its last hundred.
	Expected float64 `json:"expected_relevance"`
}

// armsOf are the arms of a crawl's status.
func armsOf(st *schemas.CrawlStatus) (arms []armReport) {
	for _, a := range st.GetArms() {
		x := armReport{Policy: a.GetPolicy(), Chosen: a.GetChosen(), Pages: a.GetCredited(), Expected: a.GetAlpha() / (a.GetAlpha() + a.GetBeta())}
		if x.Pages > 0 {
			x.Mean = a.GetReward() / float64(x.Pages)
		}
		arms = append(arms, x)
	}
	return arms
}

// quartile is a quarter of the pages by their predicted score.
type quartile struct {
	Policy  string  `json:"policy"`
	Quarter uint64  `json:"quarter"` // 1 = lowest scores
	Pages   uint64  `json:"pages"`
	Score   float64 `json:"mean_score"`
	Harvest float64 `json:"harvest"`
}

type dataReport struct {
	Bucket   string            `json:"bucket"`
	Segments int               `json:"segments"`
	Bytes    uint64            `json:"bytes"`
	Rows     map[string]uint64 `json:"clickhouse_rows"`
}

// span is the position of a crawl's records in a topic.
type span struct {
	Records uint64           `json:"records"`
	First   map[uint32]int64 `json:"first_offset"`
	Last    map[uint32]int64 `json:"last_offset"`
}

func (c *reportCommand) Run(s *session) error {
	cfg, b, err := s.openBooks()
	if err != nil {
		return err
	}
	defer b.close()
	r, err := makeReport(s, cfg, b, c.Crawl)
	if err != nil {
		return err
	}
	return s.print(r, func(w io.Writer) { printReport(w, r) })
}

func makeReport(ctx context.Context, cfg *pipeline.Config, b *books, crawl string) (*crawlReport, error) {
	ctl, err := b.control(crawl)
	if err != nil {
		return nil, err
	}
	st := b.status(crawl)
	r := &crawlReport{
		standing: stand(crawl, st), Critic: ctl.GetCritic(), Focus: ctl.GetFocus(), Weights: ctl.GetWeights(), Bad: ctl.GetBad(),
		Started: time.UnixMilli(ctl.GetCreatedAt()), Window: st.GetWindow(), Spans: make(map[string]span),
		Data: dataReport{Bucket: cfg.S3.Endpoint + "/" + cfg.S3.Bucket},
	}
	r.Budget.Pages, r.Budget.Requests = ctl.GetBudget().GetPages(), ctl.GetBudget().GetRequests()
	r.Latency.P50, r.Latency.P95 = st.GetLatencyP50Ms(), st.GetLatencyP95Ms()
	r.Ranker, r.Arms = crawlfile.NameOf(ctl), armsOf(st)
	for _, p := range ctl.GetPolicies() {
		r.Policies = append(r.Policies, p.GetName())
		if p.GetRaise() {
			r.raising = append(r.raising, p.GetName())
		}
	}
	parked, err := parkedNotes(ctx, b.client, crawl)
	if err != nil {
		return nil, err
	}
	r.Notes = append(shardNotes(ctl), parked...)
	for topic, sp := range st.GetSpans() {
		r.Spans[topic] = span{sp.GetCount(), sp.GetFirst(), sp.GetLast()}
	}
	db, err := analytics.Open(cfg.ClickHouse)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if r.JudgedBy = b.judgedBy(crawl); r.JudgedBy != "" {
		if r.OnTopic, err = b.estimate(ctx, cfg, db, crawl); err != nil {
			return nil, err
		}
	}
	pages, err := deliveredPages(ctx, db, crawl)
	if err != nil {
		return nil, err
	}
	r.Curve = curve(pages)
	if r.Behind, err = b.client.Lag(ctx, "load-clickhouse", stageInputs["load-clickhouse"]...); err != nil {
		return nil, err
	}
	return r, r.ask(ctx, db, crawl)
}

// deliveredPage is a page in the order in which the shard applied it; pages of several shards are ordered by
// the time stamps of their verdicts.
type deliveredPage struct {
	url       string
	relevance float64
}

func deliveredPages(ctx context.Context, db *analytics.DB, crawl string) ([]deliveredPage, error) {
	var pages []deliveredPage
	err := db.Each(ctx, `WITH (SELECT max(shard) FROM pages WHERE crawl = {crawl:String}) AS last_shard
		SELECT url, relevance FROM pages WHERE crawl = {crawl:String} AND outcome = 'delivered'
		ORDER BY if(last_shard = 0, 0, toUnixTimestamp64Milli(applied_at)), shard, applied`,
		analytics.Params{"crawl": crawl}, func(row []any) error {
			pages = append(pages, deliveredPage{row[0].(string), row[1].(float64)})
			return nil
		})
	return pages, err
}

func curve(pages []deliveredPage) []curvePoint {
	relevance := make([]float64, len(pages))
	for i, p := range pages {
		relevance[i] = p.relevance
	}
	recent, recent200, recent1000 := harvest.MovingAverage(relevance, 100), harvest.MovingAverage(relevance, 200), harvest.MovingAverage(relevance, 1000)
	var points []curvePoint
	sum := 0.0
	for i, r := range relevance {
		sum += r
		n := i + 1
		if n*10/len(pages) > i*10/len(pages) {
			h := sum / float64(n)
			points = append(points, curvePoint{Pages: n, Harvest: h, Loss: 1 - h, Recent: recent[i], Recent200: recent200[i], Recent1000: recent1000[i]})
		}
	}
	return points
}

// ask fills in the results of ClickHouse.
func (r *crawlReport) ask(ctx context.Context, db *analytics.DB, crawl string) error {
	p := analytics.Params{"crawl": crawl}
	err := db.Each(ctx, "SELECT model, pages, leaps, measures['cut'] FROM models WHERE crawl = {crawl:String} AND kind = 'apprentice' ORDER BY pages", p,
		func(row []any) error {
			r.Models = append(r.Models, modelReport{row[0].(string), row[1].(uint64), row[2].(uint64), row[3].(float64)})
			return nil
		})
	if err != nil {
		return err
	}
	err = db.Each(ctx, `SELECT policy, toUInt64(quarter), count(), avg(score), avg(relevance) FROM
		(SELECT policy, score, relevance, ntile(4) OVER (PARTITION BY policy ORDER BY score, applied ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS quarter
		 FROM pages WHERE crawl = {crawl:String} AND outcome = 'delivered')
		GROUP BY policy, quarter ORDER BY policy, quarter`, p, func(row []any) error {
		r.Prediction = append(r.Prediction, quartile{row[0].(string), row[1].(uint64), row[2].(uint64), row[3].(float64), row[4].(float64)})
		return nil
	})
	if err != nil {
		return err
	}
	if err := r.askJudges(ctx, db, p); err != nil {
		return err
	}
	if err := r.askHubs(ctx, db, p); err != nil {
		return err
	}
	if err := r.askRankers(ctx, db, p); err != nil {
		return err
	}
	err = db.Each(ctx, "SELECT uniqExact(host), uniqExactIf(object, object != ''), sum(object_length) FROM pages WHERE crawl = {crawl:String}", p,
		func(row []any) error {
			r.Hosts, r.Data.Segments, r.Data.Bytes = row[0].(uint64), int(row[1].(uint64)), row[2].(uint64)
			return nil
		})
	if err != nil {
		return err
	}
	r.Data.Rows = make(map[string]uint64)
	for _, view := range []string{"requests", "fetches", "judgements", "verdicts", "links", "leaps", "models"} {
		err := db.Each(ctx, "SELECT count() FROM "+view+" WHERE crawl = {crawl:String}", p, func(row []any) error {
			r.Data.Rows[view] = row[0].(uint64)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func printReport(w io.Writer, r *crawlReport) {
	fmt.Fprintf(w, "%s  %s", r.Crawl, r.State)
	if why := r.why(); why != "" {
		fmt.Fprintf(w, ": %s", why)
	}
	fmt.Fprintf(w, "\nfocus %s, critic %s, ranker %s, started %s\n", focusLine(r.Focus, r.Weights, r.Bad), r.Critic,
		r.Ranker, r.Started.Format(time.RFC3339))
	for _, note := range r.Notes {
		fmt.Fprintf(w, "(%s)\n", note)
	}
	fmt.Fprintf(w, "\n%d pages, %d requests, %d hosts; harvest %.3f, loss %.3f\n", r.Pages, r.Requests, r.Hosts, r.Harvest, r.Loss)
	tellHarvest(w, r.Crawl, r.JudgedBy, r.OnTopic)
	if r.Behind > 0 {
		fmt.Fprintf(w, "(%d records are still on their way to ClickHouse: what follows is not up to date)\n", r.Behind)
	}
	if len(r.Curve) > 0 {
		fmt.Fprintf(w, "\n%8s %8s %8s %9s %9s %9s\n", "PAGES", "HARVEST", "LOSS", "LAST 1000", "LAST 200", "LAST 100")
		for _, p := range r.Curve {
			fmt.Fprintf(w, "%8d %8.3f %8.3f %9.3f %9.3f %9.3f  %s\n", p.Pages, p.Harvest, p.Loss, p.Recent1000, p.Recent200, p.Recent, bar(p.Recent))
		}
	}
	if len(r.Arms) > 0 {
		fmt.Fprintf(w, "\n%-22s %8s %8s %8s %9s\n", "ARM OF THE MIXTURE", "CHOSEN", "PAGES", "MEAN R", "EXPECTED")
		for _, a := range r.Arms {
			fmt.Fprintf(w, "%-22s %8d %8d %8.3f %9.3f  %s\n", a.Policy, a.Chosen, a.Pages, a.Mean, a.Expected, bar(a.Expected))
		}
	}
	printCounts(w, "OUTCOME", r.Outcomes)
	printCounts(w, "REFUSED LINKS", r.Refused)
	printJudges(w, r)
	printHubs(w, r.Hubs)
	if len(r.Models) > 0 {
		first, last := r.Models[0], r.Models[len(r.Models)-1]
		fmt.Fprintf(w, "\nlearning: %d models, the first after %d pages (%d leaps), the last after %d pages (%d leaps); R(v) ≥ %.3f is high\n",
			len(r.Models), first.Pages, first.Leaps, last.Pages, last.Leaps, last.Cut)
	}
	if len(r.Prediction) > 0 {
		fmt.Fprintf(w, "\n%-18s %8s %8s %8s %8s\n", "PREDICTED BY", "QUARTER", "PAGES", "SCORE", "HARVEST")
		for _, q := range r.Prediction {
			fmt.Fprintf(w, "%-18s %8d %8d %8.3f %8.3f\n", q.Policy, q.Quarter, q.Pages, q.Score, q.Harvest)
		}
	}
	printRankers(w, r)
	fmt.Fprintf(w, "\nloop: %d ms median, %d ms 95th percentile from dispatch to verdict; window %d\n", r.Latency.P50, r.Latency.P95, r.Window)
	fmt.Fprintf(w, "data: %d segments, %s in %s\n", r.Data.Segments, size(r.Data.Bytes), r.Data.Bucket)
	for _, view := range slices.Sorted(maps.Keys(r.Data.Rows)) {
		fmt.Fprintf(w, "      %8d rows of %s in ClickHouse\n", r.Data.Rows[view], view)
	}
	for _, topic := range slices.Sorted(maps.Keys(r.Spans)) {
		fmt.Fprintf(w, "      %8d records in topic %s\n", r.Spans[topic].Records, topic)
	}
}

func printCounts(w io.Writer, head string, counts map[string]uint64) {
	if len(counts) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%-22s %8s\n", head, "COUNT")
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if counts[a] != counts[b] {
			return int(int64(counts[b]) - int64(counts[a]))
		}
		return strings.Compare(a, b)
	})
	for _, n := range names {
		fmt.Fprintf(w, "%-22s %8d\n", n, counts[n])
	}
}

// bar draws a share in [0,1].
func bar(share float64) string { return strings.Repeat("█", int(math.Round(share*40))) }

// size formats a number of bytes.
func size(n uint64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}

// judge adds the measures from ClickHouse and from the ground truth to a run.
func (d *demo) judge(run *demoRun) error {
	db, err := analytics.Open(d.config.ClickHouse)
	if err != nil {
		return err
	}
	defer db.Close()
	pages, err := deliveredPages(d.s, db, run.Crawl)
	if err != nil {
		return err
	}
	if uint64(len(pages)) != run.Pages {
		return fmt.Errorf("ClickHouse has %d delivered pages of %s, prioritize counted %d", len(pages), run.Crawl, run.Pages)
	}
	truth, loss := 0, 0.0
	for i, p := range pages {
		if d.ground.truth(p.url) {
			truth++
		}
		loss += 1 - p.relevance
		for _, percent := range []int{25, 50, 100} {
			if i+1 == len(pages)*percent/100 {
				run.LossAt[fmt.Sprint(percent)] = loss / float64(i+1)
			}
		}
	}
	if len(pages) > 0 {
		run.HarvestTruth = float64(truth) / float64(len(pages))
	}
	return nil
}

// printDemo prints both runs next to one another.
func printDemo(w io.Writer, r *demoReport, c *demoCommand) {
	fmt.Fprintf(w, "%s, topic %s\n\n%-34s", r.Web, r.Topic, "")
	for _, x := range r.Runs {
		fmt.Fprintf(w, " %12s", x.Ranker)
	}
	row := func(name string, f func(demoRun) string) {
		fmt.Fprintf(w, "\n%-34s", name)
		for _, x := range r.Runs {
			fmt.Fprintf(w, " %12s", f(x))
		}
	}
	row("pages delivered", func(x demoRun) string { return fmt.Sprint(x.Pages) })
	row("requests charged", func(x demoRun) string { return fmt.Sprint(x.Requests) })
	row("pages/s", func(x demoRun) string { return fmt.Sprintf("%.0f", x.PagesPerSecond) })
	row("harvest rate (critic)", func(x demoRun) string { return fmt.Sprintf("%.3f", x.Harvest) })
	row("harvest rate (truth)", func(x demoRun) string { return fmt.Sprintf("%.3f", x.HarvestTruth) })
	for _, at := range []string{"25", "50", "100"} {
		row("loss rate at "+at+" % of the budget", func(x demoRun) string { return fmt.Sprintf("%.3f", x.LossAt[at]) })
	}
	row("leaps learned from", func(x demoRun) string { return fmt.Sprint(x.Trained) })
	row("loop, median ms", func(x demoRun) string { return fmt.Sprint(x.LatencyMS) })
	for _, stage := range append(slices.Clone(stageNames), "local") {
		row("CPU ms a page, "+stage, func(x demoRun) string { return fmt.Sprintf("%.2f", x.CPUMSPerPage[stage]) })
	}
	row("ended", func(x demoRun) string { return strings.TrimSuffix(x.EndReason, " spent") })
	fmt.Fprintln(w)
	if len(r.Runs) == 2 {
		if cut, ok := harvest.LossCut(r.Runs[1].Loss, r.Runs[0].Loss); ok {
			fmt.Fprintf(w, "\nloss cut of the %s over %s: %.0f %%\n", r.Runs[1].Ranker, r.Runs[0].Ranker, 100*cut)
		}
	}
	fmt.Fprintln(w)
	for _, x := range r.Verify.Crawls {
		if x.OK {
			fmt.Fprintf(w, "verify %-12s everything agrees\n", x.Crawl)
		} else {
			printAudit(w, x)
		}
	}
	config := c.Out + "/pipeline.yaml"
	fmt.Fprintf(w, "\nTry next (forager is in %s):\n", "build/bin")
	fmt.Fprintf(w, "  forager up --config %s                     # start it all again on the demo's data\n", config)
	fmt.Fprintf(w, "  forager report apprentice --config %s      # curves, outcomes, what was learned\n", config)
	fmt.Fprintf(w, "  forager query --config %s --list           # questions to ask ClickHouse\n", config)
	fmt.Fprintf(w, "  README.md: crawl your own topic on the live web\n")
}

// crawls returns the names of all crawls, sorted.
func (b *books) crawls() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.controls))
}

// apprentice returns the newest apprentice model that a crawl itself made, nil without one.
func (b *books) apprentice(crawl string) *schemas.ModelPublished {
	b.mu.Lock()
	defer b.mu.Unlock()
	var newest *schemas.ModelPublished
	for _, m := range b.models {
		if m.GetKind() == "apprentice" && m.GetCrawl() == crawl && !m.GetRetrained() && (newest == nil || m.GetPages() > newest.GetPages()) {
			newest = m
		}
	}
	return newest
}
