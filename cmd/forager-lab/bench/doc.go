// Package bench runs the whole pipeline and measures it: bench for rates, CPU time and memory, soak for
// their course over a long crawl, bench-floor for the least work that pages need.
package bench
