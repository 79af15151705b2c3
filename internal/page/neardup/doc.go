// Package neardup finds pages with the same words, or nearly the same, among millions.
//
//	first pass:  Finder.Add(text) of every page, in order → Copies, Suspects
//	second pass: Suspects.Show(i, text) of those it Needs → Groups
//
// Copies have the same words (package text) in the same order. The resemblance of two pages is that of Broder
// 1997: the Jaccard coefficient of their distinct runs of three words, |A∩B| / |A∪B|.
//
// Candidate pairs are found by minwise hashing: 63 bins of one permutation (Li, Owen, Zhang 2012), empty ones
// filled from the next (Shrivastava, Li 2014), in 21 bands of 3; two pages with an equal band are suspects. A
// pair of resemblance r is suspected with probability 1 − (1 − r³)²¹: .94 at ½, .9998 at .7. Of the pages with
// an equal band each is compared with the first and with the previous one, not with all, so that a template of
// a million pages costs two million comparisons. Suspects are then compared by their runs: with up to 1,024
// runs each exactly, with more by the 1,024 of least hash (bottom-k, ±.02).
//
// Memory is some 280 bytes a page, and 8 KiB a suspect.
//
// The fingerprint that package dom gives a page (simhash) is not used: with a distance small enough for
// millions of pages it misses most copies in which a twentieth of the words were replaced.
package neardup
