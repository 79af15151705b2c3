package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"forager/internal/crawl/crawlfile"
	"forager/internal/measure/chart"
	"forager/internal/operate"
	"forager/internal/platform/analytics"
	"forager/schemas"
)

// Point is the harvest of a crawl at a number of delivered pages.
type Point struct {
	Pages    uint64    `json:"pages"`
	Requests uint64    `json:"requests"`
	At       time.Time `json:"at"`
	Harvest  float64   `json:"harvest" doc:"Mean R of the pages so far."`
	Last100  float64   `json:"last_100" doc:"Mean R of the last 100 pages."`
	Last1K   float64   `json:"last_1000" doc:"Mean R of the last 1,000 pages."`
	Queued   uint64    `json:"queued"`
}

// Times and sizes of questions to ClickHouse.
const (
	askWithin = 10 * time.Second
	maxRows   = 5000
)

// Ask bounds the questions of one request.
func Ask(ctx context.Context) context.Context { return analytics.Bounded(ctx, askWithin, maxRows) }

// Curve returns the harvest of a crawl over its delivered pages, at most some 300 points.
func (s *Source) Curve(ctx context.Context, crawl string) ([]Point, error) {
	all, err := s.DB.CrawlPoints(Ask(ctx), crawl)
	if err != nil {
		return nil, err
	}
	points := []Point{}
	step := max(1, len(all)/300)
	for i, at := range all {
		if i%step == 0 || i == len(all)-1 {
			points = append(points, Point{
				Pages: at.Pages, Requests: at.Requests, At: at.At, Harvest: at.Relevance / float64(at.Pages), Last100: Lately(all, i, 100), Last1K: Lately(all, i, 1000), Queued: at.Queued,
			})
		}
	}
	return points, nil
}

// RejudgedLines draws the harvest of a crawl by the judgements of other critics.
func RejudgedLines(series []analytics.Rejudged) (lines []chart.Line) {
	for _, x := range series {
		line := chart.Line{Name: Plain("by " + x.Critic + " for " + x.Focus), Dashed: true}
		for _, p := range x.Curve {
			line.X, line.Y = append(line.X, float64(p.Pages)), append(line.Y, p.Harvest)
		}
		lines = append(lines, line)
	}
	return lines
}

// Lately returns the mean R of the last n pages before a state; between two states R is taken to be constant.
func Lately(all []analytics.CrawlPoint, i int, n uint64) float64 {
	at := all[i]
	if at.Pages <= n {
		return at.Relevance / float64(at.Pages)
	}
	from := at.Pages - n
	k := sort.Search(i, func(k int) bool { return all[k].Pages >= from })
	var before analytics.CrawlPoint
	if k > 0 {
		before = all[k-1]
	}
	after := all[k]
	sum := before.Relevance + (after.Relevance-before.Relevance)*float64(from-before.Pages)/float64(max(after.Pages-before.Pages, 1))
	return (at.Relevance - sum) / float64(n)
}

// Turn is something that may have changed the course of a crawl: another model, or an operator's change.
type Turn struct {
	At       time.Time `json:"at"`
	Pages    uint64    `json:"pages" doc:"Delivered by then, as far as it is known."`
	Requests uint64    `json:"requests" doc:"Charged by then, as far as it is known."`
	Text     string    `json:"text"`
}

// mostTurns bounds the control records, and the models, that are turns; mostTurnText the text of one difference.
const mostTurns, mostTurnText = 100, 120

// Turns returns the turns of a crawl, in their order. Texts are of one line.
func (s *Source) Turns(ctx context.Context, crawl string, points []Point) ([]Turn, error) {
	models, err := s.DB.MadeModels(Ask(ctx), crawl, 0, mostTurns)
	if err != nil {
		return nil, err
	}
	revisions, err := s.DB.Report(crawl).Revisions(Ask(ctx), mostTurns)
	if err != nil {
		return nil, err
	}
	turns := []Turn{}
	for _, m := range models {
		if m.Kind == "apprentice" {
			_, requests := reached(points, m.Created)
			turns = append(turns, Turn{m.Created, m.Pages, requests, "model " + Plain(m.Version)})
		}
	}
	var before *schemas.CrawlControl
	for _, r := range revisions {
		ctl := new(schemas.CrawlControl)
		if err := protojson.Unmarshal([]byte(r.Control), ctl); err != nil {
			continue // of another version of the program
		}
		if text := turnOf(before, ctl); text != "" {
			pages, requests := reached(points, r.At)
			turns = append(turns, Turn{r.At, pages, requests, text})
		}
		before = ctl
	}
	slices.SortStableFunc(turns, func(a, b Turn) int { return a.At.Compare(b.At) })
	return turns, nil
}

// turnOf names what an operator changed between two control records; empty if nothing that is a setting or a state.
func turnOf(before, ctl *schemas.CrawlControl) string {
	if before == nil {
		return ""
	}
	var parts []string
	if state := operate.StateName(ctl); state != operate.StateName(before) {
		parts = append(parts, state)
	}
	for _, d := range crawlfile.Between(before, ctl) {
		parts = append(parts, fmt.Sprintf("%s: %s → %s", d.Setting, short(d.Before), short(d.After)))
	}
	if pinned := ctl.GetLearning().GetPinned(); pinned != before.GetLearning().GetPinned() {
		parts = append(parts, "model: "+short(cmp.Or(pinned, "the newest")))
	}
	return strings.Join(parts, "; ")
}

func short(value string) string {
	if value = Plain(cmp.Or(value, "none")); len(value) > mostTurnText {
		value = strings.ToValidUTF8(value[:mostTurnText], "") + "…"
	}
	return value
}

// reached are the numbers of pages and requests by a time.
func reached(points []Point, at time.Time) (pages, requests uint64) {
	for _, p := range points {
		if p.At.After(at) {
			break
		}
		pages, requests = p.Pages, p.Requests
	}
	return pages, requests
}
