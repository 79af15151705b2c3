package critic

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forager/cmd/internal/cli"
	"forager/cmd/internal/crawls"
	"forager/internal/classify/critic"
	"forager/internal/classify/examples"
	"forager/internal/classify/taxonomy"
	"forager/internal/page/dom"
	"forager/internal/page/text"
	"forager/internal/platform/progress"
)

// sourceFlags select how sources of examples are read.
type sourceFlags struct {
	Kind    string   `help:"jsonl, folder, urls or dmoz; auto = as the source looks." enum:"auto,jsonl,folder,urls,dmoz" default:"auto"`
	Only    []string `help:"Use only examples at this topic and below; may be given more than once." placeholder:"TOPIC" sep:"none"`
	Without []string `help:"Leave out examples at this topic and below; may be given more than once." placeholder:"TOPIC" sep:"none"`
	Strict  bool     `help:"Fail if any example is refused, and write nothing."`
	Lossy   bool     `help:"Accept a dump that is truncated."`
	crawls.FetchPoliteness
	otherwise string // the topic of examples without one
}

// gather reads all sources together.
func (f *sourceFlags) gather(s *cli.Session, sources []string) (*examples.Intake, error) {
	dir, remove, err := cli.TempDir(s, "", "forager-examples-*")
	if err != nil {
		return nil, err
	}
	s.Ends = append(s.Ends, remove)
	in, err := examples.NewIntake(examples.Settings{Only: f.Only, Without: f.Without, Lossy: f.Lossy, Otherwise: f.otherwise, Temp: dir})
	if err != nil {
		return nil, cli.AsUsage(fmt.Errorf("--only, --without: %w", err))
	}
	err = f.fill(s, in, sources)
	if err == nil && f.Strict && len(in.Refused()) > 0 {
		cli.PrintCounts(s.Stderr, "refused", in.Refused())
		err = errors.New("examples were refused, and --strict was asked for; nothing was made of the others")
	}
	if err != nil {
		_ = in.Close()
		return nil, err
	}
	return in, nil
}

func (f *sourceFlags) fill(s *cli.Session, in *examples.Intake, sources []string) error {
	var size int64 // of the files
	kinds := make([]examples.Kind, len(sources))
	for i, path := range sources {
		if kinds[i] = examples.Kind(f.Kind); f.Kind == "auto" || f.Kind == "" {
			var err error
			if kinds[i], err = examples.KindOf(path); errors.Is(err, fs.ErrNotExist) {
				return cli.AsUsage(err)
			} else if err != nil {
				return err
			}
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && kinds[i] != examples.URLs {
			size += info.Size()
		}
	}
	ctx, end := progress.Start(s, "reading examples", size)
	defer end()
	open := func(path string) (io.ReadCloser, error) {
		return examples.OpenThrough(path, func(r io.Reader) io.Reader { return progress.Reader(ctx, r) })
	}
	for i, path := range sources {
		var err error
		if kinds[i] == examples.URLs {
			err = f.fetch(s, path, in)
		} else {
			err = examples.Read(ctx, path, kinds[i], in, open)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Read calls take with the examples of all sources, in the order of their URLs.
func (f *sourceFlags) Read(s *cli.Session, sources []string, take func(*examples.Example) error) (*examples.Summary, error) {
	in, err := f.gather(s, sources)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return f.finish(s, in, sources, take)
}

// finish calls take with the examples of an intake.
func (f *sourceFlags) finish(s *cli.Session, in *examples.Intake, sources []string, take func(*examples.Example) error) (*examples.Summary, error) {
	sum, err := in.Finish(func(e *examples.Example) error {
		if s.Err() != nil {
			return s.Err()
		}
		return take(e)
	})
	if errors.Is(err, examples.ErrNothing) {
		cli.PrintCounts(s.Stderr, "refused", sum.Refused)
		err = fmt.Errorf("%w in %s: %d were read, %d refused, %d left out", err, strings.Join(sources, ", "), sum.Read, sum.Refusals(), sum.LeftOut)
	}
	return sum, err
}

// fetch fetches the pages of a URL list.
func (f *sourceFlags) fetch(s *cli.Session, path string, in *examples.Intake) error {
	file, err := examples.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	list, err := examples.ReadURLs(file, filepath.Base(path), in)
	if err != nil || len(list) == 0 {
		return err
	}
	topics := make(map[string][]string, len(list))
	var urls []string
	for _, x := range list {
		urls, topics[x.URL] = append(urls, x.URL), x.Topics
	}
	parts, err := s.OpenParts()
	if err != nil {
		return err
	}
	fetched, err := crawls.FetchList(s, parts, urls, f.FetchPoliteness)
	if err != nil {
		return err
	}
	failed, err := fetched.Pages(s, func(p crawls.FetchedPage) error {
		var of []string
		for _, u := range p.Asked {
			of = append(of, topics[u]...)
		}
		return in.Add(examples.Place{Source: p.URL}, p.URL, of, dom.Text(p.Body, p.ContentType))
	})
	for _, u := range failed {
		in.Refuse(examples.NotFetched, examples.Place{Source: u.URL}, strings.TrimSpace(u.Outcome+" "+u.Detail))
	}
	return err
}

// trainingChoice describes which examples of the sources a critic is trained on, and how.
type trainingChoice struct {
	words text.Settings
	// tries are the settings to train with.
	tries []critic.Settings
	// topics returns the topics for which an example counts, none = it is left out; nil: its own.
	topics func(*examples.Example) []string
	// more returns examples in addition to those of the sources, which were all read; nil: there are none.
	more func() []*examples.Example
}

// exampleSet is the training data of a critic.
type exampleSet struct {
	*critic.Examples
	sum *examples.Summary
	// digest is that of the lines that critic import writes for the sources.
	digest string
}

// examplesFor reads the training data of a critic from sources into memory: all labels, but words only of the
// pages that remain after pruning the tree and sampling the classes.
func (f *sourceFlags) examplesFor(s *cli.Session, sources []string, l trainingChoice) (*exampleSet, error) {
	in, err := f.gather(s, sources)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if l.topics == nil {
		l.topics = func(x *examples.Example) []string { return x.Topics }
	}
	set := &exampleSet{Examples: critic.NewExamples(l.words)}
	label := func(x *examples.Example, topics []string) error {
		if len(topics) == 0 {
			return nil
		}
		return set.Label(x.URL, topics)
	}
	digest := sha256.New()
	lines := examples.NewWriter(digest)
	set.sum, err = f.finish(s, in, sources, func(x *examples.Example) error {
		return errors.Join(lines.Write(x), label(x, l.topics(x)))
	})
	if err != nil {
		return nil, err
	}
	set.digest = fmt.Sprintf("sha256:%x", digest.Sum(nil))
	var more []*examples.Example
	if l.more != nil {
		more = l.more()
	}
	for _, x := range more {
		if err := label(x, x.Topics); err != nil {
			return nil, fmt.Errorf("page %s: %w", x.URL, err)
		}
	}
	var needed []func(url string) bool
	for i, settings := range l.tries {
		needs, err := set.Needed(settings)
		if errors.Is(err, taxonomy.ErrTooFew) && i+1 < len(l.tries) {
			continue
		}
		if err != nil {
			return nil, err
		}
		needed = append(needed, needs)
	}
	fill := func(x *examples.Example) error {
		if !slices.ContainsFunc(needed, func(needs func(string) bool) bool { return needs(x.URL) }) {
			return nil
		}
		return set.SetText(x.URL, x.Text)
	}
	if _, err = f.finish(s, in, sources, fill); err != nil {
		return nil, err
	}
	for _, x := range more {
		if err := fill(x); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// namesOf returns the names of sources as recorded in a model.
func namesOf(sources []string) string {
	names := make([]string, len(sources))
	for i, path := range sources {
		names[i] = filepath.Base(path)
	}
	return strings.Join(names, ", ")
}

// printSummary prints how many examples were used, and why others were not.
func printSummary(w io.Writer, sum *examples.Summary) {
	fmt.Fprintf(w, "%d examples of %d topics", sum.Examples, sum.Topics)
	if sum.Labels > sum.Examples {
		fmt.Fprintf(w, " (%d with those of several topics counted for each)", sum.Labels)
	}
	fmt.Fprintf(w, "; %d read", sum.Read)
	if sum.LeftOut > 0 {
		fmt.Fprintf(w, ", %d left out by --only and --without", sum.LeftOut)
	}
	if sum.Repeated > 0 {
		fmt.Fprintf(w, ", %d with a URL that was there already (%d of these with another text: the longest counts)", sum.Repeated, sum.Differing)
	}
	fmt.Fprintln(w)
	cli.PrintCounts(w, "refused", sum.Refused)
	cli.PrintCounts(w, "put right or noted", sum.Repaired)
	if t := sum.Structure; t != nil {
		fmt.Fprintf(w, "structure: %d topics, %d of them without a page; %d symbolic links, which are not followed (%d lead nowhere); %d topics on circles; %d narrower topics lie elsewhere by their names, which count\n",
			t.Topics, t.Empty, t.Symbolic, t.Dangling, t.OnCircles, t.Astray)
	}
}
