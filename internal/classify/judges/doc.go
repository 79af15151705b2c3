// Package judges opens the file of a critic of any kind. The first line of the file says which kind
// it is (package modelfile); whoever fetches a critic by its version need not know.
//
// A judge may declare that it reads URLs: tasks whose labels follow from URLs refuse it. Trained
// models read words only, though out-of-fold posteriors are found by URL.
package judges
