// Package guides opens the file of a guide of any kind. The first line of the file says which kind it
// is (package modelfile), and the kind is the name of the ranker that the guide is.
package guides
