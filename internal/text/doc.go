// Package text cuts text into tokens: the words that the critic, the apprentice and every other
// reader of a page count.
//
// A token is a word of Unicode Text Segmentation (UAX #29, word boundaries) that holds a letter
// or a decimal digit, from its first letter, mark, number or connector on, in lower case (the
// simple mapping of each character), cut to MaxToken bytes at a whole character. Everything else
// (spaces, punctuation, symbols, bytes that are not UTF-8) is dropped. Scripts without spaces come out as UAX #29 has them: Han, Hiragana and Thai
// one character a token, Katakana in runs.
//
// No stemming and no stop words here: methods that want them do that to tokens.
//
// # Decisions
//
// 2026-11-21: words within ASCII take a loop of their own; a word that touches a byte ≥ 0x80
// goes to the full algorithm. From a word boundary on, the algorithm knows nothing of what stood
// before, so the two may take turns. A test compares them on every short string over the
// alphabet that matters, and on random ones.
package text
