// Package text cuts text into tokens and words: what the critic, the apprentice and every other model counts.
//
// # Tokens
//
// A token is a word of Unicode Text Segmentation (UAX #29, word boundaries) that contains a letter or a decimal
// digit, from its first letter, mark, number or connector on, in lower case (the simple mapping of each
// character), cut to MaxToken bytes at a character boundary. Everything else is dropped: spaces, among them the
// narrow one of French, at which UAX #29 does not break, punctuation, symbols, bytes that are not UTF-8.
// Scripts without spaces are cut as in UAX #29: Han, Hiragana and Thai into single characters, Katakana into
// runs. What tokens are must not change under the name of their scheme, since models are made of them.
//
// A Scanner reads the tokens of a text. Words within ASCII are read eight bytes at a time; a word that touches
// a byte ≥ 0x80 is read by the full algorithm. From a word boundary on the algorithm has no state, so the two
// can alternate; tests compare them on every short string over an alphabet of all classes, and on random ones.
//
// # Words
//
// parse-dom cuts these surface tokens once, and the link features of the apprentice are made of them. A critic
// counts words: what its Settings make of the surface tokens of a page (Words): pairs of characters in scripts
// without spaces, no stop words, stems, shapes of numbers, case. A model carries its Settings, and the words of
// a text are those of its surface tokens, so training and scoring cannot disagree. The defaults of critics are
// docs/decisions/0323.
//
// # Language
//
// Stop words and stems need the language of a text. It is detected by its first 512 tokens: every stop word
// counts for the languages that have it, every letter against those that do not. <html lang> is a hint. Where
// the evidence is weak the language is unknown (docs/decisions/0322).
package text
