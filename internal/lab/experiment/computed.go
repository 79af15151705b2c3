package experiment

import (
	"errors"
	"fmt"
	"strings"

	"forager/internal/classify/critic"
	"forager/internal/lab/taskfile"
	"forager/internal/page/dom"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// Computed is a web whose pages are made on request (a synthetic one), so that it may be too large to keep its parsed pages
// in memory. URLs are canonical. URLs not in it are out of scope.
type Computed struct {
	// Labels of all pages by URL; "" = none.
	Labels map[string]string
	// Redirects by URL.
	Redirects map[string]string
	// Page returns the body of a page; it is called concurrently.
	Page func(url string) (body []byte, contentType string)
}

// newWeb makes a web of computed pages. Rankers that read the whole web (oracle) or topic features are refused on it.
func newWeb(c *Computed) *Web {
	w := &Web{pages: make(map[string]*page, len(c.Labels)+len(c.Redirects)), labels: c.Labels, compute: c.Page}
	for url := range c.Labels {
		w.pages[url] = &page{url: url, outcome: schemas.Outcome_OUTCOME_DELIVERED, status: 200}
	}
	for from, to := range c.Redirects {
		w.pages[from] = &page{url: from, outcome: schemas.Outcome_OUTCOME_REDIRECTED, status: 301, redirect: to}
	}
	return w
}

// NewComputedEnvironment prepares a task on a computed web, with a critic that was trained elsewhere: every page counts.
func NewComputedEnvironment(task *taskfile.Task, c *Computed, model *critic.Model, settings linkfeature.Settings) (*Environment, error) {
	return newEnvironment(task, new(taskfile.CriticSet), newWeb(c), model, settings)
}

// Refuses returns why a ranker cannot be run, or nil.
func (g *Environment) Refuses(ranker string, learning *schemas.Learning) error {
	for arm := range strings.SplitSeq(ranker, "+") {
		if f := furtherBy(arm); g.web.compute != nil && f != nil && f.kept {
			return fmt.Errorf("ranker %s is not for webs that are computed", arm)
		}
	}
	if ranker == "apprentice-transferred" && len(g.elsewhere()) == 0 {
		return errors.New("its web has no other site to learn from")
	}
	families, err := linkfeature.FamiliesOf(learning.GetFeatures())
	if err != nil {
		return err
	}
	if g.task.LabelsFromURL && families.ReadsURLs() && reads(ranker) {
		return fmt.Errorf("labels of task %s follow from URLs, and features %v read them", g.task.Name, families)
	}
	return nil
}

// reads reports whether a ranker reads features of links.
func reads(ranker string) bool {
	ranking, err := rankingOf(ranker)
	return err == nil && schemas.Learns(&schemas.CrawlControl{Policies: ranking.Policies})
}

// parsed returns a delivered page; on a computed web it is made again.
func (g *Environment) parsed(url string) (*schemas.Page, error) {
	parsed, _, err := g.read(g.web.pages[url])
	return parsed, err
}

// read returns a parsed page, and the size of its body, bytes.
func (g *Environment) read(p *page) (*schemas.Page, int, error) {
	if g.web.compute == nil {
		parsed, err := p.parsed()
		return parsed, p.size, err
	}
	body, kind := g.web.compute(p.url)
	parsed, err := dom.Parse(body, kind, p.url, dom.Settings{TagPaths: true, Tree: true})
	return parsed, len(body), err
}
