// Package completion completes the command line of forager in bash, zsh and fish. The script of a
// shell (Script) calls the command with the words typed so far. Candidates derives the possible
// next words from the parser's model of the command line, so that it needs no list of its own.
package completion
