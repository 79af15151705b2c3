package experiment

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"forager/internal/judging"
	"forager/internal/rank/apprentice"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// outOfScope returns the pages of the web that no crawl of the task may fetch, sorted: those of other sites.
func (g *Environment) outOfScope() []string {
	var urls []string
	for u, p := range g.web.pages {
		if p.outcome == schemas.Outcome_OUTCOME_DELIVERED && !g.inScope[u] {
			urls = append(urls, u)
		}
	}
	slices.Sort(urls)
	return urls
}

// transferred returns the model of all links between two pages out of scope, at most as many for each target as may train:
// that of a crawl which fetched them all (protocol T). Pages on which the critic was trained have held-out judgements.
func (g *Environment) transferred(ctx context.Context, l *schemas.Learning) ([]byte, error) {
	settings, err := apprentice.SettingsOf(l)
	if err != nil {
		return nil, err
	}
	return g.taught.get(taughtBy{settings, l.GetDMax(), l.GetMaxPairsPerTarget()}, func() ([]byte, error) {
		learner, err := g.train(ctx, settings, l)
		if err != nil {
			return nil, fmt.Errorf("learn elsewhere: %w", err)
		}
		return learner.Marshal(), nil
	})
}

// defaultPairs is the default number of leaps of a target that train.
const defaultPairs = 5

// taughtBy has what such a model depends on.
type taughtBy struct {
	settings    apprentice.Settings
	dMax, pairs uint32
}

func (g *Environment) train(ctx context.Context, settings apprentice.Settings, l *schemas.Learning) (apprentice.Learner, error) {
	pairs := int(cmp.Or(l.GetMaxPairsPerTarget(), defaultPairs))
	extraction := g.settings
	extraction.Families = settings.Families.InTable()
	urls := g.elsewhere()
	there := make(map[string]bool, len(urls))
	for _, u := range urls {
		there[u] = true
	}
	learner, settled, relevance := apprentice.New(settings), make(map[string]int), make(map[string]float64)
	for _, u := range urls {
		x, err := g.web.extract(g.web.pages[u], nil, extraction)
		if err != nil {
			return nil, err
		}
		opened, err := linkfeature.Open(x.table)
		if err != nil {
			return nil, fmt.Errorf("links of %s: %w", u, err)
		}
		for _, link := range x.links {
			v := g.web.resolve(link.GetUrl(), func(string) bool { return true })
			if v == u || !there[v] || settled[v] == pairs {
				continue
			}
			if settled[v]++; settled[v] == 1 {
				parsed, err := g.web.pages[v].parsed()
				if err != nil {
					return nil, err
				}
				j, err := g.critic.Judge(ctx, parsed, judging.Fields{})
				if err != nil {
					return nil, fmt.Errorf("judge %s: %w", v, err)
				}
				relevance[v] = j.GetRaw()
			}
			if err := learner.Add(opened.FeaturesOf(link, int(l.GetDMax()), settings.Families), relevance[v]); err != nil {
				return nil, err
			}
		}
	}
	if learner.Leaps() == 0 {
		return nil, fmt.Errorf("no page of %d links to another", len(urls))
	}
	learner.FixCut()
	return learner, nil
}

// newLearner returns the learner of a crawl: an empty one, or that of the prior.
func newLearner(l *schemas.Learning, prior []byte) (apprentice.Learner, error) {
	settings, err := apprentice.SettingsOf(l)
	if err != nil {
		return nil, err
	}
	if len(prior) == 0 {
		return apprentice.New(settings), nil
	}
	learner, err := apprentice.OpenFor(prior, settings)
	if err != nil {
		return nil, fmt.Errorf("prior model: %w", err)
	}
	return learner, nil
}
