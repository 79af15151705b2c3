package examples

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"forager/internal/weburl"
)

// Listed is a page that is to be an example once it was fetched.
type Listed struct {
	// URL is canonical.
	URL string
	// Topics are sorted and distinct, at least one.
	Topics []string
}

// maxURLLine is the longest line of a list of URLs, bytes.
const maxURLLine = 1 << 20

// ReadURLs reads URLs with topics and returns each URL once, sorted. Lines that say neither are refused by
// the intake. There are two forms. Lines:
//
//	# a comment
//	[Science/Chemistry]
//	https://example.org/acids
//	https://example.org/salts	Science/Geology	Science/Chemistry
//
// where [topic] is that of the URLs below it that name none, and topics stand behind tabs; and YAML, a
// topic with its URLs:
//
//	Science/Chemistry:
//	  - https://example.org/acids
func ReadURLs(r io.Reader, name string, in *Intake) ([]Listed, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	l := urlList{in: in, topics: make(map[string][]string)}
	if suffix := strings.ToLower(name); strings.HasSuffix(suffix, ".yaml") || strings.HasSuffix(suffix, ".yml") {
		err = l.yaml(b, name)
	} else {
		err = l.lines(b, name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var out []Listed
	for _, url := range slices.Sorted(maps.Keys(l.topics)) {
		topics := l.topics[url]
		slices.Sort(topics)
		out = append(out, Listed{URL: url, Topics: slices.Compact(topics)})
	}
	return out, nil
}

// urlList is a list of URLs as it grows.
type urlList struct {
	in     *Intake
	topics map[string][]string // by URL
}

func (l *urlList) add(at Place, raw string, topics []string) {
	u, err := weburl.Parse(raw)
	if err != nil {
		l.in.Refuse(BadURL, at, err.Error())
		return
	}
	chosen, ok := l.in.choose(at, topics)
	if ok {
		l.topics[u.String()] = append(l.topics[u.String()], chosen...)
	} else {
		l.in.sum.Read++
	}
}

func (l *urlList) lines(b []byte, name string) error {
	lines := bufio.NewScanner(bytes.NewReader(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))))
	lines.Buffer(nil, maxURLLine)
	var heading []string
	for at := (Place{Source: name, Unit: "line", At: 1}); lines.Scan(); at.At++ {
		line := strings.TrimSpace(lines.Text())
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
		fields := strings.Split(line, "\t")
		topics := slices.DeleteFunc(fields[1:], func(t string) bool { return strings.TrimSpace(t) == "" })
		if len(topics) == 0 {
			topics = heading
		}
		l.add(at, fields[0], topics)
	}
	return lines.Err()
}

func (l *urlList) yaml(b []byte, name string) error {
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return err
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return fmt.Errorf("is not a mapping of topics to lists of URLs")
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
				l.in.Refuse(BadURL, at, "neither a URL nor anything else on one line")
				continue
			}
			l.add(at, u.Value, []string{topic.Value})
		}
	}
	return nil
}
