package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"forager/internal/classify/examples"
)

// PrintCounts prints how often each reason occurred, with the first places.
func PrintCounts(w io.Writer, what string, counts []examples.Count) {
	for _, c := range counts {
		fmt.Fprintf(w, "%s: %8d  %s\n", what, c.Count, c.Reason)
		for _, x := range slices.Clip(c.First) {
			fmt.Fprintf(w, "            %s: %s\n", x.Place, Shortened(x.What, 160))
		}
	}
}

// Shortened cuts a text to at most that many characters.
func Shortened(s string, most int) string {
	for i := range s {
		if most == 0 {
			return s[:i] + "…"
		}
		most--
	}
	return s
}

// OneLine cuts a text for a table.
func OneLine(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// Size formats a number of bytes.
func Size(n uint64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}
