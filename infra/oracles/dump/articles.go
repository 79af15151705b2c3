package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"

	"forager/internal/classify/bayes"
	"forager/internal/classify/critic"
	"forager/internal/web/weburl"
)

// article is an article of the taxonomy, labelled by its main subject, the first part of its first topic.
type article struct {
	url     string // canonical
	subject string
	text    string
}

// readArticles reads examples, JSON Lines, gzipped.
func readArticles(path string) ([]article, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	var all []article
	for d := json.NewDecoder(z); ; {
		var x struct {
			URL, Text string
			Topics    []string
		}
		if err := d.Decode(&x); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		url, err := weburl.Parse(x.URL)
		if err != nil {
			return nil, err
		}
		subject, _, _ := strings.Cut(x.Topics[0], "/")
		all = append(all, article{url.String(), subject, x.Text})
	}
}

// trainOn trains a flat critic on articles and returns it with the class and the fold of each.
func trainOn(articles []article, examples *critic.Examples) (m *critic.Model, labels, folds []int, err error) {
	for _, a := range articles {
		if err := examples.AddText(a.url, []string{a.subject}, a.text); err != nil {
			return nil, nil, nil, err
		}
	}
	if m, _, err = critic.Train(context.Background(), examples, critic.Settings{Exact: true}); err != nil {
		return nil, nil, nil, err
	}
	number := make(map[string]int)
	for k, name := range m.Classes() {
		number[name] = k
	}
	urls := make([]string, len(articles))
	for i, a := range articles {
		urls[i] = a.url
		labels = append(labels, number[a.subject])
	}
	return m, labels, critic.FoldsOf(urls, labels), nil
}

// bags counts words, which it numbers in order of occurrence.
type bags struct {
	number map[string]uint32
	words  []string
}

func (b *bags) of(words []string) *bayes.Bag {
	if b.number == nil {
		b.number = make(map[string]uint32)
	}
	bag, at := new(bayes.Bag), make(map[uint32]int)
	for _, w := range words {
		f, ok := b.number[w]
		if !ok {
			f = uint32(len(b.words))
			b.number[w], b.words = f, append(b.words, w)
		}
		i, ok := at[f]
		if !ok {
			i = len(bag.Features)
			at[f] = i
			bag.Features, bag.Counts = append(bag.Features, f), append(bag.Counts, 0)
		}
		bag.Counts[i]++
	}
	return bag
}
