// Package papers repeats the measurements of four papers on focused crawling on the available webs, and writes a report that
// compares the findings of each paper with the measured ones: Chakrabarti, van den Berg & Dom (1999), Diligenti et al. (2000),
// Chakrabarti, Punera & Subramanyam (2002), Liu, Milios & Korba (2008).
//
//	worlds (tasks with their environments) → Reproduce → Report → Markdown, one SVG a chart
//
// The finding of the paper is a sentence in the code of each Figure. Everything else is computed: the tables, what was found,
// whether that agrees (Verdict), and which measured fact explains a disagreement. Nothing depends on time, on the machine or on
// how many crawls run side by side, so the same worlds give the same bytes.
//
// How crawls and evidence follow the papers, and why a synthetic web gives no verdict: decision 0442.
package papers
