// Package completion completes the command line of forager in bash, zsh and fish. The shells' part
// (Script) only asks the command itself what may come next; what that is, is read off the
// command line's own model (Candidates), so that it cannot fall behind.
package completion
