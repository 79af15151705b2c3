// Package criticfile opens the file of a critic of any kind. The first line of the file names the kind (package
// modelfile), so a caller that has a critic's version needs to know no more.
//
// ReadsURLs reports whether a critic reads URLs: tasks whose labels follow from URLs refuse such critics.
// Trained models read words only, although their out-of-fold posteriors are found by URL.
package criticfile
