// Package wrong is for the tests of command explore: one of its properties does not hold.
package wrong
