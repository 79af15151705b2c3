package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"forager/internal/export"
	"forager/internal/frontier/why"
	"forager/internal/measure/chart"
	"forager/internal/monitor/api"
	"forager/internal/monitor/view"
	"forager/internal/operate"
	"forager/internal/platform/analytics"
	"forager/schemas"
	tables "forager/schemas/clickhouse"
)

//go:embed static
var static embed.FS

//go:embed page.html
var source string

var pages = template.Must(template.New("page").Funcs(template.FuncMap{
	"text": view.Plain, "join": strings.Join, "pageof": pageOf, "line": line,
	"ranked": func(name, crawl string, pages []analytics.RankedPage) map[string]any {
		return map[string]any{"Name": name, "Crawl": crawl, "Pages": pages}
	},
	"queued": func(name, crawl string, urls []why.QueuedURL) map[string]any {
		return map[string]any{"Name": name, "Crawl": crawl, "URLs": urls}
	},
	"waits":   operate.CauseText,
	"orders":  func() map[string]string { return analytics.HostsBy },
	"percent": func(x float64) string { return fmt.Sprintf("%.0f %%", 100*x) },
	"three":   func(x float64) string { return fmt.Sprintf("%.3f", x) },
	"signed":  func(x float64) string { return fmt.Sprintf("%+.2f", x) },
	"one":     func(x float64) string { return fmt.Sprintf("%.1f", x) },
	"millis":  func(n uint64) string { return (time.Duration(n) * time.Millisecond).String() },
	"over":    topicSpark,
	"number":  func(i int) int { return i + 1 },
	"after":   func(n uint64) uint64 { return n + 1 },
	"clock": func(t time.Time) string {
		if t.Unix() <= 0 {
			return "–"
		}
		return t.UTC().Format("2006-01-02 15:04:05Z")
	},
}).Parse(source))

// line is a URL of the web that may be followed: any other one is text.
func line(raw string) map[string]string {
	m := map[string]string{"Text": view.Plain(raw)}
	if u, err := url.Parse(raw); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		m["Href"] = u.String()
	}
	return m
}

// pageOf is the address of the view of a page.
func pageOf(crawl, pageURL string) string {
	return "/crawls/" + url.PathEscape(crawl) + "/page?" + url.Values{"url": {pageURL}}.Encode()
}

// site has the handlers.
type site struct{ *view.Source }

// Register adds the page to a server.
func Register(mux *http.ServeMux, s *view.Source) {
	x := site{s}
	mux.Handle("GET /static/", http.FileServerFS(static))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { x.showCrawls(w, r, http.StatusOK, new(content)) })
	mux.HandleFunc("POST /crawls", x.start)
	for _, name := range []string{"crawl", "hosts", "pages", "page", "topics", "models"} {
		path := "GET /crawls/{crawl}/" + name
		if name == "crawl" {
			path = "GET /crawls/{crawl}"
		}
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if c := x.of(w, r); c != nil {
				x.showView(w, r, http.StatusOK, c, name)
			}
		})
	}
	mux.HandleFunc("POST /crawls/{crawl}/{action}", x.act)
	mux.HandleFunc("GET /crawls/{crawl}/copy", x.copy)
	mux.HandleFunc("GET /compare", x.compare)
	mux.HandleFunc("GET /letters", func(w http.ResponseWriter, r *http.Request) { x.showLetters(w, r, http.StatusOK, new(content)) })
	mux.HandleFunc("POST /letters/{action}", x.actOnLetters)
	mux.HandleFunc("GET /sql", x.sql)
	mux.HandleFunc("POST /sql", x.sql)
}

// Denied is the page for those who have no token.
func Denied(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/api/") {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintln(w, `{"title":"Unauthorized","status":401,"detail":"send the token in the header Authorization: Bearer TOKEN"}`)
		return
	}
	show(w, http.StatusUnauthorized, &content{View: "login", Title: "Token"})
}

// content is what a template shows.
type content struct {
	View, Title string
	// Crawl of the view, nil of those about several.
	Crawl  *view.Crawl
	Crawls []*view.Crawl
	// Problem is why something was not done, Done what was.
	Problem, Done string
	Charts        []template.HTML
	Sparks        map[string]template.HTML
	Stages        []operate.StageLag
	Turns         []view.Turn
	Lately        *view.Point
	Hosts         []analytics.Host
	Treated       []analytics.Treated
	Rejudged      []analytics.Rejudged
	Queues        *why.Queues
	Pages         []analytics.SeenPage
	Links         []analytics.SeenLink
	Topics        []view.Topic
	// Hubs and Authorities of the newest ranking.
	Hubs, Authorities []analytics.RankedPage
	Models            []analytics.MadeModel
	Features          *view.Features
	ShadowRankers     []view.ShadowRanker
	// Compared are the crawls that are compared, with the Values of the Settings in which they differ.
	Compared []*view.Crawl
	Settings []string
	Values   [][]string
	Letters  []analytics.Letters
	Events   []view.Event
	// Critics are the names of the critics that are published; File is the text of a crawl file that was refused.
	Critics []string
	File    string
	Rows    *view.Rows
	// Change is what a form has changed, or would change, and Set are the settings that it had, one a line.
	Change *operate.Change
	Set    string
	// Why explains a URL; Unexplained is why it does not.
	Why         *operate.Explanation
	Unexplained string
	// Query has the parameters of the request, Choices the values of one of them that can be chosen.
	Query   url.Values
	Choices []string
	SQL     string
	// Examples are the documented queries.
	Examples []tables.Query
}

func show(w http.ResponseWriter, status int, c *content) {
	var b bytes.Buffer
	if err := pages.Execute(&b, c); err != nil {
		http.Error(w, view.Plain(err.Error()), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = b.WriteTo(w) // the client has gone
}

// fail shows an error in the place of a view.
func fail(w http.ResponseWriter, c *content, err error) {
	p := api.Problem(err)
	c.View, c.Title, c.Problem = "problem", "Problem", p.Error()
	show(w, p.GetStatus(), c)
}

// note keeps the problem of an action for the view that is shown after it, and returns the status.
func (c *content) note(err error) int {
	if err == nil {
		return http.StatusOK
	}
	p := api.Problem(err)
	c.Problem = p.Error()
	return p.GetStatus()
}

// of finds the crawl of a request, or shows that there is none.
func (x site) of(w http.ResponseWriter, r *http.Request) *content {
	c, err := x.Crawl(r.PathValue("crawl"))
	if err != nil {
		fail(w, new(content), err)
		return nil
	}
	return &content{Title: c.Crawl, Crawl: c, Query: r.URL.Query()}
}

// showView shows a view of a crawl, or the error of what it would show.
func (x site) showView(w http.ResponseWriter, r *http.Request, status int, c *content, name string) {
	c.View = name
	fill := map[string]func(*http.Request, *content) error{
		"crawl": x.crawl, "hosts": x.hosts, "pages": x.pages, "page": x.page, "topics": x.topics, "models": x.models,
	}[name]
	if err := fill(r, c); err != nil {
		fail(w, c, err)
		return
	}
	show(w, status, c)
}

// shownEvents is the number of events in a view.
const shownEvents = 10

func (x site) showCrawls(w http.ResponseWriter, r *http.Request, status int, c *content) {
	c.View, c.Title, c.Crawls, c.Stages, c.Sparks = "crawls", "Crawls", x.Crawls(), x.Stages(), make(map[string]template.HTML)
	c.Events, c.Critics = x.Events("", shownEvents), x.Topics.CriticNames()
	for _, one := range c.Crawls {
		points, err := x.Curve(r.Context(), one.Crawl)
		if err != nil {
			c.miss("Curves are", err)
			break
		}
		c.Sparks[one.Crawl] = harvestSpark(points)
	}
	show(w, status, c)
}

// miss reports that a part of a view is missing, unless there is a problem already.
func (c *content) miss(what string, err error) {
	if err != nil && c.Problem == "" {
		c.Problem = what + " missing: " + view.Plain(err.Error())
	}
}

func (x site) crawl(r *http.Request, c *content) error {
	c.Stages, c.Events = x.Stages(), x.Events(c.Crawl.Crawl, shownEvents)
	points, err := x.Curve(r.Context(), c.Crawl.Crawl)
	c.miss("Curves are", err)
	c.Rejudged, err = x.DB.Report(c.Crawl.Crawl).Rejudged(view.Ask(r.Context()))
	c.miss("Judgements of other critics are", err)
	if len(points) > 0 {
		c.Lately = &points[len(points)-1]
		c.Turns, err = x.Turns(r.Context(), c.Crawl.Crawl, points)
		c.miss("Changes of the crawl are", err)
		c.Charts = curves(points, c.Turns, c.Rejudged, axisOf(c.choose("against", "pages", "requests", "time"), c.Crawl.Started, c.Lately.At))
	}
	arms, err := x.DB.Report(c.Crawl.Crawl).ArmPoints(view.Ask(r.Context()))
	c.miss("Curves of the mixture are", err)
	if len(arms) > 0 {
		c.Charts = append(c.Charts, armCharts(arms)...)
	}
	return nil
}

// choose returns the value of a parameter of the request if it is one of these, else the first of them, and keeps it for the page.
func (c *content) choose(name string, of ...string) string {
	v := c.Query.Get(name)
	if !slices.Contains(of, v) {
		v = of[0]
	}
	c.Query.Set(name, v)
	c.Choices = of
	return v
}

// shownHosts is the number of rows of a view.
const shownHosts = 50

func (x site) hosts(r *http.Request, c *content) (err error) {
	by := r.FormValue("by")
	if _, ok := analytics.HostsBy[by]; !ok {
		by = "yield"
		c.Query.Set("by", by)
	}
	if c.Hosts, err = x.DB.Hosts(view.Ask(r.Context()), c.Crawl.Crawl, by, 0, shownHosts); err != nil {
		return err
	}
	c.Treated, err = x.DB.Report(c.Crawl.Crawl).Treated(view.Ask(r.Context()), shownHosts)
	c.miss("How hosts were treated is", err)
	c.Queues, err = x.Queues(r.Context(), c.Crawl.Crawl)
	c.miss("Queues are", err)
	return nil
}

func (x site) pages(r *http.Request, c *content) (err error) {
	var above float64
	if text := r.FormValue("above"); text != "" {
		if _, err := fmt.Sscanf(text, "%g", &above); err != nil {
			above = 0
		}
	}
	c.Pages, err = x.DB.SeenPages(view.Ask(r.Context()), c.Crawl.Crawl, "", above, 0, shownHosts)
	return err
}

// shownLinks is the number of links that the view of a page has.
const shownLinks = 300

func (x site) page(r *http.Request, c *content) (err error) {
	address := r.FormValue("url")
	c.Query = url.Values{"url": {address}}
	ctx := view.Ask(r.Context())
	if c.Pages, err = x.DB.SeenPages(ctx, c.Crawl.Crawl, address, 0, 0, 10); err != nil {
		return err
	}
	if c.Links, err = x.DB.SeenLinks(ctx, c.Crawl.Crawl, address, shownLinks); err != nil {
		return err
	}
	var unexplained error
	if c.Why, unexplained = x.Why(r.Context(), c.Crawl.Crawl, address); unexplained != nil {
		c.Unexplained = unexplained.Error()
	}
	return nil
}

// copyPolicy is that of stored pages: no script, no form, no request to anything.
const copyPolicy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"

func (x site) copy(w http.ResponseWriter, r *http.Request) {
	sel := analytics.Selection{Crawl: r.PathValue("crawl"), Outcome: schemas.OutcomeName(schemas.Outcome_OUTCOME_DELIVERED), Among: []string{r.FormValue("url")}}
	var found *export.Page
	err := export.Each(view.Ask(r.Context()), x.DB, x.Store, sel, func(p export.Page) error {
		found = &p
		return nil
	})
	if err != nil {
		fail(w, new(content), err)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", copyPolicy)
	h.Set("X-Frame-Options", "SAMEORIGIN")
	h.Set("Content-Type", "text/plain; charset=utf-8")
	if found == nil {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintln(w, "no copy of this page is stored")
		return
	}
	if strings.HasPrefix(found.ContentType, "text/html") || strings.HasPrefix(found.ContentType, "application/xhtml") {
		h.Set("Content-Type", "text/html"+strings.TrimPrefix(strings.TrimPrefix(found.ContentType, "text/html"), "application/xhtml+xml"))
	}
	_, _ = w.Write(found.Body) // the client has gone
}

// shownRanked is the number of hubs, and of authorities, in a view.
const shownRanked = 20

func (x site) topics(r *http.Request, c *content) (err error) {
	if c.Topics, err = x.TopicsOf(r.Context(), c.Crawl.Crawl); err == nil {
		c.Hubs, c.Authorities, err = x.DB.Report(c.Crawl.Crawl).RankedPages(view.Ask(r.Context()), shownRanked)
	}
	return err
}

// shadowPages is the number of newest pages over which rankers for comparison are compared: with 4 of them the rows that a question may have.
const shadowPages = 1000

func (x site) models(r *http.Request, c *content) (err error) {
	ctx, rows := r.Context(), x.DB.Report(c.Crawl.Crawl)
	if c.Models, err = x.DB.MadeModels(view.Ask(ctx), c.Crawl.Crawl, 0, shownHosts); err != nil {
		return err
	}
	tenths, err := rows.Tenths(view.Ask(ctx))
	c.miss("Calibration is", err)
	calibration := chart.Chart{Title: "Calibration", XTitle: "mean score at dispatch", YTitle: "mean R", Least: 0, Most: 1}
	view.Calibration(&calibration, "", tenths)
	if len(calibration.Lines) > 0 {
		calibration.Lines = append(calibration.Lines, chart.Line{Name: "score = R", X: []float64{0, 1}, Y: []float64{0, 1}, Dashed: true})
		c.Charts = append(c.Charts, calibration.SVG())
	}
	versions, cut := []string{c.Crawl.Model}, .5
	for _, m := range c.Models {
		if m.Kind == "apprentice" {
			versions = append(versions, m.Version)
		}
	}
	if version := c.choose("version", versions...); version != "" {
		c.Features, err = x.Features(ctx, version)
		c.miss("Features are", err)
	}
	if c.Features != nil {
		weights := chart.Chart{Title: "Strongest terms by DOM offset", XTitle: "DOM offset of the term from the link", YTitle: "log odds of high R", Lines: c.Features.Terms}
		c.Charts = append(c.Charts, weights.SVG())
		cut = c.Features.Cut
	}
	c.ShadowRankers, err = view.ShadowRankers(view.Ask(ctx), rows, cut, shadowPages)
	c.miss("Rankers for comparison are", err)
	return nil
}

// maxCompared is the number of crawls in one chart.
const maxCompared = 10

func (x site) compare(w http.ResponseWriter, r *http.Request) {
	c := &content{View: "compare", Title: "Compare", Query: r.URL.Query(), Crawls: x.Crawls()}
	against := c.choose("against", "pages", "requests", "bytes")
	harvest := chart.Chart{Title: "Harvest so far", YTitle: "mean R", Least: 0, Most: 1}
	var controls []*schemas.CrawlControl
	var lines []chart.Line
	for _, one := range c.Crawls {
		ctl, err := x.Topics.Control(one.Crawl)
		if err != nil || !c.Chosen(one.Crawl) || len(lines) == maxCompared {
			continue
		}
		points, err := x.Curve(r.Context(), one.Crawl)
		if err != nil {
			fail(w, c, err)
			return
		}
		over := axisOf(against, one.Started, one.Started)
		if against == "bytes" {
			if over, err = x.bytes(r, one.Crawl); err != nil {
				fail(w, c, err)
				return
			}
		}
		line := chart.Line{Name: one.Crawl}
		for _, p := range points {
			line.X, line.Y = append(line.X, over.of(p.Pages, p.Requests, p.At)), append(line.Y, p.Harvest)
		}
		harvest.XTitle = over.title
		controls, lines, c.Compared = append(controls, ctl), append(lines, line), append(c.Compared, one)
	}
	if len(lines) > 0 {
		harvest.Lines = drawn(controls, lines)
		c.Charts = []template.HTML{harvest.SVG()}
		c.Settings, c.Values = view.Differing(controls)
	}
	show(w, http.StatusOK, c)
}

// bytes returns the axis of the bytes that a crawl has fetched, in MB.
func (x site) bytes(r *http.Request, crawl string) (axis, error) {
	parts, err := x.DB.Report(crawl).Fetched(view.Ask(r.Context()))
	return axis{"MB fetched", func(_, _ uint64, at time.Time) (sum float64) {
		for _, p := range parts {
			if p.Until.After(at) {
				break
			}
			sum += float64(p.Bytes) / 1e6
		}
		return sum
	}}, err
}

// Chosen reports whether a crawl is among those that are compared.
func (c *content) Chosen(name string) bool {
	return slices.Contains(c.Query["crawl"], name)
}

func (x site) showLetters(w http.ResponseWriter, r *http.Request, status int, c *content) {
	c.View, c.Title = "letters", "Dead letters"
	var err error
	if c.Letters, err = x.DB.Letters(view.Ask(r.Context()), shownHosts); err != nil {
		fail(w, c, err)
		return
	}
	show(w, status, c)
}

// actOnLetters replays or drops a class of dead letters, those that the view had.
func (x site) actOnLetters(w http.ResponseWriter, r *http.Request) {
	c, choice := new(content), new(operate.LetterChoice)
	choice.Stage, choice.Crawl, choice.Class = r.PostFormValue("stage"), r.PostFormValue("crawl"), r.PostFormValue("class")
	_, err := fmt.Sscan(r.PostFormValue("before"), &choice.Before)
	switch action := r.PathValue("action"); {
	case err != nil || choice.Class == "":
		err = fmt.Errorf("%w: the form names no class of letters", operate.ErrRefused)
	case action == "replay":
		var replayed *operate.Replayed
		if replayed, err = operate.Replay(r.Context(), x.Topics, choice); err == nil {
			c.Done = fmt.Sprintf("Done: %d requests are asked to be tried again; %d letters are about none that can be.", replayed.Asked, replayed.Skipped)
		}
	case action == "drop":
		var dropped *operate.Dropped
		if dropped, err = operate.Drop(r.Context(), x.Topics, choice); err == nil {
			c.Done = fmt.Sprintf("Done: %d letters are dropped; the list follows in some seconds.", dropped.Letters)
		}
	default:
		err = fmt.Errorf("%w: no action %s", operate.ErrUnknown, action)
	}
	x.showLetters(w, r, c.note(err), c)
}

// start starts a crawl, and leads to its view.
func (x site) start(w http.ResponseWriter, r *http.Request) {
	c := &content{File: r.PostFormValue("file")}
	name, err := x.Start(r.Context(), []byte(c.File))
	if err != nil {
		x.showCrawls(w, r, c.note(err), c)
		return
	}
	http.Redirect(w, r, "/crawls/"+name, http.StatusSeeOther)
}

func (x site) sql(w http.ResponseWriter, r *http.Request) {
	sql := r.PostFormValue("sql") // fills r.Form
	c := &content{View: "sql", Title: "SQL", SQL: sql, Query: r.Form, Examples: tables.Queries(), Crawls: x.Crawls()}
	status := http.StatusOK
	if i := slices.IndexFunc(c.Examples, func(q tables.Query) bool { return q.Name == c.Query.Get("example") }); i >= 0 {
		c.SQL = c.Examples[i].SQL
	} else if c.SQL != "" {
		var err error
		c.Rows, err = x.Query(r.Context(), c.SQL, r.PostFormValue("crawl"))
		status = c.note(err)
	}
	show(w, status, c)
}

// act makes a change that a form asks for, and shows the view again with the result.
func (x site) act(w http.ResponseWriter, r *http.Request) {
	c := x.of(w, r)
	if c == nil {
		return
	}
	var seen uint64
	if _, err := fmt.Sscan(r.PostFormValue("revision"), &seen); err != nil {
		fail(w, c, fmt.Errorf("%w: the form has no revision", operate.ErrRefused))
		return
	}
	name, action := c.Crawl.Crawl, r.PathValue("action")
	do, ok := x.actions(r, c)[action]
	if !ok {
		fail(w, c, fmt.Errorf("%w: no action %s", operate.ErrUnknown, action))
		return
	}
	status := c.note(do(name, seen))
	if c.Problem == "" && c.Change == nil && c.Done == "" {
		c.Done = "Done: " + action + "."
	}
	now, err := x.Crawl(name)
	switch next := r.PostFormValue("view"); {
	case err != nil: // deleted
		c.Crawl = nil
		x.showCrawls(w, r, status, c)
		return
	case slices.Contains([]string{"topics", "page", "hosts"}, next):
		c.Crawl = now
		x.showView(w, r, status, c, next)
	default:
		c.Crawl = now
		x.showView(w, r, status, c, "crawl")
	}
}

// actions are what the forms can ask for; a result that is shown goes to c.
func (x site) actions(r *http.Request, c *content) map[string]func(crawl string, seen uint64) error {
	ctx, value := r.Context(), r.PostFormValue
	words := func(name string) []string { return strings.Fields(value(name)) }
	topics := func(name string) (list []string) {
		if t := strings.TrimSpace(value(name)); t != "" {
			list = append(list, t)
		}
		return list
	}
	number := func(name string) (n uint64) {
		if _, err := fmt.Sscan(value(name), &n); err != nil {
			return 0
		}
		return n
	}
	return map[string]func(string, uint64) error{
		"pause": func(c string, seen uint64) error {
			return x.SetState(schemas.CrawlState_CRAWL_STATE_PAUSED)(ctx, c, seen)
		},
		"stop": func(c string, seen uint64) error {
			return x.SetState(schemas.CrawlState_CRAWL_STATE_STOPPED)(ctx, c, seen)
		},
		"delete": func(name string, seen uint64) error {
			if value("name") != name {
				return fmt.Errorf("%w: the name does not confirm that crawl %s is to be deleted; nothing was done", operate.ErrRefused, name)
			}
			d, ended, err := x.Delete(ctx, name, seen, &view.Delete{Stop: value("stop") != ""})
			if err == nil && ended {
				c.Done = fmt.Sprintf("Done: %s is deleted with %d segments of pages and %d models.", name, d.Segments, d.Models)
			} else if err == nil {
				c.Done = fmt.Sprintf("%s is being deleted.", name)
			}
			return err
		},
		"resume": func(c string, seen uint64) error {
			return x.Resume(ctx, c, seen, &operate.Resumption{Pages: number("pages"), Requests: number("requests"), RetryFailed: value("retry_failed") != "", Seeds: words("seeds")})
		},
		"ranker": func(c string, seen uint64) error {
			return x.Rank(ctx, c, seen, &operate.Ranking{Ranker: strings.TrimSpace(value("ranker"))})
		},
		"focus": func(c string, seen uint64) error {
			return x.Focus(ctx, c, seen, &view.Focus{Good: topics("good"), Bad: topics("bad")})
		},
		"critic": func(c string, seen uint64) error {
			return x.Judge(ctx, c, seen, &view.Critic{Critic: strings.TrimSpace(value("critic"))})
		},
		"model": func(c string, seen uint64) error { return x.Pin(ctx, c, seen, &view.Model{Version: value("version")}) },
		"change": func(name string, seen uint64) (err error) {
			settings := &view.Settings{DryRun: value("dry_run") != ""}
			c.Set = value("set")
			for line := range strings.Lines(c.Set) {
				if line = strings.TrimSpace(line); line != "" {
					settings.Set = append(settings.Set, line)
				}
			}
			c.Change, err = x.Change(ctx, name, seen, settings)
			return err
		},
		"seeds": func(c string, seen uint64) error { return x.Seed(ctx, c, seen, &view.Seeds{URLs: words("urls")}) },
		"marks": func(c string, seen uint64) error {
			return x.Mark(ctx, c, seen, &view.Mark{URLs: words("urls"), Right: value("right") == "yes"})
		},
	}
}
