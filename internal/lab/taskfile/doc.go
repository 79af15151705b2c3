// Package taskfile reads task files: what crawls of frozen webs are to find, from which seeds, and how their critics are trained. The form of
// the files: docs/experiments.md.
package taskfile
