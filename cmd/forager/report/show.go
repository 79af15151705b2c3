package report

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"forager/cmd/forager/deploy"
	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/internal/crawl/crawlfile"
	"forager/internal/operate"
	"forager/internal/platform/analytics"
	"forager/internal/platform/pipeline"
	"forager/schemas"
)

// ShowCommand is the command "forager report [show]".
type ShowCommand struct {
	Crawl string `arg:"" help:"Name of the crawl."`
}

func (c *ShowCommand) Help() string {
	return `Harvest and loss over the crawl, how the arms of a mixture do, outcomes, outages, what the apprentice learned, the latency of the loop, and
where the data is. Pages come from ClickHouse, the state from prioritize.`
}

// CrawlReport is the result of report.
type CrawlReport struct {
	crawls.Summary
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
	Curve []curvePoint `json:"curve"`
	// fine has more points.
	fine    []curvePoint
	Latency struct {
		P50 uint32 `json:"p50_ms"`
		P95 uint32 `json:"p95_ms"`
	} `json:"latency"`
	Window     uint32                   `json:"window"`
	Models     []analytics.Apprentice   `json:"models"`
	Prediction []analytics.Quartile     `json:"prediction"`
	Judged     []analytics.JudgedBy     `json:"judged"`
	Silent     []analytics.Silent       `json:"silent,omitempty"`
	Shadows    []analytics.ShadowCritic `json:"shadows"`
	// raising are the policies that boost what hubs link to.
	raising []string
	// Hubs is the newest ranking of the distiller; nil if there is none.
	Hubs  *HubsReport `json:"hubs,omitempty"`
	Hosts uint64      `json:"hosts"`
	Data  dataReport  `json:"data"`
	// Rankers are the shadows of rankers.
	Rankers []rankerReport `json:"ranker_shadows"`
	// Outages of the network in the order in which they began.
	Outages []analytics.Outage `json:"outages"`
	// Behind is the number of records that ClickHouse has not received yet.
	Behind int64           `json:"clickhouse_behind"`
	Spans  map[string]span `json:"topics"`
}

// curvePoint is a crawl after a number of pages delivered.
type curvePoint struct {
	Pages uint64 `json:"pages"`
	// Requests with a verdict, and pages with R of at least one half.
	Requests uint64 `json:"requests"`
	Targets  uint64 `json:"targets"`
	// Harvest and Loss over all pages so far, the others over the last 100, 200 and 1,000.
	Harvest    float64 `json:"harvest"`
	Loss       float64 `json:"loss"`
	Recent     float64 `json:"harvest_last_100"`
	Recent200  float64 `json:"harvest_last_200"`
	Recent1000 float64 `json:"harvest_last_1000"`
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

func (c *ShowCommand) Run(s *cli.Session) error {
	cfg, b, err := s.OpenTopics()
	if err != nil {
		return err
	}
	defer b.Close()
	r, err := makeReport(s, cfg, b, c.Crawl)
	if err != nil {
		return err
	}
	return s.Print(r, func(w io.Writer) { printReport(w, r) })
}

func makeReport(ctx context.Context, cfg *pipeline.Config, b *cli.Topics, crawl string) (*CrawlReport, error) {
	ctl, err := b.Control(crawl)
	if err != nil {
		return nil, err
	}
	st := b.Status(crawl)
	r := &CrawlReport{
		Summary: crawls.Summarize(crawl, st, crawls.LookAt(ctx, b)), Critic: ctl.GetCritic(), Focus: ctl.GetFocus(), Weights: ctl.GetWeights(), Bad: ctl.GetBad(),
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
	parked, err := deploy.ParkedNotes(ctx, b.Client, crawl)
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
	if r.JudgedBy = crawls.JudgedBy(b, crawl); r.JudgedBy != "" {
		if r.OnTopic, err = crawls.Estimate(ctx, b, cfg, db, crawl); err != nil {
			return nil, err
		}
	}
	rows := db.Report(crawl)
	points, err := rows.Curve(ctx, curvePoints)
	if err != nil {
		return nil, err
	}
	r.fine = curve(points)
	r.Curve = tenths(r.fine)
	if r.Behind, err = b.Client.Lag(ctx, "load-clickhouse", cli.StageInputs["load-clickhouse"]...); err != nil {
		return nil, err
	}
	return r, r.ask(ctx, rows)
}

// curvePoints is the number of points of a curve in a figure, a multiple of the ten in a report.
const curvePoints = 200

func curve(points []analytics.CurvePoint) (all []curvePoint) {
	for _, p := range points {
		h := p.Relevance / float64(p.Pages)
		all = append(all, curvePoint{
			Pages: p.Pages, Requests: p.Requests, Targets: p.Targets, Harvest: h, Loss: 1 - h,
			Recent: p.Last100, Recent200: p.Last200, Recent1000: p.Last1000,
		})
	}
	return all
}

// tenths returns the points at each tenth of the pages.
func tenths(all []curvePoint) (points []curvePoint) {
	for _, p := range all {
		if total := all[len(all)-1].Pages; p.Pages*10/total > (p.Pages-1)*10/total {
			points = append(points, p)
		}
	}
	return points
}

// ask fills in the results of ClickHouse.
func (r *CrawlReport) ask(ctx context.Context, rows analytics.Report) (err error) {
	if r.Models, err = rows.Apprentices(ctx); err != nil {
		return err
	}
	if r.Prediction, err = rows.Quartiles(ctx); err != nil {
		return err
	}
	if r.Judged, err = rows.JudgedBy(ctx); err != nil {
		return err
	}
	if r.Silent, err = rows.Silent(ctx); err != nil {
		return err
	}
	if r.Shadows, err = rows.ShadowCritics(ctx, r.cut()); err != nil {
		return err
	}
	if err := r.askHubs(ctx, rows); err != nil {
		return err
	}
	if err := r.askRankers(ctx, rows); err != nil {
		return err
	}
	outages, err := rows.Outages(ctx)
	if err != nil {
		return err
	}
	r.Outages = mergeOutages(outages)
	hosts, segments, bytes, err := rows.Stored(ctx)
	if err != nil {
		return err
	}
	r.Hosts, r.Data.Segments, r.Data.Bytes = hosts, int(segments), bytes
	r.Data.Rows, err = rows.RowCounts(ctx)
	return err
}

func printReport(w io.Writer, r *CrawlReport) {
	fmt.Fprintf(w, "%s  %s", r.Crawl, r.State)
	if why := r.Why(); why != "" {
		fmt.Fprintf(w, ": %s", why)
	}
	fmt.Fprintf(w, "\nfocus %s, critic %s, ranker %s, started %s\n", operate.FocusLine(r.Focus, r.Weights, r.Bad), r.Critic,
		r.Ranker, r.Started.Format(time.RFC3339))
	for _, note := range r.Notes {
		fmt.Fprintf(w, "(%s)\n", note)
	}
	fmt.Fprintf(w, "\n%d pages, %d requests, %d hosts; harvest %.3f, loss %.3f\n", r.Pages, r.Requests, r.Hosts, r.Harvest, r.Loss)
	crawls.PrintHarvest(w, r.Crawl, r.JudgedBy, r.OnTopic)
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
	printOutages(w, r.Outages)
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
	fmt.Fprintf(w, "data: %d segments, %s in %s\n", r.Data.Segments, cli.Size(r.Data.Bytes), r.Data.Bucket)
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
