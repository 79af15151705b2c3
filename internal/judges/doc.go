// Package judges opens the file of a critic of any kind. The first line of the file says which kind
// it is (package modelfile); whoever fetches a critic by its version need not know.
package judges
