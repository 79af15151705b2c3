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

// Counts are the statistics of the training documents. The classes in which feature f occurs are
// Class[Start[f]:Start[f+1]], ascending, and N holds the number of occurrences in each.
type Counts struct {
	Documents []uint64 // by class
	Start     []uint32 // by feature, and one more
	Class     []uint16
	N         []uint64 // ≥ 1
}

// Count counts the documents of each class; features are numbers below features.
func Count(features int, classes [][]*Bag) (*Counts, error) {
	if len(classes) == 0 || len(classes) > MaxClasses {
		return nil, fmt.Errorf("%d classes, must be 1 to %d", len(classes), MaxClasses)
	}
	c := &Counts{Documents: make([]uint64, len(classes)), Start: make([]uint32, features+1)}
	// Count the classes of each feature; then, with the offsets known, the occurrences.
	last, cells := make([]uint32, features), 0 // class that had the feature last, from 1
	for k, documents := range classes {
		c.Documents[k] = uint64(len(documents))
		for _, d := range documents {
			if len(d.Features) != len(d.Counts) {
				return nil, fmt.Errorf("a document of class %d has %d features and %d counts", k, len(d.Features), len(d.Counts))
			}
			for i, f := range d.Features {
				if int(f) >= features {
					return nil, fmt.Errorf("a document of class %d has feature %d of %d", k, f, features)
				}
				if d.Counts[i] > 0 && last[f] != uint32(k+1) {
					last[f] = uint32(k + 1)
					c.Start[f+1]++
					cells++
				}
			}
		}
	}
	if cells > math.MaxUint32 {
		return nil, fmt.Errorf("more than %d pairs of feature and class", math.MaxUint32)
	}
	for f := range features {
		c.Start[f+1] += c.Start[f]
	}
	c.Class, c.N = make([]uint16, cells), make([]uint64, cells)
	end := last // of the cells of each feature so far
	copy(end, c.Start)
	for k, documents := range classes {
		for _, d := range documents {
			for i, f := range d.Features {
				if d.Counts[i] == 0 {
					continue
				}
				if end[f] == c.Start[f] || c.Class[end[f]-1] != uint16(k) {
					c.Class[end[f]] = uint16(k)
					end[f]++
				}
				c.N[end[f]-1] += uint64(d.Counts[i])
			}
		}
	}
	return c, nil
}
