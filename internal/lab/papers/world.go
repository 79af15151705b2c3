package papers

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"forager/internal/lab/experiment"
	"forager/internal/lab/taskfile"
	"forager/schemas"
)

// Reach is the largest DOM offset that environments must be prepared for.
const Reach = 8

// World is a set of tasks of one kind.
type World struct {
	Name         string
	Synthetic    bool
	Tasks        []*taskfile.Task
	Environments map[*taskfile.Task]*experiment.Environment
	// Draws of seeds, at least two.
	Draws []int
	// Prior is the model trained on another synthetic web (protocol T), nil if package experiment trains one on other
	// sites.
	Prior []byte
	// Leaves are the tasks' environments with leaves numbered as in the paper of 2002 (schemas.LEAF_MODE_PAPER); nil = none.
	Leaves map[*taskfile.Task]*experiment.Environment
	// MEMM is the number of tasks with MEMMs, as each is trained for a task (2008).
	MEMM int
	// Origin identifies what the numbers depend on: files with their digests, or settings.
	Origin string

	made map[crawlKey]*experiment.Crawl
}

// how is the way in which a crawl differs from that of package experiment.
type how int

const (
	asItIs      how = iota
	disjoint        // from the seeds of the next draw that are not the draw's own
	recall          // inside the pages of soft focus (2002 §3.6)
	switched        // the apprentice takes over after a quarter of the budget (2002 §3.7)
	kept            // every settled leap is kept, with features up to Reach
	topical         // as kept, with topic and co-citation features
	paperLeaves     // as kept, on World.Leaves
	layers34        // from pages three and four links from a target (2000)
	layer4          // from pages four links from a target (2008)
)

// crawlKey names one crawl.
type crawlKey struct {
	task   *taskfile.Task
	draw   int
	ranker string
	how    how
}

// learning are the settings of all crawls: those of experiment's defaults.
var learning = &schemas.Learning{DMax: 5, Pairs: schemas.Pairs_PAIRS_BOTH}

// crawls runs the crawls that have not been run, as many at once as there are processors.
func (w *World) crawls(ctx context.Context, keys []crawlKey) error {
	if w.made == nil {
		w.made = make(map[crawlKey]*experiment.Crawl)
	}
	keys = slices.DeleteFunc(slices.Clone(keys), func(k crawlKey) bool { return w.made[k] != nil })
	made := make([]*experiment.Crawl, len(keys))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, k := range keys {
		g.Go(func() (err error) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if made[i], err = w.crawl(ctx, k); err != nil {
				return fmt.Errorf("task %s, draw %d, %s: %w", k.task.Name, k.draw, k.ranker, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, k := range keys {
		w.made[k] = made[i]
	}
	return nil
}

// transferred is the apprentice of protocol T.
const transferred = "apprentice-transferred"

func (w *World) crawl(ctx context.Context, k crawlKey) (*experiment.Crawl, error) {
	g, ranker, prior := w.Environments[k.task], k.ranker, []byte(nil)
	if k.how == paperLeaves {
		g = w.Leaves[k.task]
	}
	if ranker == transferred && w.Prior != nil {
		ranker, prior = "apprentice-gated", w.Prior
	}
	run, err := g.Run(ctx, ranker, k.draw, uint64(k.draw), learning)
	if err != nil {
		return nil, err
	}
	if prior != nil {
		run.Prior = prior
	}
	switch k.how {
	case disjoint:
		run.Seeds = w.others(k.task, k.draw)
	case recall:
		base, err := g.Try(ctx, experiment.Baseline, k.draw, uint64(k.draw), learning)
		if err != nil {
			return nil, err
		}
		run.Within = g.Reaching(base)
	case switched:
		run.Learning = &schemas.Learning{DMax: 5, Pairs: schemas.Pairs_PAIRS_BOTH, SwitchPages: max(1, k.task.Budget/4)}
	case kept, topical, paperLeaves:
		run.Keep, run.Learning = true, &schemas.Learning{DMax: Reach, Pairs: schemas.Pairs_PAIRS_BOTH}
		if k.how == topical {
			run.Learning.Topics = schemas.TopicFeatures_TOPIC_FEATURES_TOP2
			run.Learning.Features = []schemas.FeatureFamily{schemas.FeatureFamily_FEATURE_FAMILY_OFFSETS, schemas.FeatureFamily_FEATURE_FAMILY_COCITATION}
		}
	case layers34, layer4:
		least := 3
		if k.how == layer4 {
			least = 4
		}
		if run.Seeds, _, err = w.far(k.task, k.draw, least, 4); err != nil {
			return nil, err
		}
	}
	return run.Crawl(ctx)
}

// others returns the seeds of the next draw that are not this one's.
func (w *World) others(t *taskfile.Task, draw int) []string {
	next := t.Seeds[(draw+1)%len(t.Seeds)]
	return slices.DeleteFunc(slices.Clone(next), func(s string) bool { return slices.Contains(t.Seeds[draw], s) })
}

// starts is the number of seeds of a crawl that begins far away.
const starts = 5

// far draws pages from which the nearest target is least to most hops away, and returns the distance of the nearest. If
// they are fewer than starts, nearer ones are added, one layer after another.
func (w *World) far(t *taskfile.Task, draw, least, most int) (seeds []string, nearest int, err error) {
	byLayer := make(map[int][]string)
	distances, err := w.Environments[t].Distances()
	if err != nil {
		return nil, 0, err
	}
	for _, u := range slices.Sorted(maps.Keys(distances)) {
		byLayer[distances[u]] = append(byLayer[distances[u]], u)
	}
	var pool []string
	nearest = most
	for d := most; d > 0 && (d >= least || len(pool) < starts); d-- {
		pool, nearest = append(pool, byLayer[d]...), d
	}
	r := rand.New(rand.NewPCG(2000, uint64(draw)))
	r.Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
	return pool[:min(starts, len(pool))], nearest, nil
}

// nearer returns the number of tasks whose crawls must begin fewer than least hops from a target, as fewer than starts pages are that far
// away, and the fewest of these hops.
func (w *World) nearer(least int) (tasks, fewest int, err error) {
	fewest = least
	for _, t := range w.Tasks {
		_, nearest, err := w.far(t, w.Draws[0], least, 4)
		if err != nil {
			return 0, 0, err
		}
		if nearest < least {
			tasks, fewest = tasks+1, min(fewest, nearest)
		}
	}
	return tasks, fewest, nil
}

// every returns the keys of the crawls of rankers on all tasks and draws.
func (w *World) every(how how, rankers ...string) []crawlKey {
	var keys []crawlKey
	for _, t := range w.Tasks {
		for _, d := range w.Draws {
			for _, r := range rankers {
				keys = append(keys, crawlKey{t, d, r, how})
			}
		}
	}
	return keys
}

// byTask returns a number for each crawl of a ranker, by task, one for each draw.
func (w *World) byTask(how how, ranker string, of func(k crawlKey, c *experiment.Crawl) float64) map[string][]float64 {
	out := make(map[string][]float64)
	for _, k := range w.every(how, ranker) {
		if c := w.made[k]; c != nil {
			out[k.task.Name] = append(out[k.task.Name], of(k, c))
		}
	}
	return out
}
