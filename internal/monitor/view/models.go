package view

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"forager/internal/measure/chart"
	"forager/internal/measure/harvest"
	"forager/internal/platform/analytics"
	"forager/internal/rank/apprentice"
	"forager/schemas"
)

// Calibration adds to a chart a line for each policy whose scores are probabilities: mean R of its pages over their mean score, by tenths.
func Calibration(c *chart.Chart, prefix string, tenths []analytics.Tenth) {
	for _, t := range tenths {
		name := prefix + Plain(t.Policy)
		if n := len(c.Lines); n == 0 || c.Lines[n-1].Name != name {
			c.Lines = append(c.Lines, chart.Line{Name: name})
		}
		l := &c.Lines[len(c.Lines)-1]
		l.X, l.Y = append(l.X, t.Score), append(l.Y, t.Harvest)
	}
}

// ShadowRanker compares a ranker for comparison with those that chose, over the pages that it ranked.
type ShadowRanker struct {
	Ranker string `json:"ranker"`
	// Cut is the relevance above which a page is on topic.
	Cut float64 `json:"cut"`
	harvest.ShadowComparison
}

// ShadowRankers compares the rankers for comparison of a crawl over its newest pages, at most so many.
func ShadowRankers(ctx context.Context, rows analytics.Report, cut float64, most int) (list []ShadowRanker, err error) {
	var names []string
	compared := make(map[string]*harvest.Comparer)
	err = rows.ShadowRanks(ctx, most, func(x analytics.ShadowRank) {
		if compared[x.Shadow] == nil {
			names = append(names, x.Shadow)
			compared[x.Shadow] = harvest.NewComparer(cut)
		}
		compared[x.Shadow].Add(harvest.Placed{
			Shadow: harvest.Order{Out: x.Dropped, Tier: x.ShadowTier, Score: x.ShadowScore},
			Policy: x.Policy, Used: harvest.Order{Tier: x.Tier, Score: x.Score},
			Relevance: x.Relevance,
		})
	})
	for _, name := range names {
		list = append(list, ShadowRanker{name, cut, compared[name].Result()})
	}
	return list, err
}

// Features are those of a model with the strongest weights.
type Features struct {
	Version string
	Learner string
	// Cut is R from which on a target is high.
	Cut float64
	// Terms are the terms of the strongest features that have an offset, each with its weights by offset (2002, Fig. 8).
	Terms []chart.Line
	// ByOffset are the strongest at each DOM offset (2002, Fig. 9), by offset.
	ByOffset []AtOffset
}

// AtOffset are the strongest features at a DOM offset, "page" for those without one.
type AtOffset struct {
	Offset    string
	Strongest []apprentice.Tally
}

const (
	// maxModel bounds the models that are read for display, bytes.
	maxModel = 32 << 20
	// often is how often features must have come, mostTerms the number of terms, and mostAtOffset that of features at an offset.
	often, mostTerms, mostAtOffset = 5, 8, 4
)

// Features reads what an apprentice has learned; one model at a time.
func (s *Source) Features(ctx context.Context, version string) (*Features, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	data, err := s.Store.RangeUpTo(ctx, schemas.ModelObject("apprentice", version), 0, maxModel+1)
	if err != nil {
		return nil, err
	}
	if len(data) > maxModel {
		return nil, fmt.Errorf("the model %s has more than %d MiB: forager models show %s shows its features", version, maxModel>>20, version)
	}
	learner, err := apprentice.Open(data)
	if err != nil {
		return nil, err
	}
	f := &Features{Version: version, Learner: learner.Settings().String(), Cut: learner.Model().Facts().Cut}
	f.add(learner.Strongest(often, 0))
	return f, nil
}

// add adds features in the order of their strength.
func (f *Features) add(strongest []apprentice.Tally) {
	byOffset := apprentice.ByOffset(strongest, mostAtOffset)
	for _, d := range slices.Sorted(maps.Keys(byOffset)) {
		f.ByOffset = append(f.ByOffset, AtOffset{apprentice.OffsetName(d), byOffset[d]})
	}
	var terms []string
	for _, t := range strongest {
		if t.Offset != schemas.NoOffset && !slices.Contains(terms, t.Term) && len(terms) < mostTerms {
			terms = append(terms, t.Term)
		}
	}
	slices.SortFunc(strongest, func(a, b apprentice.Tally) int { return cmp.Compare(a.Offset, b.Offset) })
	for _, term := range terms {
		line := chart.Line{Name: Plain(term)}
		for _, t := range strongest {
			if t.Term == term && t.Offset != schemas.NoOffset {
				line.X, line.Y = append(line.X, float64(t.Offset)), append(line.Y, t.Weight)
			}
		}
		f.Terms = append(f.Terms, line)
	}
}
