package experiment

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"forager/internal/crawl/crawlfile"
	"forager/internal/lab/taskfile"
	"forager/internal/rank/guide"
	"forager/schemas"
)

// Rankers of an experiment, in the order of its tables: those that one word names in a crawl file, and further ones.
var Rankers = rankers()

func rankers() []string {
	names := slices.Clone(crawlfile.Rankers)
	for _, f := range variants {
		names = append(names, f.name)
	}
	return names
}

// Baseline is the ranker that others are compared with, and whose loss they cut.
const Baseline = "soft-focus"

// Learns reports whether a ranker learns during the crawl, so that settings of learning change it.
func Learns(ranker string) bool { return strings.HasPrefix(ranker, "apprentice") }

// BaselineUnder returns the name of the Baseline's variant under a critic.
func BaselineUnder(critic string) string { return nameUnder(Baseline, critic) }

func nameUnder(ranker, critic string) string {
	if critic == "" {
		return ranker
	}
	return ranker + "@" + critic
}

// Judges reports whether a ranker reads what the critic makes of pages, so that another critic changes it.
func Judges(ranker string) bool {
	return ranker != "unfocused" && ranker != "random" && !strings.HasPrefix(ranker, "oracle")
}

// Variant is a ranker with settings, under a name of its own.
type Variant struct {
	// Name in tables; distinct.
	Name string
	// Ranker is one of Rankers.
	Ranker string
	// Critic under which it crawls (KnowCritic); "" = that of the task file.
	Critic string
	// Learning of its crawls; nil = defaults.
	Learning *schemas.Learning
	// Guide makes the ranker of a crawl if it is none of Rankers, and Access is what it reads; nil = Ranker is one of them.
	Guide  func(j *Job) (guide.Guide, error)
	Access Access
	// Prior is the initial model; nil = none.
	Prior []byte
	// Ration of backlink queries of a ranker that makes them, as a share of the budget, (0,1]; 0 = a tenth.
	Ration float64
}

// AsksBacklinks reports whether a ranker queries backlinks, so that a ration changes it.
func AsksBacklinks(ranker string) bool { return strings.Contains(ranker, "context-graph-backlinks") }

// ParseVariant returns a ranker under its own name, "ranker" or "ranker@critic".
func ParseVariant(name string, learning *schemas.Learning) (Variant, error) {
	v := Variant{Name: name, Learning: learning}
	var under bool
	v.Ranker, v.Critic, under = strings.Cut(name, "@")
	if err := KnowRanker(v.Ranker); err != nil || !under {
		return v, err
	}
	if !Judges(v.Ranker) {
		return v, fmt.Errorf("ranker %s reads no critic, so that none can be named for it", v.Ranker)
	}
	return v, KnowCritic(v.Critic)
}

// CriticOf returns the name of the critic of a task's crawls: that of the task file, with the variant's own after "@".
func (v *Variant) CriticOf(t *taskfile.Task) string { return nameUnder(t.Critic, v.Critic) }

// Under returns a variant under another critic, named for it.
func (v Variant) Under(critic string) Variant {
	v.Name, v.Critic = nameUnder(v.Name, critic), critic
	return v
}

// Bench is a set of runs: every task with every draw and every variant.
type Bench struct {
	Tasks    []*taskfile.Task
	Draws    []int
	Variants []Variant
	// RandomRuns is the number of runs of rankers of random order for each draw of a task, each with its own seed; 0 = 1.
	RandomRuns int
	// Network lets the requests of a crawl overlap; nil = one after the other.
	Network *Network
	// Environments of the tasks.
	Environments map[*taskfile.Task]*Environment
	// Known returns the result of a job that was run before, or nil; nil = all are run.
	Known func(Job) *Result
	// Done is called with each result, and the CPU time of its thread, from one goroutine at a time, in no fixed order; its
	// error ends the bench. nil = no call.
	Done func(j Job, r *Result, spent time.Duration, done, all int) error
}

// Job is one crawl to be run.
type Job struct {
	Task    *taskfile.Task
	Draw    int
	Variant *Variant
	// Seed of random choices.
	Seed uint64
}

// Result is the result of one run.
type Result struct {
	Task string `json:"task"`
	Draw int    `json:"draw"`
	// Variant is the name of the variant, Ranker its ranker and Critic its critic.
	Variant string `json:"variant"`
	Ranker  string `json:"ranker"`
	Critic  string `json:"critic,omitempty"`
	Seed    uint64 `json:"seed"`
	// Access of the ranker, and the number of requests that trained it before the crawl (Run.Training).
	Access   Access `json:"access"`
	Training uint64 `json:"training"`
	Measures
	// Similarity to the targets; nil on computed webs.
	Similarity *Similarity `json:"similarity,omitempty"`
	// Took is the time of a crawl over a Network; 0 = there is none.
	Took time.Duration `json:"took,omitempty"`
	// Course of the crawl.
	Course Shape `json:"course,omitzero"`
	// Failed is the error of a run that failed; nothing else is set then.
	Failed string `json:"failed,omitempty"`
}

// Jobs returns the runs of the bench in a fixed order: by task, draw, variant and seed. Variants that a task cannot be run
// with are left out; see Refused.
func (b *Bench) Jobs() ([]Job, error) {
	var jobs []Job
	for _, t := range b.Tasks {
		for _, d := range b.Draws {
			if d < 0 || d >= len(t.Seeds) {
				return nil, fmt.Errorf("task %s has %d draws, no draw %d", t.Name, len(t.Seeds), d)
			}
			for i := range b.Variants {
				v := &b.Variants[i]
				if err := KnowRanker(v.Ranker); err != nil && v.Guide == nil {
					return nil, err
				}
				if g := b.Environments[t]; g != nil && g.Refuses(v.Ranker, v.Learning) != nil {
					continue
				}
				n := 1
				if strings.HasSuffix(v.Ranker, "random") {
					n = max(1, b.RandomRuns)
				}
				for run := range n {
					jobs = append(jobs, Job{t, d, v, uint64(d*1000 + run)})
				}
			}
		}
	}
	return jobs, nil
}

// Refused returns which variants are not run on which tasks, and why, one sentence for each variant and reason.
func (b *Bench) Refused() []string {
	var all []string
	for i := range b.Variants {
		tasks := make(map[string][]string)
		for _, t := range b.Tasks {
			if err := b.Environments[t].Refuses(b.Variants[i].Ranker, b.Variants[i].Learning); err != nil {
				tasks[err.Error()] = append(tasks[err.Error()], t.Name)
			}
		}
		for _, reason := range slices.Sorted(maps.Keys(tasks)) {
			all = append(all, fmt.Sprintf("%s was not tried on %s: %s", b.Variants[i].Name, strings.Join(tasks[reason], ", "), reason))
		}
	}
	return all
}

// Run runs all crawls, as many at once as there are processors, and returns the results in the order of Jobs. A crawl that
// fails is a result with Failed set (see Whole), for which Done is not called. It returns an error if all crawls fail, or
// if ctx ends.
func (b *Bench) Run(ctx context.Context) ([]Result, error) {
	jobs, err := b.Jobs()
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(jobs))
	var left []int
	for i, j := range jobs {
		if b.Known != nil {
			if known := b.Known(j); known != nil {
				results[i] = *known
				continue
			}
		}
		left = append(left, i)
	}
	uses := b.uses(jobs, left)
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	var mu sync.Mutex
	var failed []error
	done := len(jobs) - len(left)
	for _, i := range left {
		group.Go(func() error {
			if running.Err() != nil {
				return nil
			}
			r, spent, err := b.timed(running, &jobs[i])
			mu.Lock()
			defer mu.Unlock()
			done++
			for _, s := range b.Environments[jobs[i].Task].shares() {
				if uses[s]--; uses[s] == 0 {
					s.release()
				}
			}
			if err != nil && running.Err() != nil {
				return nil
			}
			if err != nil {
				results[i].Failed = err.Error()
				failed = append(failed, err)
				return nil
			}
			results[i] = *r
			if b.Done == nil {
				return nil
			}
			return b.Done(jobs[i], r, spent, done, len(jobs))
		})
	}
	if err := cmp.Or(group.Wait(), context.Cause(ctx)); err != nil {
		return nil, err
	}
	if len(failed) > 0 && len(failed) == len(jobs) {
		return nil, fmt.Errorf("every run failed, such as %w", failed[0])
	}
	return results, nil
}

// Whole removes the tasks of which a run failed, as rankers are compared over the same tasks, and returns a sentence for
// each failed run.
func Whole(jobs []Job, results []Result) (_ []Job, _ []Result, failed []string) {
	broken := make(map[*taskfile.Task]bool)
	for i := range results {
		if results[i].Failed != "" {
			broken[jobs[i].Task] = true
			failed = append(failed, fmt.Sprintf("%s; the task is left out", results[i].Failed))
		}
	}
	var wholeJobs []Job
	var whole []Result
	for i, j := range jobs {
		if !broken[j.Task] {
			wholeJobs, whole = append(wholeJobs, j), append(whole, results[i])
		}
	}
	return wholeJobs, whole, failed
}

// timed runs a job and returns the CPU time that it took.
func (b *Bench) timed(ctx context.Context, j *Job) (*Result, time.Duration, error) {
	runtime.LockOSThread() // the CPU time is that of the thread
	defer runtime.UnlockOSThread()
	begun := threadTime()
	r, err := b.try(ctx, j)
	return r, threadTime() - begun, err
}

// shared is what crawls have in common. It is released after the last of them.
type shared interface{ release() }

// shares returns what the crawls of a task share, some of it with those of other tasks.
func (g *Environment) shares() []shared { return []shared{g, g.part, g.web, g.sampleKey()} }

// uses counts the crawls left by what they share, and moves tasks that share guides next to each other, so that their guides are in memory
// as briefly as possible. A crawl does not depend on those before it.
func (b *Bench) uses(jobs []Job, left []int) map[shared]int {
	uses, first := make(map[shared]int), make(map[sampleKey]int)
	for at, i := range left {
		g := b.Environments[jobs[i].Task]
		for _, s := range g.shares() {
			uses[s]++
		}
		if _, ok := first[g.sampleKey()]; !ok {
			first[g.sampleKey()] = at
		}
	}
	slices.SortStableFunc(left, func(x, y int) int {
		return cmp.Compare(first[b.Environments[jobs[x].Task].sampleKey()], first[b.Environments[jobs[y].Task].sampleKey()])
	})
	return uses
}

// threadTime returns the user and system time of this thread so far.
func threadTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		return 0 // available since Linux 2.6.26
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (b *Bench) try(ctx context.Context, j *Job) (*Result, error) {
	g, err := b.Environments[j.Task].Under(ctx, j.Variant.Critic)
	var run *Run
	if err == nil {
		run, err = j.run(ctx, g)
	}
	if err != nil {
		return nil, fmt.Errorf("task %s, draw %d, ranker %s: %w", j.Task.Name, j.Draw, j.Variant.Name, err)
	}
	if share := j.Variant.Ration; share > 0 && run.Backlinks != nil {
		run.Ration = g.ration(share)
	}
	if j.Variant.Prior != nil {
		run.Prior = j.Variant.Prior
	}
	run.Untaught, run.Network = true, b.Network
	c, err := run.Crawl(ctx)
	if err != nil {
		return nil, fmt.Errorf("task %s, draw %d, ranker %s: %w", j.Task.Name, j.Draw, j.Variant.Name, err)
	}
	similarity, err := g.Similarity(c)
	if err != nil {
		return nil, fmt.Errorf("task %s: %w", j.Task.Name, err)
	}
	return &Result{
		Task: j.Task.Name, Draw: j.Draw, Variant: j.Variant.Name, Ranker: j.Variant.Ranker, Critic: j.Variant.Critic, Seed: j.Seed,
		Access: cmp.Or(j.Variant.Access, AccessOf(j.Variant.Ranker, j.Task)), Training: run.Training,
		Measures: g.Measure(c), Similarity: similarity, Took: c.Took, Course: g.shape(c),
	}, nil
}

// run returns the crawl of a job, without running it.
func (j *Job) run(ctx context.Context, g *Environment) (*Run, error) {
	v := j.Variant
	if v.Guide == nil {
		return g.Run(ctx, v.Ranker, j.Draw, j.Seed, v.Learning)
	}
	by, err := v.Guide(j)
	if err != nil {
		return nil, err
	}
	run, err := g.Run(ctx, Baseline, j.Draw, j.Seed, v.Learning)
	if err != nil {
		return nil, err
	}
	p := preparation{name: v.Ranker, policy: run.Policies[0]}
	p.policy.Name = v.Ranker
	p.follow(run, by)
	return run, nil
}

// KnowRanker returns an error if a name is neither one of Rankers nor a mixture of them.
func KnowRanker(name string) error {
	_, err := rankingOf(name)
	return err
}

// Try runs one crawl of the task: the seeds of a draw with a named ranker. seed is that of random orders.
func (g *Environment) Try(ctx context.Context, ranker string, draw int, seed uint64, learning *schemas.Learning) (*Crawl, error) {
	run, err := g.Run(ctx, ranker, draw, seed, learning)
	if err != nil {
		return nil, err
	}
	return run.Crawl(ctx)
}

// Run returns the crawl of Try without running it, its guides trained.
func (g *Environment) Run(ctx context.Context, ranker string, draw int, seed uint64, learning *schemas.Learning) (*Run, error) {
	if err := g.Refuses(ranker, learning); err != nil {
		return nil, err
	}
	ranking, err := rankingOf(ranker)
	if err != nil {
		return nil, err
	}
	run := &Run{
		Environment: g, Seeds: g.task.Seeds[draw], Policies: ranking.Policies, Mixture: ranking.Mixture,
		Learning: learning, RandomSeed: seed,
	}
	try := func(ranker string) (*Crawl, error) { return g.Try(ctx, ranker, draw, seed, learning) }
	for _, p := range run.Policies {
		if f := furtherBy(p.GetName()); f != nil {
			if f.samples {
				run.Training = uint64(len(g.notCounted()))
			}
			if err := f.prepare(ctx, run, preparation{p.GetName(), p, try}); err != nil {
				return nil, err
			}
		}
	}
	return run, nil
}
