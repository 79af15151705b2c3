package critic

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"forager/internal/classify/bayes"
	"forager/internal/classify/taxonomy"
	"forager/internal/page/text"
	"forager/internal/web/weburl"
	"forager/schemas"
)

// Examples are labelled pages, stored as bags of words. The zero value is ready to use and counts every token as a
// word.
type Examples struct {
	settings text.Settings
	reader   *text.Words
	words    interner
	times    []uint32 // by word; all 0 between examples
	page     reading
	items    []example
	byURL    map[string]int
	repeated int
}

type example struct {
	url    string
	topics []string // without "/" at either end, distinct
	bag    bayes.Bag
}

// NewExamples returns Examples whose words are cut by the settings; a model trained on them uses the same
// settings.
func NewExamples(s text.Settings) *Examples { return &Examples{settings: s} }

// Len returns the number of examples (distinct URLs).
func (e *Examples) Len() int { return len(e.items) }

// Repeated returns the number of examples that were added with a URL already present. Such an example adds its
// topics; the text is that of the first.
func (e *Examples) Repeated() int { return e.repeated }

// AddText adds an example given as plain text.
func (e *Examples) AddText(url string, topics []string, page string) error {
	x, err := e.place(url, topics)
	if err != nil || x == nil {
		return err
	}
	e.reader.Text(page, "")
	e.fill(x)
	return nil
}

// Label adds an example without its page. With many more examples than classes can use, all are labelled first,
// then those that are Needed get their text; the model is the same.
func (e *Examples) Label(url string, topics []string) error {
	_, err := e.place(url, topics)
	return err
}

// Needed returns a function that reports, for a URL as it was added, whether Train with these settings uses the
// example: whether it is in a class once the tree is pruned and the classes are sampled.
func (e *Examples) Needed(s Settings) (func(url string) bool, error) {
	tree, err := grow(e, s)
	if err != nil {
		return nil, fmt.Errorf("train critic: %w", err)
	}
	needed := make([]bool, len(e.items))
	for _, c := range tree.Classes {
		for _, i := range c.Examples {
			needed[i] = true
		}
	}
	return func(url string) bool {
		i, ok := e.byURL[canonical(url)]
		return ok && needed[i]
	}, nil
}

// SetText sets the text of an example that was added by Label.
func (e *Examples) SetText(url, page string) error {
	i, ok := e.byURL[canonical(url)]
	if !ok {
		return fmt.Errorf("no example %s", url)
	}
	e.reader.Text(page, "")
	e.fill(&e.items[i])
	return nil
}

// canonical returns the form of a URL by which examples are identified.
func canonical(url string) string {
	url = strings.TrimSpace(url)
	if u, err := weburl.Parse(url); err == nil {
		return u.String()
	}
	return url
}

// AddPage adds an example given as a parsed page.
func (e *Examples) AddPage(url string, topics []string, p *schemas.Page) error {
	if e.reader == nil {
		e.reader = text.NewWords(e.settings)
	}
	if err := begin(e.reader, p); err != nil {
		return err
	}
	x, err := e.place(url, topics)
	if err != nil || x == nil {
		return err
	}
	e.fill(x)
	return nil
}

// fill sets the bag of an example to the words of the reader.
func (e *Examples) fill(x *example) {
	e.page.read(e.reader, &e.words)
	for len(e.times) < len(e.words.words) {
		e.times = append(e.times, 0)
	}
	features := e.page.count(e.times)
	both := make([]uint32, 2*len(features))
	x.bag.Features, x.bag.Counts = both[:len(features):len(features)], both[len(features):]
	copy(x.bag.Features, features)
	for i, w := range features {
		x.bag.Counts[i], e.times[w] = e.times[w], 0
	}
}

// begin starts reading the words of a page; the error is that of an inconsistent page.
func begin(w *text.Words, p *schemas.Page) error {
	err := w.Surface(text.SurfaceOf(p))
	if err != nil {
		return fmt.Errorf("page %s: %w", p.GetUrl(), err)
	}
	return nil
}

// place checks url and topics and returns the new example to fill, nil if it is present already.
func (e *Examples) place(url string, topics []string) (*example, error) {
	if url = canonical(url); url == "" {
		return nil, errors.New("url is empty")
	}
	if len(topics) == 0 {
		return nil, errors.New("topics is empty")
	}
	var clean []string
	for _, name := range topics {
		if _, err := taxonomy.ParseTopic(name); err != nil {
			return nil, err
		}
		clean = append(clean, strings.Trim(name, "/"))
	}
	if e.reader == nil {
		e.reader = text.NewWords(e.settings)
	}
	if e.byURL == nil {
		e.byURL = make(map[string]int)
	}
	i, known := e.byURL[url]
	if !known {
		i = len(e.items)
		e.byURL[url] = i
		e.items = append(e.items, example{url: url})
	}
	x := &e.items[i]
	for _, topic := range clean {
		if !slices.Contains(x.topics, topic) {
			x.topics = append(x.topics, topic)
		}
	}
	if known {
		e.repeated++
		return nil, nil
	}
	return x, nil
}
