package experiment

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawlfile"
	"forager/internal/rank"
	"forager/schemas"
)

// Rankers of an experiment, in the order of its tables: those that one word names in a crawl
// file, further apprentices, and the oracles.
var Rankers = append(slices.Clone(crawlfile.Rankers), "apprentice-topics", "apprentice-taught", "oracle-labels", "oracle")

// Bench is a set of runs: every task with every draw and every ranker.
type Bench struct {
	Tasks   []*Task
	Draws   []int
	Rankers []string
	// RandomRuns is the number of runs, each with a seed of its own, of rankers of random order
	// for each draw of a task; 0 = 1.
	RandomRuns int
	// Learning of all crawls; nil = defaults.
	Learning *schemas.Learning
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
				if strings.HasSuffix(r, "random") {
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

// built says on which ranker of the crawl file each further one is built.
var built = map[string]string{
	"apprentice-topics": "apprentice", "apprentice-taught": "apprentice-gated",
	"oracle-labels": baseline, "oracle": baseline,
}

// Try makes one crawl of the task: a draw's seeds with a named ranker. seed is that of random
// orders.
func (g *Ground) Try(ranker string, draw int, seed uint64, learning *schemas.Learning) (*Crawl, error) {
	if err := g.refuses(ranker); err != nil {
		return nil, err
	}
	policy, err := crawlfile.Policy(cmp.Or(built[ranker], ranker))
	if err != nil {
		return nil, err
	}
	policy.Name = ranker
	run := &Run{Ground: g, Seeds: g.task.Seeds[draw], Policy: policy, Learning: learning, RandomSeed: seed}
	switch ranker {
	case "oracle-labels":
		run.Rankers = map[string]rank.Ranker{ranker: labelOracle{g}}
	case "oracle":
		o := newPathOracle(g)
		run.Rankers, run.Observe = map[string]rank.Ranker{ranker: o}, o.observe
	case "apprentice-topics":
		run.Learning = &schemas.Learning{}
		proto.Merge(run.Learning, learning)
		run.Learning.Topics = schemas.TopicFeatures_TOPIC_FEATURES_TOP2
	case "apprentice-taught":
		first, err := g.Try(baseline, draw, seed, learning)
		if err != nil {
			return nil, fmt.Errorf("the first crawl: %w", err)
		}
		run.Prior = first.Learnt.Marshal()
	}
	return run.Crawl()
}
