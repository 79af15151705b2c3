// Package text cuts text into tokens: the words that the critic, the apprentice and every other
// reader of a page count.
//
// A token is a word of Unicode Text Segmentation (UAX #29, word boundaries) that holds a letter
// or a decimal digit, from its first letter, mark, number or connector on, in lower case (the
// simple mapping of each character), cut to MaxToken bytes at a whole character. Everything else
// (spaces, among them the narrow one of French, which UAX #29 does not break at, punctuation, symbols, bytes that are not UTF-8) is dropped. Scripts without spaces come out as UAX #29 has them: Han, Hiragana and Thai
// one character a token, Katakana in runs.
//
// These are the surface tokens: parse-dom cuts them once, and the link features of the apprentice are
// made of them. A critic counts words: what its Settings make of the surface tokens of a page
// (Words): pairs of characters in scripts without spaces, no stop words, stems, shapes of numbers,
// case. A model carries its Settings, and the words of a text are those of its surface tokens, so
// training and scoring cannot disagree.
//
// # Language
//
// Stop words and stems need the language of a text. It is told by its first 512 tokens: every
// stop word speaks for the languages that have it, every letter against those that do not.
// <html lang> is a hint (Detect).
//
// # Decisions
//
// 2026-11-21: words within ASCII take a loop of their own; a word that touches a byte ≥ 0x80
// goes to the full algorithm. From a word boundary on, the algorithm knows nothing of what stood
// before, so the two may take turns. A test compares them on every short string over the
// alphabet that matters, and on random ones.
package text
