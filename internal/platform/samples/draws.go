package samples

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Draw is a random sample of the pages that a crawl had fetched at a time, drawn to be marked.
type Draw struct {
	Crawl string    `json:"crawl"`
	At    time.Time `json:"at"`
	// Off and On are the pages that the critic took for off topic and for on topic.
	Off Stratum `json:"off"`
	On  Stratum `json:"on"`
}

// Stratum is the pages of one verdict: how many the crawl had, and the drawn ones.
type Stratum struct {
	Pages int      `json:"pages"`
	URLs  []string `json:"urls"`
}

func drawsOf(critic string) string { return "draws/" + critic + "/" }

// AddDraw stores a draw for a critic.
func AddDraw(ctx context.Context, store Store, critic string, d *Draw) error {
	if err := add(ctx, store, drawsOf(critic), d.At, d); err != nil {
		return fmt.Errorf("keep what was drawn from crawl %s: %w", d.Crawl, err)
	}
	return nil
}

// Draws returns the draws for a critic in the order of time.
func Draws(ctx context.Context, store Store, critic string) (list []Draw, err error) {
	if err = each(ctx, store, drawsOf(critic), func(d Draw) { list = append(list, d) }); err != nil {
		return nil, fmt.Errorf("draws for critic %s: %w", critic, err)
	}
	return list, nil
}

// From returns the pages that were drawn from a crawl.
func From(draws []Draw, crawl string) map[string]bool {
	pages := make(map[string]bool)
	for page := range strata(draws) {
		if page.crawl == crawl {
			pages[page.url] = true
		}
	}
	return pages
}

// drawn is a page in a crawl.
type drawn struct{ crawl, url string }

// strata returns the stratum of each drawn page, with the size that it had when last drawn from.
func strata(draws []Draw) map[drawn]*Stratum {
	type verdict struct {
		crawl string
		on    bool
	}
	last, of := make(map[verdict]*Stratum), make(map[drawn]*Stratum)
	for i := range draws {
		for on, s := range map[bool]*Stratum{false: &draws[i].Off, true: &draws[i].On} {
			v := verdict{draws[i].Crawl, on}
			if last[v] == nil {
				last[v] = new(Stratum)
			}
			last[v].Pages = s.Pages
			for _, u := range s.URLs {
				of[drawn{v.crawl, u}] = last[v]
			}
		}
	}
	return of
}

// Population returns the last draw of which pages were marked; nil if there is none.
func Population(marks []Mark, draws []Draw) (last *Draw) {
	marked := make(map[drawn]bool)
	for _, m := range marks {
		if m.Drawn {
			marked[drawn{m.Crawl, m.URL}] = true
		}
	}
	for i := range draws {
		d := &draws[i]
		if slices.ContainsFunc(slices.Concat(d.Off.URLs, d.On.URLs), func(u string) bool { return marked[drawn{d.Crawl, u}] }) {
			last = d
		}
	}
	return last
}

// Weights returns, by URL, what each mark of a drawn page counts: in proportion to the pages of its crawl that it represents
// (the pages of its stratum / those of it that were marked), and scaled so that the marks of a crawl count as much together as so many of a
// sample without strata do, (Σw)²/Σw² (Kish, Survey Sampling, 1965, §11.7). Marks of pages that are in no draw have none.
func Weights(marks []Mark, draws []Draw) map[string]float64 {
	of := strata(draws)
	marked := make(map[*Stratum]float64)
	stratum := func(m *Mark) *Stratum {
		if !m.Drawn {
			return nil
		}
		return of[drawn{m.Crawl, m.URL}]
	}
	for i := range marks {
		marked[stratum(&marks[i])]++
	}
	weights, sum, squares := make(map[string]float64), make(map[string]float64), make(map[string]float64)
	for i := range marks {
		if s := stratum(&marks[i]); s != nil {
			w := float64(s.Pages) / marked[s]
			weights[marks[i].URL] = w
			sum[marks[i].Crawl] += w
			squares[marks[i].Crawl] += w * w
		}
	}
	for i := range marks {
		if _, ok := weights[marks[i].URL]; ok {
			weights[marks[i].URL] *= sum[marks[i].Crawl] / squares[marks[i].Crawl]
		}
	}
	return weights
}
