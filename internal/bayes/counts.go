package bayes

import (
	"fmt"
	"math"
)

// MaxClasses is the largest number of classes.
const MaxClasses = math.MaxUint16 + 1

// Bag is a document: distinct features with the number of times each occurs.
type Bag struct {
	Features []uint32
	Counts   []uint32 // as long as Features
}

// Counts are what naive Bayes knows of its training documents. The classes in which feature f
// occurs are Class[Start[f]:Start[f+1]], ascending, and N holds, beside each, how often.
type Counts struct {
	Documents []uint64 // by class
	Start     []uint32 // by feature, and one more
	Class     []uint16
	N         []uint64 // ≥ 1
}

// Count counts the documents of each class; features are below the number given.
func Count(features int, classes [][]*Bag) (*Counts, error) {
	if len(classes) == 0 || len(classes) > MaxClasses {
		return nil, fmt.Errorf("%d classes, must be 1 to %d", len(classes), MaxClasses)
	}
	// Class by class into one dense row, which gives each class's features with their sums;
	// then all of it by feature, classes in order.
	type cell struct {
		feature uint32
		n       uint64
	}
	var (
		row     = make([]uint64, features)
		touched []uint32
		columns = make([][]cell, len(classes))
		c       = &Counts{Documents: make([]uint64, len(classes)), Start: make([]uint32, features+1)}
		cells   int
	)
	for k, documents := range classes {
		touched = touched[:0]
		for _, d := range documents {
			if len(d.Features) != len(d.Counts) {
				return nil, fmt.Errorf("a document of class %d has %d features and %d counts", k, len(d.Features), len(d.Counts))
			}
			for i, f := range d.Features {
				if int(f) >= features {
					return nil, fmt.Errorf("a document of class %d has feature %d of %d", k, f, features)
				}
				if d.Counts[i] == 0 {
					continue
				}
				if row[f] == 0 {
					touched = append(touched, f)
				}
				row[f] += uint64(d.Counts[i])
			}
		}
		c.Documents[k] = uint64(len(documents))
		column := make([]cell, len(touched))
		for i, f := range touched {
			column[i] = cell{f, row[f]}
			row[f] = 0
			c.Start[f+1]++
		}
		columns[k] = column
		if cells += len(column); cells > math.MaxUint32 {
			return nil, fmt.Errorf("more than %d pairs of feature and class", math.MaxUint32)
		}
	}
	for f := range features {
		c.Start[f+1] += c.Start[f]
	}
	c.Class, c.N = make([]uint16, cells), make([]uint64, cells)
	next := append([]uint32(nil), c.Start[:features]...)
	for k, column := range columns {
		for _, cell := range column {
			i := next[cell.feature]
			next[cell.feature]++
			c.Class[i], c.N[i] = uint16(k), cell.n
		}
	}
	return c, nil
}

// Vocabulary returns |T|, the number of features that occur at all.
func (c *Counts) Vocabulary() int {
	n := 0
	for f := range len(c.Start) - 1 {
		if c.Start[f] < c.Start[f+1] {
			n++
		}
	}
	return n
}
