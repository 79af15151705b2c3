// Package tfidf compares texts by the cosine of their TF-IDF vectors (Salton & McGill 1983): the component of a
// word is its number of occurrences in the text times log(N/f), where f of the N documents of a reference
// corpus have it. It ranks and measures similarity to given pages (best first, as in Liu, Milios & Janssen 2008
// §4.2).
//
// Words that no document of the corpus has weigh nothing, as it is not known how rare they are; neither do
// words that every document has (log 1).
package tfidf
