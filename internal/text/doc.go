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
//
// 2026-11-21: language is told by stop words and letters, not by a library. On messages of 99 programs in 29
// languages (translators' work, 100 to 200 pages a language and length) it is right and wrong for
//
//	60 characters .69 .03   150 .94 .01   400 .98 .003   1,500 .999 .000
//
// and has no opinion on the rest; whatlanggo, the best-known detector in Go, .75 .22, .84 .14, .86 .14 and
// .86 .14, at ten times the CPU time (it does not know five of these languages). lingua-go was
// left aside, as its models take 120 MB. Of texts in ten languages without a list .13 are
// taken for a neighbour (Slovene for Croatian); their pages mostly say what they are in.
//
// 2026-11-21: what is right for a critic was measured with flat naive Bayes, calibrated: accuracy and log loss on
// the main subjects of an encyclopedia (4,598 articles, five folds) and on page types of universities
// (4,162 pages, each university judged by the others):
//
//	                        encyclopedia   universities
//	plain tokens             .736  .650     .565  .827
//	bigrams                  .736  .648     .565  .827
//	stop                     .748  .663     .551  .831
//	stem                     .740  .661     .550  .846
//	stop stem                .745  .688     .544  .853
//	numbers=shaped           .745  .645     .552  .829
//	numbers=dropped          .744  .644     .565  .831
//	case=kept                .731  .650     .558  .841
//	numbers=shaped stop stem .750  .684     .527  .864
//
// Which program a text of three messages belongs to, with bigrams instead of characters: Chinese .931 .180 → .938 .099, Japanese
// .649 .81 → .652 .71, Korean .687 .66 → .710 .60, Thai .671 .76 → .732 .56. So a critic
// counts plain tokens and bigrams unless told otherwise. Stop words help where texts are short: the same
// task in German .610 .96 → .675 .82, French .638 .90 → .737 .71, Hungarian .675 .81 → .740 .69. Stems help
// nowhere (Finnish .683 .87 → .656 1.0): they are there for methods that want them.
package text
