package operate

import (
	"fmt"
	"strings"
	"time"

	"forager/schemas"
)

// WaitingFor describes in one line what a crawl waits for because it is unreachable; empty = nothing.
func WaitingFor(st *schemas.CrawlStatus) string {
	var parts []string
	if o := st.GetOutage(); o != nil {
		parts = append(parts, fmt.Sprintf("network unreachable since %s (%s): %d URLs wait, next probe %s, nothing is charged",
			clockTime(o.GetSince()), o.GetCause(), st.GetQueued(), clockTime(o.GetNextProbe())))
	}
	u := st.GetUnreachable()
	if u.GetHosts() > 0 {
		text := fmt.Sprintf("%s not answer", counted(u.GetHosts(), "host does", "hosts do"))
		if u.GetHost() != "" {
			text += fmt.Sprintf(" (%s: %s)", u.GetHost(), u.GetCause())
		}
		text += fmt.Sprintf(": %s", counted(u.GetUrls(), "URL waits", "URLs wait"))
		if at := u.GetNextTry(); at > 0 {
			text += ", next try " + clockTime(at)
		}
		parts = append(parts, text+", given up after "+clockTime(u.GetUntil()))
	}
	if u.GetGivenUpHosts() > 0 {
		parts = append(parts, fmt.Sprintf("%s given up with %s", counted(u.GetGivenUpHosts(), "host was", "hosts were"), counted(u.GetGivenUpUrls(), "URL", "URLs")))
	}
	return strings.Join(parts, "; ")
}

func counted(n uint64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", more)
}

// clockTime is a time of the log, with its date if that is not today.
func clockTime(ms int64) string {
	t := time.UnixMilli(ms).UTC()
	if t.Format(time.DateOnly) == time.Now().UTC().Format(time.DateOnly) {
		return t.Format("15:04:05Z")
	}
	return t.Format("2006-01-02T15:04:05Z")
}
