package tables

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/gonum/stat"

	"forager/internal/lab/experiment"
	"forager/internal/lab/labelcritic"
	"forager/internal/lab/measure"
	"forager/internal/lab/taskfile"
	"forager/internal/measure/harvest"
)

// Summary is the results of an experiment.
type Summary struct {
	Groups []Group `json:"groups"`
	// Comparisons of rankers in AUC over the tasks of all groups but diagnostics: one family for Holm's correction.
	Comparisons []Comparison `json:"comparisons"`
}

// Group is the tasks of one web ("webkb-uni", the part before ":" of their names), and rankers with one kind of access.
type Group struct {
	Name   string            `json:"name"`
	Access experiment.Access `json:"access"`
	Tasks  int               `json:"tasks"`
	Draws  int               `json:"draws"`
	// Diagnostic: rankers are not to be compared on these tasks.
	Diagnostic bool            `json:"diagnostic"`
	Rankers    []RankerSummary `json:"rankers"`
}

// RankerSummary is one line of a table.
type RankerSummary struct {
	// Ranker is the name of the variant; Tuned: its settings were chosen on this web.
	Ranker string `json:"ranker"`
	Tuned  bool   `json:"tuned"`
	// Measures by column name: means over draws, tasks averaged within a draw. nAUC is missing without runs of random and
	// oracle, loss cuts (relative to soft-focus, same task and draw) without runs of soft-focus. A gap is the share of the distance in AUC
	// from soft-focus to an oracle (gaps) that the ranker closes; it is missing where the oracle is no better than soft-focus.
	Measures map[string]measure.Estimate `json:"measures"`
	// ByTask is nAUC of each task, draws averaged; it has no entry if the oracle is no better than random.
	ByTask map[string]float64 `json:"nauc_by_task,omitempty"`
	// Ends counts runs by end reason.
	Ends map[string]int `json:"ends"`
}

// Cell returns a measure as text.
func (r RankerSummary) Cell(column string) string {
	if e, ok := r.Measures[column]; ok {
		return e.String()
	}
	return "–"
}

// OnTask returns nAUC of a task as text.
func (r RankerSummary) OnTask(task string) string {
	if n, ok := r.ByTask[task]; ok {
		return fmt.Sprintf("%.3f", n)
	}
	return "–"
}

// Comparison is the difference between two rankers, paired by task, draws averaged.
type Comparison struct {
	Ranker string `json:"ranker"`
	To     string `json:"to"`
	measure.Effect
}

// Columns of a table in their order.
var Columns = []string{
	"label@25", "label@50", "label@100", "recall", "AUC", "nAUC", "gap:critic", "gap:labels", "gap:hubs", "gap:all", "critic@25", "critic@50", "critic@100", "loss-cut@25", "loss-cut@100",
	"cosine≥.7", "σ", "requests",
}

// rate is the column of crawls over a network, which other tables lack.
const rate = "pages/s"

// gaps are the oracles of the columns of gaps, one of them soft focus under a critic without errors.
var gaps = map[string]string{"gap:critic": experiment.BaselineUnder(labelcritic.Perfect), "gap:labels": "oracle-labels", "gap:hubs": "oracle-hubs", "gap:all": "oracle"}

// columnsOf returns the measures of a run by column name.
func columnsOf(r *experiment.Result) map[string]float64 {
	m := &r.Measures
	columns := map[string]float64{
		"label@25": m.HarvestLabel[0], "label@50": m.HarvestLabel[1], "label@100": m.HarvestLabel[2],
		"critic@25": m.HarvestCritic[0], "critic@50": m.HarvestCritic[1], "critic@100": m.HarvestCritic[2],
		"recall": m.Recall, "AUC": m.AUC, "loss@25": m.Loss[0], "loss@100": m.Loss[1],
		"requests": float64(m.Requests + r.Training),
	}
	if r.Similarity != nil {
		columns["cosine≥.7"], columns["σ"] = r.Similarity.Precision[2], r.Similarity.Sigma
	}
	if r.Took > 0 {
		columns[rate] = float64(r.Pages) / r.Took.Seconds()
	}
	return columns
}

// claims lists the rankers that a ranker is compared with in addition to the Baseline of experiments: the gated apprentice with its gate
// alone, to separate the gain of the features.
var claims = map[string][]string{
	"apprentice-gated":       {"gate-fifo", "gate-random"},
	"apprentice-taught":      {"gate-fifo", "gate-random"},
	"apprentice-transferred": {"gate-fifo", "gate-random"},
}

// references learn nothing, so they are in the tables of every access.
var references = []string{"unfocused", "random", "soft-focus", "hard-defer", "gate-fifo", "gate-random", "oracle-labels", "oracle-hubs", "oracle"}

// Refers reports whether a ranker learns nothing, so that it is in the tables of every access.
func Refers(ranker string) bool { return slices.Contains(references, ranker) }

// tuned has the webs on which settings of rankers were chosen (decisions 0112 and 0115). A mixture was where one of its arms was.
var tuned = map[string][]string{"mixture": {"webkb", "webplatform"}, "link-value": {"webkb", "archwiki", "beyondunreal", "webplatform"}}

func wasTuned(ranker, warc string) bool {
	for arm := range strings.SplitSeq(ranker, "+") {
		if web, _, _ := strings.Cut(warc, "."); slices.Contains(tuned[arm], web) {
			return true
		}
	}
	return false
}

// Summarise makes the tables: one for each group and access, variants in the order of the results. The results are those
// of a Bench over the tasks.
func Summarise(tasks []*taskfile.Task, results []experiment.Result) (*Summary, error) {
	type key struct {
		group  string
		access experiment.Access
	}
	samples, own, all := make(map[key]*sample), make(map[key]bool), newSample()
	byName := make(map[string]*taskfile.Task)
	for _, t := range tasks {
		byName[t.Name] = t
	}
	for i := range results {
		r := &results[i]
		t := byName[r.Task]
		if !t.DiagnosticOnly {
			all.add(t, r)
		}
		k := key{group: t.Group()}
		for _, k.access = range experiment.Accesses {
			if r.Access != k.access && !Refers(r.Ranker) {
				continue
			}
			if samples[k] == nil {
				samples[k] = newSample()
			}
			samples[k].add(t, r)
			own[k] = own[k] || r.Access == k.access
		}
	}
	sum := &Summary{Groups: []Group{}, Comparisons: []Comparison{}}
	for _, k := range slices.SortedFunc(maps.Keys(samples), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(slices.Index(experiment.Accesses, a.access), slices.Index(experiment.Accesses, b.access)))
	}) {
		if own[k] { // not only references
			g := samples[k].summarise()
			g.Name, g.Access = k.group, k.access
			sum.Groups = append(sum.Groups, *g)
		}
	}
	return sum, all.compare(sum)
}

// cell is one task and draw of one variant; several runs (random) are averaged.
type cell struct {
	task    string
	draw    int
	variant string
}

// sample is the results of a group.
type sample struct {
	tasks map[string]*taskfile.Task
	draws map[int]bool
	cells map[cell]map[string][]float64 // by column, one a run
	ends  map[string]map[string]int     // by variant
	// Variants in the order of the results, and what each is a variant of.
	variants []string
	ranker   map[string]string
	critic   map[string]string
}

// baseline returns the variant that a variant is compared with: that under the same critic.
func (s *sample) baseline(variant string) string { return experiment.BaselineUnder(s.critic[variant]) }

func newSample() *sample {
	return &sample{
		tasks: make(map[string]*taskfile.Task), draws: make(map[int]bool),
		cells: make(map[cell]map[string][]float64), ends: make(map[string]map[string]int), ranker: make(map[string]string), critic: make(map[string]string),
	}
}

func (s *sample) add(t *taskfile.Task, r *experiment.Result) {
	s.tasks[r.Task], s.draws[r.Draw] = t, true
	if s.ends[r.Variant] == nil {
		s.ends[r.Variant], s.ranker[r.Variant], s.critic[r.Variant] = make(map[string]int), r.Ranker, r.Critic
		s.variants = append(s.variants, r.Variant)
	}
	c := cell{r.Task, r.Draw, r.Variant}
	if s.cells[c] == nil {
		s.cells[c] = make(map[string][]float64)
	}
	for k, v := range columnsOf(r) {
		s.cells[c][k] = append(s.cells[c][k], v)
	}
	s.ends[r.Variant][r.EndReason]++
}

// value returns that of a column in a cell, runs averaged; ok is false if there is none.
func (s *sample) value(c cell, column string) (v float64, ok bool) {
	if at, isCut := strings.CutPrefix(column, "loss-cut"); isCut {
		loss, have := s.value(c, "loss"+at)
		base, haveBase := s.value(cell{c.task, c.draw, s.baseline(c.variant)}, "loss"+at)
		if !have || !haveBase {
			return 0, false
		}
		return harvest.LossCut(loss, base)
	}
	runs := s.cells[c][column]
	if len(runs) == 0 {
		return 0, false
	}
	return stat.Mean(runs, nil), true
}

// byDraw returns a ranker's value of a column for each draw, tasks averaged; draws without all tasks are left out.
func (s *sample) byDraw(ranker, column string) []float64 {
	var out []float64
	for _, d := range slices.Sorted(maps.Keys(s.draws)) {
		var values []float64
		for _, t := range slices.Sorted(maps.Keys(s.tasks)) {
			if v, ok := s.value(cell{t, d, ranker}, column); ok {
				values = append(values, v)
			}
		}
		if len(values) == len(s.tasks) {
			out = append(out, stat.Mean(values, nil))
		}
	}
	return out
}

// byTask returns a ranker's values of a column for each task, one for each draw.
func (s *sample) byTask(ranker, column string) map[string][]float64 {
	out := make(map[string][]float64)
	for t := range s.tasks {
		for _, d := range slices.Sorted(maps.Keys(s.draws)) {
			if v, ok := s.value(cell{t, d, ranker}, column); ok {
				out[t] = append(out[t], v)
			}
		}
	}
	return out
}

func (s *sample) summarise() *Group {
	g := &Group{Tasks: len(s.tasks), Draws: len(s.draws)}
	random, oracle := s.byDraw("random", "AUC"), s.byDraw("oracle", "AUC")
	for _, variant := range s.variants {
		line := RankerSummary{Ranker: variant, Measures: make(map[string]measure.Estimate), Ends: s.ends[variant]}
		for _, column := range append(slices.Clone(Columns), rate) {
			if values := s.byDraw(variant, column); len(values) > 0 {
				line.Measures[column] = measure.Interval(values)
			}
		}
		if a := s.byDraw(variant, "AUC"); len(a) > 0 && len(a) == len(oracle) && len(random) > 0 {
			// Random is one number: its mean over all draws and runs.
			base, n := stat.Mean(random, nil), make([]float64, len(a))
			known := true
			for i := range a {
				var ok bool
				n[i], ok = measure.NormalisedAUC(a[i], base, oracle[i])
				known = known && ok
			}
			if known {
				line.Measures["nAUC"] = measure.Interval(n)
			}
		}
		from := s.byDraw(s.baseline(variant), "AUC")
		for column, oracle := range gaps {
			to, auc := s.byDraw(oracle, "AUC"), s.byDraw(variant, "AUC")
			if len(auc) == 0 || len(auc) != len(from) || len(auc) != len(to) {
				continue
			}
			if share, ok := measure.NormalisedAUC(stat.Mean(auc, nil), stat.Mean(from, nil), stat.Mean(to, nil)); ok && stat.Mean(to, nil) > stat.Mean(from, nil) {
				line.Measures[column] = measure.Estimate{Mean: share, N: 1}
			}
		}
		line.ByTask = s.normalised(variant)
		for _, t := range s.tasks {
			line.Tuned = line.Tuned || wasTuned(s.ranker[variant], t.Warc)
			g.Diagnostic = g.Diagnostic || t.DiagnosticOnly
		}
		g.Rankers = append(g.Rankers, line)
	}
	return g
}

// normalised returns a variant's nAUC by task.
func (s *sample) normalised(variant string) map[string]float64 {
	out := make(map[string]float64)
	random, oracle := s.byTask("random", "AUC"), s.byTask("oracle", "AUC")
	for task, auc := range s.byTask(variant, "AUC") {
		if len(auc) == 0 || len(random[task]) == 0 || len(oracle[task]) == 0 {
			continue
		}
		n, ok := measure.NormalisedAUC(stat.Mean(auc, nil), stat.Mean(random[task], nil), stat.Mean(oracle[task], nil))
		if ok {
			out[task] = n
		}
	}
	return out
}

// TasksOf returns the tasks with an nAUC of a ranker.
func (g Group) TasksOf() []string {
	tasks := make(map[string]bool)
	for _, r := range g.Rankers {
		for t := range r.ByTask {
			tasks[t] = true
		}
	}
	return slices.Sorted(maps.Keys(tasks))
}

// compare makes the comparisons, each over the tasks with both rankers.
func (s *sample) compare(sum *Summary) error {
	for _, variant := range s.variants {
		ranker := s.ranker[variant]
		if ranker == "random" || strings.HasPrefix(ranker, "oracle") {
			continue // no claim about these
		}
		for _, to := range append([]string{experiment.Baseline}, claims[ranker]...) {
			if s.critic[variant] != "" {
				to += "@" + s.critic[variant]
			}
			if to == variant || s.ends[to] == nil {
				continue
			}
			of, other := s.byTask(variant, "AUC"), s.byTask(to, "AUC")
			maps.DeleteFunc(of, func(task string, _ []float64) bool { return other[task] == nil })
			maps.DeleteFunc(other, func(task string, _ []float64) bool { return of[task] == nil })
			if len(of) == 0 {
				continue
			}
			c, err := measure.Compare(of, other, func(task string) string { return s.tasks[task].Site() })
			if err != nil {
				return fmt.Errorf("%s and %s: %w", variant, to, err)
			}
			sum.Comparisons = append(sum.Comparisons, Comparison{variant, to, c})
		}
	}
	family := make([]*measure.Effect, len(sum.Comparisons))
	for i := range sum.Comparisons {
		family[i] = &sum.Comparisons[i].Effect
	}
	measure.Correct(family)
	return nil
}

// Table returns the group as text: one line for each ranker, mean ± half width of the 95 % interval, then the comparisons.
func (g Group) Table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, access %s: tasks %d, draws %d; mean ± 95 %% interval over draws", g.Name, g.Access, g.Tasks, g.Draws)
	if g.Diagnostic {
		b.WriteString("; a diagnostic, not to judge rankers by")
	}
	width, columns := 18, Columns
	for _, r := range g.Rankers {
		if _, ok := r.Measures[rate]; ok && len(columns) == len(Columns) {
			columns = append(slices.Clone(Columns), rate)
		}
		width = max(width, utf8.RuneCountInString(r.Ranker)+2)
	}
	fmt.Fprintf(&b, "\n%-*s", width, "ranker")
	for _, c := range columns {
		fmt.Fprintf(&b, " %12s", c)
	}
	b.WriteByte('\n')
	anyTuned := false
	for _, r := range g.Rankers {
		name := r.Ranker
		if anyTuned = anyTuned || r.Tuned; r.Tuned {
			name += " *"
		}
		fmt.Fprintf(&b, "%-*s", width, name)
		for _, c := range columns {
			fmt.Fprintf(&b, " %12s", r.Cell(c))
		}
		b.WriteByte('\n')
	}
	for _, line := range g.Ends() {
		fmt.Fprintln(&b, line)
	}
	if anyTuned {
		b.WriteString("* tuned on this web\n")
	}
	return b.String()
}

// Compared returns comparisons as text.
func Compared(all []Comparison) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Differences in AUC over the tasks of all groups, paired: mean over sites, 95 %% bootstrap interval over sites, tasks and draws, sites and tasks, tasks above and below, sign-flip p over sites (of %d or more), p after Holm's correction for %d claims\n",
		measure.MinSites, len(all))
	for _, c := range all {
		fmt.Fprintf(&b, "%-36s %+.3f  [%+.3f, %+.3f]  %2d sites %2d tasks  %2d above %2d below  p %s  %s\n",
			c.Ranker+" − "+c.To, c.Mean, c.Low, c.High, c.Sites, c.Tasks, c.Above, c.Below, PText(c.P), PText(c.Corrected))
	}
	return b.String()
}

// Ends returns which crawls ended before their budget was spent, one sentence for each reason.
func (g Group) Ends() []string {
	var lines []string
	for _, r := range g.Rankers {
		for _, end := range slices.Sorted(maps.Keys(r.Ends)) {
			if !strings.HasSuffix(end, "budget spent") {
				lines = append(lines, fmt.Sprintf("%s ended %d times with %q", r.Ranker, r.Ends[end], end))
			}
		}
	}
	return lines
}

// PText returns a p-value as text.
func PText(p *float64) string {
	if p == nil {
		return "–"
	}
	return fmt.Sprintf("%.4f", *p)
}
