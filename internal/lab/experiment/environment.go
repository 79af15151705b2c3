package experiment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"forager/internal/classify/critic"
	"forager/internal/judging"
	"forager/internal/lab/taskfile"
	"forager/internal/rank/linkfeature"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// maxHops is the number of redirects followed in a row, as in package frontier.
const maxHops = 10

// Environment is the shared part of all crawls of one task: the web, the pages in scope with their judgements and features, and
// the targets. It is safe for concurrent use.
type Environment struct {
	task *taskfile.Task
	web  *Web
	*part
	set        *taskfile.CriticSet
	dir        string // of the files of the set
	model      *critic.Model
	critic     judging.Critic // model under the focus of the task, or another critic (Under)
	targets    map[string]bool
	left       func(url, label string) bool // reports pages left out of every measure
	targetList []string                     // targets in order
	settings   linkfeature.Settings
	made       sync.Map // *verdict by verdictKey

	taught    resultCache[taughtBy, []byte]     // models of transferred
	under     resultCache[string, *Environment] // under other critics
	elsewhere func() []string                   // pages of other sites, sorted
	alike     resultCache[struct{}, *targetCosines]
}

// newEnvironment prepares a task on its web. Pages are judged by the critic and the features of their links extracted, up to
// settings.DMax, as in the stages, when a crawl first requests them. Topic features are a setting of each crawl
// (Learning.topics), not of settings.
func newEnvironment(task *taskfile.Task, set *taskfile.CriticSet, web *Web, model *critic.Model, settings linkfeature.Settings) (*Environment, error) {
	settings.Topics, settings.Families = schemas.TopicFeatures_TOPIC_FEATURES_NONE, 0
	g := &Environment{task: task, set: set, web: web, model: model, left: set.NotCounted.Has(), settings: settings, targets: make(map[string]bool)}
	if err := g.judgeBy(model, task.Critic); err != nil {
		return nil, err
	}
	g.elsewhere = sync.OnceValue(g.outOfScope)
	g.part = web.part(task.Pages)
	for _, u := range g.urls {
		if web.pages[u].outcome == schemas.Outcome_OUTCOME_DELIVERED && task.IsTarget(web.labels[u]) && g.counted(u) {
			g.targets[u] = true
		}
	}
	g.targetList = slices.Sorted(maps.Keys(g.targets))
	if task.Targets != 0 && len(g.targets) != task.Targets {
		return nil, fmt.Errorf("task %s names %d targets, its web has %d", task.Name, task.Targets, len(g.targets))
	}
	return g, nil
}

// For returns the environment of a task that differs in its name and seeds alone.
func For(g *Environment, task *taskfile.Task) (*Environment, error) {
	other, err := newEnvironment(task, g.set, g.web, g.model, g.settings)
	if err == nil {
		other.dir = g.dir
	}
	return other, err
}

// verdict is the verdict of the stages on a page, without a request and without its links.
type verdict struct {
	once sync.Once
	rec  *schemas.LinkFound
	size int // of the body, bytes
	// computed is the extraction on computed webs, whose pages are not stored.
	computed *extraction
	err      error
}

// verdictKey has all that a verdict depends on.
type verdictKey struct {
	url  string
	with judging.Fields
}

// judged returns the verdict on a page in scope, nil for any other URL. On computed webs every judgement has the anchors, so
// that a page is made once.
func (g *Environment) judged(ctx context.Context, url string, with judging.Fields) (*verdict, error) {
	p := g.web.pages[url]
	if p == nil || !g.inScope[url] {
		return nil, nil
	}
	with.Anchors = with.Anchors || g.web.compute != nil
	key := verdictKey{url, with}
	held, ok := g.made.Load(key)
	if !ok {
		held, _ = g.made.LoadOrStore(key, new(verdict))
	}
	v := held.(*verdict)
	v.once.Do(func() {
		if v.err = g.judge(ctx, v, p, with); v.err != nil {
			v.err = fmt.Errorf("judge %s: %w", url, v.err)
		}
	})
	return v, v.err
}

func (g *Environment) judge(ctx context.Context, v *verdict, p *page, with judging.Fields) error {
	v.size = p.size
	v.rec = &schemas.LinkFound{Url: p.url, Outcome: p.outcome, Status: uint32(p.status), Redirect: p.redirect, Detail: p.detail}
	if p.outcome != schemas.Outcome_OUTCOME_DELIVERED {
		return nil
	}
	parsed, size, err := g.read(p)
	if err != nil {
		return err
	}
	if v.rec.Judgement, err = g.critic.Judge(ctx, parsed, with); err != nil {
		return err
	}
	if g.web.compute != nil {
		v.size = size
		if v.computed, err = extract(parsed, nil, g.settings); err != nil {
			return err
		}
	}
	v.rec.Fingerprint, v.rec.Cut = parsed.GetFingerprint(), parsed.GetCut()
	return nil
}

// extraction returns that of a page in scope by the settings of a crawl.
func (g *Environment) extraction(v *verdict, s linkfeature.Settings) (*extraction, error) {
	switch {
	case v.rec.Judgement == nil:
		return new(extraction), nil
	case v.computed != nil && s == g.settings:
		return v.computed, nil
	case g.web.compute != nil:
		return nil, errors.New("there are no features but those of text around links on webs that are computed")
	case s.Topics == schemas.TopicFeatures_TOPIC_FEATURES_NONE:
		return g.web.extract(g.web.pages[v.rec.Url], nil, s)
	}
	return g.web.extract(g.web.pages[v.rec.Url], v.rec.Judgement, s)
}

// release drops the cached results of the pages for the crawls of this task; the next crawl computes them again. Guides are
// kept: they belong to the samples (sampleKey.release).
func (g *Environment) release() {
	g.made.Clear()
	g.alike.clear()
	g.under.clear()
}

// settingsOf returns the settings by which the links of a crawl are extracted.
func settingsOf(g *Environment, l *schemas.Learning) (linkfeature.Settings, error) {
	wanted, err := linkfeature.SettingsOf(l)
	s := g.settings
	s.Topics, s.Families = wanted.Topics, wanted.Families.InTable()
	return s, err
}

// verdict returns the response of the stages between fetch and feature-extract to a request, and the size of the body, bytes.
func (g *Environment) verdict(ctx context.Context, r *schemas.FetchRequest, ctl *schemas.CrawlControl) (*schemas.LinkFound, int, error) {
	v, err := g.judged(ctx, r.GetUrl(), judging.FieldsOf(ctl))
	if err != nil {
		return nil, 0, err
	}
	if v == nil {
		return nil, 0, fmt.Errorf("%s was dispatched, but is not in the web", r.GetUrl())
	}
	settings, err := settingsOf(g, ctl.GetLearning())
	if err != nil {
		return nil, 0, err
	}
	x, err := g.extraction(v, settings)
	if err != nil {
		return nil, 0, err
	}
	request, err := proto.Marshal(r)
	if err != nil {
		return nil, 0, err
	}
	known := v.rec
	return &schemas.LinkFound{
		Id: r.GetId(), Crawl: r.GetCrawl(), Shard: r.GetShard(), Request: request,
		Url: known.Url, Outcome: known.Outcome, Status: known.Status, Redirect: known.Redirect, Detail: known.Detail,
		Judgement: known.Judgement, Links: x.links, Table: x.table, Fingerprint: known.Fingerprint, Cut: known.Cut || x.cut,
	}, v.size, nil
}

// counted reports whether a page is part of the measures.
func (g *Environment) counted(url string) bool { return !g.left(url, g.web.labels[url]) }

// Critic returns the model that judges this environment's pages.
func (g *Environment) Critic() *critic.Model { return g.model }

// Target reports whether a page is a target of the task.
func (g *Environment) Target(url string) bool { return g.targets[url] }

// Targets returns the number of the task's target pages.
func (g *Environment) Targets() int { return len(g.targets) }

// Lost returns the first seed of a draw that leads to no page in scope, "" if all do.
func (g *Environment) Lost(draw int) string {
	for _, s := range g.task.Seeds[draw] {
		if u, err := weburl.Parse(s); err != nil || g.resolve(u.String()) == "" {
			return s
		}
	}
	return ""
}

// Seeds returns the canonical URLs of the seeds of a draw.
func (g *Environment) Seeds(draw int) ([]string, error) { return canonical(g.task.Seeds[draw]) }
