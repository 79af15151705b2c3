package examples

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Settings of an Intake.
type Settings struct {
	// Only are topics: examples at and below them are accepted, all if there is none. Without are topics that are
	// excluded with all below them.
	Only, Without []string
	// Memory is the number of bytes that are sorted at once; 0 = 128 MiB. An intake uses about three times as
	// much.
	Memory int
	// Temp is the folder for temporary files; empty = that of the system.
	Temp string
	// Otherwise is the topic of examples without topics; empty = these are refused.
	Otherwise string
	// Lossy accepts a source that is cut off.
	Lossy bool
}

// Reason is the reason of a refusal or repair.
type Reason string

// The reasons of refusals.
const (
	BadLine    Reason = "line is no example"
	BadURL     Reason = "URL is none"
	BadTopic   Reason = "topic is none"
	NoTopic    Reason = "no topic"
	NotText    Reason = "not text"
	NoText     Reason = "no text"
	TooLong    Reason = "too long"
	LinkAway   Reason = "symbolic link that leads nowhere, or out of the folder"
	LinkFolder Reason = "symbolic link to a folder"
	NoFile     Reason = "neither file nor folder"
	Unreadable Reason = "cannot be read"
	NotFetched Reason = "not fetched"
	RootOfTree Reason = "lies in no topic's folder"
	Hidden     Reason = "hidden"
	BrokenOff  Reason = "the source breaks off"
)

// Place is a place in a source.
type Place struct {
	// Source is the name of a file.
	Source string
	// Unit is the unit of At: "line" from 1, "byte" from 0; empty where the place is the file.
	Unit string
	At   int64
}

func (p Place) String() string {
	if p.Unit == "" {
		return p.Source
	}
	return fmt.Sprintf("%s, %s %d", p.Source, p.Unit, p.At)
}

// maxShown is the number of cases reported for each reason.
const maxShown = 5

// Case is one refusal or repair.
type Case struct {
	Place string `json:"place"`
	What  string `json:"what"`
}

// Count is the number of cases of a reason.
type Count struct {
	Reason Reason `json:"reason"`
	Count  int64  `json:"count"`
	// First are the first cases.
	First []Case `json:"first,omitempty"`
}

// tally counts by reason.
type tally []Count

func (t *tally) add(r Reason, at Place, what string) {
	i := slices.IndexFunc(*t, func(c Count) bool { return c.Reason == r })
	if i < 0 {
		i = len(*t)
		*t = append(*t, Count{Reason: r})
	}
	c := &(*t)[i]
	if c.Count++; len(c.First) < maxShown {
		c.First = append(c.First, Case{at.String(), excerpt(what)})
	}
}

// maxExcerpt is the maximum length of the excerpt in a case, bytes.
const maxExcerpt = 1 << 10

// excerpt returns the beginning of a text, which may be as long as a line, in memory of its own.
func excerpt(s string) string {
	if len(s) > maxExcerpt {
		s = strings.ToValidUTF8(s[:maxExcerpt], "") + "…"
	}
	return strings.Clone(s)
}

// Summary reports what became of the examples of an Intake.
type Summary struct {
	// Read is the number of examples in the sources; Refused ones are included, and so are those LeftOut by
	// Settings.Only and Without.
	Read    int64 `json:"read"`
	LeftOut int64 `json:"left_out"`
	// Examples is the number of resulting examples: pages. Repeated ones had a URL that was present already; of
	// these, Differing ones had another text.
	Examples  int64 `json:"examples"`
	Repeated  int64 `json:"repeated"`
	Differing int64 `json:"differing"`
	// Topics is the number of topics that have examples of their own, Labels that of pairs of example and topic.
	Topics int   `json:"topics"`
	Labels int64 `json:"labels"`
	// Refused examples, and Repaired ones, which were accepted.
	Refused  []Count `json:"refused"`
	Repaired []Count `json:"repaired"`
	// Structure describes structure.rdf.u8; nil without it.
	Structure *Structure `json:"structure,omitempty"`
}

// Refusals is the number of examples that were refused.
func (s *Summary) Refusals() (n int64) {
	for _, c := range s.Refused {
		n += c.Count
	}
	return n
}

// Intake takes examples of any number of sources and returns them in the order of their URLs. Not for concurrent
// use.
type Intake struct {
	settings Settings
	sum      Summary
	refused  tally
	repaired tally
	topics   map[uint64]struct{} // by hash
	sorter   *sorter
}

// NewIntake begins an intake; Close ends it. The error is about the topics of the settings.
func NewIntake(s Settings) (*Intake, error) {
	for _, names := range []*[]string{&s.Only, &s.Without} {
		clean := make([]string, len(*names))
		for i, name := range *names {
			topic, err := cleanTopic(name)
			if err != nil {
				return nil, err
			}
			clean[i] = topic
		}
		*names = clean
	}
	return &Intake{settings: s, topics: make(map[uint64]struct{}), sorter: newSorter(s.Memory, s.Temp)}, nil
}

// Close removes the temporary files.
func (in *Intake) Close() error { return in.sorter.close() }

// Add adds an example. An invalid example is counted; an error is one of the disk.
func (in *Intake) Add(at Place, url string, topics []string, page string) error {
	in.sum.Read++
	clean, ok := in.choose(at, topics)
	if !ok {
		return nil
	}
	url, err := cleanURL(url)
	if err != nil {
		in.refused.add(BadURL, at, err.Error())
		return nil
	}
	text, reason, why := cleanText(page)
	if reason != "" {
		in.refused.add(reason, at, url+": "+why)
		return nil
	}
	return in.sorter.add(&Example{URL: url, Topics: clean, Text: text})
}

// choose returns the topics that the settings accept, clean, sorted and distinct; false where none is left.
func (in *Intake) choose(at Place, topics []string) ([]string, bool) {
	if len(topics) == 0 && in.settings.Otherwise != "" {
		topics = []string{in.settings.Otherwise}
	}
	if len(topics) == 0 {
		in.refused.add(NoTopic, at, "topics is empty")
		return nil, false
	}
	if len(topics) > maxTopics {
		in.refused.add(TooLong, at, errTooManyTopics.Error())
		return nil, false
	}
	clean := make([]string, 0, len(topics))
	for _, name := range topics {
		topic, err := cleanTopic(name)
		if err != nil {
			in.refused.add(BadTopic, at, err.Error())
			return nil, false
		}
		if (len(in.settings.Only) == 0 || below(topic, in.settings.Only)) && !below(topic, in.settings.Without) {
			clean = append(clean, topic)
		}
	}
	if len(clean) == 0 {
		in.sum.LeftOut++
		return nil, false
	}
	slices.Sort(clean)
	return slices.Compact(clean), true
}

// Refuse counts something from which a source could not make an example.
func (in *Intake) Refuse(r Reason, at Place, what string) {
	in.sum.Read++
	in.refused.add(r, at, what)
}

// Refused returns the refusals so far, the most frequent reason first.
func (in *Intake) Refused() []Count { return sorted(in.refused) }

// repair counts a repair of a source.
func (in *Intake) repair(r Reason, at Place, what string) { in.repaired.add(r, at, what) }

// ErrNothing is returned when no source had an acceptable example.
var ErrNothing = errors.New("there is no example")

// Finish calls take with every example, in the order of their URLs. The summary is complete then, also with
// ErrNothing. take must not keep the example. Finish may be called again, with the same result.
func (in *Intake) Finish(take func(*Example) error) (*Summary, error) {
	in.sum.Examples, in.sum.Repeated, in.sum.Differing, in.sum.Labels = 0, 0, 0, 0
	var one same
	end := func() error {
		if one.count == 0 {
			return nil
		}
		e := &one.Example
		in.sum.Examples++
		in.sum.Repeated += one.count - 1
		in.sum.Differing += one.count - one.alike
		in.sum.Labels += int64(len(e.Topics))
		for _, t := range e.Topics {
			in.topics[xxhash.Sum64String(t)] = struct{}{}
		}
		return take(e)
	}
	err := in.sorter.merge(func(e Example) error {
		if one.count > 0 && one.URL == e.URL {
			one.add(e)
			return nil
		}
		err := end()
		one = same{Example: e, count: 1, alike: 1}
		return err
	})
	if err == nil {
		err = end()
	}
	in.sum.Topics, in.sum.Refused, in.sum.Repaired = len(in.topics), sorted(in.refused), sorted(in.repaired)
	if err == nil && in.sum.Examples == 0 {
		err = ErrNothing
	}
	sum := in.sum
	return &sum, err
}

// sorted returns the counts, the largest first.
func sorted(t tally) []Count {
	out := append([]Count{}, t...)
	slices.SortStableFunc(out, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}

// same merges the examples of one URL.
type same struct {
	Example
	// count is the number of examples, alike that of those that have the text.
	count, alike int64
}

// add adds an example. Of more topics than an example can have those that are first by name are kept, so that the
// order of the sources does not matter.
func (s *same) add(e Example) {
	s.count++
	switch c := cmp.Or(cmp.Compare(len(s.Text), len(e.Text)), cmp.Compare(e.Text, s.Text)); {
	case c == 0:
		s.alike++
	case c < 0:
		s.Text, s.alike = e.Text, 1
	}
	s.Topics = slices.Compact(slices.Sorted(slices.Values(slices.Concat(s.Topics, e.Topics))))
	s.Topics = s.Topics[:min(len(s.Topics), maxTopics)]
}
