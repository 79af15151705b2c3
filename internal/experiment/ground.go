package experiment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"forager/internal/critic"
	"forager/internal/linkfeature"
	"forager/internal/scope"
	"forager/internal/taxonomy"
	"forager/internal/weburl"
	"forager/schemas"
)

// maxHops is the number of redirects followed in a row, as in package frontier.
const maxHops = 10

// Ground is what all crawls of one task share: the web, the pages in scope with their
// judgements and features, and the targets. It is safe for concurrent use.
type Ground struct {
	task       *Task
	web        *Web
	model      *critic.Model
	list       *scope.List
	urls       []string // in scope, sorted
	inScope    map[string]bool
	targets    map[string]bool
	left       func(url, label string) bool // out of every measure
	targetList []string                     // targets in order
	settings   linkfeature.Settings
	verdicts   map[string]*schemas.LinkFound // by URL, without a request
	made       sync.Map                      // of *madeVerdict by URL, on webs that are computed

	extracted sync.Map // of *tablesOnce by linkfeature.Settings

	anchorsOnce sync.Once
	anchored    map[string]*schemas.Judgement // with the texts of links judged, by URL
	anchorsErr  error

	taught sync.Map // of *transferredOnce by setting

	elsewhere func() []string          // pages of other sites, sorted
	alike     atomic.Pointer[likeness] // nil = not made

	parentsOnce sync.Once
	parentsOf   map[string][]string
}

// newGround prepares a task on its web: it judges every page in scope by the critic and
// extracts the features of its links up to settings.DMax, as the stages would. Whether there are
// topic features is for each crawl to say (Learning.topics), not for the settings.
func newGround(task *Task, set *CriticSet, web *Web, model *critic.Model, settings linkfeature.Settings) (*Ground, error) {
	left, err := set.notCounted()
	if err != nil {
		return nil, fmt.Errorf("critic %q: %w", task.Critic, err)
	}
	settings.Topics, settings.Families = schemas.TopicFeatures_TOPIC_FEATURES_NONE, 0
	g := &Ground{
		task: task, web: web, model: model, left: left, settings: settings,
		inScope: make(map[string]bool), targets: make(map[string]bool), verdicts: make(map[string]*schemas.LinkFound),
	}
	g.elsewhere = sync.OnceValue(g.outOfScope)
	for u, p := range web.pages {
		if label := web.labels[u]; p.outcome != schemas.Outcome_OUTCOME_REDIRECTED {
			allowed, err := task.allows(label)
			if err != nil {
				return nil, err
			}
			if !allowed {
				continue
			}
			if p.outcome == schemas.Outcome_OUTCOME_DELIVERED && task.wants(label) && g.counted(u) {
				g.targets[u] = true
			}
		}
		g.inScope[u] = true
	}
	// A redirect is in scope when it leads to a page that is.
	for u := range g.inScope {
		if web.pages[u].outcome == schemas.Outcome_OUTCOME_REDIRECTED && g.resolve(u) == "" {
			delete(g.inScope, u)
		}
	}
	g.urls, g.targetList = slices.Sorted(maps.Keys(g.inScope)), slices.Sorted(maps.Keys(g.targets))
	g.list = scope.NewList(g.urls)
	if task.Targets != 0 && len(g.targets) != task.Targets {
		return nil, fmt.Errorf("task %s names %d targets, its web has %d", task.Name, task.Targets, len(g.targets))
	}
	return g, g.judgeAll()
}

// judgeAll fills in the verdict of every page that is kept.
func (g *Ground) judgeAll() error {
	if g.web.compute != nil {
		return nil
	}
	for _, u := range g.urls {
		p := g.web.pages[u]
		rec, err := g.judge(p, p.parsed, p.extract)
		if err != nil {
			return err
		}
		g.verdicts[u] = rec
	}
	return nil
}

// judge makes the verdict on a page, without its request.
func (g *Ground) judge(p *page, parsed *schemas.Page, extract func(linkfeature.Settings) (*schemas.LeafTable, []*schemas.Link, bool, error)) (*schemas.LinkFound, error) {
	rec := &schemas.LinkFound{Url: p.url, Outcome: p.outcome, Status: uint32(p.status), Redirect: p.redirect, Detail: p.detail}
	if p.outcome != schemas.Outcome_OUTCOME_DELIVERED {
		return rec, nil
	}
	j, err := g.model.Judge(parsed, []string{g.task.FocusClass})
	if err != nil {
		return nil, fmt.Errorf("judge %s: %w", p.url, err)
	}
	if g.web.compute != nil {
		if j, err = g.withAnchors(j, parsed); err != nil {
			return nil, err
		}
	}
	rec.Judgement, rec.Fingerprint = j, parsed.GetFingerprint()
	var cut bool
	if rec.Table, rec.Links, cut, err = extract(g.settings); err != nil {
		return nil, fmt.Errorf("links of %s: %w", p.url, err)
	}
	rec.Cut = cut || parsed.GetCut()
	return rec, nil
}

// rest drops what was made of the pages for the crawls of this task; the next crawl makes it again. Guides stay: they are
// the web's (forgetGuides).
func (g *Ground) rest() {
	g.extracted.Clear()
	g.alike.Store(nil)
}

// tablesOnce keeps the pages' leaf tables for one setting.
type tablesOnce struct {
	once   sync.Once
	tables map[string]*schemas.LeafTable // by URL
	err    error
}

// table is the leaf table of a page as a crawl has it.
func (g *Ground) table(known *schemas.LinkFound, l *schemas.Learning) (*schemas.LeafTable, error) {
	wanted, err := linkfeature.SettingsOf(l)
	if err != nil {
		return nil, err
	}
	settings := g.settings
	settings.Topics, settings.Families = wanted.Topics, wanted.Families.InTable()
	if settings == g.settings {
		return known.Table, nil
	}
	held, _ := g.extracted.LoadOrStore(settings, new(tablesOnce))
	t := held.(*tablesOnce)
	t.once.Do(func() { t.tables, t.err = g.extractAll(settings) })
	return t.tables[known.Url], t.err
}

// extractAll extracts all pages once more.
func (g *Ground) extractAll(settings linkfeature.Settings) (map[string]*schemas.LeafTable, error) {
	if g.web.compute != nil {
		return nil, errors.New("there are no features but those of text around links on webs that are computed")
	}
	tables := make(map[string]*schemas.LeafTable)
	for u, rec := range g.verdicts {
		if rec.Table == nil {
			continue
		}
		var err error
		parsed, judgement := g.web.pages[u].parsed, rec.Judgement
		if settings.Topics == schemas.TopicFeatures_TOPIC_FEATURES_ALL {
			if judgement, err = g.judgeWhole(parsed); err != nil {
				return nil, err
			}
		}
		if tables[u], _, _, err = linkfeature.Extract(parsed, judgement, settings); err != nil {
			return nil, fmt.Errorf("links of %s: %w", u, err)
		}
	}
	return tables, nil
}

// judgeWhole judges a page with the posteriors of all classes, which the kept judgements lack.
func (g *Ground) judgeWhole(parsed *schemas.Page) (*schemas.Judgement, error) {
	weights, err := critic.Weigh(g.model, taxonomy.Marking{Good: []string{g.task.FocusClass}})
	if err != nil {
		return nil, err
	}
	j, err := critic.SayWhole(context.Background(), g.model, parsed, weights)
	if err != nil {
		return nil, fmt.Errorf("judge %s: %w", parsed.GetUrl(), err)
	}
	return j, nil
}

// verdict is what the stages between fetch and feature-extract would answer to a request.
func (g *Ground) verdict(r *schemas.FetchRequest, ctl *schemas.CrawlControl) (*schemas.LinkFound, error) {
	known, err := g.verdictOn(r.GetUrl())
	if err != nil {
		return nil, err
	}
	if known == nil {
		return nil, fmt.Errorf("%s was dispatched, but is not in the web", r.GetUrl())
	}
	judgement, err := g.judgement(known, schemas.ReadsAnchors(ctl))
	if err != nil {
		return nil, err
	}
	if judgement != nil && schemas.ReadsWords(ctl) {
		if judgement, err = g.withWords(judgement, known.Url); err != nil {
			return nil, err
		}
	}
	table, err := g.table(known, ctl.GetLearning())
	if err != nil {
		return nil, err
	}
	request, err := proto.Marshal(r)
	if err != nil {
		return nil, err
	}
	return &schemas.LinkFound{
		Id: r.GetId(), Crawl: r.GetCrawl(), Shard: r.GetShard(), Request: request,
		Url: known.Url, Outcome: known.Outcome, Status: known.Status, Redirect: known.Redirect, Detail: known.Detail,
		Judgement: judgement, Links: known.Links, Table: table, Fingerprint: known.Fingerprint, Cut: known.Cut,
	}, nil
}

// withWords is a page's judgement with the words of the page.
func (g *Ground) withWords(j *schemas.Judgement, url string) (*schemas.Judgement, error) {
	words, err := g.web.pages[url].wordsOf(func() (*schemas.Page, error) { return g.parsed(url) })
	if err != nil {
		return nil, err
	}
	j = proto.CloneOf(j)
	j.Words = words
	return j, nil
}

// judgement is what stands in a verdict, with the texts of the links judged or without.
func (g *Ground) judgement(known *schemas.LinkFound, anchors bool) (*schemas.Judgement, error) {
	if !anchors || known.Judgement == nil {
		return known.Judgement, nil
	}
	if g.web.compute != nil { // its pages are not kept, so each was judged with the texts of its links
		return known.Judgement, nil
	}
	g.anchorsOnce.Do(g.judgeAnchors)
	return g.anchored[known.Url], g.anchorsErr
}

// judgeAnchors judges the texts of all links.
func (g *Ground) judgeAnchors() {
	made, errs := make([]*schemas.Judgement, len(g.urls)), make([]error, len(g.urls))
	each(len(g.urls), func(i int) {
		if rec := g.verdicts[g.urls[i]]; rec.GetJudgement() != nil {
			made[i], errs[i] = g.withAnchors(rec.Judgement, g.web.pages[g.urls[i]].parsed)
		}
	})
	if g.anchorsErr = errors.Join(errs...); g.anchorsErr != nil {
		return
	}
	g.anchored = make(map[string]*schemas.Judgement, len(made))
	for i, j := range made {
		if j != nil {
			g.anchored[g.urls[i]] = j
		}
	}
}

// withAnchors is a page's judgement with the texts of its links judged.
func (g *Ground) withAnchors(j *schemas.Judgement, parsed *schemas.Page) (*schemas.Judgement, error) {
	weights, err := critic.Weigh(g.model, taxonomy.Marking{Good: []string{g.task.FocusClass}})
	if err != nil {
		return nil, err
	}
	anchors, err := critic.SayAnchors(context.Background(), g.model, parsed, weights)
	if err != nil {
		return nil, fmt.Errorf("links of %s: %w", parsed.GetUrl(), err)
	}
	j = proto.CloneOf(j)
	j.Anchors = anchors
	return j, nil
}

// counted says whether a page takes part in the measures.
func (g *Ground) counted(url string) bool { return !g.left(url, g.web.labels[url]) }

// resolve follows redirects inside the web to a page in scope; "" where there is none.
func (g *Ground) resolve(url string) string {
	return g.web.resolve(url, func(url string) bool { return g.inScope[url] })
}

// parents are the pages in scope that link to each page, redirects resolved.
func (g *Ground) parents() map[string][]string {
	g.parentsOnce.Do(func() {
		g.parentsOf = make(map[string][]string)
		for u, rec := range g.verdicts { // none on webs that are computed: Try refuses the oracle
			seen := map[string]bool{u: true}
			for _, l := range rec.GetLinks() {
				if v := g.resolve(l.GetUrl()); v != "" && !seen[v] {
					seen[v] = true
					g.parentsOf[v] = append(g.parentsOf[v], u)
				}
			}
		}
		for _, list := range g.parentsOf {
			slices.Sort(list)
		}
	})
	return g.parentsOf
}

// Critic is the model that judges this ground's pages.
func (g *Ground) Critic() *critic.Model { return g.model }

// URLs are the canonical URLs in scope, sorted.
func (g *Ground) URLs() []string { return g.urls }

// Pages is the number of pages in scope: URLs that redirect, or lead to what is no page, are none.
func (g *Ground) Pages() int {
	n := 0
	for _, u := range g.urls {
		if g.web.pages[u].outcome == schemas.Outcome_OUTCOME_DELIVERED {
			n++
		}
	}
	return n
}

// Target says whether a page is one of the task's.
func (g *Ground) Target(url string) bool { return g.targets[url] }

// Targets is the number of the task's target pages.
func (g *Ground) Targets() int { return len(g.targets) }

// Lost returns the first seed of a draw that leads to no page in scope, "" where all do.
func (g *Ground) Lost(draw int) string {
	for _, s := range g.task.Seeds[draw] {
		if u, err := weburl.Parse(s); err != nil || g.resolve(u.String()) == "" {
			return s
		}
	}
	return ""
}

// Seeds are the canonical URLs that a draw begins with.
func (g *Ground) Seeds(draw int) ([]string, error) { return canonical(g.task.Seeds[draw]) }
