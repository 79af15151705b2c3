package study

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"forager/internal/crawl/crawlfile"
	"forager/internal/lab/experiment"
	"forager/internal/platform/strictyaml"
	"forager/internal/rank/apprentice"
	"forager/internal/rank/linkfeature"
	"forager/schemas"
)

// Plan is a checked plan file.
type Plan struct {
	// Name of the study, for its report.
	Name string
	// Tasks are the paths of the task files, Only the patterns of the tasks that are run; none = all.
	Tasks []string
	Only  []string
	// Draws of seeds, ascending.
	Draws []int
	// Starts are the ways in which seeds are chosen, of experiment.Starts; none = those of the task file.
	Starts []string
	// RandomRuns is the number of runs of rankers of random order, for each draw.
	RandomRuns int
	// Variants to compare.
	Variants []experiment.Variant
	// DMax is the largest DOM offset of a variant.
	DMax int
	// Blank is that of experiment.Parsing.
	Blank string
	// Services are the rankers over HTTP, by name.
	Services map[string]Service
	// Load opens webs; nil = they are parsed.
	Load experiment.Loader
}

// file is a plan file.
type file struct {
	Name  string   `yaml:"name"`
	Tasks []string `yaml:"tasks"`
	Only  []string `yaml:"only"`
	Draws struct {
		First int `yaml:"first"`
		Count int `yaml:"count"`
	} `yaml:"draws"`
	RandomRuns int      `yaml:"random_runs"`
	Starts     []string `yaml:"starts"`
	// Critics: every ranker that reads one is run under each; none = those of the task file.
	Critics []string `yaml:"critics"`
	// Services are rankers over HTTP by name.
	Services map[string]Service `yaml:"services"`
	Blank    string             `yaml:"blank"`
	Rankers  []string           `yaml:"rankers"`
	// Settings: every combination of the values is run with every ranker that learns.
	Settings struct {
		DMax        []uint32 `yaml:"d_max"`
		SwitchPages []uint64 `yaml:"switch_pages"`
		RefitPages  []uint64 `yaml:"refit_pages"`
		MaxPairs    []uint32 `yaml:"max_pairs"`
		Pairs       []string `yaml:"pairs"`
		Topics      []string `yaml:"topics"`
		Learner     []string `yaml:"learner"`
		Count       []string `yaml:"count"`
		Smooth      []uint32 `yaml:"smooth"`
		// Features are families joined by "+".
		Features []string  `yaml:"features"`
		Active   []float64 `yaml:"active"`
		// Ration of backlink queries, as a share of the budget, for every ranker that makes them.
		Ration []float64 `yaml:"ration"`
	} `yaml:"settings"`
}

// Bounds of a plan, against typing errors.
const (
	maxDraws    = 10_000
	maxSettings = 1_000
)

// LoadPlan reads a plan file; the paths of its task files are relative to its directory. The error is a *strictyaml.Error with
// every problem.
func LoadPlan(path string) (*Plan, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	p, problems := parsePlan(b)
	if len(problems) > 0 {
		return nil, &strictyaml.Error{File: path, Problems: problems}
	}
	for i, name := range p.Tasks {
		if !filepath.IsAbs(name) {
			p.Tasks[i] = filepath.Join(filepath.Dir(path), name)
		}
	}
	return p, nil
}

func parsePlan(b []byte) (*Plan, []strictyaml.Problem) {
	f := &file{RandomRuns: 10}
	f.Draws.Count = 10
	r := strictyaml.Decode(b, f)
	if f.Name == "" {
		r.Problem("name", "is missing; the report needs a name")
	}
	if len(f.Tasks) == 0 {
		r.Problem("tasks", "is missing; name the task files")
	}
	if f.Draws.First < 0 || f.Draws.Count < 1 || f.Draws.Count > maxDraws {
		r.Problem("draws", "begins at %d and has %d; want at least 0 and 1 to %d", f.Draws.First, f.Draws.Count, maxDraws)
		f.Draws.Count = 0
	}
	if f.RandomRuns < 1 {
		r.Problem("random_runs", "is %d; want at least 1", f.RandomRuns)
	}
	for i, name := range f.Critics {
		if err := experiment.KnowCritic(name); err != nil {
			r.Problem("critics", "%v", err)
		} else if slices.Contains(f.Critics[:i], name) {
			r.Problem("critics", "%s is named twice", name)
		}
	}
	if slices.Equal(f.Rankers, []string{"all"}) {
		f.Rankers = experiment.Rankers
	}
	if len(f.Rankers) == 0 {
		r.Problem("rankers", "is missing; known: %s", strings.Join(experiment.Rankers, ", "))
	}
	p := &Plan{Starts: f.Starts, Name: f.Name, Tasks: f.Tasks, Only: f.Only, RandomRuns: f.RandomRuns, Blank: f.Blank, Services: f.Services}
	for i, name := range f.Rankers {
		v, err := p.Variant(name, nil)
		switch {
		case err == nil && v.Critic != "" && len(f.Critics) > 0:
			r.Problem("rankers", "%s names a critic, and so does critics", name)
		case err != nil:
			r.Problem("rankers", "%v", err)
		case slices.Contains(f.Rankers[:i], name):
			r.Problem("rankers", "%s is named twice", name)
		}
	}
	if _, err := regexp.Compile(f.Blank); err != nil {
		r.Problem("blank", "%v", err)
	}
	for i, way := range f.Starts {
		if !slices.Contains(experiment.Starts, way) || slices.Contains(f.Starts[:i], way) {
			r.Problem("starts", "%s is not known or named twice; known: %s", way, strings.Join(experiment.Starts, ", "))
		}
	}
	for d := range f.Draws.Count {
		p.Draws = append(p.Draws, f.Draws.First+d)
	}
	grid := f.grid(r)
	for _, name := range f.Rankers {
		v, _ := p.Variant(name, grid[0].learning) // problems are reported above
		all := f.rationed(r, v)
		if v.Guide == nil && experiment.Learns(v.Ranker) {
			all = nil
			for _, s := range grid {
				all = append(all, experiment.Variant{Name: name + s.suffix, Ranker: v.Ranker, Critic: v.Critic, Learning: s.learning})
			}
		}
		for _, v := range all {
			if len(f.Critics) == 0 || !experiment.Judges(v.Ranker) {
				p.Variants = append(p.Variants, v)
				continue
			}
			for _, critic := range f.Critics {
				p.Variants = append(p.Variants, v.Under(critic))
			}
		}
	}
	for _, s := range grid {
		p.DMax = max(p.DMax, int(s.learning.GetDMax()))
	}
	return p, r.Problems()
}

// rationed returns a variant with each of the rations; the variant itself if its ranker makes no queries.
func (f *file) rationed(r *strictyaml.Report, v experiment.Variant) []experiment.Variant {
	if len(f.Settings.Ration) == 0 || !experiment.AsksBacklinks(v.Ranker) {
		return []experiment.Variant{v}
	}
	var all []experiment.Variant
	for i, share := range f.Settings.Ration {
		next := v
		next.Ration = share
		if len(f.Settings.Ration) > 1 {
			next.Name += fmt.Sprintf(" ration=%v", share)
		}
		switch {
		case !(share > 0 && share <= 1):
			r.Problem("settings.ration", "%v is not above 0 and at most 1, a share of the budget", share)
		case slices.Contains(f.Settings.Ration[:i], share):
			r.Problem("settings.ration", "holds %v twice", share)
		}
		all = append(all, next)
	}
	return all
}

// setting is one combination of the grid.
type setting struct {
	suffix   string // of the variant's name: what the grid varies
	learning *schemas.Learning
}

// Learning returns the settings of rankers that learn where a plan has no others.
func Learning() *schemas.Learning {
	return &schemas.Learning{DMax: 5, Pairs: schemas.Pairs_PAIRS_BOTH}
}

// grid returns every combination of the settings; at least one.
func (f *file) grid(r *strictyaml.Report) []setting {
	s := &f.Settings
	all := []setting{{learning: Learning()}}
	for _, d := range s.DMax {
		if d > linkfeature.MaxOffset {
			r.Problem("settings.d_max", "holds %d; want 0 to %d", d, linkfeature.MaxOffset)
		}
	}
	all = cross(r, all, "d_max", s.DMax, func(l *schemas.Learning, v uint32) error { l.DMax = v; return nil })
	all = cross(r, all, "switch_pages", s.SwitchPages, func(l *schemas.Learning, v uint64) error { l.SwitchPages = v; return nil })
	all = cross(r, all, "refit_pages", s.RefitPages, func(l *schemas.Learning, v uint64) error { l.RefitPages = v; return nil })
	all = cross(r, all, "max_pairs", s.MaxPairs, func(l *schemas.Learning, v uint32) error { l.MaxPairsPerTarget = v; return nil })
	all = cross(r, all, "pairs", s.Pairs, func(l *schemas.Learning, v string) error {
		return word(crawlfile.Pairs, v, &l.Pairs)
	})
	all = cross(r, all, "topics", s.Topics, func(l *schemas.Learning, v string) error {
		return word(crawlfile.Topics, v, &l.Topics)
	})
	all = cross(r, all, "features", s.Features, func(l *schemas.Learning, v string) error {
		families, err := linkfeature.FamiliesNamed(strings.Split(v, "+"))
		l.Features = families.List()
		return err
	})
	all = cross(r, all, "active", s.Active, func(l *schemas.Learning, v float64) error {
		if l.Active = v; !(v >= 0 && v <= 1) {
			return fmt.Errorf("%v is not between 0 and 1", v)
		}
		return nil
	})
	all = cross(r, all, "learner", s.Learner, func(l *schemas.Learning, v string) error {
		return word(crawlfile.Learners, v, &l.Learner)
	})
	all = cross(r, all, "count", s.Count, func(l *schemas.Learning, v string) error {
		return word(crawlfile.Countings, v, &l.Count)
	})
	return cross(r, all, "smooth", s.Smooth, func(l *schemas.Learning, v uint32) error {
		l.Smooth = v
		_, err := apprentice.SettingsOf(l)
		return err
	})
}

// word sets to to the value of a word of the crawl file.
func word[E any](known map[string]E, v string, to *E) error {
	e, ok := known[v]
	if !ok {
		return fmt.Errorf("%q is not one of %s", v, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
	}
	*to = e
	return nil
}

// cross combines each setting with each value of a field; without values the field keeps its default. A single value adds
// nothing to the name.
func cross[V comparable](r *strictyaml.Report, settings []setting, field string, values []V, set func(*schemas.Learning, V) error) []setting {
	if len(values) == 0 {
		return settings
	}
	if len(settings)*len(values) > maxSettings {
		r.Problem("settings."+field, "makes %d combinations of settings; want %d at most", len(settings)*len(values), maxSettings)
		return settings
	}
	var all []setting
	for _, s := range settings {
		for i, v := range values {
			if slices.Contains(values[:i], v) {
				r.Problem("settings."+field, "holds %v twice", v)
				continue
			}
			next := setting{suffix: s.suffix, learning: proto.CloneOf(s.learning)}
			if err := set(next.learning, v); err != nil {
				r.Problem("settings."+field, "%v", err)
			}
			if len(values) > 1 {
				next.suffix += fmt.Sprintf(" %s=%v", field, v)
			}
			all = append(all, next)
		}
	}
	return all
}
