// Package progress reports the progress of a long computation and ends it early. A context carries both: loops that take
// more than a moment call Add, which counts finished units and returns the error of the context.
//
// Start begins a task of a known number of units and notifies the Observer of the context, if there is one. Without one, Add
// only checks the context, so that a computation need not know whether it is observed.
package progress
