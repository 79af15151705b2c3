// Package progress tells how far a long computation has come, and ends it early. A context carries both: loops that
// take more than a moment call Add, which counts finished units and returns the error of the context.
//
// Start begins a task of a known number of units; where the context has an Observer, the observer is told. Without
// one Add only looks at the context, so that a computation need not know whether it is watched.
package progress
