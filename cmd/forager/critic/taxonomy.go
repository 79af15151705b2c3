package critic

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"forager/cmd/internal/cli"
	"forager/internal/classify/examples"
	"forager/internal/classify/taxonomy"
	"forager/internal/page/neardup"
)

type criticTaxonomy struct {
	Sources []string `arg:"" name:"source" help:"Examples, as for critic import."`
	Minimum int      `help:"Examples a class must have; smaller leaves join their parent (2002 §3.1)." default:"300"`
	Cap     int      `help:"Examples a class uses at most; 0 = all." default:"300"`
	Alike   float64  `help:"Pages that have so much of their runs of three words in common are nearly the same, 0 to 1." default:"0.7"`
	Depth   int      `help:"Show the tree to this depth only; 0 = all of it." default:"3"`
	sourceFlags
}

func (c *criticTaxonomy) Help() string {
	return `Shows the tree of topics as the examples have it, and the classes that critic train makes of it: which
topics are too small and where their examples go, and how many a class is cut by. Finds pages that are the
same, or nearly so, under several classes, and names of topics that look like one.

  forager critic taxonomy examples.jsonl.gz --minimum 60
  forager critic taxonomy examples.jsonl.gz --minimum 60 --json`
}

// TaxonomyReport is the result of critic taxonomy.
type TaxonomyReport struct {
	Import  *examples.Summary `json:"import"`
	Minimum int               `json:"minimum"`
	Cap     int               `json:"cap"`
	// Before is the tree of the examples, After the classes made of it.
	Before []taxonomy.Topic `json:"before"`
	After  []PreparedClass  `json:"after"`
	// Pruned topics, and where their examples went.
	Pruned []PrunedTopic `json:"pruned"`
	// Similar are topics whose names may have the same meaning.
	Similar [][]string `json:"similar_names"`
	// Several is the number of examples of more than one class.
	Several int `json:"of_several_classes"`
	// Copies are pages with the same words, Near those with nearly the same.
	Copies Similar `json:"copies"`
	Near   Similar `json:"near"`
}

// PreparedClass is a class that a critic is trained on.
type PreparedClass struct {
	Class string `json:"class"`
	// Examples are used for training; Cut ones exceed the cap; Moved labels came from pruned topics.
	Examples int `json:"examples"`
	Cut      int `json:"cut"`
	Moved    int `json:"moved"`
}

// PrunedTopic is a topic without enough examples, and the topic that its examples were moved to.
type PrunedTopic struct {
	Topic    string `json:"topic"`
	Examples int    `json:"examples"`
	Into     string `json:"into"`
}

// Similar summarises groups of similar pages.
type Similar struct {
	Groups int `json:"groups"`
	Pages  int `json:"pages"`
	// Across is the number of groups whose pages differ in their classes: contradictory labels.
	Across int `json:"groups_across_classes"`
	// Pairs of classes that share such groups, the most frequent first.
	Pairs []classPair `json:"class_pairs"`
	// First are the first of the groups across classes.
	First []likePages `json:"first"`
}

type classPair struct {
	A      string `json:"a"`
	B      string `json:"b"`
	Groups int    `json:"groups"`
}

type likePages struct {
	// Resemblance is the smallest resemblance of a page to the group, in [0,1].
	Resemblance float64    `json:"resemblance"`
	Pages       []likePage `json:"pages"`
}

type likePage struct {
	URL     string   `json:"url"`
	Classes []string `json:"classes"`
}

func (c *criticTaxonomy) Run(s *cli.Session) error {
	if c.Minimum < 0 || c.Cap < 0 {
		return cli.Usagef("--minimum and --cap must not be negative")
	}
	if c.Alike <= 0 || c.Alike > 1 {
		return cli.Usagef("--alike must lie between 0 and 1")
	}
	in, err := c.gather(s, c.Sources)
	if err != nil {
		return err
	}
	defer in.Close()
	r, err := c.survey(s, in)
	if err != nil {
		return err
	}
	return s.Print(r, func(w io.Writer) { r.print(w, c.Depth) })
}

// survey reads the examples twice: for the tree and candidates for similar pages, then to compare the texts of these.
func (c *criticTaxonomy) survey(s *cli.Session, in *examples.Intake) (*TaxonomyReport, error) {
	var (
		list   []taxonomy.Example
		names  = make(map[string]string) // each topic once
		finder neardup.Finder
	)
	sum, err := c.finish(s, in, c.Sources, func(e *examples.Example) error {
		x := taxonomy.Example{URL: e.URL, Topics: make([]string, len(e.Topics))}
		for i, name := range e.Topics {
			topic, known := names[name]
			if !known {
				var err error
				if topic, err = taxonomy.ParseTopic(name); err != nil {
					return err
				}
				names[name] = topic
			}
			x.Topics[i] = topic
		}
		list = append(list, x)
		finder.Add(e.Text)
		return nil
	})
	if err != nil {
		return nil, err
	}
	r := &TaxonomyReport{Import: sum, Minimum: c.Minimum, Cap: c.Cap, Before: taxonomy.Topics(list), Pruned: []PrunedTopic{}}
	r.Similar = append([][]string{}, taxonomy.Similar(r.Before)...)
	tree, err := taxonomy.Prune(list, taxonomy.Settings{Minimum: c.Minimum})
	if err != nil {
		return nil, err
	}
	classes := r.prepare(tree, list)

	copies := finder.Copies()
	suspects := finder.Suspects()
	page := 0
	if _, err := c.finish(s, in, c.Sources, func(e *examples.Example) error {
		if suspects.Needs(page) {
			suspects.Show(page, e.Text)
		}
		page++
		return nil
	}); err != nil {
		return nil, err
	}
	alikes := make([]neardup.Group, len(copies))
	for i, g := range copies {
		alikes[i] = neardup.Group{Pages: g, Least: 1}
	}
	r.Copies = sumUp(alikes, list, tree, classes)
	r.Near = sumUp(suspects.Groups(c.Alike), list, tree, classes)
	return r, nil
}

// prepare fills in how the tree was pruned, and returns the classes of each example.
func (r *TaxonomyReport) prepare(tree *taxonomy.Tree, list []taxonomy.Example) (classes [][]int32) {
	moved := tree.Moved(list)
	classes = make([][]int32, len(list))
	for k, class := range tree.Classes {
		for _, i := range class.Examples {
			classes[i] = append(classes[i], int32(k))
		}
		x := PreparedClass{Class: class.Name, Examples: len(class.Examples)}
		topic := class.Name
		if _, direct := moved[topic]; !direct {
			topic = strings.TrimSuffix(strings.TrimSuffix(topic, taxonomy.Other), "/")
		}
		x.Moved = moved[topic]
		if r.Cap > 0 && x.Examples > r.Cap {
			x.Examples, x.Cut = r.Cap, x.Examples-r.Cap
		}
		r.After = append(r.After, x)
	}
	for _, p := range tree.Pruned {
		r.Pruned = append(r.Pruned, PrunedTopic{Topic: p.Topic, Examples: p.Examples, Into: p.Into})
	}
	for _, of := range classes {
		if len(of) > 1 {
			r.Several++
		}
	}
	return classes
}

// firstSimilar is the number of groups that are shown.
const firstSimilar = 10

// sumUp summarises what groups of similar pages mean for the classes.
func sumUp(groups []neardup.Group, list []taxonomy.Example, tree *taxonomy.Tree, classes [][]int32) Similar {
	l := Similar{Groups: len(groups), Pairs: []classPair{}, First: []likePages{}}
	pairs := make(map[[2]int32]int)
	for _, g := range groups {
		l.Pages += len(g.Pages)
		var all []int32
		across := false
		for _, p := range g.Pages {
			across = across || !slices.Equal(classes[p], classes[g.Pages[0]])
			all = append(all, classes[p]...)
		}
		if !across {
			continue
		}
		l.Across++
		slices.Sort(all)
		all = slices.Compact(all)
		for i, a := range all {
			for _, b := range all[i+1:] {
				pairs[[2]int32{a, b}]++
			}
		}
		if len(l.First) < firstSimilar {
			x := likePages{Resemblance: g.Least}
			for _, p := range g.Pages[:min(len(g.Pages), firstSimilar)] {
				page := likePage{URL: list[p].URL}
				for _, k := range classes[p] {
					page.Classes = append(page.Classes, tree.Classes[k].Name)
				}
				x.Pages = append(x.Pages, page)
			}
			l.First = append(l.First, x)
		}
	}
	keys := slices.SortedFunc(maps.Keys(pairs), func(a, b [2]int32) int {
		return cmp.Or(cmp.Compare(pairs[b], pairs[a]), slices.Compare(a[:], b[:]))
	})
	for _, k := range keys[:min(len(keys), firstSimilar)] {
		l.Pairs = append(l.Pairs, classPair{tree.Classes[k[0]].Name, tree.Classes[k[1]].Name, pairs[k]})
	}
	return l
}

func (r *TaxonomyReport) print(w io.Writer, depth int) {
	printSummary(w, r.Import)
	fmt.Fprintf(w, "\nBEFORE: %d topics\n%-60s %9s %9s\n", len(r.Before), "TOPIC", "OWN", "AND BELOW")
	below := 0
	for _, t := range r.Before {
		if deep := strings.Count(t.Name, "/"); depth > 0 && deep >= depth {
			below++
		} else {
			fmt.Fprintf(w, "%-60s %9d %9d\n", strings.Repeat("  ", deep)+t.Name[strings.LastIndexByte(t.Name, '/')+1:], t.Own, t.All)
		}
	}
	if below > 0 {
		fmt.Fprintf(w, "and %d topics below these (--depth 0 shows them)\n", below)
	}
	fmt.Fprintf(w, "\nAFTER, with at least %d examples a class and at most %d: %d classes\n%-60s %9s %9s %9s\n", r.Minimum, r.Cap, len(r.After),
		"CLASS", "EXAMPLES", "MOVED IN", "CUT")
	for _, x := range r.After {
		fmt.Fprintf(w, "%-60s %9d %9d %9d\n", x.Class, x.Examples, x.Moved, x.Cut)
	}
	if len(r.Pruned) > 0 {
		fmt.Fprintf(w, "\nMOVED: %d topics had fewer than %d examples, those below them included\n", len(r.Pruned), r.Minimum)
		shown := slices.SortedFunc(slices.Values(r.Pruned), func(a, b PrunedTopic) int {
			return cmp.Or(cmp.Compare(b.Examples, a.Examples), strings.Compare(a.Topic, b.Topic))
		})
		for _, p := range shown[:min(len(shown), 20)] {
			fmt.Fprintf(w, "%9d of %s went to /%s\n", p.Examples, p.Topic, p.Into)
		}
		if more := len(shown) - 20; more > 0 {
			fmt.Fprintf(w, "and %d more (--json lists all)\n", more)
		}
	}
	if len(r.Similar) > 0 {
		fmt.Fprintf(w, "\nNAMES THAT LOOK LIKE ONE: %d\n", len(r.Similar))
		for _, group := range r.Similar[:min(len(r.Similar), 20)] {
			fmt.Fprintf(w, "  %s\n", strings.Join(group, "  =  "))
		}
	}
	fmt.Fprintf(w, "\nLABELS: %d examples are of several classes\n", r.Several)
	r.Copies.print(w, "THE SAME WORDS")
	r.Near.print(w, "NEARLY THE SAME WORDS")
}

func (l *Similar) print(w io.Writer, what string) {
	fmt.Fprintf(w, "%s: %d groups of %d pages; %d of the groups lie in different classes\n", what, l.Groups, l.Pages, l.Across)
	for _, p := range l.Pairs {
		fmt.Fprintf(w, "%9d in both %s and %s\n", p.Groups, p.A, p.B)
	}
	for _, g := range l.First {
		fmt.Fprintf(w, "  %.2f alike:\n", g.Resemblance)
		for _, p := range g.Pages {
			fmt.Fprintf(w, "    %s  (%s)\n", cli.Shortened(p.URL, 100), strings.Join(p.Classes, ", "))
		}
	}
}
