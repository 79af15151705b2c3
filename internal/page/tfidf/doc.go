// Package tfidf compares texts by the cosine of their TF-IDF vectors (Salton & McGill 1983): the
// component of a word is how often the text has it times log(N/f), where f of the N documents of a
// reference corpus have it. It ranks by likeness to given pages (best first, as in Liu, Milios & Janssen 2008
// §4.2) and measures it.
//
// # Decisions
//
// 2026-11-21: words that no document of the corpus has weigh nothing: nothing is known of how rare they are. Nor do
// words that every document has (log 1).
package tfidf
