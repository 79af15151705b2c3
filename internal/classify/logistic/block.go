package logistic

import (
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas/blas32"
)

// blockSize is the number of examples of a block, so that its tables fit the nearest cache.
const blockSize = 128

// block is examples that are fitted batch by batch while the weights are read and written only once: the weights
// of all features do not fit a cache. A move by one example changes the score of a later one by their inner
// product times the move, so each batch gets the scores that it would have if the weights had moved before.
type block struct {
	examples []int // at most blockSize, or a batch
	order    []int // in which they are fitted: positions in examples
	// Features of the examples, ascending, and the ends of the entries of each.
	features []uint32
	ends     []uint32
	entries  []entry
	products []float32 // inner products of examples
}

// entry is the value of a feature in an example.
type entry struct {
	example uint32 // of the block
	value   float32
}

// tables have a row of numbers, one a class, for each example of a block.
type tables struct {
	// scores are those by the weights, without scale and bias; moves are those of the weights, and past those of
	// the average, for each unit of a feature.
	scores, moves, past table
	residual            []float64
}

type table struct {
	classes int
	numbers []float32
}

func (t *table) row(example int) []float32 { return t.numbers[example*t.classes:][:t.classes] }

func (f *fitting) residuals(i int) []float64 { return f.residual[i*f.Classes:][:f.Classes] }

// divide divides the examples into blocks, at random.
func (f *fitting) divide() []*block {
	order := make([]int, len(f.examples))
	for i := range order {
		order[i] = i
	}
	shuffle(order, f.Seed)
	size := max(blockSize/f.Batch, 1) * f.Batch
	for _, t := range []*table{&f.scores, &f.moves, &f.past} {
		*t = table{f.Classes, make([]float32, min(size, len(order))*f.Classes)}
	}
	f.residual = make([]float64, len(f.scores.numbers))
	var blocks []*block
	first := make([]uint32, f.Features)
	for examples := range slices.Chunk(order, size) {
		blocks = append(blocks, newBlock(f.examples, examples, first))
	}
	return blocks
}

// newBlock makes a block of examples. Count is by feature, all 0 before and after.
func newBlock(all []Example, examples []int, count []uint32) *block {
	b := &block{examples: examples, order: make([]int, len(examples)), products: make([]float32, len(examples)*len(examples))}
	n := 0
	for at, i := range examples {
		b.order[at] = at
		n += len(all[i].Features)
		for _, feature := range all[i].Features {
			if count[feature] == 0 {
				b.features = append(b.features, feature)
			}
			count[feature]++
		}
	}
	slices.Sort(b.features)
	b.ends, b.entries = make([]uint32, len(b.features)), make([]entry, n)
	var end uint32
	for at, feature := range b.features {
		begin := end
		end += count[feature]
		b.ends[at], count[feature] = end, begin
	}
	for at, i := range examples {
		for j, feature := range all[i].Features {
			b.entries[count[feature]] = entry{uint32(at), all[i].Values[j]}
			count[feature]++
		}
	}
	b.each(func(feature int, entries []entry) {
		count[feature] = 0
		for _, x := range entries {
			row := b.products[int(x.example)*len(examples):][:len(examples)]
			for _, y := range entries {
				row[y.example] += float32(x.value * y.value)
			}
		}
	})
	return b
}

// each calls f with every feature and its entries.
func (b *block) each(f func(feature int, entries []entry)) {
	var begin uint32
	for at, feature := range b.features {
		f(int(feature), b.entries[begin:b.ends[at]])
		begin = b.ends[at]
	}
}

// fit fits the weights to the examples of a block, batch by batch.
func (f *fitting) fit(b *block, average bool) {
	clear(f.scores.numbers)
	f.each(func(from, to int) {
		b.each(func(feature int, entries []entry) {
			weights := vector(f.weights[feature*f.Classes:][from:to])
			for _, x := range entries {
				blas32.Axpy(x.value, weights, vector(f.scores.row(int(x.example))[from:to]))
			}
		})
	})
	for lo := 0; lo < len(b.order); lo += f.Batch {
		hi := min(lo+f.Batch, len(b.order))
		f.step(b, b.order[lo:hi], average)
		f.see(b, b.order[lo:hi], b.order[hi:])
		if f.scale < 1e-6 {
			f.rescale()
		}
	}
	f.each(func(from, to int) {
		b.each(func(feature int, entries []entry) {
			weights, sums := vector(f.weights[feature*f.Classes:][from:to]), vector(f.sums[feature*f.Classes:][from:to])
			for _, x := range entries {
				blas32.Axpy(x.value, vector(f.moves.row(int(x.example))[from:to]), weights)
			}
			if !average {
				return
			}
			for _, x := range entries {
				blas32.Axpy(x.value, vector(f.past.row(int(x.example))[from:to]), sums)
			}
		})
	})
}

// see updates the scores of the examples after a batch by the moves of the batch.
func (f *fitting) see(b *block, batch, after []int) {
	for _, j := range after {
		scores := vector(f.scores.row(j))
		for _, i := range batch {
			blas32.Axpy(b.products[i*len(b.examples)+j], vector(f.moves.row(i)), scores)
		}
	}
}

// vector converts a row for package blas32, which adds several numbers at a time.
func vector(row []float32) blas32.Vector { return blas32.Vector{N: len(row), Data: row, Inc: 1} }

// leastClasses is the number of classes below which a worker gets no part of its own.
const leastClasses = 32

// each runs part for ranges of classes, from one class to another, on the workers. Each number is computed by one
// worker, in an order that does not depend on the number of workers.
func (f *fitting) each(part func(from, to int)) {
	workers := min(f.Workers, f.Classes/leastClasses)
	if workers < 2 {
		part(0, f.Classes)
		return
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { part(w*f.Classes/workers, (w+1)*f.Classes/workers) })
	}
	wg.Wait()
}
