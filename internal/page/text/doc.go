// Package text cuts text into tokens: the words that the critic, the apprentice and every other
// reader of a page count.
//
// A token is a word of Unicode Text Segmentation (UAX #29, word boundaries) that holds a letter or a decimal
// digit, from its first letter, mark, number or connector on, in lower case (the simple mapping of each
// character), cut to MaxToken bytes at a whole character. Everything else (spaces, among them the narrow one
// of French, which UAX #29 does not break at, punctuation, symbols, bytes that are not UTF-8) is dropped.
// Scripts without spaces come out as UAX #29 has them: Han, Hiragana and Thai one character a token, Katakana
// in runs.
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
// <html lang> is a hint.
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
// 2026-11-21: what is right for a critic was measured with flat naive Bayes (again on 2026-11-22, with folds
// that are dealt class by class): accuracy raw and calibrated, and log loss calibrated, on the main subjects
// of an encyclopedia (4,598 articles, five folds) and on page types of universities (4,162 pages, each
// university judged by the others; TestWebsSettingsOfWords):
//
//	                        encyclopedia     universities
//	plain tokens             .739 .781 .641   .565 .661 .828
//	bigrams                  .738 .783 .640   .565 .661 .828
//	stop                     .752 .780 .654   .551 .661 .839
//	stem                     .745 .778 .650   .550 .648 .848
//	stop stem                .749 .771 .675   .544 .647 .858
//	numbers=shaped           .746 .784 .636   .552 .650 .836
//	numbers=dropped          .747 .786 .633   .565 .660 .831
//	case=kept                .732 .785 .639   .558 .654 .841
//	numbers=shaped stop stem .753 .772 .673   .527 .645 .859
//
// Which program a text of three messages belongs to, with bigrams instead of characters (accuracy and log
// loss, calibrated): Chinese .943 .178 → .980 .090, Japanese .728 .78 → .785 .69, Korean .751 .66 → .789 .57,
// Thai .667 .75 → .764 .55. So a critic counts plain tokens and bigrams unless told otherwise. Stop words
// help where texts are short: the same task in German .712 .90 → .745 .77, French .751 .84 → .786 .68,
// Hungarian .752 .79 → .771 .69. Stems help nowhere (Finnish .737 .82 → .714 .96): they are there for methods
// that want them.
//
// 2026-11-22: words within ASCII are read eight bytes at a time, by arithmetic on all of them at once
// (inWords), not byte by byte through a table, whose loops end where no processor can foretell: English 400
// MB/s and German 216 on one busy core, where the library's bare segmentation makes 147 and 93. Of the
// scripts without spaces, tokens and pairs: Japanese 178 and 92, Chinese 151 and 76, Thai 163 and 71; Korean
// (74 and 29) and Russian (68) go to the library word by word.
package text
