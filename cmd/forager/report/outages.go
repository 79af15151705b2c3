package report

import (
	"fmt"
	"io"
	"time"

	"forager/internal/platform/analytics"
)

// mergeOutages joins outages of several shards that overlap.
func mergeOutages(all []analytics.Outage) (merged []analytics.Outage) {
	for _, x := range all {
		if n := len(merged); n > 0 && !x.Since.After(merged[n-1].Until) {
			if last := &merged[n-1]; x.Until.After(last.Until) {
				last.Until = x.Until
			}
			continue
		}
		merged = append(merged, x)
	}
	return merged
}

func printOutages(w io.Writer, all []analytics.Outage) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%-22s %10s  %s\n", "NETWORK UNREACHABLE", "FOR", "CAUSE")
	for _, o := range all {
		fmt.Fprintf(w, "%-22s %10s  %s\n", o.Since.UTC().Format(time.RFC3339), o.Until.Sub(o.Since).Round(time.Second), o.Cause)
	}
}
