package tfidf

import (
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
)

// Text is a document of a corpus: the numbers of its words, ascending, with their counts (counted).
type Text []uint64

// counted is a word and its count.
func counted(word, count uint32) uint64 { return uint64(word)<<32 | uint64(count) }

// Index counts n documents, at least one, and returns them as texts of their corpus. read calls add for each word of document
// i, several times if it likes, and with a count that is not 0; the bytes may change afterwards. Documents are read by as
// many goroutines as there are processors, and the result is the same for any number.
func Index(n int, read func(i int, add func(word []byte, count uint32)) error) (*Corpus, []Text, error) {
	texts, words := make([]Text, n), make([]*vocabulary, min(n, runtime.GOMAXPROCS(0)))
	err := inParallel(len(words), func(k int) (err error) {
		words[k] = newVocabulary()
		for i := k; i < n && err == nil; i += len(words) {
			texts[i], err = words[k].text(i, read)
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	c, final, err := merge(n, words...)
	if err != nil {
		return nil, nil, err
	}
	return c, texts, inParallel(len(words), func(k int) error {
		for i := k; i < n; i += len(words) {
			for j, w := range texts[i] {
				texts[i][j] = counted(final[k][w>>32], uint32(w))
			}
			slices.Sort(texts[i])
		}
		return nil
	})
}

// inParallel calls do(0) … do(n−1) at once.
func inParallel(n int, do func(k int) error) error {
	var g errgroup.Group
	for k := range n {
		g.Go(func() error { return do(k) })
	}
	return g.Wait()
}

// text counts document i.
func (v *vocabulary) text(i int, read func(i int, add func(word []byte, count uint32)) error) (Text, error) {
	v.scratch = v.scratch[:0]
	err := read(i, func(word []byte, count uint32) {
		n, ok := v.number[string(word)]
		if !ok {
			n = v.numberOf(string(word))
		}
		w := &v.words[n]
		if w.last == i+1 {
			v.scratch[w.at] += uint64(count)
			return
		}
		w.having++
		w.last, w.at = i+1, len(v.scratch)
		v.scratch = append(v.scratch, counted(n, count))
	})
	return slices.Clone(v.scratch), err
}
