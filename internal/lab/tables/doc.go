// Package tables compares the rankers of an experiment: means over draws with intervals, and differences over tasks, in one table for each
// group of tasks and access of rankers.
package tables
