// Command forager is the operator's command. It checks and sets up a deployment, starts and stops the
// embedded parts and the stages on this machine, trains and publishes critics and guides, starts and
// controls crawls, reports on them, exports and verifies their pages.
//
// Every command prints text, or one JSON document with --json. Progress goes to standard error, in
// place on a terminal and as lines elsewhere. Exit codes: 0 success, 1 failure (the last line names
// the cause and the remedy), 2 wrong usage.
//
// Package root is the command line. The other packages are the groups of commands; what they share is
// in cmd/internal. Experiments and benchmarks are commands of forager-lab.
package main
