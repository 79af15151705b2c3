package experiment

import (
	"math"

	"forager/internal/rank/guide"
	"forager/internal/rank/qvalue"
	"forager/internal/rank/shark"
)

// fish queries the words with the largest weights for the task's focus, as sharks do.
func fish(g *Ground) (guide.Guide, error) {
	q, err := shark.NewQuery(g.model, []string{g.task.FocusClass})
	if err != nil {
		return nil, err
	}
	return shark.NewFish(q, shark.DefaultFish)
}

func sharks(g *Ground) (guide.Guide, error) {
	q, err := shark.NewQuery(g.model, []string{g.task.FocusClass})
	if err != nil {
		return nil, err
	}
	return shark.NewShark(q, shark.Default)
}

// worth is trained on the values of links in the lessons.
func worth(g *Ground) (guide.Guide, error) {
	l, err := g.lessons()
	if err != nil {
		return nil, err
	}
	s := qvalue.Default
	s.Words = g.model.Cut()
	values, err := qvalue.Values(l.children(), l.targets, s.Gamma)
	if err != nil {
		return nil, err
	}
	var pages []qvalue.Lesson
	for i, p := range l.pages {
		if len(l.links[i]) == 0 {
			continue // or it asks not to follow its links
		}
		parsed, err := p.parsed()
		if err != nil {
			return nil, err
		}
		lesson := qvalue.Lesson{Page: parsed}
		for _, to := range l.links[i] {
			q := math.NaN()
			if to >= 0 {
				q = values[to]
			}
			lesson.Q = append(lesson.Q, q)
		}
		pages = append(pages, lesson)
	}
	return qvalue.Train(pages, s)
}
