package examples

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"forager/internal/web/weburl"
)

// Listed is a page that is to be fetched to become an example.
type Listed struct {
	// URL is canonical.
	URL string
	// Topics are sorted and distinct, at least one.
	Topics []string
}

// Bounds of a list of URLs.
const (
	// maxURLLine is the maximum length of a line, bytes.
	maxURLLine = 1 << 20
	// maxListed is the maximum number of URLs.
	maxListed = 1_000_000
	// maxYAML is the maximum size of a YAML file, bytes; it takes about fifty times as much memory.
	maxYAML = 4 << 20
)

// ReadURLs reads URLs with topics and returns each URL once, sorted. Lines that have neither are refused by the
// intake. There are two forms. Lines:
//
//	# a comment
//	[Science/Chemistry]
//	https://example.org/acids
//	https://example.org/salts	Science/Geology	Science/Chemistry
//
// where [topic] is that of the URLs after it that have none, and topics are separated by tabs; and YAML, a topic
// with its URLs:
//
//	Science/Chemistry:
//	  - https://example.org/acids
func ReadURLs(r io.Reader, name string, in *Intake) ([]Listed, error) {
	var err error
	l := urlList{in: in, topics: make(map[string][]string)}
	if suffix := strings.ToLower(name); strings.HasSuffix(suffix, ".yaml") || strings.HasSuffix(suffix, ".yml") {
		err = l.yaml(r, name)
	} else {
		err = l.lines(r, name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var out []Listed
	for _, url := range slices.Sorted(maps.Keys(l.topics)) {
		topics := l.topics[url]
		out = append(out, Listed{URL: url, Topics: distinctTopics(topics)})
	}
	return out, nil
}

// urlList is a list of URLs under construction.
type urlList struct {
	in     *Intake
	topics map[string][]string // by URL
}

// distinctTopics sorts topics; of more than an example can have the first ones are kept.
func distinctTopics(topics []string) []string {
	slices.Sort(topics)
	topics = slices.Compact(topics)
	return topics[:min(len(topics), maxTopics)]
}

func (l *urlList) add(at Place, raw string, topics []string) error {
	u, err := weburl.Parse(raw)
	if err != nil {
		l.in.Refuse(BadURL, at, err.Error())
		return nil
	}
	chosen, ok := l.in.choose(at, topics)
	if !ok {
		l.in.sum.Read++
		return nil
	}
	all, known := l.topics[u.String()]
	if !known && len(l.topics) == maxListed {
		return fmt.Errorf("%s: more than %d URLs; divide the list", at, maxListed)
	}
	if all = append(all, chosen...); len(all) > 2*maxTopics {
		all = distinctTopics(all)
	}
	l.topics[u.String()] = all
	return nil
}

func (l *urlList) lines(r io.Reader, name string) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxURLLine)
	var heading []string
	next := int64(1)
	for at := (Place{Source: name, Unit: "line", At: 1}); lines.Scan(); at.At++ {
		next = at.At + 1
		line := lines.Text()
		if at.At == 1 {
			line = strings.TrimPrefix(line, "\xef\xbb\xbf")
		}
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if topic, ok := strings.CutPrefix(line, "["); ok {
			topic, closed := strings.CutSuffix(topic, "]")
			if heading = nil; !closed {
				return fmt.Errorf("line %d: %q has no ]", at.At, line)
			}
			if _, err := cleanTopic(topic); err != nil {
				return fmt.Errorf("line %d: %w", at.At, err)
			}
			heading = []string{topic}
			continue
		}
		fields := strings.SplitN(line, "\t", maxTopics+2)
		topics := slices.DeleteFunc(fields[1:], func(t string) bool { return strings.TrimSpace(t) == "" })
		if len(topics) == 0 {
			topics = heading
		}
		if err := l.add(at, fields[0], topics); err != nil {
			return err
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("line %d: more than %d bytes", next, maxURLLine)
	} else if err != nil {
		return err
	}
	return nil
}

func (l *urlList) yaml(r io.Reader, name string) error {
	b, err := io.ReadAll(io.LimitReader(r, maxYAML+1))
	if err != nil {
		return err
	}
	if len(b) > maxYAML {
		return fmt.Errorf("more than %d bytes of YAML; write long lists in lines, topics after tabs", maxYAML)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return err
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return errors.New("is not a mapping of topics to lists of URLs")
	}
	pairs := doc.Content[0].Content
	for i := 0; i+1 < len(pairs); i += 2 {
		topic, urls := pairs[i], pairs[i+1]
		if urls.Kind != yaml.SequenceNode {
			return fmt.Errorf("line %d: topic %q is not followed by a list of URLs", topic.Line, topic.Value)
		}
		for _, u := range urls.Content {
			at := Place{Source: name, Unit: "line", At: int64(u.Line)}
			if u.Kind != yaml.ScalarNode {
				l.in.Refuse(BadURL, at, "not a URL on one line")
				continue
			}
			if err := l.add(at, u.Value, []string{topic.Value}); err != nil {
				return err
			}
		}
	}
	return nil
}
