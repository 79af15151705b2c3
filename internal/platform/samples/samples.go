package samples

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"forager/internal/platform/objects"
)

// Label is the label of a page.
type Label string

// Labels of pages.
const (
	// Liked pages are on topic.
	Liked Label = "liked"
	// Background pages were fetched and have no mark.
	Background Label = "background"
	// Wrong pages are off topic.
	Wrong Label = "wrong"
)

// Sample is a page that a critic is trained on.
type Sample struct {
	URL   string `json:"url"`
	Label Label  `json:"said"`
	Text  string `json:"text"`
}

// Mark is a user's correction or confirmation of a judged page.
type Mark struct {
	// URL is canonical.
	URL string `json:"url"`
	// Right: the page is about Topic; otherwise it is not, but about Instead, if that is set.
	Right   bool   `json:"right"`
	Topic   string `json:"topic"`
	Instead string `json:"instead,omitempty"`
	Text    string `json:"text"`
	// Drawn pages were not chosen by the user: they are of a Draw from the pages of Crawl.
	Drawn bool `json:"drawn,omitempty"`
	// Crawl that fetched the page.
	Crawl string    `json:"crawl"`
	At    time.Time `json:"at"`
	// Others are further topics of a crawl with several. Not right: the page is about none of them either. Right: it is
	// about one of Topic and Others, and which is unknown.
	Others []string `json:"others,omitempty"`
}

// Store is the part of *objects.Store that the package uses.
type Store interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, r io.Reader, size int64) error
	List(ctx context.Context, prefix string) iter.Seq2[objects.Object, error]
}

// Save stores the pages that a critic is trained on and returns the name of the object.
func Save(ctx context.Context, store Store, critic string, pages []Sample) (key string, err error) {
	var lines bytes.Buffer
	e := json.NewEncoder(&lines)
	e.SetEscapeHTML(false)
	for _, p := range pages {
		if err := e.Encode(p); err != nil {
			return "", fmt.Errorf("example %s: %w", p.URL, err)
		}
	}
	sum := sha256.Sum256(lines.Bytes())
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(lines.Bytes()); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	key = "examples/" + critic + "/" + hex.EncodeToString(sum[:6]) + ".jsonl.gz"
	err = store.Put(ctx, key, &packed, int64(packed.Len()))
	if err != nil && !errors.Is(err, objects.ErrExists) { // the name has the digest of the content
		return "", fmt.Errorf("keep the examples of critic %s: %w", critic, err)
	}
	return key, nil
}

// maxLine is the longest line of examples, bytes.
const maxLine = 64 << 20

// Load returns the pages that Save stored.
func Load(ctx context.Context, store Store, key string) ([]Sample, error) {
	b, err := store.Get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("examples %s: %w", key, err)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("examples %s: %w", key, err)
	}
	var pages []Sample
	lines := bufio.NewScanner(z)
	for lines.Buffer(nil, maxLine); lines.Scan(); {
		var p Sample
		err := json.Unmarshal(lines.Bytes(), &p)
		if err == nil && (p.URL == "" || p.Label != Liked && p.Label != Background && p.Label != Wrong) {
			err = fmt.Errorf("page %q has the label %q", p.URL, p.Label)
		}
		if err != nil {
			return nil, fmt.Errorf("examples %s, line %d: %w", key, len(pages)+1, err)
		}
		pages = append(pages, p)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("examples %s: %w", key, err)
	}
	return pages, nil
}

func marksOf(critic string) string { return "marks/" + critic + "/" }

// Add stores a mark.
func Add(ctx context.Context, store Store, critic string, m Mark) error {
	if err := add(ctx, store, marksOf(critic), m.At, m); err != nil {
		return fmt.Errorf("keep the mark of %s: %w", m.URL, err)
	}
	return nil
}

// add stores a value under a new name.
func add(ctx context.Context, store Store, prefix string, at time.Time, value any) error {
	b, err := json.Marshal(value)
	if err != nil {
		return err
	}
	// The time in nanoseconds has a fixed number of digits: names are in the order of time.
	key := fmt.Sprintf("%s%019d-%s.json", prefix, at.UnixNano(), strings.ToLower(rand.Text()[:8]))
	return store.Put(ctx, key, bytes.NewReader(b), int64(len(b)))
}

// each calls take with what add stored, in the order of time.
func each[T any](ctx context.Context, store Store, prefix string, take func(T)) error {
	for o, err := range store.List(ctx, prefix) {
		if err != nil {
			return err
		}
		b, err := store.Get(ctx, o.Key)
		if err != nil {
			return fmt.Errorf("%s: %w", o.Key, err)
		}
		var value T
		if err := json.Unmarshal(b, &value); err != nil {
			return fmt.Errorf("%s: %w", o.Key, err)
		}
		take(value)
	}
	return nil
}

// Marks returns the marks of a critic's pages, the last one of each page, by URL.
func Marks(ctx context.Context, store Store, critic string) ([]Mark, error) {
	last := make(map[string]Mark)
	err := each(ctx, store, marksOf(critic), func(m Mark) {
		if was := last[m.URL]; was.Drawn && was.Crawl == m.Crawl {
			m.Drawn = true // also if a later mark is not
		}
		last[m.URL] = m
	})
	if err != nil {
		return nil, fmt.Errorf("marks of critic %s: %w", critic, err)
	}
	marks := make([]Mark, 0, len(last))
	for _, m := range last {
		marks = append(marks, m)
	}
	slices.SortFunc(marks, func(a, b Mark) int { return cmp.Compare(a.URL, b.URL) })
	return marks, nil
}

// Apply returns the samples with the marks applied: a marked page becomes liked or wrong.
func Apply(pages []Sample, marks []Mark) []Sample {
	marked := make(map[string]bool)
	for _, m := range marks {
		marked[m.URL] = true
	}
	out := slices.DeleteFunc(slices.Clone(pages), func(p Sample) bool { return marked[p.URL] })
	for _, m := range marks {
		label := Wrong
		if m.Right {
			label = Liked
		}
		out = append(out, Sample{URL: m.URL, Label: label, Text: m.Text})
	}
	return out
}

// Topics returns the topics of an example of a taxonomy after the mark: right adds a topic, wrong removes
// it and Others with all their descendants. The result may be empty. One that is right of several topics changes nothing.
func (m *Mark) Topics(topics []string) []string {
	switch {
	case m.Right && len(m.Others) > 0:
		return topics
	case m.Right:
		return with(topics, m.Topic)
	}
	left := slices.DeleteFunc(slices.Clone(topics), func(t string) bool {
		return slices.ContainsFunc(append([]string{m.Topic}, m.Others...), func(wrong string) bool { return t == wrong || strings.HasPrefix(t, wrong+"/") })
	})
	if m.Instead != "" {
		left = with(left, m.Instead)
	}
	return left
}

func with(topics []string, topic string) []string {
	if slices.Contains(topics, topic) {
		return topics
	}
	return append(slices.Clone(topics), topic)
}
