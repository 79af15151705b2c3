package papers

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// figures are the figures of the papers, without what is measured here.
//
//go:embed figures.yaml
var figures []byte

// Reproduce measures all figures on the worlds; step is called with the current measurement, and the number of measurements
// made and of all.
func Reproduce(ctx context.Context, worlds []*World, step func(what string, done, all int)) (*Report, error) {
	r := new(Report)
	if err := yaml.Unmarshal(figures, &r.Figures); err != nil {
		return nil, fmt.Errorf("figures.yaml: %w", err)
	}
	for _, w := range worlds {
		r.Origins = append(r.Origins, w.Name+": "+w.Origin)
	}
	fig3, err := offsetsOfFigure3()
	if err != nil {
		return nil, err
	}
	r.Figures = slices.Insert(r.Figures, slices.IndexFunc(r.Figures, func(f Figure) bool { return f.Paper == fig3.Paper }), *fig3)
	parts := []func(*session) error{(*session).of1999, (*session).of2000, (*session).of2002, (*session).of2008}
	for n, w := range worlds {
		s := &session{ctx: ctx, w: w, report: r}
		for i, part := range parts {
			step(fmt.Sprintf("%s, paper %d of %d", w.Name, i+1, len(parts)), n*len(parts)+i, len(worlds)*len(parts))
			if err := part(s); err != nil {
				return nil, fmt.Errorf("%s: %w", w.Name, err)
			}
		}
		w.made = nil
	}
	r.judge()
	return r, nil
}

// session measures one world.
type session struct {
	ctx    context.Context
	w      *World
	report *Report
}

// crawls runs crawls of the world.
func (s *session) crawls(keys []crawlKey) error { return s.w.crawls(s.ctx, keys) }

// add adds the world's part to a figure.
func (s *session) add(paper, name string, p Part) {
	p.World, p.Synthetic = s.w.Name, s.w.Synthetic
	if p.Synthetic {
		p.Why = ""
	}
	f := s.figure(paper, name)
	f.Parts = append(f.Parts, p)
}

// missing records what the world cannot show of a figure.
func (s *session) missing(paper, name, why string) {
	f := s.figure(paper, name)
	f.Missing = append(f.Missing, s.w.Name+": "+why)
}

func (s *session) figure(paper, name string) *Figure {
	for i := range s.report.Figures {
		if f := &s.report.Figures[i]; f.Paper == paper && f.Name == name {
			return f
		}
	}
	panic("no figure " + paper + ", " + name)
}
