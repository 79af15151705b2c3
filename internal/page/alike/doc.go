// Package alike finds pages that are the same, word for word, or nearly so, among millions.
//
//	first pass:  Finder.Add(text) of every page, in order → Copies, Suspects
//	second pass: Suspects.Show(i, text) of those it Wants → Groups
//
// Copies have the same words (package text) in the same order. The resemblance of two pages is that of
// Broder 1997: the share of what they have in common of all their distinct runs of three words,
// |A∩B| / |A∪B|.
//
// Pairs that may resemble one another are found by minwise hashing: 63 bins of one permutation (Li, Owen, Zhang
// 2012), empty ones filled from the next (Shrivastava, Li 2014), in 21 bands of 3; two pages whose bands agree
// anywhere are suspects. A pair of resemblance r is suspected with probability 1 − (1 − r³)²¹: .94 at ½,
// .9998 at .7. Suspects are then compared by their runs themselves, so that nothing is said that is not so:
// with up to 1,024 runs each exactly, with more by the 1,024 of least hash (bottom-k, ±.02).
//
// Memory is some 280 bytes a page, and 8 KiB a suspect.
//
// # Decisions
//
// 2026-11-21: not the fingerprint that package dom gives a page (simhash). At a distance of 3 bits it found .36 of
// the copies of encyclopedia articles in which 5 % of the words were replaced, and .13 of those with 10 %; at 7
// bits .94 and .71, with buckets too large for millions of pages. This finds .999 and .98 (TestWebsChangedCopies).
//
// 2026-11-21: of the pages that agree in a band each is compared with the first and with the one before, not all
// with all: a template of a million pages costs two million comparisons.
package alike
