// Package demo is the command "forager-lab demo": the demo of forager on a frozen web.
package demo
