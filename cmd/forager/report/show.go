package report

import (
	"bytes"
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"forager/cmd/forager/deploy"
	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/internal/crawl/crawlfile"
	"forager/internal/monitor/view"
	"forager/internal/platform/analytics"
	"forager/internal/platform/pipeline"
	"forager/schemas"
)

// ShowCommand is the command "forager report [show]".
type ShowCommand struct {
	Crawls  []string `arg:"" name:"crawl" help:"Names of crawls; several are put side by side."`
	HTML    string   `name:"html" placeholder:"FILE" help:"Write figures and tables as one HTML file, which needs no other one."`
	Figures string   `placeholder:"FOLDER" help:"Write each figure as SVG and CSV into this folder."`
}

func (c *ShowCommand) Help() string {
	return `Harvest and loss over the crawl, how the arms of a mixture do, outcomes, outages, what the apprentice learned, the latency of the loop, and
where the data is. Pages come from ClickHouse, the state from prioritize. Of several crawls the report has a column each, and the pages that
they share.

  forager report chemistry physics --html report.html --figures figures`
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
	Curve []CurvePoint `json:"curve"`
	// fine has more points, more what only a page shows.
	fine    []CurvePoint
	more    pageRows
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
	// Rejudged are the series of forager rejudge.
	Rejudged []analytics.Rejudged `json:"rejudged,omitempty"`
	// raising are the policies that boost what hubs link to.
	raising []string
	// Hubs is the newest ranking of the distiller; nil if there is none.
	Hubs  *HubsReport `json:"hubs,omitempty"`
	Hosts uint64      `json:"hosts"`
	Data  dataReport  `json:"data"`
	// Rankers are the shadows of rankers, over the newest shadowPages pages.
	Rankers []view.ShadowRanker `json:"ranker_shadows"`
	// Outages of the network in the order in which they began.
	Outages []analytics.Outage `json:"outages"`
	// Behind is the number of records that ClickHouse has not received yet.
	Behind int64           `json:"clickhouse_behind"`
	Spans  map[string]span `json:"topics"`
}

// CurvePoint is a crawl after a number of pages delivered.
type CurvePoint struct {
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
	cfg, b, db, err := s.OpenTables()
	if err != nil {
		return err
	}
	var all []*CrawlReport
	for i, name := range c.Crawls {
		if slices.Contains(c.Crawls[:i], name) {
			return cli.Usagef("the crawl %s is named twice", name)
		}
		r, err := makeReport(s, cfg, b, db, name)
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	var overlap []overlapRow
	if len(all) > 1 {
		shared, err := analytics.Overlap(s, db, c.Crawls)
		if err != nil {
			return err
		}
		overlap = overlapRows(c.Crawls, shared)
	}
	if err := c.draw(s, db, all, overlap); err != nil {
		return err
	}
	if len(all) == 1 {
		return s.Print(all[0], func(w io.Writer) { printReport(w, all[0]) })
	}
	several := crawlsReport{Crawls: all}
	for _, o := range overlap {
		several.Overlap = append(several.Overlap, o.Shares)
	}
	return s.Print(several, func(w io.Writer) { printCompared(w, all, overlap) })
}

// draw writes the files that the command asks for.
func (c *ShowCommand) draw(ctx context.Context, db *analytics.DB, all []*CrawlReport, overlap []overlapRow) error {
	if c.HTML == "" && c.Figures == "" {
		return nil
	}
	for _, r := range all {
		if err := r.askMore(ctx, db); err != nil {
			return err
		}
	}
	drawn := figures(all)
	if c.Figures != "" {
		if err := writeFigures(c.Figures, drawn); err != nil {
			return err
		}
	}
	if c.HTML == "" {
		return nil
	}
	page := crawlsPage{Title: "Report of " + strings.Join(c.Crawls, ", "), Made: time.Now(), Crawls: all, Figures: drawn, Overlap: overlap}
	var b bytes.Buffer
	if err := page.write(&b); err != nil {
		return err
	}
	return os.WriteFile(c.HTML, b.Bytes(), 0o644)
}

func makeReport(ctx context.Context, cfg *pipeline.Config, b *cli.Topics, db *analytics.DB, crawl string) (*CrawlReport, error) {
	ctl, err := b.Control(crawl)
	if err != nil {
		return nil, err
	}
	st := b.Status(crawl)
	r := &CrawlReport{
		Summary: crawls.Summarize(b, crawl, st, crawls.LookAt(ctx, b)), Critic: ctl.GetCritic(), Focus: ctl.GetFocus(), Weights: ctl.GetWeights(), Bad: ctl.GetBad(),
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

func curve(points []analytics.CurvePoint) (all []CurvePoint) {
	for _, p := range points {
		h := p.Relevance / float64(p.Pages)
		all = append(all, CurvePoint{
			Pages: p.Pages, Requests: p.Requests, Targets: p.Targets, Harvest: h, Loss: 1 - h,
			Recent: p.Last100, Recent200: p.Last200, Recent1000: p.Last1000,
		})
	}
	return all
}

// tenths returns the points at each tenth of the pages.
func tenths(all []CurvePoint) (points []CurvePoint) {
	for _, p := range all {
		if total := all[len(all)-1].Pages; p.Pages*10/total > (p.Pages-1)*10/total {
			points = append(points, p)
		}
	}
	return points
}

// shadowPages is the number of newest pages over which rankers for comparison are compared: the embedded ClickHouse holds a result in memory.
const shadowPages = 100_000

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
	if r.Rejudged, err = rows.Rejudged(ctx); err != nil {
		return err
	}
	if err := r.askHubs(ctx, rows); err != nil {
		return err
	}
	if r.Rankers, err = view.ShadowRankers(ctx, rows, r.cut(), shadowPages); err != nil {
		return err
	}
	outages, err := rows.Outages(ctx)
	if err != nil {
		return err
	}
	r.Outages = mergeOutages(outages)
	stored, err := rows.Stored(ctx)
	if err != nil {
		return err
	}
	r.Hosts, r.Data.Segments, r.Data.Bytes = stored.Hosts, int(stored.Segments), stored.Bytes
	r.Data.Rows, err = rows.RowCounts(ctx)
	return err
}
