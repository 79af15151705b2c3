// Package wrong is test data of command explore: one of its properties does not hold.
package wrong
