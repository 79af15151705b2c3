// Package worldtest makes small webs for tests of experiments: a WARC file with labels and a task file,
// as they lie in a folder.
package worldtest
