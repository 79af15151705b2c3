// Package rules holds no code, only the tests that keep the shape of the tree: which rooms
// may import which, and what no committed file may contain.
package rules
