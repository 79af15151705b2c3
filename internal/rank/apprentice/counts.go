package apprentice

import (
	"fmt"

	"forager/schemas"
)

// The range of offsets of features, schemas.NoOffset included.
const minOffset, maxOffset = -128, 127

// Counts is naive Bayes: all that was learned from leaps, in integers. It is not safe for concurrent use.
type Counts struct {
	relevances
	terms    terms[cells]
	settings Settings

	// Scratch of count: the slot of each feature, and its count.
	found   []int
	amounts []uint64
	// pairs is scratch of weigh.
	pairs []pair
}

// place is an offset and a bin.
type place uint32

func newPlace(offset int32, bin int) place { return place(offset-minOffset)<<9 | place(bin) }

func (p place) offset() int32 { return int32(p>>9) + minOffset }
func (p place) bin() int      { return int(p & 0x1ff) }

// maxPlace is the highest place.
const maxPlace = (maxOffset-minOffset)<<9 | (bins - 1)

// NewCounts returns empty counts for features of the family linkfeature.Offsets.
func NewCounts() *Counts { return &Counts{settings: plainly} }

// Settings returns the settings of naive Bayes.
func (c *Counts) Settings() Settings { return c.settings }

// Add learns from one leap: the features of the link and R(v), in [0,1]. An error leaves the counts unchanged.
func (c *Counts) Add(features []*schemas.Feature, relevance float64) error {
	if err := check(features, relevance); err != nil {
		return err
	}
	c.count(features, c.note(relevance))
	return nil
}

// AddFeatures adds features to a leap that was given to Add without them, with the same R(v). The order in which leaps get
// their features makes no difference.
func (c *Counts) AddFeatures(features []*schemas.Feature, relevance float64) error {
	if err := check(features, relevance); err != nil {
		return err
	}
	bin := binOf(relevance)
	if c.leaps[bin] == 0 {
		return fmt.Errorf("features of a leap with R(v) = %v, and there is none", relevance)
	}
	c.count(features, bin)
	return nil
}

func check(features []*schemas.Feature, relevance float64) error {
	if !(relevance >= 0 && relevance <= 1) {
		return fmt.Errorf("leap with R(v) = %v, must be 0 to 1", relevance)
	}
	for _, f := range features {
		if f.GetTerm() == "" || f.GetOffset() < minOffset || f.GetOffset() > maxOffset {
			return fmt.Errorf("feature %q at offset %d", f.GetTerm(), f.GetOffset())
		}
	}
	return nil
}

// count counts the features of a leap whose R(v) is in a bin.
func (c *Counts) count(features []*schemas.Feature, bin int) {
	c.found = c.terms.seek(features, c.found)
	c.amounts = c.settings.amounts(features, c.amounts)
	for i, f := range features {
		if slot := c.found[i]; slot >= 0 {
			c.terms.touched += c.terms.slots[slot].learnt.touch(newPlace(f.Offset, bin))
		}
	}
	for i, f := range features {
		if n := c.amounts[i]; n > 0 {
			c.terms.at(&c.found[i], f.Term).learnt.add(newPlace(f.Offset, bin), n)
		}
	}
}
