// Package growth checks in tests that the cost of a reader is linear in the length of its input.
//
// The costs are CPU time of one thread and bytes allocated. They are compared between an input and one that is
// eight times as long, in the same process, so no absolute time is a criterion: linear work gives a ratio of 8,
// quadratic work one of 64.
package growth
