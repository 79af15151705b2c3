// Package papers repeats the measurements of four papers on focused crawling on the webs at hand, and writes
// what the paper found beside what was found here: Chakrabarti, van den Berg & Dom (1999), Diligenti et al.
// (2000), Chakrabarti, Punera & Subramanyam (2002), Liu, Milios & Korba (2008).
//
//	worlds (tasks with their grounds) → Reproduce → Report → Markdown, one SVG a chart
//
// A figure knows the paper's finding as a sentence. Everything else is computed: the tables, what
// was found, whether that agrees, and which measured fact explains where it does not. Nothing depends on
// time, on the machine or on how many crawls run side by side, so the same worlds give the same bytes.
//
// # Decisions
//
// 2026-11-21: what a synthetic web shows is never a verdict on a paper. Its parts are marked, and stand for
// all three settings of where words that tell of a link's target stand, so that one sees what the code makes
// of them.
//
// 2026-11-21: the apprentice's evidence (Figs 5 to 9) is that of soft-focus crawls, as in the paper: every
// settled leap with its features up to |d| = 8, five a target at most.
//
// 2026-11-21: the cut between low and high of a cross-validation is that of all its instances, so that
// every d_max is judged by the same classes.
//
// 2026-11-21: the crawls that the papers began elsewhere begin as theirs did: context graphs (2000) three and
// four links from a target, MEMM (2008) four, or where pages so far away are fewer than five, among the
// farthest that there are.
//
// 2026-11-21: leaves are numbered as everywhere here (compact). Figs 8 and 9 stand beside the paper's own
// numbering, where comments and white space are leaves, as their sawtooth is about that; the verdict is on
// the paper's.
//
// 2026-11-21: the paper names the tags around a link (2002, Fig. 9b). Parsed pages keep none, on purpose;
// what the figure explains, that odd offsets are rarely text, is measured directly.
package papers
