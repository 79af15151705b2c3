package study

import (
	"fmt"
	"io"
	"slices"

	"gonum.org/v1/gonum/stat"

	"forager/internal/lab/experiment"
	"forager/internal/lab/measure"
	"forager/internal/lab/tables"
	"forager/internal/lab/taskfile"
	"forager/internal/measure/harvest"
)

// Report is the result of a study.
type Report struct {
	Origin Origin `json:"origin"`
	// Number of tasks, the draws, and number of runs.
	Tasks int   `json:"tasks"`
	Draws []int `json:"draws"`
	Runs  int   `json:"runs"`
	// Groups are the tables, one for the tasks of a web and an access.
	Groups []Group `json:"groups"`
	// Comparisons of rankers over the tasks of all groups.
	Comparisons []tables.Comparison `json:"comparisons"`
	// Refused lists which variants some tasks cannot be run with, and why.
	Refused []string `json:"refused,omitempty"`
	// Failed lists which runs failed, and why; their tasks are not in the report.
	Failed []string `json:"failed,omitempty"`

	rows []Row
}

// Group is a table with its curves.
type Group struct {
	tables.Group
	Curves []Curve `json:"curves"`
}

// Curve is the mean course of a variant over the tasks and draws of a group.
type Curve struct {
	Variant string `json:"variant"`
	// At 0, 1, … 100 % of the budget: share of the targets found; loss rate by the critic.
	Recall []float64 `json:"recall"`
	Loss   []float64 `json:"loss"`
	// Overlap is the share of its pages that a crawl has in common with the baseline's crawl of the same task and draw,
	// Chance that share if the baseline took pages at random; Again is the overlap with its own crawl from the next draw's
	// seeds. nil if there is no such crawl.
	Overlap *float64 `json:"overlap"`
	Chance  *float64 `json:"chance"`
	Again   *float64 `json:"again"`
}

func newReport(p *Plan, o *Origin, jobs []experiment.Job, results []experiment.Result, environments map[*taskfile.Task]*experiment.Environment) (*Report, error) {
	rep := &Report{Origin: *o, Draws: p.Draws, Runs: len(results)}
	var tasks []*taskfile.Task
	for _, j := range jobs {
		if !slices.Contains(tasks, j.Task) {
			tasks = append(tasks, j.Task)
		}
	}
	rep.Tasks = len(tasks)
	sum, err := tables.Summarise(tasks, results)
	if err != nil {
		return nil, err
	}
	rep.Comparisons = sum.Comparisons
	for _, g := range sum.Groups {
		rep.Groups = append(rep.Groups, Group{Group: g, Curves: curves(&g, jobs, results, environments)})
	}
	base := make(map[place]*experiment.Result)
	for i, j := range jobs {
		if at := (place{j.Task, j.Draw, j.Variant.Critic}); results[i].Variant == experiment.BaselineUnder(j.Variant.Critic) && base[at] == nil {
			base[at] = &results[i]
		}
	}
	for i, j := range jobs {
		row := rowOf(o, j, &results[i], environments[j.Task])
		row.addLossCut(&results[i], base[place{j.Task, j.Draw, j.Variant.Critic}])
		rep.rows = append(rep.rows, row)
	}
	return rep, nil
}

// Rows returns the runs in the order of their jobs; nil in a report that was read from a file.
func (r *Report) Rows() []Row { return r.rows }

// Print writes the tables as text.
func (r *Report) Print(w io.Writer) {
	for i, g := range r.Groups {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprint(w, g.Table())
	}
	fmt.Fprintf(w, "\n%s", tables.Compared(r.Comparisons))
	for _, sentence := range r.Refused {
		fmt.Fprintln(w, sentence)
	}
	for _, sentence := range r.Failed {
		fmt.Fprintln(w, "failed:", sentence)
	}
}

// curves returns those of each variant of a group.
func curves(g *tables.Group, jobs []experiment.Job, results []experiment.Result, environments map[*taskfile.Task]*experiment.Environment) []Curve {
	byVariant := make(map[string]*courses)
	for i, j := range jobs {
		if j.Task.Group() != g.Name {
			continue
		}
		v := byVariant[j.Variant.Name]
		if v == nil {
			v = &courses{pages: make(map[place]map[uint32]bool), scope: make(map[*taskfile.Task]int)}
			byVariant[j.Variant.Name] = v
		}
		v.add(j, &results[i], environments[j.Task])
	}
	var all []Curve
	for _, line := range g.Rankers {
		all = append(all, byVariant[line.Ranker].curve(line.Ranker, byVariant[experiment.BaselineUnder(byVariant[line.Ranker].places[0].critic)]))
	}
	return all
}

// place identifies a crawl; of several runs the first counts for overlaps.
type place struct {
	task   *taskfile.Task
	draw   int
	critic string
}

// courses are the crawls of one variant.
type courses struct {
	recall, loss [][]float64 // by run
	places       []place
	pages        map[place]map[uint32]bool
	scope        map[*taskfile.Task]int // pages in scope
}

func (c *courses) add(j experiment.Job, r *experiment.Result, g *experiment.Environment) {
	recall := make([]float64, len(r.Course.Found))
	for k, found := range r.Course.Found {
		recall[k] = float64(found) / float64(g.Targets())
	}
	c.recall, c.loss = append(c.recall, recall), append(c.loss, r.Course.LossRate)
	c.scope[j.Task] = g.Pages()
	at := place{j.Task, j.Draw, j.Variant.Critic}
	if c.pages[at] != nil {
		return
	}
	c.places, c.pages[at] = append(c.places, at), make(map[uint32]bool, len(r.Course.Pages))
	for _, p := range r.Course.Pages {
		c.pages[at][p] = true
	}
}

func (c *courses) curve(variant string, base *courses) Curve {
	var overlap, again, chance []float64
	for _, at := range c.places {
		pages := c.pages[at]
		if base != nil && base.pages[at] != nil {
			overlap = append(overlap, measure.Overlap(pages, base.pages[at]))
			chance = append(chance, float64(len(base.pages[at]))/float64(c.scope[at.task]))
		}
		if next := c.pages[place{at.task, at.draw + 1, at.critic}]; next != nil {
			again = append(again, measure.Overlap(pages, next))
		}
	}
	return Curve{
		Variant: variant, Recall: means(c.recall), Loss: means(c.loss),
		Overlap: mean(overlap), Again: mean(again), Chance: mean(chance),
	}
}

// mean returns nil if there are no values.
func mean(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	m := stat.Mean(values, nil)
	return &m
}

// means returns the mean of several courses, point by point.
func means(courses [][]float64) []float64 {
	out := make([]float64, len(courses[0]))
	for _, c := range courses {
		for k, v := range c {
			out[k] += v / float64(len(courses))
		}
	}
	return out
}

func rowOf(o *Origin, j experiment.Job, r *experiment.Result, g *experiment.Environment) Row {
	name := j.Variant.CriticOf(j.Task)
	row := Row{
		Study: o.Study, Task: r.Task, Draw: int32(r.Draw), Variant: r.Variant, Ranker: r.Ranker,
		Access: string(r.Access), Training: int64(r.Training), Settings: settingsOf(j.Variant), Seed: int64(r.Seed),
		Web: j.Task.Warc, WebDigest: o.Webs[j.Task.Warc], Critic: name, CriticDigest: o.Critics[name],
		TasksDigest: o.Tasks, ProgramDigest: o.Program,
		Budget: int64(j.Task.Budget), Targets: int64(g.Targets()),
		Pages: int64(r.Pages), Requests: int64(r.Requests), Bytes: int64(r.Bytes), EndReason: r.EndReason,
		Label25: r.HarvestLabel[0], Label50: r.HarvestLabel[1], Label100: r.HarvestLabel[2],
		Critic25: r.HarvestCritic[0], Critic50: r.HarvestCritic[1], Critic100: r.HarvestCritic[2],
		Loss25: r.Loss[0], Loss100: r.Loss[1], Recall: r.Recall, AUC: r.AUC, RequestAUC: r.RequestAUC,
		TargetHosts: int64(r.TargetHosts),
	}
	if s := r.Similarity; s != nil {
		row.Cosine50, row.Cosine60, row.Cosine70, row.Cosine80, row.Sigma = &s.Precision[0], &s.Precision[1], &s.Precision[2], &s.Precision[3], &s.Sigma
	}
	return row
}

// addLossCut sets the loss cuts relative to the baseline's run, which may be missing.
func (r *Row) addLossCut(of, base *experiment.Result) {
	if base == nil {
		return
	}
	for i, to := range []**float64{&r.LossCut25, &r.LossCut100} {
		if cut, ok := harvest.LossCut(of.Loss[i], base.Loss[i]); ok {
			*to = &cut
		}
	}
}
