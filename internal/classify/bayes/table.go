package bayes

import (
	"fmt"
	"math"
	"slices"
)

// Table is a model in the form of files: Counts as a Model looks them up. A corpus has few different n(c,τ), most
// of them small; a level of two bytes makes the table four to five times smaller than logarithms would, and keeps
// what is looked up often in the nearest cache.
type Table struct {
	// Documents and Tokens by class.
	Documents, Tokens []uint64
	// Start by feature, and one more: the cells of feature f are Cells[Start[f]:Start[f+1]].
	Start []uint32
	// Cells are a class (the low 16 bits, ascending within a feature) with its level (the high 16); level 0: there
	// is no level for its n, see Beyond.
	Cells []uint32
	// Levels are the n of level 1 and up, ascending.
	Levels []uint64
	// Beyond are the n of all Cells where some level is 0, else empty.
	Beyond []uint64
	// Row is, by feature, the number of its row from 1; 0 = none.
	Row []uint32
	// Rows are the levels by class of the features that are in many classes; here level 0 means that the feature
	// is not in the class.
	Rows []uint16
}

// rowShare: a feature has a row if at least one of rowShare classes has it. Adding a whole row is then faster than
// picking its classes.
const rowShare = 4

// rowLevels is the number of levels, that of n = 0 included, that rows can have.
const rowLevels = 1 << 14

// Table converts the counts.
func (c *Counts) Table() *Table {
	t := &Table{
		Documents: c.Documents, Tokens: make([]uint64, len(c.Documents)), Start: c.Start,
		Cells: make([]uint32, len(c.N)), Row: make([]uint32, max(1, len(c.Start))-1),
	}
	for i, n := range c.N {
		t.Tokens[c.Class[i]] += n
	}
	different := slices.Clone(c.N)
	slices.Sort(different)
	different = slices.Compact(different)
	t.Levels = different[:min(len(different), math.MaxUint16)]
	level := make(map[uint64]uint16, len(t.Levels))
	for i, n := range t.Levels {
		level[n] = uint16(i + 1)
	}
	if len(different) > len(t.Levels) {
		t.Beyond = c.N
	}
	for i, n := range c.N {
		t.Cells[i] = uint32(c.Class[i]) | uint32(level[n])<<16
	}
	classes := len(t.Documents)
	beyond := func(cell uint32) bool { return cell>>16 == 0 || cell>>16 >= rowLevels }
	for f := range t.Row {
		cells := t.Cells[t.Start[f]:t.Start[f+1]]
		if len(cells) == 0 || len(cells)*rowShare < classes || slices.ContainsFunc(cells, beyond) {
			continue
		}
		row := make([]uint16, classes)
		for _, x := range cells {
			row[uint16(x)] = uint16(x >> 16)
		}
		t.Rows = append(t.Rows, row...)
		t.Row[f] = uint32(len(t.Rows) / classes)
	}
	return t
}

// Features returns the number of features, including those that never occur.
func (t *Table) Features() int { return len(t.Row) }

// Check returns an error if a table that was read from a file is invalid.
func (t *Table) Check() error {
	classes := len(t.Documents)
	switch {
	case classes == 0 || classes > MaxClasses || len(t.Tokens) != classes:
		return fmt.Errorf("documents of %d classes, tokens of %d", classes, len(t.Tokens))
	case len(t.Start) != len(t.Row)+1 || t.Start[0] != 0 || int(t.Start[len(t.Row)]) != len(t.Cells):
		return fmt.Errorf("%d features begin at %d places, for %d cells", len(t.Row), len(t.Start), len(t.Cells))
	case len(t.Levels) > math.MaxUint16:
		return fmt.Errorf("%d levels", len(t.Levels))
	case len(t.Beyond) != 0 && len(t.Beyond) != len(t.Cells):
		return fmt.Errorf("%d counts for %d cells", len(t.Beyond), len(t.Cells))
	case len(t.Rows)%classes != 0:
		return fmt.Errorf("rows of %d levels for %d classes", len(t.Rows), classes)
	}
	for i, n := range t.Levels {
		if n == 0 || i > 0 && n <= t.Levels[i-1] {
			return fmt.Errorf("level %d means %d occurrences", i+1, n)
		}
	}
	for f, row := range t.Row {
		lo, hi := t.Start[f], t.Start[f+1]
		if lo > hi || int(row) > len(t.Rows)/classes || row > 0 && lo == hi {
			return fmt.Errorf("feature %d has the cells from %d to %d and row %d", f, lo, hi, row)
		}
	}
	for i, x := range t.Cells {
		if class, level := int(uint16(x)), int(x>>16); class >= classes || level > len(t.Levels) || level == 0 && (len(t.Beyond) == 0 || t.Beyond[i] == 0) {
			return fmt.Errorf("cell %d is of class %d and level %d", i, class, level)
		}
	}
	for i, level := range t.Rows {
		if int(level) > len(t.Levels) || level >= rowLevels {
			return fmt.Errorf("level %d at place %d of the rows", level, i)
		}
	}
	return nil
}

// vocabulary is |T|.
func (t *Table) vocabulary() (n int) {
	for f := range t.Row {
		if t.Start[f] < t.Start[f+1] {
			n++
		}
	}
	return n
}
