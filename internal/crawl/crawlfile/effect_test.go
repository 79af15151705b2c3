package crawlfile

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"forager/internal/classify/critic"
	"forager/internal/classify/taxonomy"
	"forager/internal/frontier"
	"forager/internal/frontier/storage"
	"forager/internal/judging"
	"forager/internal/page/dom"
	"forager/internal/rank/backlink"
	"forager/internal/rank/distill"
	"forager/internal/rank/guide"
	"forager/internal/web/scope"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// before has, for settings or groups of them, what the crawl file has in addition, so that they count for something: replacements in
// changing, in pairs.
var before = map[string][]string{
	"guides":          {"ranker: soft", "guides: {context-graph: far}\nranker: context-graph+soft"},
	"budget.pages":    {"{pages: 3000}", "{pages: 20}"},
	"budget.requests": {"{pages: 3000}", "{requests: 30}"},
	"forms":           {"soft-focus-distilled+hard-defer", "soft-focus-topics"},
	"learning":        {"soft-focus-distilled+hard-defer", "apprentice\nlearning: {switch_pages: 20, refit_pages: 10}"},
	"distiller":       {"scope:", "distiller: {every: 5, hubs: 20}\nscope:"},
}

// topics are the classes of critics, each by a word of its pages.
var topics = map[string]string{"Science/Chemistry": "acid", "Science/Physics": "quark", "Science/Physics/Optics": "lens", "Lists": "index", "Recreation": "tea"}

// sizeOfWeb is the number of pages of the web.
const sizeOfWeb = 300

func pageURL(i int) string {
	host := []string{"a.example", "c.example", "www.a.example", "d.example", "x.example.net", "b.example", "e.example"}[i*i%7]
	if i%29 == 5 {
		host = "down.example"
	}
	return fmt.Sprintf("http://%s/%s/%d", host, []string{"p", "q", "print", "r", "cgi-bin", "s", "t", "calendar"}[i/2%8], i)
}

// pageOf returns a page of the web, and its content type.
func pageOf(t *testing.T, i int) (*schemas.Page, string) {
	t.Helper()
	words := []string{"acid", "quark", "lens", "index", "tea"}
	body := fmt.Sprintf("<html lang=%s><title>page</title>", []string{"en", "de", "en"}[i%3])
	body += strings.Repeat(words[i/3%5]+" ", 1+i%3) + words[i%5]
	for _, to := range []int{2*i + 1, 2*i + 2, i + 11, i + 17, i * 3} {
		body += fmt.Sprintf(` <a href="%s">%s</a>`, pageURL(to%sizeOfWeb), words[to%5])
	}
	contentType := []string{"text/html", "text/html", "application/xhtml+xml"}[i/2%3]
	page, err := dom.Parse([]byte(body), contentType, pageURL(i), dom.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return page, contentType
}

// critics are the models of crawls; guides score links by their versions.
type critics map[string]critic.Classifier

func trainCritic(t *testing.T, more string) critic.Classifier {
	t.Helper()
	var e critic.Examples
	for topic, word := range topics {
		for i := range 4 {
			if err := e.AddText(fmt.Sprint("http://h.example/", topic, i), []string{topic}, word+" page "+more); err != nil {
				t.Fatal(err)
			}
		}
	}
	m, _, err := critic.Train(t.Context(), &e, critic.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (c critics) Critic(_ context.Context, ctl *schemas.CrawlControl, version string, _ bool) (*judging.Critic, error) {
	by := c[schemas.ModelName(version)]
	weights, err := critic.Weigh(by, taxonomy.MarkingOf(ctl))
	return &judging.Critic{Classifier: by, Version: version, Weights: weights}, err
}

func (critics) Guide(_ context.Context, version string) (guide.Guide, error) {
	return hashed(version), nil
}

func (critics) Backlinks(context.Context, string) (backlink.Source, error) { return nil, nil }

// hashed is a guide.
type hashed string

func (hashed) ReadsURLs() bool { return true }

func (h hashed) Guide(_ context.Context, v *guide.View) (*schemas.Guidance, error) {
	g := new(schemas.Guidance)
	for _, l := range v.Page.GetLinks() {
		sum := fnv.New32()
		_, _ = sum.Write([]byte(string(h) + l.GetUrl()))
		g.Scores = append(g.Scores, float64(sum.Sum32()))
	}
	return g, nil
}

// loop is a crawl in memory, with the packages that the stages prioritize, parse-dom, critic-score and distill run.
type loop struct {
	t      *testing.T
	ctl    *schemas.CrawlControl
	shard  *frontier.Shard
	judge  *judging.Judge
	graph  *distill.Graph
	ranked uint64
	flying []*schemas.FetchRequest
	now    time.Time
	// trace is what the stages send to one another.
	trace []proto.Message
}

func begin(t *testing.T, ctl *schemas.CrawlControl, by critics) *loop {
	t.Helper()
	l := &loop{t: t, now: time.Unix(1_000_000, 0), judge: &judging.Judge{
		Models: by, Failed: func(_ judging.Part, _ string, err error) error { return err }, Wait: func(call func()) { call() },
	}}
	var err error
	if l.shard, err = frontier.Open(storage.NewMemory(), ctl.GetCrawl(), 0); err != nil {
		t.Fatal(err)
	}
	if l.graph, err = distill.OpenGraph(storage.NewMemory(), []byte("hubs")); err != nil {
		t.Fatal(err)
	}
	l.configure(ctl)
	l.apply(schemas.SeedPage(ctl.GetCrawl(), []string{pageURL(0)}))
	return l
}

func (l *loop) configure(ctl *schemas.CrawlControl) {
	l.t.Helper()
	sc, err := scope.New(ctl.GetScope(), nil)
	if err == nil {
		err = l.shard.Configure(ctl, sc, frontier.Options{RetryDelay: 10 * time.Second})
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.ctl = ctl
}

func (l *loop) apply(rec *schemas.LinkFound) {
	l.t.Helper()
	effects, err := l.shard.Apply(rec, l.now)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, x := range effects.Settled {
		l.trace = append(l.trace, x)
	}
	l.trace = append(l.trace, rec)
}

// step dispatches, and answers up to two requests.
func (l *loop) step() {
	l.t.Helper()
	for more := true; more; {
		var err error
		if more, err = l.shard.Rescore(1000); err != nil {
			l.t.Fatal(err)
		}
	}
	requests, err := l.shard.Dispatch(l.now, 100)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, r := range requests {
		l.trace = append(l.trace, r)
	}
	l.flying = append(l.flying, requests...)
	for range min(2, len(l.flying)) {
		l.answer(l.flying[0])
		l.flying = l.flying[1:]
	}
	st := l.shard.Status(l.now)
	l.trace = append(l.trace, &schemas.CrawlStatus{State: st.GetState(), EndReason: st.GetEndReason(), Queued: st.GetQueued(), Unreachable: st.GetUnreachable()})
	l.now = l.now.Add(10 * time.Minute)
}

func (l *loop) answer(r *schemas.FetchRequest) {
	l.t.Helper()
	request, err := proto.Marshal(r)
	if err != nil {
		l.t.Fatal(err)
	}
	rec := &schemas.LinkFound{Id: r.GetId(), Crawl: r.GetCrawl(), Url: r.GetUrl(), Request: request, FetchedAt: l.now.UnixMilli(), Outcome: schemas.Outcome_OUTCOME_DELIVERED}
	var n int
	if _, err := fmt.Sscan(r.GetUrl()[strings.LastIndexByte(r.GetUrl(), '/')+1:], &n); err != nil {
		l.t.Fatal(err)
	}
	page, contentType := pageOf(l.t, n)
	excludes, err := scope.NewExcludes(l.ctl.GetExcludes())
	if err != nil {
		l.t.Fatal(err)
	}
	switch {
	case weburl.Host(r.GetUrl()) == "down.example":
		rec.Outcome, rec.Detail, rec.NotBefore = schemas.Outcome_OUTCOME_HOST_UNREACHABLE, "refused", l.now.Add(time.Minute).UnixMilli()
	case excludes.Page(contentType, page.GetLanguage()) != "":
		rec.Outcome = schemas.Outcome_OUTCOME_EXCLUDED
	default:
		if rec.Judgement, err = l.judge.Page(l.t.Context(), l.ctl, &schemas.PageParsed{Request: request, Page: page}); err != nil {
			l.t.Fatal(err)
		}
		rec.Links = page.GetLinks()
	}
	l.apply(rec)
	l.distill(rec)
}

func (l *loop) distill(rec *schemas.LinkFound) {
	l.t.Helper()
	if err := l.graph.Note(rec, 0); err != nil {
		l.t.Fatal(err)
	}
	if !schemas.Raises(l.ctl) || distill.Boundary(l.graph.Pages(), distill.Every(l.ctl)) <= l.ranked {
		return
	}
	l.ranked = l.graph.Pages()
	settings, err := distill.SettingsOf(l.ctl)
	if err != nil {
		l.t.Fatal(err)
	}
	ranked, err := l.graph.Hubs(l.t.Context(), l.ctl.GetCrawl(), 0, settings)
	if err != nil {
		l.t.Fatal(err)
	}
	raised, err := distill.Raised(ranked)
	if err == nil {
		_, err = l.shard.Raise(ranked.GetPages(), raised)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.trace = append(l.trace, ranked)
}

// TestEverySettingThatIsTakenHasAnEffect runs two crawls that are the same up to a control record, which changes one setting in one of
// them. What the stages send to one another is the same before it, and differs after it.
func TestEverySettingThatIsTakenHasAnEffect(t *testing.T) {
	by := critics{"schools": trainCritic(t, "school"), "other": trainCritic(t, "acid lens")}
	const changed, steps = 12, 60
	for path, change := range changes {
		if change.refused != "" {
			continue
		}
		text := strings.Replace(changing, "hosts: [a.example], max_depth: 12", "max_depth: 100", 1)
		for _, setting := range []string{path, strings.Split(path, ".")[0]} {
			text = strings.NewReplacer(before[setting]...).Replace(text)
		}
		inForce := running(t, text)
		c, err := Set(inForce, []string{path + "=" + change.value})
		if err != nil || c.Refused() != nil {
			t.Errorf("%s: %v, %v", path, err, c)
			continue
		}
		var traces [2][]proto.Message
		sent := 0 // before the change
		for i, next := range []*schemas.CrawlControl{proto.CloneOf(inForce), c.Control} {
			next.Revision = inForce.GetRevision() + 1
			l := begin(t, inForce, by)
			for step := range steps {
				if step == changed {
					sent = len(l.trace)
					l.configure(next)
				}
				l.step()
			}
			traces[i] = l.trace
		}
		same := func(n int) bool {
			return slices.EqualFunc(traces[0][:n], traces[1][:n], func(a, b proto.Message) bool { return proto.Equal(a, b) })
		}
		switch n := min(len(traces[0]), len(traces[1])); {
		case !same(sent):
			t.Errorf("%s=%s: the crawls differ before the change", path, change.value)
		case len(traces[0]) == len(traces[1]) && same(n):
			t.Errorf("%s=%s: nothing of %d records differs", path, change.value, n)
		}
	}
}
