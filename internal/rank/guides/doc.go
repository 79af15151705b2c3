// Package guides opens the file of a guide of any kind. The first line of the file says which kind it
// is (package modelfile), and Ranker the name that crawl files have for it.
package guides
