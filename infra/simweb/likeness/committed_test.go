package likeness

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
)

// Committed is the contents of measured.json.
type Committed struct {
	// Frozen webs by name, and synthetic ones by setting: see Synthetic.
	Frozen    map[string]Figures `json:"frozen"`
	Synthetic map[string]Figures `json:"synthetic"`
}

// ReadCommitted reads measured.json.
func ReadCommitted(path string) (*Committed, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c := &Committed{}
	if err := json.Unmarshal(b, c); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Write writes measured.json; figures keep six digits.
func (c *Committed) Write(path string) error {
	for _, webs := range []map[string]Figures{c.Frozen, c.Synthetic} {
		for _, f := range webs {
			for name, x := range f {
				f[name] = Round(x)
			}
		}
	}
	b, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}

// Round keeps six digits of a figure.
func Round(x float64) float64 {
	if x == 0 {
		return 0
	}
	unit := math.Pow(10, 5-math.Floor(math.Log10(math.Abs(x))))
	return math.Round(x*unit) / unit
}

// factor is how far outside the range of frozen webs a figure may be.
const factor = 2

// Range is the permitted range of a figure of a synthetic web: from half the smallest value of the frozen webs
// to twice the largest. ok is false if no frozen web has the figure, and for the size of the sample.
func (c *Committed) Range(name string) (low, high float64, ok bool) {
	if name == "pages" || name == "hosts" {
		return 0, 0, false
	}
	for _, f := range c.Frozen {
		x, has := f[name]
		if !has {
			continue
		}
		if !ok {
			low, high, ok = x, x, true
		}
		low, high = min(low, x), max(high, x)
	}
	return low / factor, high * factor, ok
}

// Outside lists the figures outside of their range, one a line, and those that the frozen webs have and f lacks.
func (c *Committed) Outside(f Figures) []string {
	var out []string
	for _, name := range c.names() {
		low, high, ok := c.Range(name)
		x, has := f[name]
		if ok && (!has || !(x >= low && x <= high)) {
			out = append(out, fmt.Sprintf("%s is %.4g (measured: %t), want %.4g to %.4g", name, x, has, low, high))
		}
	}
	return out
}

// names of all figures, in the order of tables.
func (c *Committed) names() []string {
	seen := make(map[string]bool)
	var names []string
	for _, webs := range []map[string]Figures{c.Frozen, c.Synthetic} {
		for _, f := range webs {
			for name := range f {
				if !seen[name] {
					seen[name] = true
					names = append(names, name)
				}
			}
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(a, b)) })
	return names
}

// kinds of figures in the order of tables; a figure is of the last kind that is its prefix.
var kinds = []string{
	"pages", "hosts", "pages a host", "largest host", "bytes", "tokens", "distinct", "leaves", "links,", "out-degree", "in-degree",
	"links, same", "links within", "links across", "critic", "information gain",
}

// order groups figures of one kind, with offsets in ascending order.
func order(name string) int {
	kind := 0
	for i, k := range kinds {
		if strings.HasPrefix(name, k) {
			kind = i
		}
	}
	d := 0
	_, _ = fmt.Sscanf(name, "information gain at %d", &d) // 0 for all others
	return 100*kind + d
}

// Table returns all figures as a Markdown table.
func (c *Committed) Table() string {
	frozen, synthetic := sortedKeys(c.Frozen), sortedKeys(c.Synthetic)
	var b strings.Builder
	b.WriteString("| figure | " + strings.Join(frozen, " | ") + " | range × 2 | " + strings.Join(synthetic, " | ") + " |\n")
	b.WriteString("|---|" + strings.Repeat("--:|", len(frozen)+len(synthetic)+1) + "\n")
	cell := func(f Figures, name string) string {
		if x, ok := f[name]; ok {
			return plain(x)
		}
		return "–"
	}
	for _, name := range c.names() {
		row := []string{name}
		for _, web := range frozen {
			row = append(row, cell(c.Frozen[web], name))
		}
		bounds := "–"
		if low, high, ok := c.Range(name); ok {
			bounds = plain(low) + " … " + plain(high)
		}
		row = append(row, bounds)
		for _, web := range synthetic {
			row = append(row, cell(c.Synthetic[web], name))
		}
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	return b.String()
}

// plain formats a number with about three digits, without an exponent.
func plain(x float64) string {
	switch {
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	case x >= 1 || x == 0:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.3f", x)
}

func sortedKeys(m map[string]Figures) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
