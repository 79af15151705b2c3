package experiment

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"forager/internal/crawlfile"
	"forager/internal/rank"
	"forager/schemas"
)

// Rankers of an experiment, in the order of its tables: those that one word names in a crawl
// file, the taught apprentice, and the oracles.
var Rankers = append(slices.Clone(crawlfile.Rankers), "apprentice-taught", "oracle-labels", "oracle")

// Bench is a set of runs: every task with every draw and every ranker.
type Bench struct {
	Tasks   []*Task
	Draws   []int
	Rankers []string
	// RandomRuns is the number of seeds of the ranker "random" for each draw of a task; 0 = 1.
	RandomRuns int
	Learning   *schemas.Learning
	// Ground of each task.
	Grounds map[*Task]*Ground
	// Progress is told after each run, from one goroutine at a time; nil = nobody.
	Progress func(done, all int)
}

// Result is what one run gave.
type Result struct {
	Task   string `json:"task"`
	Draw   int    `json:"draw"`
	Ranker string `json:"ranker"`
	Measures
}

// Run makes all crawls, as many at once as there are processors, and returns the results in
// a fixed order.
func (b *Bench) Run(ctx context.Context) ([]Result, error) {
	type job struct {
		task   *Task
		draw   int
		ranker string
		seed   uint64
		at     int
	}
	var jobs []job
	for _, t := range b.Tasks {
		for _, d := range b.Draws {
			if d < 0 || d >= len(t.Seeds) {
				return nil, fmt.Errorf("task %s has %d draws, no draw %d", t.Name, len(t.Seeds), d)
			}
			for _, r := range b.Rankers {
				if !slices.Contains(Rankers, r) {
					return nil, fmt.Errorf("no ranker %q; known: %s", r, strings.Join(Rankers, ", "))
				}
				n := 1
				if r == "random" {
					n = max(1, b.RandomRuns)
				}
				for i := range n {
					jobs = append(jobs, job{t, d, r, uint64(d*1000 + i), len(jobs)})
				}
			}
		}
	}
	results := make([]Result, len(jobs))
	work := make(chan job)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	var wg sync.WaitGroup
	done := 0
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for j := range work {
				c, err := b.Grounds[j.task].Try(j.ranker, j.draw, j.seed, b.Learning)
				if err != nil {
					cancel(fmt.Errorf("task %s, draw %d, ranker %s: %w", j.task.Name, j.draw, j.ranker, err))
					continue
				}
				results[j.at] = Result{j.task.Name, j.draw, j.ranker, b.Grounds[j.task].Measure(c)}
				mu.Lock()
				done++
				if b.Progress != nil {
					b.Progress(done, len(jobs))
				}
				mu.Unlock()
			}
		})
	}
	for _, j := range jobs {
		select {
		case work <- j:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
	}
	close(work)
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return results, nil
}

// Try makes one crawl of the task: a draw's seeds with a named ranker. seed is that of the
// ranker "random".
func (g *Ground) Try(ranker string, draw int, seed uint64, learning *schemas.Learning) (*Crawl, error) {
	run := &Run{Ground: g, Seeds: g.task.Seeds[draw], Learning: learning, RandomSeed: seed}
	switch ranker {
	case "oracle-labels":
		run.Policy = oraclePolicy(ranker)
		run.Rankers = map[string]rank.Ranker{ranker: labelOracle{g}}
	case "oracle":
		o := newPathOracle(g)
		run.Policy = oraclePolicy(ranker)
		run.Rankers = map[string]rank.Ranker{ranker: o}
		run.Observe = o.observe
	case "apprentice-taught":
		prior, err := g.teach(draw, learning)
		if err != nil {
			return nil, fmt.Errorf("the first crawl: %w", err)
		}
		policy, err := crawlfile.Policy("apprentice-gated")
		if err != nil {
			return nil, err
		}
		run.Policy, run.Prior = policy, prior
	default:
		policy, err := crawlfile.Policy(ranker)
		if err != nil {
			return nil, err
		}
		run.Policy = policy
	}
	return run.Crawl()
}

func oraclePolicy(name string) *schemas.Policy {
	return &schemas.Policy{Name: name, Ranker: schemas.Ranker_RANKER_SOFT_FOCUS}
}

// teach makes a soft-focus crawl of the same draw and trains an apprentice on all its leaps
// (2002 §3.5).
func (g *Ground) teach(draw int, learning *schemas.Learning) ([]byte, error) {
	policy, err := crawlfile.Policy("soft-focus")
	if err != nil {
		return nil, err
	}
	run := &Run{Ground: g, Seeds: g.task.Seeds[draw], Learning: learning, Policy: policy}
	c, err := run.Crawl()
	if err != nil {
		return nil, err
	}
	return c.Learnt, nil
}
