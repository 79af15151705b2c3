package scope

import "strings"

// Limits of the trap guards.
const (
	// maxLength of a URL, bytes; longer ones are refused by many servers, too.
	maxLength = 2048
	// maxSegments of a path.
	maxSegments = 24
	// maxRepeats of one path segment; relative links on an error page with status 200 add the same segments again
	// and again ("/a/b/a/b/…").
	maxRepeats = 4
	// maxParameters of a query; calendars and filters add one at a time.
	maxParameters = 12
)

// trap returns the guard that refuses the canonical URL, or "".
func trap(url string) Reason {
	if len(url) > maxLength {
		return TrapLength
	}
	_, rest, _ := strings.Cut(url, "://")
	rest, query, hasQuery := strings.Cut(rest, "?")
	if hasQuery && strings.Count(query, "&") >= maxParameters {
		return TrapParameters
	}
	_, path, _ := strings.Cut(rest, "/")
	if strings.Count(path, "/") >= maxSegments {
		return TrapSegments
	}
	if strings.Count(path, "/") >= maxRepeats && repeats(path) {
		return TrapRepeats
	}
	return ""
}

// repeats reports whether some segment occurs in the path more than maxRepeats times. The path has at most
// maxSegments of them, so comparing all pairs is cheap.
func repeats(path string) bool {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		n := 1
		for _, other := range segments[i+1:] {
			if s == other && s != "" {
				n++
			}
		}
		if n > maxRepeats {
			return true
		}
	}
	return false
}
