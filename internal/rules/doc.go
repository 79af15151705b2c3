// Package rules contains no code except tests that keep the structure of the tree: which
// packages may import which, and what committed files must not contain.
package rules
